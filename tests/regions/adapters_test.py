#!/usr/bin/env python3
"""Marks that people have already: LIKWID's macros, ITT's tasks, callgrind's requests, Google Benchmark, Python and
pytest, Rust. Each program is built, run, and its regions are counted.

    adapters_test.py --build BUILD
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from common import HERE, ROOT, check, parser, run

EXAMPLES = ROOT / "docs/examples/regions"
TMAPROBE = str(parser.parse_args().build.resolve() / "tmaprobe")


def entries(folder, *command, **further):
    """By name, of a program that is measured."""
    file = folder / "record.json"
    # 77 and the like are the program's own.
    run(TMAPROBE, "--no-calibration", "--source", "model", "--regions", "--json", file, "--", *command, **further)
    found = json.loads(file.read_text())["runs"][0]["extra"]["regions"]["list"]
    return {region["name"]: region["totals"]["entries"] for region in found}, found


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    compat = ["-I", ROOT / "include/tmaprobe/compat"]
    for name, expected in (("likwid", {"copy": 100}), ("itt", {"outer task": 1, "inner task": 100}),
                           ("callgrind", {"callgrind": 100, "collected": 100})):
        program = scratch / name
        run("cc", "-std=gnu99", "-O1", *warnings, "-DLIKWID_PERFMON", *compat, HERE / f"adapters/{name}.c", "-o", program)
        found, _ = entries(scratch, program)
        check(found == expected, f"{name}: {found}")

    google = scratch / "google"
    built = subprocess.run(["c++", "-std=c++17", "-O1", *warnings, "-I", ROOT / "include", HERE / "adapters/google.cpp",
                            "-lbenchmark", "-pthread", "-o", google], capture_output=True, text=True)
    if built.returncode:
        print("Google Benchmark is not installed: not tried")
    else:
        found, regions = entries(scratch, google, "--benchmark_min_time=0.05")
        check(list(found) == ["add_up"] and regions[0]["totals"]["iterations"] > 1000, f"Google Benchmark: {found}")

    library = scratch / "libtmaprobe_region.so"
    run("cc", "-O2", *warnings, "-shared", "-fPIC", "-I", ROOT / "include", EXAMPLES / "region_library.c", "-o", library)
    shutil.copy(EXAMPLES / "tmaprobe_region.py", scratch)
    program = scratch / "program.py"
    program.write_text("from tmaprobe_region import region\nfor i in range(50):\n    with region('from Python', 2):\n"
                       "        sum(range(1000))\n")
    found, regions = entries(scratch, sys.executable, program)
    check(found == {"from Python": 50} and regions[0]["totals"]["iterations"] == 100, f"Python: {found}")
    if subprocess.run([sys.executable, "-c", "import pytest"], capture_output=True).returncode:
        print("pytest is not installed: not tried")
    else:
        (scratch / "conftest.py").write_text("from tmaprobe_region import each_test_is_a_region\n")
        (scratch / "test_it.py").write_text("def test_sum():\n    assert sum(range(100)) == 4950\n")
        found, _ = entries(scratch, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py",
                           cwd=scratch)
        check(found == {"test_sum": 1}, f"pytest: {found}")

    if not shutil.which("cargo"):
        print("cargo is not installed: Rust was not tried")
    else:
        project = scratch / "examples" / "rust"
        shutil.copytree(EXAMPLES, scratch / "examples")
        where = dict(os.environ, TMAPROBE_INCLUDE=str(ROOT / "include"), CARGO_TARGET_DIR=str(scratch / "target"))
        run("cargo", "build", "--offline", "--release", "--example", "sum", cwd=project, env=where)
        found, regions = entries(scratch, scratch / "target/release/examples/sum")
        check(found == {"sum": 100} and regions[0]["totals"]["iterations"] == 20_000_000, f"Rust: {found}")
print("ok")
