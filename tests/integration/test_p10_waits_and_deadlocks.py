"""P10: a deadlock or a long wait is told with decoded keys and the clients at both ends, where they are ours."""
import threading

import pytest

import rawpg
from harness import wait_until
from locklib import ALL_MODES, held, wait_held


def waits(pg):
    return [l for l in pg.locks() if not l[2]]


@ALL_MODES
def test_p10_a_deadlock_is_told_with_the_clients_and_keys_and_its_victim_keeps_its_locks(lk, pg):
    daemon = lk({"default_pool_size": 3})
    one = daemon.raw("app", "app", application_name="first")
    two = daemon.raw("app", "app", application_name="second")
    one.simple("select pg_advisory_lock(-1)")
    two.simple("select pg_advisory_lock_shared(-7, 9)")
    one.send(rawpg.query("select pg_advisory_lock(-7, 9)"))
    wait_until(lambda: waits(pg), what="the first waits")
    two.send(rawpg.query("select pg_advisory_lock(-1)"))
    record = daemon.wait_leak(lambda r: r["event"] == "deadlock")
    assert record["level"] == "warning"
    ends = {w["client"]["application_name"]: (w["lock"]["key"], w["lock"]["mode"], w["blocked_by"]["client"]["application_name"])
            for w in record["waits"]}
    assert ends == {"first": ("-7,9", "exclusive", "second"), "second": ("-1", "exclusive", "first")}
    victim, other, kept = (one, two, "-1 X") if record["client"]["application_name"] == "first" else (two, one, "-7,9 S")
    with pytest.raises(rawpg.ServerError) as e:
        victim.rows()
    assert e.value.sqlstate == "40P01" and "Process" in e.value.fields["D"]
    # the other one waits on, since the victim still holds what it had
    assert kept in held(pg) and waits(pg)
    victim.simple("select pg_advisory_unlock_all()")
    other.rows()
    one.simple("select pg_advisory_unlock_all()")
    two.simple("select pg_advisory_unlock_all()")
    wait_held(pg)


def test_p10_a_process_that_is_not_ours_is_named_by_its_pid(lk, pg):
    daemon = lk({"default_pool_size": 2})
    ours = daemon.raw("app", "app", application_name="ours")
    with pg.connect(user="postgres") as direct:
        direct.execute("set deadlock_timeout = '30s'")  # so that ours is the victim
        pid = direct.info.backend_pid
        ours.simple("select pg_advisory_lock(771010)")
        direct.execute("select pg_advisory_lock(771011)")
        ours.send(rawpg.query("select pg_advisory_lock(771011)"))
        thread = threading.Thread(target=direct.execute, args=("select pg_advisory_lock(771010)",))
        thread.start()
        with pytest.raises(rawpg.ServerError) as e:
            ours.rows()
        assert e.value.sqlstate == "40P01"
        ours.simple("select pg_advisory_unlock_all()")
        thread.join()
    record = daemon.wait_leak(lambda r: r["event"] == "deadlock")
    assert {w["client"]["application_name"] if "client" in w else str(w["pid"]) for w in record["waits"]} == {"ours", str(pid)}
    assert {w["lock"]["key"] for w in record["waits"]} == {"771010", "771011"}


def test_p10_a_deadlock_without_advisory_locks_is_none_of_ours(lk, pg):
    pg.one("create table if not exists p10(k int primary key, v int)", dbname="app")
    pg.one("insert into p10 values (1, 0), (2, 0) on conflict do nothing; grant all on p10 to public", dbname="app")
    daemon = lk({"default_pool_size": 2})
    one, two = daemon.raw("app", "app"), daemon.raw("app", "app")
    one.simple("begin")
    two.simple("begin")
    one.simple("update p10 set v = 1 where k = 1")
    two.simple("update p10 set v = 1 where k = 2")
    one.send(rawpg.query("update p10 set v = 1 where k = 2"))
    two.send(rawpg.query("update p10 set v = 1 where k = 1"))
    said = [b"E" in [m.type if isinstance(m.type, bytes) else m.type.encode() for m in c.until()] for c in (one, two)]
    assert sorted(said) == [False, True]
    one.simple("rollback")
    two.simple("rollback")
    assert not daemon.leaks("deadlock")
    pg.one("drop table p10", dbname="app")
