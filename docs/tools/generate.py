"""Makes the documents that show every setting: conf/lockkeeper.ini, docs/man/lockkeeper.ini.5 and the tables of
docs/moving-from-pgbouncer.md. usage: generate.py OPTIONS [--check], where OPTIONS is the program made of options.c.
With --check nothing is written; the files that would change are named, and the status is 1."""
import pathlib
import re
import subprocess
import sys
import textwrap
from collections import namedtuple

import settings

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATE = "November 30, 2026"
WIDTH = 118
MOST = 2147483647

Option = namedtuple("Option", "section name alias type initial flags least most words refused note help")


def read_options(program):
    """The tables as {section: {name: Option}}."""
    sections = {}
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        fields = [None if f == "-" else f for f in line.split("\t")]
        fields[5] = set((fields[5] or "").split())
        fields[6], fields[7] = int(fields[6]), int(fields[7])
        fields[8] = fields[8].split("|") if fields[8] else []
        fields[9] = fields[9].split(",") if fields[9] else []
        if fields[3] == "number" and fields[0] == "lockkeeper":
            fields[4] = fields[4] or "0"
        o = Option(*fields)
        sections.setdefault(o.section, {})[o.name] = o
    return sections


def check_groups(options):
    grouped = [name for _, _, names in settings.GROUPS for name in names]
    for name in sorted(set(grouped) ^ set(options) | {n for n in grouped if grouped.count(n) > 1}):
        sys.exit("docs/tools/settings.py: %s must stand in one group, and in the table of options" % name)


def sentence(text):
    first = text.split()[0]
    text = text if "_" in first else text[0].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def supported(o):
    return [w for w in o.words if w not in o.refused]


def kind(o):
    """What the value may be, as a sentence, or nothing."""
    if o.words:
        return "One of %s." % ", ".join(supported(o))
    if o.type == "switch":
        return "0 or 1."
    if o.type in ("number", "bytes") and o.most < MOST:
        return "From %d to %d." % (o.least, o.most)
    if o.type in ("number", "bytes") and o.least > 0:
        return "At least %d." % o.least
    return ""


def remarks(o):
    """What else there is to say, as sentences."""
    found = []
    if o.section == "lockkeeper" and o.name in settings.MORE:
        found.append(settings.MORE[o.name])
    if o.refused:
        found.append("Refused in this version: %s." % ", ".join(o.refused))
    if o.alias:
        found.append("Also called %s." % o.alias)
    if "restart" in o.flags:
        found.append("A change takes a restart.")
    if "inert" in o.flags and not o.note:
        found.append("No effect in this version.")
    return found


# ---- conf/lockkeeper.ini

def comment(text, mark=";; "):
    return "\n".join(textwrap.wrap(text, WIDTH, initial_indent=mark, subsequent_indent=mark, break_long_words=False,
                                   break_on_hyphens=False))


def sample_option(o):
    value = settings.SAMPLE.get(o.name)
    said = [sentence(o.help), kind(o)] + remarks(o)
    if value is not None and value != o.initial:
        said.append("Default: %s." % (o.initial or "none"))
    line = "%s = %s" % (o.name, o.initial or "") if value is None else "%s = %s" % (o.name, value)
    return comment(" ".join(s for s in said if s)) + "\n" + ("; " if value is None else "") + line.rstrip()


def sample_keys(table):
    width = max(len(name) for name in table) + 2
    lines = []
    for o in table.values():
        said = " ".join(s for s in [sentence(o.help), kind(o)] + remarks(o) if s)
        head = ";;   " + o.name.ljust(width)
        lines.append("\n".join(textwrap.wrap(said, WIDTH, initial_indent=head, break_on_hyphens=False,
                                             subsequent_indent=";;   " + " " * width)))
    return "\n".join(lines)


def sample(sections):
    out = [SAMPLE_HEAD, "[databases]",
           comment("NAME = KEY=VALUE ...: the database that clients ask for, and where it is. Values with white space are "
                   "quoted ('it''s'). * is every name that has no line of its own. What a key doesn't say is as "
                   "[lockkeeper] says."),
           sample_keys(sections["databases"]),
           "; shop = host=127.0.0.1 port=5432 dbname=shop\n; reports = host=10.0.0.5 pool_size=5 pool_mode=session",
           ";; Every other name: the database of that name on this machine's server.\n* = host=127.0.0.1 port=5432",
           "[users]", comment("NAME = KEY=VALUE ...: what holds for one user in all databases."),
           sample_keys(sections["users"]), "; batch = pool_size=2 query_timeout=600", "[lockkeeper]"]
    for title, intro, names in settings.GROUPS:
        out.append(";; ---- %s" % title + ("\n" + comment(intro) if intro else ""))
        out.extend(sample_option(sections["lockkeeper"][name]) for name in names)
    out.append("[advisory_names]")
    out.append(comment("KEY = NAME: what a key is called in records and views. 1001,* is every pair that begins with "
                       "1001. Keys of well-known tools have names already.") + "\n; 42 = nightly billing\n; 1001,* = job_sync")
    out.append(comment("[peers] (ID = KEY=VALUE ...) is shown on the console and has no other effect in this version. Its keys:") + "\n"
               + sample_keys(sections["peers"]) + "\n; [peers]\n; 1 = host=10.0.0.6 port=6432")
    return re.sub(r"(?m)^(\[\w+\])\n\n", r"\1\n", "\n\n".join(out)) + "\n"


