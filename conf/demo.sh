#!/bin/bash
# A private PostgreSQL with Lockkeeper in front of it, in transaction mode, in a temporary folder.
# usage: conf/demo.sh play   a short scene with psql, then everything stops
#        conf/demo.sh run    stays in the foreground for your own psql; Ctrl-C ends it
# LK_BIN names the daemon (default build/lockkeeper). PostgreSQL refuses to run as root: then it, and a copy of the
# daemon, run as the user postgres. Ports are found free at run time; only what was started here is ended.
set -eu
cd "$(dirname "$0")/.."
mode=${1:-play}
binary=${LK_BIN:-build/lockkeeper}
pg_bin=$(dirname "$(ls -v /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -1)")
[ -x "$pg_bin/postgres" ] || { echo "demo: PostgreSQL's programs are not in /usr/lib/postgresql"; exit 1; }
dir=$(mktemp -d /tmp/lockkeeper-demo-XXXXXX)
chmod 755 "$dir"
pg_pid= lk_pid= holder=
as=()
if [ "$(id -u)" = 0 ]; then
    as=(setpriv --reuid postgres --regid postgres --clear-groups)
fi

finish() {
    trap '' INT TERM HUP
    [ -z "$holder" ] || kill "$holder" 2>/dev/null || true
    [ -z "$lk_pid" ] || { kill -QUIT "$lk_pid" && wait "$lk_pid"; } 2>/dev/null || true
    [ -z "$pg_pid" ] || { kill -INT "$pg_pid" && wait "$pg_pid"; } 2>/dev/null || true
    rm -rf "$dir"
}
trap finish EXIT
# Ctrl-C is how a run ends, not a failure of it.
interrupted=130
[ "$mode" != run ] || interrupted=0
trap 'exit $interrupted' INT
trap 'exit 130' TERM HUP

