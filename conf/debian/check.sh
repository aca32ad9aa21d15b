#!/bin/bash
# Tries the package in a fresh Debian 12: installs it, runs the daemon in front of a PostgreSQL there, removes and
# purges it. Needs root, debootstrap and an apt mirror, which is this machine's.
# usage: conf/debian/check.sh FOLDER      with the package in FOLDER
set -eu
out=$1
package=$(ls "$out"/lockkeeper_*.deb)
[ "$(id -u)" = 0 ] || { echo "check-deb: debootstrap needs root"; exit 1; }
command -v debootstrap >/dev/null || { echo "check-deb: debootstrap is missing"; exit 1; }

# --- what can be seen from outside
control=$(dpkg-deb --field "$package")
grep -q '^Depends: .*libc6.*libevent.*libssl3' <<<"$control" || { echo "check-deb: odd Depends"; exit 1; }
dpkg-deb --contents "$package" | awk '
    $2 != "root/root" { print "check-deb: not root'\''s: " $0; bad = 1 }
    $1 ~ /^.{8}w/ && $1 !~ /^l/ { print "check-deb: all may write: " $0; bad = 1 }
    $6 !~ /^\.\/($|etc\/($|lockkeeper\/|logrotate\.d\/)|lib\/($|systemd\/)|usr\/($|sbin\/|share\/($|doc\/($|lockkeeper\/)|man\/)))/ {
        print "check-deb: at an odd place: " $0; bad = 1 }
    END { exit bad }'
for script in postinst prerm postrm; do
    dpkg-deb --ctrl-tarfile "$package" | tar xO ./$script | sh -n
done

