#!/usr/bin/env python3
"""Holds the house rules that a compiler does not: which room may include which, which library may be
used where, how long a file may grow, what lies in the root folder, and what a commit must not name.

    house.py [TREE]      prints each violation as file:line: text; exit status 1 if there is any
"""

import pathlib
import re
import sys

# A room may include only from the rooms named (docs/the-house.md says why).
ROOMS = {
    "base": set(),
    "machine": {"base"},
    "metrics": {"base"},
    "record": {"base"},
    "events": {"base", "machine", "metrics", "record"},
    "memory": {"base", "machine"},
    "process": {"base"},
    "counters": {"base", "machine", "metrics", "events", "record", "process"},
    "trace": {"base", "machine", "process"},
    "symbols": {"base", "process"},
    "model": {"base", "machine", "metrics", "events", "record", "process", "trace", "counters"},
    "judge": {"base", "machine", "metrics", "record", "events"},
    "timing": {"base", "machine", "memory", "record"},
    "kernels": {"base", "machine", "memory"},
    "experiments": {"base", "machine", "metrics", "record", "events", "memory", "process", "counters", "trace",
                    "symbols", "model", "judge", "timing", "kernels"},
    "report": {"base", "metrics", "record", "judge"},
    "cli": {"base", "machine", "metrics", "record", "events", "memory", "counters", "trace", "model", "judge", "timing",
            "kernels", "experiments", "report"},
}

# A library that only one place may know.
LIBRARIES = {
    r"perfmon/": "src/events/",
    r"hwloc": "src/machine/",
    r"(perf|internal)/(evlist|evsel|cpumap|threadmap|mmap|core|event)\.h": "src/counters/perf/",
    r"llvm(-c)?/": ("src/model/llvm/", "src/symbols/llvm/"),
    r"CLI/": "src/cli/command_line.cpp",
    r"spdlog/": "src/base/log.cpp",
    # The tool reads and writes JSON by itself (base/json); tests look at it with an independent library.
    r"nlohmann/": "tests/",
    r"rapidjson/": "nowhere",
}

# JSON exists at the edge alone: where a text is read into types. base/json/writer.h is for everybody who writes one.
JSON_READERS = ("src/base/json/", "src/record/json/", "src/events/", "src/model/mapping.cpp",
                "src/model/sampled_windows_text.cpp", "src/symbols/locations.cpp", "src/symbols/read_apart.h",  # what helper processes hand over
                "src/counters/replay/json.cpp", "tests/")

LONGEST_FILE = 450  # lines of src/ and kernels/; split around 400
LONGEST_TEST = 600  # a test file is a list of cases
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Host names of package registries do not belong in commits.
REGISTRY = re.compile(r"\b(" + "|".join(["registry\\.npm" + "js", "deb\\.debian\\." + "org", "py" + "pi\\.org",
                                         "static\\.crates\\." + "io", "proxy\\.go" + "lang", "repo1?\\.maven"]) + r")")

# What a reader, cmake or a hosting site looks for in the root folder; the last two are a developer's own.
IN_ROOT = {"CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE", "README.md",
           "CMakeUserPresets.json", "compile_commands.json"}


def room_of(path):
    parts = path.parts
    if parts[0] == "kernels":
        return "kernels"
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def check_includes(path, lines):
    room = room_of(path)
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, target = match.group(1) == '"', match.group(2)
        for pattern, home in LIBRARIES.items():
            if not quoted and re.match(pattern, target) and not str(path).startswith(home):
                yield f"{path}:{number}: only {home} may include <{target}>"
        if quoted and target.startswith("base/json/") and target != "base/json/writer.h" \
                and not str(path).startswith(JSON_READERS):
            yield f"{path}:{number}: JSON is no type here ({target}); record/json reads and writes records"
        other = target.split("/")[0]
        if room and quoted and other in ROOMS and other != room and other not in ROOMS[room]:
            yield f"{path}:{number}: room {room} may not include from {other} ({target})"


def check_file(tree, path):
    text = (tree / path).read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    if path.suffix in (".h", ".cpp", ".c"):
        yield from check_includes(path, lines)
        longest = LONGEST_FILE if path.parts[0] in ("src", "kernels") else LONGEST_TEST
        if len(lines) > longest:
            yield f"{path}:{len(lines)}: longer than {longest} lines; split it"
    for number, line in enumerate(lines, 1):
        if REGISTRY.search(line):
            yield f"{path}:{number}: names the host of a package registry"


def check_listed(tree):
    """Each source file of a room or of its tests stands in the list that the build reads."""
    for listing, pattern in (("cmake/Sources.cmake", "src/*/**/*.cpp"), ("cmake/Sources.cmake", "kernels/**/*.cpp"),
                             ("tests/Sources.cmake", "tests/*/**/*_test.cpp")):
        if not (tree / listing).exists():
            continue
        listed = set((tree / listing).read_text().split())
        for file in sorted(tree.glob(pattern)):
            path = file.relative_to(tree)
            room = path.parts[1] in ROOMS or path.parts[0] == "kernels"
            if room and str(path) not in listed:
                yield f"{path}:1: not listed in {listing}, so it is not built"


def check_root(tree):
    """In the root folder lies only what everybody looks for there."""
    for file in sorted(tree.iterdir()):
        if file.is_file() and not file.name.startswith(".") and file.name not in IN_ROOT:
            yield f"{file.name}:1: lies in the root folder; an experiment goes, all else has a folder"


def violations(tree):
    tree = pathlib.Path(tree)
    yield from check_root(tree)
    yield from check_listed(tree)
    for folder in ("src", "kernels", "tests", "docs", "third_party", "cmake"):
        for file in sorted((tree / folder).rglob("*")):
            path = file.relative_to(tree)
            hidden = {"libperf", "node_modules", "__pycache__"} & set(path.parts)
            if file.is_file() and not hidden and file.suffix not in (".png", ".json", ".pyc"):
                yield from check_file(tree, path)


if __name__ == "__main__":
    found = list(violations(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]))
    print("\n".join(found) or "the house is in order")
    sys.exit(1 if found else 0)
