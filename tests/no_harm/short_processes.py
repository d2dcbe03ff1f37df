#!/usr/bin/env python3
"""How much longer a command of many short processes takes under tmaprobe: natively and measured in turn.

    short_processes.py --build build/release [--processes 3000] [--pairs 10] [--option=--source=none]

The command takes its own time, from its first process to its last: what tmaprobe does before and after is not in it.
Prints each pair and the medians; no test, since what else the machine does is in every figure.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

LOOP = 'date +%s%N > "$0"; i=0; while [ $i -lt "$1" ]; do /bin/true; i=$((i+1)); done; date +%s%N >> "$0"'


def taken_s(before, processes, folder):
    """The time that the loop took, and the processor time of all that was run."""
    times = pathlib.Path(folder, "times")
    begin = os.times()
    subprocess.run([*before, "sh", "-c", LOOP, str(times), str(processes)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    end = os.times()
    first, last = (int(line) for line in times.read_text().split())
    used = end.children_user + end.children_system - begin.children_user - begin.children_system
    return (last - first) / 1e9, used


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--processes", type=int, default=3000)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--option", action="append", default=[], help="a further option for tmaprobe")
    chosen = parser.parse_args()
    tool = [str((chosen.build / "tmaprobe").absolute()), "--level", "2", *chosen.option]
    native, measured = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(chosen.pairs):
            native.append(taken_s([], chosen.processes, folder)[0])
            seconds, used = taken_s([*tool, "-o", f"{folder}/report", "--"], chosen.processes, folder)
            measured.append(seconds)
            print(f"{native[-1]:8.3f} s natively {measured[-1]:8.3f} s measured {used:8.2f} s of processor time in all",
                  flush=True)
    one, other = statistics.median(native), statistics.median(measured)
    print(f"{chosen.processes} processes, {chosen.pairs} pairs, medians: {one:.3f} s natively, {other:.3f} s measured "
          f"({100 * (other / one - 1):+.1f}%); natively {min(native):.3f} to {max(native):.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
