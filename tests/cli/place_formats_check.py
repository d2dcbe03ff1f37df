#!/usr/bin/env python3
"""Holds what `tmaprobe report` writes for other tools against these tools, as far as they are there.

    place_formats_check.py TMAPROBE RECORD FUNCTION    FUNCTION takes most slots, and all add up, in each of them
"""
import json
import re
import shutil
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(tmaprobe, record, function):
    where = json.load(open(record))["runs"][0]["extra"]["where"]
    total = sum(where["slots"].values())
    share = sum(sum(place["slots"].values()) for place in where["functions"] if place.get("function") == function) / total

    stacks = [line.rsplit(" ", 1) for line in output(tmaprobe, "report", "-f", "folded", record).splitlines()]
    assert abs(sum(int(count) for _, count in stacks) - total) < 1, "folded"
    assert {stack.rsplit(";", 1)[1] for stack, _ in stacks} <= set(where["slots"]), "the cause comes last"

    page = json.loads(output(tmaprobe, "report", "-f", "speedscope", record))
    profile, frames = page["profiles"][0], page["shared"]["frames"]
    assert page["$schema"].endswith("file-format-schema.json") and profile["type"] == "sampled"
    assert len(profile["samples"]) == len(profile["weights"])
    assert all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample)
    assert abs(sum(profile["weights"]) - total) <= 1e-9 * total and profile["endValue"] - total <= 1e-9 * total

    output(tmaprobe, "report", "-f", "callgrind", "-o", "callgrind.out.1", record)
    if shutil.which("callgrind_annotate"):
        told = output("callgrind_annotate", "callgrind.out.1")
        sums = re.search(r"([\d,]+) .*PROGRAM TOTALS", told)
        assert abs(int(sums[1].replace(",", "")) - total) <= len(where["slots"]), told
        first = re.search(r"^ *[\d,]+ \( *([\d.]+)%\).*:(\S+) \[", told, re.M)
        assert first[2] == function and abs(float(first[1]) / 100 - share) < 0.15, told
        # With what it calls, main takes what the calls say.
        told = output("callgrind_annotate", "--inclusive=yes", "callgrind.out.1")
        inclusive, = re.findall(r"^ *[\d,]+ \( *([\d.]+)%\).*:main \[", told, re.M)
        called = sum(place["share"] for place in where["calls"] if place.get("function") == "main" and not place.get("line"))
        assert abs(float(inclusive) / 100 - called) < 0.02, (told, called)

    output(tmaprobe, "report", "-f", "pprof", "-o", "places.pb", record)
    if shutil.which("go"):
        told = output("go", "tool", "pprof", "-top", "places.pb")
        assert re.search(r"Type: slots", told), told
        first = re.search(r"^ *[\d.]+\w* +([\d.]+)% +[\d.]+% +[\d.]+\w* +[\d.]+% +(\S+)", told, re.M)
        assert first[2] == function and abs(float(first[1]) / 100 - share) < 0.02, told
        assert "wrong_path" in output("go", "tool", "pprof", "-sample_index=wrong_path", "-top", "places.pb")


main(*sys.argv[1:])
