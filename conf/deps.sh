#!/bin/bash
# Installs the Debian packages that building and testing need, if any is missing (`make deps`).
# usage: conf/deps.sh [bench|jdbc|lint]   adds what the benchmark, the tests of Java's driver, or make lint need
set -eu

packages="make gcc libc6-dev libevent-dev libssl-dev libpg-query-dev libprotobuf-c-dev uthash-dev
libjansson-dev libpq-dev zlib1g-dev libcmocka-dev postgresql postgresql-client openssl python3 python3-pytest python3-psycopg python3-psycopg2"
case "${1:-}" in
bench) packages="$packages pgbouncer" ;;
jdbc) packages="$packages default-jdk-headless libpostgresql-jdbc-java" ;;
lint) packages="$packages cppcheck mandoc" ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "deps: this is no Debian; needed are what these packages hold:" $packages
    exit 0
fi

missing=
for package in $packages; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    # PostgreSQL may also be there as postgresql-NN alone, and any JDK will do.
    case "$package:$status" in
    *:installed) continue ;;
    postgresql:*) ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 && continue ;;
    default-jdk-headless:*) command -v javac >/dev/null && continue ;;
    postgresql-client:*) ls /usr/lib/postgresql/*/bin/psql >/dev/null 2>&1 && continue ;;
    esac
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0

root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "deps: missing, and there is no sudo:$missing"; exit 1; }
    root=sudo
fi
echo "deps: installing$missing"
apt() { $root env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" </dev/null; }
apt update
apt install --no-install-recommends $missing