SAMPLE_HEAD = """\
;; Lockkeeper's configuration: every setting, made by `make docs` from the daemon's own table of options.
;; A line that begins with ';' or '#' is a comment; nothing else is. What stands behind a single ';' in [lockkeeper] is
;; the default; in the other sections it is an example. `lockkeeper check FILE` reads a file and tells its mistakes.
;; A pgbouncer.ini is read as it is: [pgbouncer] is another name of [lockkeeper]. %include FILE reads another file."""


# ---- docs/man/lockkeeper.ini.5

def roff(text):
    """Text of ours, as lines of mdoc, which begins each sentence with a line."""
    lines = []
    for said in re.split(r"(?<=\.) (?=\S)", text.replace("\\", "\\e")):
        lines += textwrap.wrap(said, 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join("\\&" + line if line[0] in ".'" else line for line in lines)


def man_option(o):
    lines = [".It Ic " + o.name, roff(" ".join(s for s in [sentence(o.help), kind(o)] + remarks(o) if s))]
    if o.section == "lockkeeper":
        lines.append(roff("The default is %s." % (o.initial if o.initial else "empty" if o.initial == "" else "unset")))
    return "\n".join(lines)


def man_table(options):
    return ".Bl -tag -width Ds\n%s\n.El" % "\n".join(man_option(o) for o in options)


def manual(sections):
    template = (ROOT / "docs/tools/lockkeeper.ini.5.in").read_text(encoding="utf-8")
    groups = "\n".join(".Ss %s\n%s" % (title, (roff(intro) + "\n" if intro else "")
                                       + man_table(sections["lockkeeper"][n] for n in names))
                       for title, intro, names in settings.GROUPS)
    parts = {"DATE": DATE, "SETTINGS": groups}
    for section in ("databases", "users", "peers"):
        parts[section.upper()] = man_table(sections[section].values())
    return re.sub(r"@([A-Z]+)@", lambda m: parts[m.group(1)], template)


# ---- the tables of docs/moving-from-pgbouncer.md

def verdict(o):
    known, remark = settings.MOVED.get((o.section, o.name), ("same", ""))
    said = [remark] if remark else []
    if o.refused:
        said.append("refused: `%s`" % "`, `".join(o.refused))
        known = "same, in part" if known == "same" else known
    if o.section == "peers" or ("inert" in o.flags and not o.note):
        return "warning", "has no effect in this version"
    return known, "; ".join(said)


def moving_table(options):
    rows = ["| setting | here | |", "|---|---|---|"]
    for o in options:
        here, remark = verdict(o)
        rows.append("| `%s`%s | %s | %s |" % (o.name, " (`%s`)" % o.alias if o.alias else "", here, remark))
    return "\n".join(rows)


def built_in(pattern, files):
    """Names that the console's sources hold."""
    text = "".join(f.read_text(encoding="utf-8") for f in sorted((ROOT / "src/admin").glob(files)))
    return re.findall(pattern, text)


def console_table(known, built, before=""):
    rows = ["| | here | |", "|---|---|---|"]
    for name in known + [n for n in built if n not in known]:
        here = "same" if name in built and name in known else "added" if name in built else "absent"
        if here == "same":
            here = settings.NOT_THE_SAME.get(name, here)
        rows.append("| `%s%s` | %s | %s |" % (before, name, here, settings.CONSOLE.get(name, "") if here != "absent" else ""))
    return "\n".join(rows)


def console_tables():
    commands = [n for n in built_in(r'\[LK_COMMAND_\w+\] = \{"(\w+)"', "*.c") if n != "HELP"]
    views = ["HELP"] + built_in(r'\{\.name = "([A-Z_]+)"', "show*.c")
    if "SHOW" not in commands or "POOLS" not in views:
        sys.exit("docs/tools/generate.py: the console's commands and views are not where they were in src/admin")
    return {"commands": console_table(settings.COMMANDS, commands),
            "views": console_table(settings.VIEWS, views, "SHOW ")}


def moving(sections):
    path = ROOT / "docs/moving-from-pgbouncer.md"
    text = path.read_text(encoding="utf-8")
    tables = {s: moving_table([o for o in t.values() if "locks" not in o.flags]) for s, t in sections.items()}
    tables.update(console_tables())
    for section, rows in tables.items():
        begin, end = "<!-- made by make docs: %s -->\n" % section, "\n<!-- end -->"
        if text.count(begin) != 1:
            sys.exit("%s: no place for the table of %s" % (path, section))
        head, rest = text.split(begin)
        text = head + begin + "\n" + rows + "\n" + end + rest.split(end, 1)[1]
    for section, name in settings.MOVED:
        if name not in sections[section]:
            sys.exit("docs/tools/settings.py: there is no %s in [%s]" % (name, section))
    return text


def main():
    sections = read_options(sys.argv[1])
    check_groups(sections["lockkeeper"])
    stale = False
    for name, text in (("conf/lockkeeper.ini", sample(sections)), ("docs/man/lockkeeper.ini.5", manual(sections)),
                       ("docs/moving-from-pgbouncer.md", moving(sections))):
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if "--check" in sys.argv:
            print("%s is not what the table of options says: run make docs" % name)
            stale = True
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
