"""Reads Prometheus' text exposition format 0.0.4 and tells what is wrong with it."""
import re
import shutil
import subprocess

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(r"(%s)(?:\{((?:%s(?:,(?=[a-zA-Z_]))?)*)\})? ([-+]?[0-9]+(?:\.[0-9]+)?)" % (NAME, LABEL))
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def parse(data):
    """{name: {frozenset of (label, value): number}}, and the families' types. Fails at the first mistake."""
    text = data.decode("utf-8")
    assert text.endswith("\n"), "the last line has no end"
    samples, types, helps, current = {}, {}, set(), None
    for number, line in enumerate(text.split("\n")[:-1], 1):
        where = "line %d: %r" % (number, line)
        comment = re.fullmatch(r"# (HELP|TYPE) (%s) (.+)" % NAME, line)
        if comment:
            kind, name, rest = comment.groups()
            if kind == "HELP":
                assert name not in helps, "two HELP lines, " + where
                helps.add(name)
                current = name
            else:
                assert name == current and name not in types and name not in samples, "TYPE at the wrong place, " + where
                assert rest in ("counter", "gauge", "histogram"), where
                assert (rest == "counter") == name.endswith("_total"), "a counter is called _total, " + where
                types[name] = rest
            continue
        match = SAMPLE.fullmatch(line)
        assert match, "no sample, " + where
        name = match.group(1)
        family_name = re.sub("_(bucket|sum|count)$", "", name) if types.get(current) == "histogram" else name
        assert family_name == current and current in types, "a sample outside its family, " + where
        labels = [(k, re.sub(r'\\[\\"n]', lambda m: ESCAPES[m.group()], v)) for k, v in re.findall(LABEL, match.group(2) or "")]
        assert len(dict(labels)) == len(labels), "a label twice, " + where
        family = samples.setdefault(name, {})
        assert frozenset(labels) not in family, "a sample twice, " + where
        family[frozenset(labels)] = float(match.group(5))
    for name in (n for n, kind in types.items() if kind == "histogram"):
        check_histogram(samples, name)
    assert set(types) == helps, "families without HELP or TYPE: %r" % (set(types) ^ helps)
    return samples, types


def check_histogram(samples, name):
    """Buckets of each set of labels go up to +Inf, and that one is the count."""
    series = {}
    for labels, number in samples.get(name + "_bucket", {}).items():
        bound, = (v for k, v in labels if k == "le")
        series.setdefault(labels - {("le", bound)}, []).append((float(bound), number))
    assert set(series) == set(samples.get(name + "_count", {})) == set(samples.get(name + "_sum", {})), name
    for labels, buckets in series.items():
        assert buckets == sorted(buckets) and [n for _, n in buckets] == sorted(n for _, n in buckets), (name, buckets)
        assert buckets[-1] == (float("inf"), samples[name + "_count"][labels]), (name, buckets)


def promtool(data):
    """What promtool says, or None if it is not installed."""
    if not shutil.which("promtool"):
        return None
    done = subprocess.run(["promtool", "check", "metrics"], input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode() or (None if done.returncode == 0 else "exit status %d" % done.returncode)
