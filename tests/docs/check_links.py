"""Checks that every relative link in README.md and docs/*.md leads to a file, and to a heading of it if it says one."""
import pathlib
import re
import sys
from urllib.parse import unquote

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*<?([^\s>]+)", re.M)
FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.M | re.S)


def prose(text):
    """The text with code blanked out, so that lines keep their numbers."""
    text = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    return re.sub(r"`[^`\n]*`", lambda m: " " * len(m.group()), text)


def anchors(path):
    """The anchors of its headings, as the usual renderers make them."""
    titles = re.findall(r"^#+\s+(.*?)\s*#*$", FENCE.sub("", path.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


def mistakes(page):
    text = prose(page.read_text(encoding="utf-8"))
    for found in LINK.finditer(text):
        link = found.group(1) or found.group(2)
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        name, _, anchor = unquote(link).partition("#")
        target = (page.parent / name).resolve() if name else page
        line = text.count("\n", 0, found.start()) + 1
        if not target.exists():
            yield line, "%s does not exist" % link
        elif ROOT not in target.parents and target != ROOT:
            yield line, "%s leads out of the tree" % link
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield line, "%s: there is no such heading" % link


def main():
    failed = False
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for line, what in mistakes(page):
            print("%s:%d: %s" % (page.relative_to(ROOT), line, what))
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
