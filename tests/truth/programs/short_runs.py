#!/usr/bin/env python3
"""Cycles an instruction of programs that do little, where neighbours leave a core alone for milliseconds only.

Usage: short_runs.py BUILD DATA [NAME...]

BUILD has tmaprobe_run_program, DATA is the folder of inputs that programs.py makes. Each program runs with less and with more to
do, by turns, 250 times; of both the least processor time is taken, and the difference, by the instructions that were counted, is
without start and end. The clock is that of the quickest chain of additions beside them.
"""

import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TIMES = 250
with open(f"{HERE}/programs.json", encoding="utf-8") as programs_file:
    INSTALLED = json.load(programs_file)["installed"]


def with_less(name, old, new):
    """One of programs.json, with this in its words replaced."""
    assert any(old in word for word in INSTALLED[name]), f"{name} has no {old}"
    return [word.replace(old, new) for word in INSTALLED[name]]


def part_of(data, name, length):
    path = f"{data}/{name}.{length}"
    with open(f"{data}/{name}", "rb") as whole, open(path, "wb") as part:
        part.write(whole.read(length))
    return path


def compiled(data, name, number, source_edit):
    """One of own/, with less to do."""
    with open(f"{HERE}/own/{name}.cpp", encoding="utf-8") as file:
        source = file.read()
    for old, new in source_edit:
        assert old in source, f"{name}.cpp has no {old}"
        source = source.replace(old, new)
    path = f"{data}/short_{name}_{number}"
    subprocess.run(["g++", "-O2", "-std=c++20", "-w", f"-I{HERE}/own", "-x", "c++", "-", "-o", path], input=source, text=True, check=True)
    return path


def programs(data):
    same_number = [("next_random(state) % 1000000", "(state % 1000000 + 123456)"), (", value, i)", ", value, 12345)")]
    shorter = lambda count: [("900000", str(count))]
    return {
        "python_loops": [with_less("python_loops", "2500000", str(n)) for n in (20000, 70000)],
        "sed": [with_less("sed", "{data}/text", part_of(data, "text", n)) for n in (60000, 180000)],
        "grep": [with_less("grep", "{data}/large", part_of(data, "large", n)) for n in (300000, 900000)],
        "perl": [with_less("perl", "{data}/text", part_of(data, "text", n)) for n in (60000, 180000)],
        "sqlite": [with_less("sqlite", "i<250000", f"i<{n}") for n in (2000, 8000)],
        "format_numbers": [[compiled(data, "format_numbers", n, shorter(n))] for n in (10000, 30000)],
        "format_one_number": [[compiled(data, "format_numbers", f"one_{n}", shorter(n) + same_number)] for n in (10000, 30000)],
    }


def processor_seconds(command):
    pid = os.fork()
    if pid == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        os.execv(command[0], command)
    usage = os.wait4(pid, 0)[2]
    return usage.ru_utime + usage.ru_stime


def main():
    runner = f"{os.path.abspath(sys.argv[1])}/tests/truth/tmaprobe_run_program"
    known = programs(sys.argv[2])
    clock = max(float(line.split()[2]) for line in subprocess.run([runner, "time", "20", "/bin/true"], capture_output=True, text=True, check=True).stdout.splitlines())
    for name in sys.argv[3:] or known:
        instructions = []
        for command in known[name]:
            printed = subprocess.run([runner, "count", *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
            instructions.append(int(re.findall(r"\d+", printed)[-1]))
        times = [sorted(column) for column in zip(*([processor_seconds(command) for command in known[name]] for _ in range(TIMES)))]
        cycles = [(times[1][at] - times[0][at]) * clock / (instructions[1] - instructions[0]) for at in (0, TIMES // 20)]
        print(f"{name:<18} {cycles[0]:.3f} cycles an instruction, {cycles[1]:.3f} of the twentieth part that was quickest", flush=True)


if __name__ == "__main__":
    main()
