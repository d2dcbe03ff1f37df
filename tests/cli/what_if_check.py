#!/usr/bin/env python3
"""Checks what `tmaprobe what-if` has put into a record.

    what_if_check.py RECORD best CHANGE TIMES   this change, by itself or with others, wins the most: at least so much
    what_if_check.py RECORD answers N           so many answers, each within its bounds, the best first
    what_if_check.py RECORD small               the trace takes at most two bytes an instruction
    what_if_check.py RECORD shares              the parts add up to what all removed together win, and to less than all
"""
import json
import sys


def main(record, what, *words):
    found = json.load(open(record))["runs"][0]["extra"]["what_if"]
    values = [answer["speed_up"]["value"] for answer in found["answers"]]
    assert values == sorted(values, reverse=True), values
    for answer in found["answers"]:
        speed_up = answer["speed_up"]
        assert speed_up["low"] <= speed_up["value"] <= speed_up["high"], answer
        assert abs(sum(answer["slots"].values()) - 1) < 1e-9, answer
    if what == "best":
        assert words[0] in found["answers"][0]["changes"] and values[0] >= float(words[1]), found["answers"]
    elif what == "answers":
        assert len(values) == int(words[0]), values
    elif what == "small":
        assert found["trace_bytes"] <= 2 * found["trace_instructions"], found
    elif what == "shares":
        parts = sum(share["share"] for share in found["shares"])
        assert 0 < parts < 1, found["shares"]
    else:
        sys.exit(__doc__)


main(*sys.argv[1:])
