#!/usr/bin/env python3
"""Every warning that the program can give stands in docs/messages.md, and nothing else does.

    messages.py [TREE]      prints what is missing on either side; exit status 1 if anything is
"""

import pathlib
import re
import sys

# A warning is made where it is added to a list of them, or returned by a function that makes one.
ADDED = re.compile(r'(?:warnings|notes|warnings_)\s*\.push_back\(\s*\{\s*"([a-z0-9_]+)"')
MADE = re.compile(r'record::Warning\s+\w+\([^)]*\)\s*(?:const\s*)?\{(.*?)\n?\}\n', re.S)
NAMED = re.compile(r'record::Warning\{\s*"([a-z0-9_]+)"')
RETURNED = re.compile(r'return\s*\{\s*"([a-z0-9_]+)"')
# Those of machine::problem_of that become warnings are called as their cause.
CAUSE = re.compile(r'machine::problem_of\(machine::PerfCause::([a-z0-9_]+)')
ROW = re.compile(r"^\| `([a-z0-9_]+)` \|", re.M)


def ids_of(text):
    yield from ADDED.findall(text)
    yield from NAMED.findall(text)
    for body in MADE.findall(text):
        yield from RETURNED.findall(body)
    if re.search(r"push_back\(\{text_of\(why\.cause\),", text):
        yield from CAUSE.findall(text)


def problems(tree):
    tree = pathlib.Path(tree)
    found = {}
    for file in sorted((tree / "src").rglob("*.cpp")):
        for name in ids_of(file.read_text(encoding="utf-8")):
            found.setdefault(name, file.relative_to(tree))
    listed = ROW.findall((tree / "docs" / "messages.md").read_text(encoding="utf-8"))
    for name in sorted(found.keys() - set(listed)):
        yield f"{found[name]}: the warning '{name}' is not in docs/messages.md"
    for name in sorted(set(listed) - found.keys()):
        yield f"docs/messages.md: nothing in src/ gives the warning '{name}'"
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield f"docs/messages.md: '{name}' stands there twice"
    if len(found) < 30:
        yield f"only {len(found)} warnings were found in src/: this test no longer reads how they are made"


if __name__ == "__main__":
    wrong = list(problems(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]))
    print("\n".join(wrong) or "every warning is in docs/messages.md")
    sys.exit(1 if wrong else 0)
