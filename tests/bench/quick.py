#!/usr/bin/python3
"""Throughput of `pgbench -S` in transaction mode: direct, Debian's pgbouncer, and this daemon (tracked, always), one run.

Rounds are interleaved, so that whatever else the machine does falls on all alike; told are medians and the ratios to
pgbouncer. usage: quick.py [ROUNDS [SECONDS [CLIENTS [MODE]]]]   (defaults 5 3 8 simple)
LK_BIN is the daemon.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import harness  # noqa: E402

ROUNDS, SECONDS, CLIENTS = [int(a) for a in (sys.argv[1:4] + ["5", "3", "8"][len(sys.argv[1:4]):])]
MODE = sys.argv[4] if len(sys.argv) > 4 else "simple"


def pgbench(port, *args):
    out = subprocess.run([harness.pg_bin("pgbench"), "-n", "-h", "127.0.0.1", "-p", str(port), "-U", "app", *args, "app"],
                         capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return out.stdout


def tps(port):
    out = pgbench(port, "-S", "-M", MODE, "-c", str(CLIENTS), "-T", str(SECONDS))
    return float(re.search(r"tps = ([\d.]+)", out).group(1))


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        part = f.read().rsplit(") ", 1)[1].split()
    return (int(part[11]) + int(part[12])) / os.sysconf("SC_CLK_TCK")


def main():
    folder = harness.Folder()
    binaries = {"lockkeeper": os.environ.get("LK_BIN", os.path.join(harness.ROOT, "build", "lockkeeper")),
                "pgbouncer": shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:" + os.environ.get("PATH", ""))}
    for name, source in binaries.items():
        assert source and os.path.exists(source), "no " + name
        binaries[name] = shutil.copy(source, os.path.join(folder.path, name))
    pg = harness.Postgres(folder)
    daemons = {}
    try:
        pg.start()
        pg.prepare_databases()
        subprocess.run([harness.pg_bin("pgbench"), "-i", "-s", "10", "-q", "-h", "127.0.0.1", "-p", str(pg.port), "-U", "app",
                        "app"], check=True, capture_output=True)
        for name, settings in (("pgbouncer", {}), ("tracked", {"advisory_unlock_all": "tracked"}),
                               ("always", {"advisory_unlock_all": "always"})):
            binary = binaries["pgbouncer" if name == "pgbouncer" else "lockkeeper"]
            daemons[name] = harness.Daemon(folder, pg, binary, dict(settings, default_pool_size=CLIENTS)).start()
        ports = dict({"direct": pg.port}, **{n: d.port for n, d in daemons.items()})
        results = {name: [] for name in ports}
        cpu = {name: [] for name in daemons}
        for port in ports.values():
            pgbench(port, "-S", "-M", MODE, "-c", str(CLIENTS), "-T", "1")
        for _ in range(ROUNDS):
            for name, port in ports.items():
                before = cpu_seconds(daemons[name].pid) if name in daemons else 0
                results[name].append(tps(port))
                if name in daemons:
                    cpu[name].append((cpu_seconds(daemons[name].pid) - before) / (results[name][-1] * SECONDS) * 1e6)
        base = statistics.median(results["pgbouncer"])
        print("pgbench -S -M %s -c %d, %d rounds of %d s, medians" % (MODE, CLIENTS, ROUNDS, SECONDS))
        print("%-12s %10s %16s %18s" % ("", "tps", "/ pgbouncer", "proxy CPU µs/tx"))
        for name, got in results.items():
            middle = statistics.median(got)
            print("%-12s %10.0f %16.2f %18s" % (name, middle, middle / base,
                                                "%.1f" % statistics.median(cpu[name]) if name in cpu else ""))
    finally:
        wrong = [w for w in (d.stop() for d in daemons.values()) if w]
        pg.stop()
        folder.remove()
    assert not wrong, wrong


if __name__ == "__main__":
    main()
