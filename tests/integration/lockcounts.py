"""What a daemon has done about locks so far, read from /metrics; which it must have been told to serve."""
import urllib.request

import exposition

NAMES = ("probes", "probes_skipped", "resets", "hidden", "leaks")


def counts(daemon, database="app", user="app"):
    url = "http://127.0.0.1:%d/metrics" % daemon.settings["metrics_listen_port"]
    with urllib.request.urlopen(url, timeout=10) as answer:
        samples, _ = exposition.parse(answer.read())
    where = frozenset({"database": database, "user": user}.items())
    return {name: int(samples["lockkeeper_advisory_%s_total" % name].get(where, 0)) for name in NAMES}
