"""Checks what the hand-written documents say of the program against its sources: command line and environment in lockkeeper(1), the
records in docs/advisory-locks.md, the make targets in docs/CONTRIBUTING.md, names of settings everywhere."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def differ(what, said, true):
    for name in sorted(set(true) - set(said)):
        yield "%s: %s is missing" % (what, name)
    for name in sorted(set(said) - set(true)):
        yield "%s: there is no %s" % (what, name)


def command_line():
    said = re.findall(r"^\.It Fl (?:\w , )?-([a-z-]+)", read("docs/man/lockkeeper.1"), re.M)
    tools = "".join(f.read_text("utf-8") for f in sorted((ROOT / "src/tool").glob("*.c")))
    true = re.findall(r'^    \{"([a-z-]+)", \w+_argument', tools, re.M)
    yield from differ("docs/man/lockkeeper.1", said, true)


def environment():
    said = re.findall(r"[A-Z_]{4,}", " ".join(re.findall(r"^\.It Ev (.*)", read("docs/man/lockkeeper.1"), re.M)))
    true = [name for f in (ROOT / "src").glob("*/*.c") for name in re.findall(r'getenv\("(\w+)"\)', f.read_text("utf-8"))]
    yield from differ("docs/man/lockkeeper.1", said, true)


def records():
    source, page = read("src/lock/record.c"), read("docs/advisory-locks.md")
    said = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (?:info|notice|warning|error) \|", page, re.M)
    said = re.findall(r"`(\w+)`", " ".join(said))
    names = re.findall(r'\[LK_EVENT_\w+\] = \{"(\w+)"', source)
    lists = dict(re.findall(r"char \*const (events)\[\] = \{(.*?)\}", read("src/config/check.c"), re.S))
    written = [name for name in re.findall(r'"(\w+)"', lists["events"]) if name != "all"]
    yield from differ("src/config/check.c, events", written, names)
    yield from differ("docs/advisory-locks.md, events", said, written + ["dropped"])


def settings():
    known = set(re.findall(r'(?:\.name = "|(?:STRING|WORD|ENUM|BOOL|INT|TIME)\()([a-z0-9_]+)', read("src/config/option.c")))
    for page in ["README.md"] + sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md")):
        for name in set(re.findall(r"`((?:advisory|leak_log|client_tls|server_tls)_\w+?)`", read(page))):
            if name not in known and name != "advisory_names":
                yield "%s: there is no setting %s" % (page, name)


def targets():
    known = set(re.findall(r"^([a-z-]+):.*## ", read("Makefile") + read("tests/fuzz/fuzz.mk"), re.M))
    for name in set(re.findall(r"`make ([a-z-]+)(?![a-z/])", read("docs/CONTRIBUTING.md"))):
        if name not in known:
            yield "docs/CONTRIBUTING.md: there is no make %s" % name


def main():
    found = [line for check in (command_line, environment, records, settings, targets) for line in check()]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