# until_true WHAT SECONDS COMMAND…: tries again and again, no longer than that
until_true() {
    local what=$1 end=$((SECONDS + $2))
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || { echo "demo: $what: not in time"; tail -n 30 "$dir"/*.log; exit 1; }
        read -rt 0.05 <> <(:) || true
    done
}
free_port() {
    /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
say() { [ -t 1 ] && printf '\n\033[1m%s\033[0m\n' "$*" || printf '\n%s\n' "$*"; }
sql() { psql -XAtq "host=127.0.0.1 port=$lk_port dbname=app user=app application_name=${app:-demo}" -c "$1" 2>&1; }
show_sql() { printf '   %s> %s\n' "${app:-demo}" "$1"; sql "$1" | sed 's/^/   /'; }
records() { grep -c "\"event\": *\"$1\"" "$dir/leaks.jsonl" 2>/dev/null || true; }
has_record() { [ "$(records "$1")" -ge "$2" ]; }

mkdir "$dir/pg" "$dir/lk"
pg_port=$(free_port) lk_port=$(free_port)
install -m 755 "$binary" "$dir/lockkeeper"
cat >"$dir/lk/lockkeeper.ini" <<INI
[databases]
app = host=127.0.0.1 port=$pg_port dbname=app

[lockkeeper]
listen_addr = 127.0.0.1
listen_port = $lk_port
unix_socket_dir = $dir/lk
auth_type = trust
auth_file = $dir/lk/userlist.txt
admin_users = app
pool_mode = transaction
default_pool_size = 3
leak_log = $dir/leaks.jsonl
INI
echo '"app" ""' >"$dir/lk/userlist.txt"
: >"$dir/leaks.jsonl"
[ ${#as[@]} = 0 ] || chown -R postgres:postgres "$dir"

say "A private PostgreSQL on port $pg_port"
"${as[@]}" "$pg_bin/initdb" -D "$dir/pg" -U postgres -A trust -N --locale=C -E UTF8 >"$dir/initdb.log"
"${as[@]}" "$pg_bin/postgres" -D "$dir/pg" -p "$pg_port" -h 127.0.0.1 -k "$dir/pg" -F >"$dir/postgres.log" 2>&1 </dev/null &
pg_pid=$!
direct() { psql -XAtq "host=127.0.0.1 port=$pg_port dbname=${db:-app} user=postgres" -c "$1"; }
db=postgres until_true "PostgreSQL starts" 30 direct "select 1"
db=postgres direct "create role app login"
db=postgres direct "create database app owner app"

say "Lockkeeper in front of it on port $lk_port, in transaction mode"
"${as[@]}" "$dir/lockkeeper" -q "$dir/lk/lockkeeper.ini" >"$dir/lockkeeper.log" 2>&1 </dev/null &
lk_pid=$!
until_true "Lockkeeper starts" 20 sql "select 1"
echo "   version: $(psql -XAtq "host=127.0.0.1 port=$lk_port dbname=lockkeeper user=app" -c 'SHOW VERSION')"

if [ "$mode" = run ]; then
    cat <<TEXT

   through Lockkeeper:  psql "host=127.0.0.1 port=$lk_port dbname=app user=app"
   its console:         psql "host=127.0.0.1 port=$lk_port dbname=lockkeeper user=app"
   PostgreSQL itself:   psql "host=127.0.0.1 port=$pg_port dbname=app user=postgres"
   the leak log:        tail -f $dir/leaks.jsonl

Ctrl-C ends it all.
TEXT
    wait "$lk_pid"
    exit
fi

say "1. The client \"billing\" takes lock 9527 and leaves without giving it back"
app=billing show_sql "select pg_advisory_lock(9527)"
until_true "the leak is recorded" 10 has_record leak 1
echo "   Lockkeeper saw it leave, freed the lock, and wrote down who it was:"
grep '"event": *"leak"' "$dir/leaks.jsonl" | sed 's/^/   /'

say "2. The next client asks for the same lock, perhaps on the same backend, and gets it: nothing was left behind"
app=report
show_sql "select pg_try_advisory_lock(9527)"
until_true "that one is recorded too" 10 has_record leak 2

say "3. The client \"nightly\" keeps its lock over several transactions: its backend is pinned to it"
mkfifo "$dir/ask"
psql -XAtq "host=127.0.0.1 port=$lk_port dbname=app user=app application_name=nightly" \
    <"$dir/ask" >"$dir/nightly.log" 2>&1 &
holder=$!
exec 9>"$dir/ask"
echo "select 'got ' || pg_try_advisory_lock(9527); select 'still here';" >&9
until_true "nightly has its lock" 10 grep -q "still here" "$dir/nightly.log"
sed 's/^/   nightly: /' "$dir/nightly.log"
until_true "the pin is recorded" 10 grep -q '"event": *"pin".*nightly' "$dir/leaks.jsonl"
grep '"event": *"pin"' "$dir/leaks.jsonl" | grep nightly | tail -1 | sed 's/^/   /'

say "4. Meanwhile \"report\" is refused the lock: f, as PostgreSQL itself would say"
answer=$(sql "select pg_try_advisory_lock(9527)")
echo "   report> select pg_try_advisory_lock(9527)"
echo "   $answer"
[ "$answer" = f ] || { echo "demo: it should have been refused"; exit 1; }

say "5. \"nightly\" gives it back; the pin ends, and \"report\" gets the lock"
echo "select 'given back ' || pg_advisory_unlock(9527);" >&9
until_true "nightly has given it back" 10 grep -q "given back true" "$dir/nightly.log"
until_true "the pin ends" 10 grep -q '"event": *"unpin".*nightly' "$dir/leaks.jsonl"
grep '"event": *"unpin"' "$dir/leaks.jsonl" | grep nightly | tail -1 | sed 's/^/   /'
answer=$(sql "select pg_try_advisory_lock(9527), pg_advisory_unlock(9527)")
echo "   report> select pg_try_advisory_lock(9527), pg_advisory_unlock(9527)"
echo "   $answer"
[ "$answer" = "t|t" ] || { echo "demo: it should have got the lock"; exit 1; }
exec 9>&-
wait "$holder" || true
holder=

left=$(direct "select count(*) from pg_locks where locktype = 'advisory'")
say "PostgreSQL now shows $left advisory locks. Stopping everything."
[ "$left" = 0 ]
