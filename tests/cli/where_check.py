#!/usr/bin/env python3
"""Checks what `tmaprobe where` has put into a record.

    where_check.py RECORD sums                         every list adds up to the model's facts
    where_check.py RECORD line SOURCE MARK CAUSE,...   most slots lie on the marked line, for these causes
    where_check.py RECORD loop SOURCE MARK DEPTH       most slots lie in the loop with the marked line, which is so deep
    where_check.py RECORD data KIND NAME               most waits are for such data
    where_check.py RECORD blocks COUNT BYTES FUNCTION,...  most waits are for so many blocks, which these allocated
    where_check.py RECORD timeline FUNCTION            the hottest loop is in FUNCTION, and its cycles make sense
    where_check.py RECORD calls SEVEN THREE OF         OF is called by SEVEN for seven tenths of its slots, and by THREE for the rest
    where_check.py RECORD ratio ONE OTHER              OTHER takes three times the slots of ONE
    where_check.py RECORD measured ONE OTHER           by samples, OTHER takes three times the time of ONE
"""
import json
import sys

MEMORY = {"l2", "l3", "dram", "line_on_its_way", "translation"}
WAITS = MEMORY | {"forwarding", "aliasing", "store_buffer", "lock"}
BRANCH = {"wrong_path", "recovery", "resteer"}


def add(sums, slots):
    for cause, count in slots.items():
        sums[cause] = sums.get(cause, 0) + count


def main(record, what, *words):
    run = json.load(open(record))["runs"][0]
    where, facts = run["extra"]["where"], run["extra"]["model"]["facts"]
    total = sum(where["slots"].values())
    assert total > 0 and abs(total - facts["slots"]) <= 1e-9 * total, (total, facts["slots"])
    for cause, count in where["slots"].items():
        assert abs(count - facts["slots_by_cause_" + cause]) <= 1e-9 * total, cause
    for places in ("modules", "functions", "loops", "lines", "instructions"):
        sums = {}
        for place in where[places]:
            add(sums, place["slots"])
            assert place["low"] <= place["share"] <= place["high"], place
            assert abs(place["share"] - sum(place["slots"].values()) / total) < 1e-9, place
        add(sums, where.get("further_" + places, {}))
        for cause in set(sums) | set(where["slots"]):
            assert abs(sums.get(cause, 0) - where["slots"].get(cause, 0)) <= 1e-9 * total, (places, cause)
    sums = {}
    for data in where.get("data", []):
        add(sums, data["slots"])
        assert data["low"] <= data["share"] <= data["high"], data
    for cause in WAITS | set(sums):
        assert abs(sums.get(cause, 0) - (where["slots"].get(cause, 0) if cause in WAITS else 0)) <= 1e-9 * total, cause
    sums, inside, paths = {}, [], []
    for number, call in enumerate(where["calls"]):
        add(sums, call["slots"])
        caller = call.get("caller")
        assert caller is None or caller < number, call
        paths.append((paths[caller] if caller is not None else []) + [call.get("function", "")])
        inside.append(sum(call["slots"].values()))
        assert call.get("low", 0) <= call.get("share", 0) <= call.get("high", 0), call
    for cause in set(sums) | set(where["slots"]):
        assert abs(sums.get(cause, 0) - where["slots"].get(cause, 0)) <= 1e-9 * total, ("calls", cause)
    if what == "calls":
        seven, three, of = words
        share = {caller: sum(slots for path, slots in zip(paths, inside) if of in path and caller in path)
                 for caller in (seven, three, "main")}
        assert abs(share[seven] / (share[seven] + share[three]) - 0.7) < 0.06, share
        assert share["main"] > 0.95 * (share[seven] + share[three]), share
    if what == "data":
        kind, name = words
        assert where["data"][0]["kind"] == kind, where["data"][0]
        assert where["data"][0].get("name", "") == name, where["data"][0]
    if what == "blocks":
        count, size, functions = words
        most = where["data"][0]
        assert where["blocks_told_apart"] and most["kind"] == "blocks", most
        assert [one["function"] for one in most["allocated_by"]] == functions.split(","), most
        assert all(one["line"] > 0 for one in most["allocated_by"]), most
        assert most["blocks"] == int(count) and most["bytes"] == int(size), most
        # Others lie between them, in the same pages, and nobody waits for those.
        assert most["share"] > 0.9 * sum(sum(data["slots"].values()) for data in where["data"]) / total, where["data"]
    if what == "timeline":
        function, = words
        loop = where["timelines"][0]
        assert loop["function"] == function and loop["cycles"] > 0 and loop["times_around"] > 3, loop
        for step in loop["steps"]:
            assert step["renamed"] <= step["issued"] <= step["done"] <= step["retired"], step
        assert all(link["step"] < len(loop["steps"]) for link in loop.get("chain", [])), loop
        if loop.get("chain_times_around"):
            cycles = sum(link["cycles"] for link in loop["chain"]) / loop["chain_times_around"]
            assert cycles <= 1.2 * loop["cycles"] + 1, (cycles, loop["cycles"])
    if what == "line":
        source, mark, causes = words
        planted = [number for number, text in enumerate(open(source), 1) if mark in text]
        hottest = max((line for line in where["lines"]),
                      key=lambda line: line["share"] - line["slots"].get("retiring", 0) / total)
        assert hottest.get("first_line") in planted, (hottest, planted)
        wanted = {"memory": MEMORY, "branch": BRANCH}[causes]
        lost = {cause: count for cause, count in hottest["slots"].items() if cause != "retiring"}
        share = sum(count for cause, count in lost.items() if cause in wanted) / sum(lost.values())
        assert share > 0.5, hottest
    if what == "loop":
        source, mark, depth = words
        planted, = [number for number, text in enumerate(open(source), 1) if mark in text]
        hottest = where["loops"][0]
        assert hottest["first_line"] <= planted <= hottest["last_line"], (hottest, planted)
        assert hottest["loop_depth"] == int(depth), hottest
        while "inside" in hottest:
            inner, hottest = hottest, where["loops"][hottest["inside"]]
            assert hottest["loop_depth"] == inner["loop_depth"] - 1, (hottest, inner)
            assert hottest["share_with_inner"] >= inner["share_with_inner"], (hottest, inner)
    if what == "measured" and "samples" not in where:
        # Where the kernel lets nobody sample, nothing is said to be measured.
        assert not any("measured" in place for place in where["functions"])
    elif what == "measured":
        for places in ("modules", "functions", "loops"):
            measured = [place["measured"] for place in where[places] if "measured" in place]
            assert abs(sum(one["share"] for one in measured) - 1) < 1e-9, places
            assert all(one["low"] <= one["share"] <= one["high"] for one in measured), places
        assert where["samples"]["event"] in ("task-clock", "cycles"), where["samples"]
        assert where["samples"]["taken"] >= 30, where["samples"]
        share = {place.get("function"): place["measured"] for place in where["functions"] if "measured" in place}
        one, other = (share[name] for name in words)
        # A quarter and three quarters, wherever chance has put the samples: bounds are 95%, a test is to hold always.
        for measured, truth in ((one, 0.25), (other, 0.75)):
            wide = 2 * (measured["high"] - measured["low"])
            assert abs(measured["share"] - truth) < wide + 0.03, (measured, truth)
    if what == "ratio":
        share = {place.get("function"): place["share"] for place in where["functions"]}
        one, other = (share[name] for name in words)
        assert abs(other / one - 3) < 0.3, (one, other)
        assert one + other > 0.9, (one, other)


main(*sys.argv[1:])
