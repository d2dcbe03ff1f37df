#!/usr/bin/env python3
"""Writes tests/record/written/*.json with a tmaprobe that was built: records of real runs, on which readers and reports
are tested. Times are those of the machine and moment; nothing in the tests rests on them.

    make_records.py build/test/tmaprobe [NAME ...]      all of them, or the named ones
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
COUNTS = HERE.parents[1] / "docs/examples/counts.csv"

RUNS = {
    "kernel": ["--kernel", "sha256", "--level", "2", "--repeat", "9"],
    "chase": ["--kernel", "chase", "--size", "4M", "--metric", "tlb", "--repeat", "9"],
    "command": ["--level", "1", "--repeat", "10", "--source", "none", "--", "/bin/true"],
    "sweep": ["sweep", "--kernel", "chase", "--sizes", "16K..4M", "--points", "8", "--source", "none", "--repeat", "5"],
    "stream_sweep": ["sweep", "--kernel", "stream", "--sizes", "16K..4M", "--points", "8", "--source", "none", "--repeat", "5"],
    "pairs": ["pairs", "--kernel", "atomic", "--repeat", "100"],
    "interference": ["interference", "--victim", "chase:size=1M", "--aggressor", "stream:size=8M", "--rounds", "4"],
    "replay": ["replay", str(COUNTS), "--target", "amdzen4", "--level", "2"],
}


def make(tmaprobe, name):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "record.json"
        own, command = RUNS[name], []
        if "--" in own:
            own, command = own[:own.index("--")], own[own.index("--"):]
        done = subprocess.run([tmaprobe, *own, "--json", str(path), *command], stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"{name}: exit status {done.returncode}")
        record = json.loads(path.read_text())
    record["host"]["name"] = "node1"
    record["command_line"] = " ".join(["tmaprobe", *(word.replace(str(COUNTS), "counts.csv") for word in RUNS[name])])
    (HERE / "written" / f"{name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    (HERE / "written").mkdir(exist_ok=True)
    for wanted in sys.argv[2:] or RUNS:
        make(sys.argv[1], wanted)
