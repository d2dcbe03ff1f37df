#!/usr/bin/env python3
"""Holds `tmaprobe where` against programs whose costly line and its cause are known.

Usage: where.py TMAPROBE [--target T,...] [--runs N] [--repeatable] [--only NAME,...] [--state FOLDER]

Each program of programs.json is built as the list says and run N times for each target, by default three (the list has others where
one of these would not show the cause). The line is right when the most lost slots
of all lines lie on the one that is marked PLANTED; the cause is right when the first screen's first sentence says it in the words
of the list. Every list of places is added up and held against the model's facts. Where the list
says how deep the costly loop is ("loop"), the loop with the most lost slots must be as deep and have the marked line in it. A stripped program's lines are looked up by
address in the one that was not stripped. Exit status 1: some line or cause is wrong, or differs from run to run; 77: nothing could be built, or judged.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STANDARD = ["graniterapids", "skylake", "amdzen4"]


def builders(source, program, flags):
    language = os.path.splitext(source)[1]
    return {
        ".c": ["gcc", "-O2", "-g", *flags, source, "-o", program],
        ".cpp": ["g++", "-std=c++17", "-O2", "-g", *flags, source, "-o", program],
        ".rs": ["rustc", "-O", "-g", *flags, source, "-o", program],
        ".go": ["go", "build", *flags, "-o", program, source],
    }[language]


def build(one, state):
    """The program's path; None: its compiler is not there."""
    source = os.path.join(HERE, "programs", one["source"])
    program = os.path.join(state, one["name"])
    command = builders(source, program, one.get("flags", []))
    if not shutil.which(command[0]):
        return None
    newest = max(os.path.getmtime(os.path.join(HERE, "programs", name)) for name in os.listdir(os.path.join(HERE, "programs")))
    if not os.path.exists(program) or os.path.getmtime(program) < newest:
        subprocess.run(command, check=True, cwd=state, env={**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"})
        if one.get("strip"):
            shutil.copy(program, program + ".whole")
            subprocess.run(["strip", program], check=True)
    return program


def marked(one, mark):
    source = one.get("marked_in", one["source"])
    with open(os.path.join(HERE, "programs", source)) as lines:
        return source, [number for number, text in enumerate(lines, 1) if mark in text]


def check_sums(where, facts):
    total = sum(where["slots"].values())
    assert total > 0 and abs(total - facts["slots"]) <= 1e-9 * total, "not the tree's slots"
    for kind in ("modules", "functions", "lines", "instructions", "loops", "data"):
        if kind not in where:
            continue
        sums = collections.Counter()
        for slots in [place["slots"] for place in where[kind]] + [where.get("further_" + kind, {})]:
            sums.update(slots)
        wanted = where["slots"] if kind != "data" else where["data_slots"]
        for cause in set(sums) | set(wanted):
            assert abs(sums[cause] - wanted.get(cause, 0)) <= 1e-9 * total, f"{kind} do not add up: {cause}"


def lost(place):
    return sum(count for cause, count in place["slots"].items() if cause != "retiring")


def lines_of_addresses(whole, addresses):
    answer = subprocess.run(["addr2line", "-e", whole, *map(hex, addresses)], check=True, capture_output=True, text=True).stdout
    for line in answer.splitlines():
        file, _, number = line.split(" ")[0].rpartition(":")
        yield os.path.basename(file), int(number) if number.isdigit() else 0


def line_slots(where, program, slots_of):
    """Slots by (file, line)."""
    sums = collections.Counter()
    if not os.path.exists(program + ".whole"):
        for line in where["lines"]:
            sums[os.path.basename(line.get("file", "?")), line.get("first_line", 0)] += slots_of(line)
        return sums
    own = [place for place in where["instructions"] if place["module"] == os.path.realpath(program)]
    for place, line in zip(own, lines_of_addresses(program + ".whole", [place["address"] for place in own])):
        sums[line] += slots_of(place)
    return sums


def loop_is_right(one, where, program):
    """The loop with the most lost slots, those of loops in it left aside."""
    file, planted = marked(one, "PLANTED")
    top = max(where["loops"], key=lost)
    if top.get("loop_depth", 0) != one["loop"]:
        return False
    around, loop = 0, top
    while "inside" in loop:
        loop = where["loops"][loop["inside"]]
        around += 1
    if around + 1 != one["loop"]:
        return False
    if not os.path.exists(program + ".whole"):
        return os.path.basename(top.get("file", "?")) == file and any(
            top["first_line"] <= line <= top["last_line"] for line in planted)
    # Of a stripped one: where it is entered, which is its first line or, where it was turned around, its last.
    entered, = lines_of_addresses(program + ".whole", [top["address"]])
    return entered[0] == file and min(abs(entered[1] - line) for line in planted) <= 1


def run(tmaprobe, target, program, state, repeatable):
    record = os.path.join(state, "record.json")
    own = subprocess.run([tmaprobe, "where", "--target", target, *(["--repeatable"] if repeatable else ["--effort", "10"]), "--json", record, "--", program],
                         capture_output=True, text=True, env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"})
    if own.returncode != 0:
        return None, own.stderr.strip(), own.stdout
    text = " ".join(own.stderr.split())
    first = text.split(" Where ", 1)[-1].split(" next: ", 1)[0] if " Where " in text else ""
    with open(record) as file:
        return json.load(file)["runs"][0], first, own.stdout


def run_until_judged(tmaprobe, target, program, state, repeatable):
    """On a machine that is busy enough, hardly any window of a short program is met, and those say nothing of it."""
    least_windows, tries = 3, 5
    for _ in range(tries):
        answer, sentence, printed = run(tmaprobe, target, program, state, repeatable)
        if not answer or ("where" in answer["extra"] and (repeatable or len(answer["extra"]["model"]["sampling"]["windows"]) >= least_windows)):
            return answer, sentence, printed
    return None, None, None


def judge(one, program, answer, sentence, printed):
    """(line is right, and its loop, cause is right, what was said)."""
    where, facts = answer["extra"]["where"], answer["extra"]["model"]["facts"]
    check_sums(where, facts)
    file, planted = marked(one, "PLANTED")
    lines = line_slots(where, program, (lambda place: sum(place["slots"].values())) if one["cause"] == "retiring" else lost)
    top = max(lines, key=lines.get)
    line_right = top[0] == file and top[1] in planted and ("loop" not in one or loop_is_right(one, where, program))
    total = sum(where["slots"].values())
    said = f"{top[0]}:{top[1]} {lines[top] / total:.0%}"
    if "share" in one:  # beside what the program measured itself, on this machine: the first part of its time
        first = sum(sum(place["slots"].values()) for place in where["functions"] if place.get("function") == one["share"]) / total
        said += f", {first:.1%} for {float(printed):.1%}"
    return line_right, one["words"] in sentence, said


def main():
    words = argparse.ArgumentParser()
    words.add_argument("tmaprobe")
    words.add_argument("--target", default="")
    words.add_argument("--runs", type=int, default=1)
    words.add_argument("--repeatable", action="store_true")
    words.add_argument("--only", default="")
    words.add_argument("--state", default="where-truth")
    words = words.parse_args()
    tmaprobe, state = os.path.abspath(words.tmaprobe), os.path.abspath(words.state)
    os.makedirs(state, exist_ok=True)
    with open(os.path.join(HERE, "programs.json")) as file:
        programs = json.load(file)
    wrong = right = 0
    only = [name for name in words.only.split(",") if name]
    print(f"{'program':18} {'target':14} line cause  what was said")
    for one in programs:
        if only and one["name"] not in only:
            continue
        program = build(one, state)
        if not program:
            print(f"{one['name']:18} {'-':14} not built: its compiler is missing")
            continue
        targets = one.get("targets", STANDARD) if words.target == "" else words.target.split(",")
        for target in targets:
            outcomes = collections.Counter()
            for _ in range(words.runs):
                answer, sentence, printed = run_until_judged(tmaprobe, target, program, state, words.repeatable)
                if not answer and sentence is None:
                    continue
                if not answer:
                    outcomes[False, False, sentence.splitlines()[-1] if sentence else "no answer", ""] += 1
                    continue
                line, cause, said = judge(one, program, answer, sentence, printed)
                outcomes[line, cause, said if words.runs == 1 or not line else "", "" if cause else sentence] += 1
            if not outcomes:
                print(f"{one['name']:18} {target:14} not judged: too few windows on this busy machine", flush=True)
                continue
            good = all(line and cause for line, cause, *_ in outcomes)
            right, wrong = right + good, wrong + (not good)
            for (line, cause, said, sentence), count in outcomes.items():
                times = f" ({count} of {words.runs})" if words.runs > 1 else ""
                print(f"{one['name']:18} {target:14} {'yes' if line else 'NO':4} {'yes' if cause else 'NO':5}  {said}{times}  {sentence}", flush=True)
    print(f"{right} right, {wrong} wrong")
    if not right + wrong:
        return 77
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
