"""The protocol module says what PostgreSQL says: tried on a direct connection, so that a failure elsewhere is the proxy's."""
import rawpg


def direct(pg, **kw):
    return rawpg.RawConn(pg.host, pg.port).login("app", "app", **kw)


def test_the_raw_client_speaks_simple_extended_and_function_calls(pg):
    conn = direct(pg)
    assert conn.simple("select 1, 'x'") == [["1", "x"]]
    assert conn.extended("select $1::int + 1", ["41"]) == [["42"]]
    conn.send(rawpg.function_call(2880, [rawpg.int8(77)]))
    assert rawpg.types(conn.until()) == "VZ"
    assert [r[4] for r in pg.locks()] == ["77"]
    conn.close()


def test_the_raw_client_logs_in_with_every_method(pg):
    for user, password in {"u_md5": "md5 secret", "u_scram": "scram secret", "u_plain": "plain secret"}.items():
        conn = rawpg.RawConn(pg.host, pg.port).login(user, "app", password)
        assert conn.simple("select current_user") == [[user]]
        conn.close()
