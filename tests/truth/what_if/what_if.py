#!/usr/bin/env python3
"""What the model says that a change would win, against what it wins: pairs of programs that differ in one thing.

    what_if.py --tmaprobe build/release/tmaprobe [--times 7] [--measured FILE] [NAME...]

Each pair is timed natively in turn (the least user-mode time of so many runs: what else the machine does only adds to
it); the first of it is asked what the change of the machine would win that makes the second of it. A time once measured on a
quiet machine is good for further versions of the model: --measured keeps the times. Prints a table, the
worst last, and the share of pairs whose direction is right and whose change is within a quarter of the measured one.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PREDICTOR, CACHES, FORWARDING = "no-mispredictions", "perfect-l1,no-tlb-misses", "no-failed-forwarding"
PAIRS = {
    **{f"branches:{percent}:{work}": PREDICTOR for percent in (50, 25, 10, 5) for work in (0, 2, 8)},
    "calls": PREDICTOR,
    **{f"chase:{kib}": CACHES for kib in (64, 512, 2048, 8192, 65536)},
    **{f"gather:{kib}": CACHES for kib in (64, 1024, 8192, 65536)},
    **{f"stream:{kib}": CACHES for kib in (256, 4096, 65536)},
    **{f"forwarding:{work}": FORWARDING for work in (0, 4, 12)},
    **{f"pages:{kib}": "pages-2m" for kib in (8192, 65536)},
    **{f"neighbour:{kib}": "half-l3" for kib in (4096, 16384)},
}
NEIGHBOUR = "stream:65536"  # on the next CPU, while the second of a pair runs that is about one
NOTHING = 1.03  # a change smaller than this has no direction


def user_s(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


class Timed:
    """One program of a pair: the time of a turn, without what it does before its first one."""

    def __init__(self, program, name, which, seconds):
        self.command, self.times = [program, name, which], []
        self.beside = [program, NEIGHBOUR, "before", str(10**9)] if name.startswith("neighbour") and which == "after" else None
        self.before_first_s = min(self.once(0) for _ in range(3))
        self.turns = 200
        while (taken := self.once(self.turns) - self.before_first_s) < seconds / 8:
            self.turns *= 2
        self.turns = max(1, int(self.turns * seconds / taken))

    def once(self, turns):
        cpus = sorted(os.sched_getaffinity(0))
        beside = None
        if self.beside:
            beside = subprocess.Popen(["taskset", "-c", str(cpus[-1]), *self.beside])
        try:
            return user_s(["taskset", "-c", str(cpus[0]), *self.command, str(turns)])
        finally:
            if beside:
                beside.kill()
                beside.wait()

    def again(self):
        self.times.append(max(1e-6, self.once(self.turns) - self.before_first_s) / self.turns)

    def best(self):
        return min(self.times)


def predicted(tmaprobe, program, name, change, turns, folder):
    record = pathlib.Path(folder, "record.json")
    subprocess.run([tmaprobe, "what-if", "--change", change, "--json", record, "--", program, name, "before", str(turns)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for run in json.loads(record.read_text())["runs"]:
        wanted = sorted(word.replace("-", "_") for word in change.split(","))
        for answer in run["extra"].get("what_if", {}).get("answers", []):
            if sorted(answer["changes"]) == wanted:
                return answer["speed_up"]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tmaprobe", type=pathlib.Path, required=True)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="that the first of a pair takes, about")
    parser.add_argument("--measured", type=pathlib.Path, help="take the times of pairs from here, and add those it lacks")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    rows, known_times = [], {}
    if chosen.measured and chosen.measured.exists():
        known_times = json.loads(chosen.measured.read_text())
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/changes"
        subprocess.run(["cc", "-O2", "-o", program, HERE / "changes.c"], check=True)
        for name, change in PAIRS.items():
            if chosen.names and name not in chosen.names:
                continue
            if name not in known_times:
                pair = [Timed(program, name, which, chosen.seconds) for which in ("before", "after")]
                for _ in range(chosen.times):
                    for each in pair:
                        each.again()
                known_times[name] = [pair[0].best() / pair[1].best(), pair[0].turns]
                if chosen.measured:
                    chosen.measured.write_text(json.dumps(known_times, indent=1))
            measured, turns = known_times[name]
            answer = predicted(chosen.tmaprobe.absolute(), program, name, change, turns, folder)
            rows.append((name, change, measured, answer))
            print(f"  {name}: {measured:.2f}, {answer['value'] if answer else 'nothing':.4}", file=sys.stderr)
    known = [row for row in rows if row[3]]

    def off(row):  # of the change, not of the time: 1.5 for 2.0 is half of it
        return (row[3]["value"] - row[2]) / max(abs(row[2] - 1), NOTHING - 1)

    def right(row):
        sides = [0 if abs(each - 1) < NOTHING - 1 else 1 if each > 1 else -1 for each in (row[2], row[3]["value"])]
        return sides[0] == sides[1]

    print(f"{'pair':20} {'change':28} {'measured':>9} {'modelled':>9} {'low..high':>13}  off, of the change")
    for row in sorted(known, key=lambda each: abs(off(each))):
        name, change, measured, answer = row
        print(f"{name:20} {change:28} {measured:9.2f} {answer['value']:9.2f} "
              f"{answer['low']:6.2f}..{answer['high']:<6.2f} {100 * off(row):+5.0f}%{'' if right(row) else '  WRONG WAY'}")
    within = sum(abs(off(row)) <= 0.25 for row in known)
    held = sum(row[3]["low"] <= row[2] <= row[3]["high"] for row in known)
    print(f"{len(known)} of {len(rows)} pairs have an answer; direction right in {sum(map(right, known))}, "
          f"within a quarter of the change in {within}, bounds hold the measured one in {held}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