# --- a fresh system
root=$(mktemp -d "${TMPDIR:-/tmp}/check-deb-XXXXXX")
chmod 755 "$root"
scratch=/tmp/try
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
as() { local user=$1; shift; inside setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
# The same in the background, so that $! is the program's own pid.
start() {
    local user=$1
    shift
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin LC_ALL=C.UTF-8 setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}
pids=
finish() {
    for pid in $pids; do kill -INT "$pid" 2>/dev/null || true; done
    for pid in $pids; do wait "$pid" 2>/dev/null || true; done
    mountpoint -q "$root/proc" && umount "$root/proc"
    [ -n "${KEEP:-}" ] || rm -rf --one-file-system "$root"
}
trap finish EXIT
fail() { echo "check-deb: $*"; tail -n 20 "$root$scratch"/*.log "$root"/var/log/lockkeeper/*.log 2>/dev/null || true; exit 1; }
eventually() { # at most ten seconds
    local end=$((SECONDS + 10))
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "not within ten seconds: $*"
        sleep 0.1
    done
}

mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
    awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
[ -n "$mirror" ] || { echo "check-deb: apt knows no mirror of Debian 12"; exit 1; }
echo "check-deb: a fresh Debian 12"
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$out/debootstrap.log" 2>&1 || { tail "$out/debootstrap.log"; exit 1; }
mount -t proc proc "$root/proc"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
cp /etc/resolv.conf "$root/etc/resolv.conf"
for file in $(grep -ls Acquire /etc/apt/apt.conf /etc/apt/apt.conf.d/* || true); do cp "$file" "$root/etc/apt/apt.conf.d/"; done
mkdir -m 755 "$root$scratch"
cp "$package" "$root$scratch/lockkeeper.deb"

echo "check-deb: installing"
inside apt-get -q update >"$out/apt.log" 2>&1 || { tail "$out/apt.log"; exit 1; }
inside apt-get -q -y install --no-install-recommends postgresql "$scratch/lockkeeper.deb" >>"$out/apt.log" 2>&1 ||
    { tail "$out/apt.log"; exit 1; }
inside dpkg --verify lockkeeper || fail "dpkg --verify"
inside lockkeeper --version
inside id lockkeeper >/dev/null || fail "no user lockkeeper"
[ "$(inside stat -c %U:%G:%a /etc/lockkeeper/lockkeeper.ini /etc/lockkeeper/userlist.txt | sort -u)" = root:lockkeeper:640 ] ||
    fail "the settings are not root:lockkeeper:640"
as lockkeeper lockkeeper check /etc/lockkeeper/lockkeeper.ini || fail "the settings are not in order"
[ -z "$(inside ldd /usr/sbin/lockkeeper | grep 'not found' || true)" ] || fail "libraries are missing"

echo "check-deb: running"
free_port() { # one that nobody listens on
    local port
    while port=$((20000 + RANDOM % 10000)); (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    echo $port
}
pg_port=$(free_port) lk_port=$(free_port)
pg=$(inside sh -c 'echo /usr/lib/postgresql/*/bin')
inside install -d -o postgres -g postgres "$scratch/pg"
as postgres "$pg/initdb" -D "$scratch/pg/data" -A trust -U postgres >"$root$scratch/initdb.log"
start postgres "$pg/postgres" -D "$scratch/pg/data" -p "$pg_port" -h 127.0.0.1 -k "$scratch/pg" >"$root$scratch/pg.log" 2>&1 &
pids="$pids $!"
eventually as postgres psql -qh 127.0.0.1 -p "$pg_port" -c 'create role app login'
# The package's own settings, but for ports and the trust in everybody.
inside install -d -o lockkeeper -g lockkeeper /run/lockkeeper
sed -e "s/^\* = .*/* = host=127.0.0.1 port=$pg_port/" -e "s/^;* *listen_port = .*/listen_port = $lk_port/" \
    -e 's/^;* *auth_type = .*/auth_type = trust/' "$root/etc/lockkeeper/lockkeeper.ini" >"$root$scratch/lockkeeper.ini"
grep -q "^\* = host=127.0.0.1 port=$pg_port" "$root$scratch/lockkeeper.ini" ||
    sed -i "s/^\[databases\]/&\n* = host=127.0.0.1 port=$pg_port/" "$root$scratch/lockkeeper.ini"
echo '"app" ""' >>"$root/etc/lockkeeper/userlist.txt"
start lockkeeper lockkeeper -q "$scratch/lockkeeper.ini" 2>"$root$scratch/lockkeeper.log" &
daemon=$!
pids="$pids $daemon"
eventually as postgres psql -qh 127.0.0.1 -p "$lk_port" -U app -d postgres -c 'select 1'
answer=$(as postgres psql -qAth 127.0.0.1 -p "$lk_port" -U app -d postgres -c 'select pg_try_advisory_lock(7), current_user')
[ "$answer" = 't|app' ] || fail "a query's answer is '$answer'"
answer=$(as postgres psql -qAth /run/lockkeeper -p "$lk_port" -U app -d postgres -c 'select 42')
[ "$answer" = 42 ] || fail "over the unix socket: '$answer'"
eventually grep -q '"event":"leak"' "$root/var/log/lockkeeper/leaks.jsonl"
kill -INT "$daemon"
wait "$daemon" || fail "the daemon ended with $?"

echo "check-deb: removing"
inside apt-get -q -y remove lockkeeper >>"$out/apt.log" 2>&1 || { tail "$out/apt.log"; exit 1; }
[ ! -e "$root/usr/sbin/lockkeeper" ] || fail "remove leaves the daemon"
[ -e "$root/etc/lockkeeper/lockkeeper.ini" ] && [ -e "$root/var/log/lockkeeper/leaks.jsonl" ] ||
    fail "remove takes settings or logs away"
inside apt-get -q -y purge lockkeeper >>"$out/apt.log" 2>&1 || { tail "$out/apt.log"; exit 1; }
for left in /etc/lockkeeper /var/log/lockkeeper /etc/logrotate.d/lockkeeper /usr/share/doc/lockkeeper; do
    [ ! -e "$root$left" ] || fail "purge leaves $left"
done
! inside id lockkeeper >/dev/null 2>&1 || fail "purge leaves the user"
echo "check-deb: ok"
