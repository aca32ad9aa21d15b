#!/bin/bash
# Runs test programs and the integration tests, and closes with one line: N passed, N failed.
# usage: tests/run_check.sh [PROGRAM…] [--integration [PYTEST ARGUMENT…]]
# LK_BIN is the daemon that the integration tests start; PYTHON the interpreter that has psycopg.
# A program is a cmocka test: each "OK" line counts; one that dies counts as a failure.
set -u
cd "$(dirname "$0")/.." || exit 1
python=${PYTHON:-/usr/bin/python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
child=
trap 'trap "" INT TERM HUP; [ -z "$child" ] || { kill -TERM "$child"; wait "$child"; } 2>/dev/null; exit 130' INT TERM HUP
passed=0 failed=0
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:exitcode=99} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

run_program() {
    local out=$scratch/out ok bad
    "$1" >"$out" 2>&1 </dev/null
    local status=$?
    ok=$(grep -c '^\[       OK \]' "$out")
    bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test(s), listed below:.*/\1/p' "$out" | awk '{ n += $1 } END { print n + 0 }')
    if [ "$bad" = 0 ] && { [ $status != 0 ] || grep -qE 'runtime error:|ERROR: [A-Za-z]*Sanitizer' "$out"; }; then
        bad=1
    fi
    passed=$((passed + ok)) failed=$((failed + bad))
    if [ "$bad" != 0 ]; then
        echo "FAIL $1 (exit $status)"
        grep -vE '^\[ +(OK|RUN) +\]' "$out" | tail -60
    else
        echo "ok   $1: $ok"
    fi
}

run_integration() {
    local xml=$scratch/junit.xml counts
    timeout --foreground -k 30 "${LK_TEST_TIMEOUT:-1200}" \
        "$python" -m pytest -c tests/integration/pytest.ini --junitxml="$xml" "${@:-tests/integration}" </dev/null &
    child=$!
    wait "$child"
    local status=$?
    child=
    if ! counts=$("$python" - "$xml" <<'PY'
import sys, xml.etree.ElementTree as tree
s = tree.parse(sys.argv[1]).getroot().find("testsuite").attrib
bad = int(s["failures"]) + int(s["errors"])
print(int(s["tests"]) - bad - int(s["skipped"]), bad)
PY
    ); then
        echo "FAIL the integration tests did not finish (exit $status)"
        counts="0 1"
    fi
    set -- $counts
    [ $status = 0 ] || [ "$2" != 0 ] || set -- "$1" 1
    passed=$((passed + $1)) failed=$((failed + $2))
}

while [ $# -gt 0 ]; do
    if [ "$1" = --integration ]; then
        shift
        run_integration "$@"
        break
    fi
    run_program "$1"
    shift
done
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
