"""lockkeeper report: counts of the leaks in leak logs."""
import datetime
import gzip
import json
import subprocess

import pytest

import rawpg
from locklib import leak_of


def record(ts="2026-11-30T09:15:02.123456Z", event="leak", key="9801", application="billing", database="shop", held=1500,
           query="SELECT pg_advisory_lock($1)", name=None, client=17):
    return {"ts": ts, "event": event, "level": "warning", "database": database, "user": "app", "pool_mode": "transaction",
            "client": {"id": client, "addr": "127.0.0.1", "port": 50312, "application_name": application},
            "backend": {"id": 4, "pid": 18422, "addr": "127.0.0.1", "port": 5432},
            "lock": {"space": "bigint", "key": key, "mode": "exclusive", "count": 1, "name": name}, "held_ms": held,
            "acquired_at": ts, "query": query, "fingerprint": "00000000000000aa", "tags": {"application_name": "tag"},
            "source": "ledger", "reason": "client_disconnect", "action": "unlock_all"}


@pytest.fixture
def report(tmp_path, binary):
    """report(lines, *options): runs it on a file of those records or lines. Its standard output; status 0."""
    def run(lines, *options, status=0, file="leaks.jsonl", **kw):
        path = tmp_path / file
        path.write_bytes(b"".join((x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n" for x in lines))
        result = subprocess.run([binary, "report", *options, str(path)], capture_output=True, timeout=60, **kw)
        assert result.returncode == status, result.stderr
        return result.stdout.decode()
    return run


def rows(text, field):
    """The rows below a heading: the count and what it is of."""
    below = text.split("by %s\n" % field)[1].split("\n\n")[0].splitlines()
    return [(int(line[:10]), line[69:]) for line in below if line[12:15] != "of "]


def test_report_counts_leaks_by_key_application_statement_and_hour(report):
    text = report([record(), record(held=500, name="night shift"), record(key="-1", application="cron"),
                   record(database="crm", ts="2026-11-30T10:00:00.000000Z"), record(event="pin"),
                   record(query="SELECT take($1)", key="1,2")])
    assert text.startswith("records from 2026-11-30 09:15:02 to 2026-11-30 10:00:00 UTC: 5 leak, 1 pin\n")
    assert rows(text, "key") == [(2, "shop 9801 (night shift)"), (1, "crm 9801"), (1, "shop -1"), (1, "shop 1,2")]
    assert rows(text, "application") == [(4, "billing"), (1, "cron")]
    assert rows(text, "statement") == [(4, "SELECT pg_advisory_lock($1)"), (1, "SELECT take($1)")]
    assert rows(text, "hour") == [(4, "2026-11-30 09:00"), (1, "2026-11-30 10:00")]
    first = text.split("by key\n")[1].splitlines()[0].split()
    assert first[:8] == ["2", "1.000", "s", "1.500", "s", "2026-11-30", "09:15:02", "shop"]


def test_report_as_json_has_all_groups_and_times(report):
    answer = json.loads(report([record(key="%d" % (9000 + i), held=i) for i in range(30)] + [record(key="9000", held=None)],
                               "--json", "--by=key,client"))
    assert answer["leaks"] == 31 and answer["events"] == {"leak": 31} and answer["malformed"] == 0
    assert set(answer["by"]) == {"key", "client"}
    assert len(answer["by"]["key"]) == 30
    assert answer["by"]["key"][0] == {
        "database": "shop", "key": "9000", "name": None, "leaks": 2, "held_ms_mean": 0, "held_ms_max": 0,
        "first": "2026-11-30T09:15:02.123456Z", "last": "2026-11-30T09:15:02.123456Z"}
    assert answer["by"]["client"][0]["client"] == "17 127.0.0.1:50312"


def test_report_shows_the_top_of_each_and_how_many_more(report):
    lines = [record(key=str(k), ts="2026-11-30T%02d:00:00.000000Z" % (k % 24)) for k in range(25)] + [record(key="7")]
    text = report(lines)
    assert rows(text, "key")[0] == (2, "shop 7") and len(rows(text, "key")) == 20
    assert "         5  of 5 more\n" in text
    text = report(lines, "--top", "2", "--by", "hour,day")
    assert [what for _, what in rows(text, "hour")] == ["2026-11-30 22:00", "2026-11-30 23:00"]
    assert "        24  of 22 earlier\n" in text
    assert rows(text, "day") == [(26, "2026-11-30")]
    assert len(rows(report(lines, "--top=0"), "key")) == 25


def test_report_since_a_time_or_so_long_ago(report):
    now = datetime.datetime.now(datetime.timezone.utc)
    at = [(now - datetime.timedelta(hours=h)).strftime("%Y-%m-%dT%H:%M:%S.%fZ") for h in (30, 3, 1)]
    lines = [record(ts=ts) for ts in at]
    for since, count in (("2h", 1), ("1d", 2), ("300m", 2), ("9d", 3), (at[1], 2), (at[1][:19].replace("T", " "), 2),
                         (at[0][:10], 3), ("2999-01-01", 0)):
        assert json.loads(report(lines, "--json", "--since", since))["leaks"] == count, since


def test_report_reads_gzip_several_files_and_standard_input(tmp_path, binary):
    line = json.dumps(record()).encode() + b"\n"
    with gzip.open(tmp_path / "old.gz", "wb") as f:
        f.write(line * 3)
    (tmp_path / "new").write_bytes(line[:-1])
    for stdin in (line * 2, gzip.compress(line * 2)):
        out = subprocess.run([binary, "report", "--json", "-", str(tmp_path / "old.gz"), str(tmp_path / "new")], input=stdin,
                             capture_output=True, check=True, timeout=60).stdout
        assert json.loads(out)["leaks"] == 6


def test_report_counts_what_is_no_record_and_goes_on(report):
    bad = [b"{", b"2026-11-30 09:15:02.123 UTC WARNING leak shop/app", b'{"event":"leak"}', b'{"ts":"yesterday","event":"leak"}',
           b'{"ts":"2026-11-30T09:15:02.123456Z"}', b"x" * 3_000_000, b"\xff\x00"]
    text = report([record(), b""] + bad + [record()])
    assert "2 leak\n7 lines are no records, the first is line 3 of " in text
    assert json.loads(report(bad + [record()], "--json"))["malformed"] == 7
    assert report([b"{"]).startswith("no records\n")


def test_report_tells_what_is_missing_and_counts_what_summaries_left_out(report):
    summary = record(event="leak_summary")
    for gone in ("lock", "query", "held_ms"):
        del summary[gone]
    lines = [record(), dict(summary, omitted=900), dict(summary, omitted=50, reason="backend_closed"), {"ts": record()["ts"], "event": "dropped", "level": "warning", "dropped": 12}]
    text = report(lines)
    assert "12 records are missing: the leak log could not take them\n" in text
    assert rows(text, "key") == [(900, "shop (unknown)"), (1, "shop 9801")]
    assert json.loads(report(lines, "--json"))["leaks"] == 901


def test_report_escapes_what_a_client_wrote(report):
    name = "\x1b[2J\n\u009bx"
    text = report([record(application=name)], "--by=application")
    assert rows(text, "application") == [(1, "\\u001b[2J\\n\\u009bx")]
    assert json.loads(report([record(application=name)], "--by=application", "--json"))["by"]["application"][0][
        "application"] == name


def test_report_tells_mistakes_and_fails(tmp_path, binary):
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b"".join(json.dumps(record(client=i)).encode() + b"\n" for i in range(1000)))[:-500])
    for args, said in ((["report"], "need a file"), (["report", "/nowhere/x"], "could not open /nowhere/x: No such file"),
                       (["report", "--by=colour", "-"], "no field: colour"), (["report", "--since=soon", "-"], "no time: soon"),
                       (["report", "--top=-1", "-"], "no number: -1"), (["report", str(cut)], "could not read all of")):
        result = subprocess.run([binary] + args, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert result.returncode == 1 and said in result.stderr, (args, result)


def test_report_reads_what_the_daemon_writes(lk, binary):
    daemon = lk({"default_pool_size": 1})
    for key in ("9802", "9802", "9803"):
        conn = daemon.raw(application_name="billing")
        conn.simple("select pg_advisory_lock(%s)" % key)
        conn.send(rawpg.terminate())
        conn.close()
        leak_of(daemon, key)
        daemon.wait_leak(lambda r: r["event"] == "unpin" and r["lock"]["key"] == key)
    out = subprocess.run([binary, "report", "--json", daemon.leakfile], capture_output=True, check=True, timeout=60).stdout
    answer = json.loads(out)
    assert answer["malformed"] == 0 and answer["leaks"] == len(daemon.leaks("leak"))
    assert [(g["database"], g["key"]) for g in answer["by"]["key"]][0] == ("app", "9802")
    assert [g["application"] for g in answer["by"]["application"]] == ["billing"]
    assert [g["statement"] for g in answer["by"]["statement"]] == ["select pg_advisory_lock($1)"]
