#!/usr/bin/env python3
"""Looks into what `tmaprobe gate` wrote; for gate.txt.

usage: gate_check.py same BASELINE RECORD | formats PREFIX | history BASELINE LABEL...
"""
import json
import re
import sys
from pathlib import Path


def gate_of(path):
    return json.loads(Path(path).read_text())["runs"][0]["extra"]["gate"]


def same(baseline, record):
    before, now = gate_of(baseline)["cost"], gate_of(record)["cost"]
    # What an environment of another size does is libc's look through it.
    assert abs(now["instructions"] / before["instructions"] - 1) < 1e-2, (before["instructions"], now["instructions"])
    assert abs(now["instructions_again"] / now["instructions"] - 1) < 1e-3
    assert abs(now["cycles"]["value"] / before["cycles"]["value"] - 1) < 1e-2


def formats(prefix):
    github = Path(prefix + ".github").read_text().splitlines()
    assert github[0].startswith("::error title=tmaprobe gate::SLOWER"), github
    assert any(re.match(r"::error file=records\.c,line=\d+,title=tmaprobe gate::records_round", line)
               for line in github), github
    findings = json.loads(Path(prefix + ".gitlab").read_text())
    assert any(one["location"]["path"] == "records.c" and one["location"]["lines"]["begin"] > 0 for one in findings)
    assert len({one["fingerprint"] for one in findings}) == len(findings)
    markdown = Path(prefix + ".markdown").read_text()
    assert "SLOWER" in markdown and "records_round" in markdown, markdown
    html = Path(prefix + ".html").read_text()
    assert "<svg" in html and "SLOWER" in html and "<script" not in html
    assert gate_of(prefix + ".json")["result"]["verdict"] == "slower"


def history(baseline, *labels):
    points = gate_of(baseline)["history"]
    assert [point["label"] for point in points] == list(labels), points
    assert all(point["cycles"] > 0 and point["started"] for point in points)


if __name__ == "__main__":
    {"same": same, "formats": formats, "history": history}[sys.argv[1]](*sys.argv[2:])
