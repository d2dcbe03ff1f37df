#!/usr/bin/env python3
"""Checks what `tmaprobe what-if` has put into a record.

    what_if_check.py RECORD best CHANGE TIMES   this change, by itself or with others, wins the most: at least so much
    what_if_check.py RECORD answers N           so many answers, each within its bounds, the best first
    what_if_check.py RECORD small               the trace takes at most two bytes an instruction
    what_if_check.py RECORD lines TIMES         of `where`: lines have bounds, and the best wins at least so much
    what_if_check.py RECORD mappings KIND       a mapping of this kind wins, within its bounds, and no more than all do
    what_if_check.py RECORD shares              the parts add up to what all removed together win, and to less than all
"""
import json
import sys


def main(record, what, *words):
    extra = json.load(open(record))["runs"][0]["extra"]
    if what == "lines":
        gains = [line["if_it_never_waited"] for line in extra["where"]["lines"] if "if_it_never_waited" in line]
        assert gains and all(gain["low"] <= gain["value"] <= gain["high"] for gain in gains), gains
        assert max(gain["value"] for gain in gains) >= float(words[0]), gains
        return
    found = extra["what_if"]
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
    elif what == "mappings":
        best = found["mappings"][0]
        assert best["kind"] == words[0] and 1.01 < best["speed_up"]["value"] < values[0] + 0.01, found["mappings"]
    elif what == "small":
        assert found["trace_bytes"] <= 2 * found["trace_instructions"], found
    elif what == "shares":
        parts = sum(share["share"] for share in found["shares"])
        assert 0 < parts < 1, found["shares"]
    else:
        sys.exit(__doc__)


main(*sys.argv[1:])
