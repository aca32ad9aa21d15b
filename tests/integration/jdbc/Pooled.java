import java.io.StringReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;

/**
 * What applications do by JDBC, over two connections through a pooler: java Pooled URL TABLE KEY [NAME=VALUE]...
 * Prints who it is, then a line for each part that went well. The first error ends it: "SQLSTATE: message", status 1.
 */
public final class Pooled {
    private final Connection a;
    private final Connection b;
    private final String table;
    private final long key;

    private Pooled(Connection a, Connection b, String table, long key) {
        this.a = a;
        this.b = b;
        this.table = table;
        this.key = key;
    }

    public static void main(String[] args) {
        Properties properties = new Properties();
        for (int i = 3; i < args.length; i++) {
            int equals = args[i].indexOf('=');
            properties.setProperty(args[i].substring(0, equals), args[i].substring(equals + 1));
        }
        try (Connection a = DriverManager.getConnection(args[0], properties);
                Connection b = DriverManager.getConnection(args[0], properties)) {
            new Pooled(a, b, args[1], Long.parseLong(args[2])).run();
        } catch (SQLException e) {
            System.out.println(e.getSQLState() + ": " + e.getMessage());
            System.exit(1);
        }
    }

    private void run() throws SQLException {
        System.out.println("user " + text(a, "select current_user"));
        prepared();
        transaction();
        sessionLock();
        cursor();
        copy();
        cancel();
    }

    private static String text(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return r.getString(1);
        }
    }

    private static void must(boolean so, String what) throws SQLException {
        if (!so) {
            throw new SQLException(what, "FALSE");
        }
    }

    /** From its fifth execution on the driver names a statement on the server; each transaction may get another backend. */
    private void prepared() throws SQLException {
        Set<String> backends = new HashSet<>();
        try (PreparedStatement p = a.prepareStatement("select ?::int + 1, pg_backend_pid()");
                PreparedStatement q = b.prepareStatement("select ?::int * 2, pg_backend_pid()")) {
            for (int i = 0; i < 20; i++) {
                /* every other time b sits on the backend that a had before */
                if (i % 2 == 1) {
                    b.setAutoCommit(false);
                    must(answer(q, i, backends) == i * 2, "the second connection's statement");
                }
                must(answer(p, i, backends) == i + 1, "the first connection's statement");
                if (i % 2 == 1) {
                    b.commit();
                    b.setAutoCommit(true);
                }
            }
            must(p.unwrap(PGStatement.class).isUseServerPrepare(), "the statement has a name on the server");
        }
        must(backends.size() == 2, "both backends took part, not " + backends.size());
        System.out.println("prepared");
    }

    private static int answer(PreparedStatement p, int i, Set<String> backends) throws SQLException {
        p.setInt(1, i);
        try (ResultSet r = p.executeQuery()) {
            r.next();
            backends.add(r.getString(2));
            return r.getInt(1);
        }
    }

    private void transaction() throws SQLException {
        try (Statement s = a.createStatement()) {
            s.execute("create table " + table + "(n int primary key, t text)");
        }
        a.setAutoCommit(false);
        try (PreparedStatement p = a.prepareStatement("insert into " + table + " values (?, ?)")) {
            for (int i = 0; i < 100; i++) {
                p.setInt(1, i);
                p.setString(2, "row " + i);
                p.addBatch();
            }
            p.executeBatch();
            must(text(b, "select count(*) from " + table).equals("0"), "what is not committed is not seen");
            Savepoint before = a.setSavepoint();
            p.setInt(1, 1);
            p.setString(2, "again");
            try {
                p.execute();
                must(false, "a duplicate is refused");
            } catch (SQLException e) {
                must(e.getSQLState().equals("23505"), "a duplicate is a 23505, not " + e.getSQLState());
            }
            a.rollback(before);
        }
        a.commit();
        a.setAutoCommit(true);
        must(text(b, "select count(*) from " + table).equals("100"), "what is committed is seen");
        System.out.println("transaction");
    }

    private void sessionLock() throws SQLException {
        String backend = text(a, "select pg_backend_pid() from pg_advisory_lock(" + key + ")");
        for (int i = 0; i < 5; i++) {
            must(text(a, "select pg_backend_pid()").equals(backend), "the holder stays with its backend");
            must(text(b, "select pg_try_advisory_lock(" + key + ")").equals("f"), "nobody else gets the lock");
        }
        must(text(a, "select pg_advisory_unlock(" + key + ")").equals("t"), "the holder lets go");
        must(text(b, "select pg_try_advisory_lock(" + key + ")").equals("t"), "then somebody else gets it");
        must(text(b, "select pg_advisory_unlock(" + key + ")").equals("t"), "and lets go");
        System.out.println("session lock");
    }

    private void cursor() throws SQLException {
        a.setAutoCommit(false);
        try (Statement s = a.createStatement()) {
            s.setFetchSize(7);
            int rows = 0;
            try (ResultSet r = s.executeQuery("select n from " + table + " order by n")) {
                while (r.next()) {
                    must(r.getInt(1) == rows++, "rows come in order");
                }
            }
            must(rows == 100, "all rows come");
        }
        a.commit();
        a.setAutoCommit(true);
        System.out.println("cursor");
    }

    private void copy() throws SQLException {
        try {
            long n = a.unwrap(PGConnection.class).getCopyAPI().copyIn(
                    "copy " + table + " from stdin", new StringReader("1000\tone\n1001\ttwo\n"));
            must(n == 2, "two rows are copied");
        } catch (java.io.IOException e) {
            throw new SQLException(e);
        }
        must(text(b, "select count(*) from " + table).equals("102"), "copied rows are seen");
        System.out.println("copy");
    }

    /** The driver's time-out is a CancelRequest on a connection of its own. */
    private void cancel() throws SQLException {
        try (Statement s = a.createStatement()) {
            s.setQueryTimeout(1);
            s.execute("select pg_sleep(30)");
            must(false, "the time-out ends the query");
        } catch (SQLException e) {
            must(e.getSQLState().equals("57014"), "the query was cancelled, not " + e.getSQLState());
        }
        must(text(a, "select 1").equals("1"), "the connection goes on");
        try (Statement s = a.createStatement()) {
            s.execute("drop table " + table);
        }
        System.out.println("cancel");
    }
}
