#!/usr/bin/env python3
"""Holds `tmaprobe gate` against builds whose cost is known not to have changed, or to have risen by so much.

usage: gate_proof.py TMAPROBE [--no-changes 200] [--first N] [--no-slow-downs] [--callgrind] [--target CPU]
                     [--results FILE] [--small] [--require]

Benchmarks are built of parts/ with gcc. No-changes: other padding, another order of objects and so of functions,
renamed sources in another folder, environments of other sizes, and all of these at once. Slow-downs: so many of the
rounds go a slower way as make the whole slower by 1, 2 or 5%. How much slower a way is (all rounds against none) is
measured by the clock, so the size of a slow-down is the machine's and not the model's. PROGRAMS were looked at while
the gate was made; HELD_OUT were not.

It takes long. With --results FILE each row is kept, and the table is of all rows in it: no-changes from --first on,
and slow-downs of the --programs, can be tried one part after another.

With --callgrind the same builds go through callgrind, whose instructions (Ir) and cycle estimate
(Ir + 10 Bm + 10 L1m + 100 LLm, as KCachegrind has it) are held against the same limit.
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PARTS = Path(__file__).resolve().parent / "parts"
PROGRAMS = ["records", "words", "trees"]
HELD_OUT = ["tables", "waves"]
WAYS = {"records": ["extra_work", "mispredicted", "not_inlined", "split_lines", "worse_locality"],
        "words": ["extra_work", "mispredicted", "not_inlined", "split_lines", "worse_locality"],
        "trees": ["extra_work", "worse_locality"],
        "tables": ["extra_work", "mispredicted", "not_inlined", "split_lines", "worse_locality"],
        "waves": ["extra_work", "mispredicted", "not_inlined", "split_lines", "worse_locality"]}
ROUNDS = 2000
ROUNDS_UNCHANGED = 500  # of no-changes: there are many
LIMITS = (1.0, 0.5)  # percent


class Built:
    def __init__(self, folder, program, way="usual", slow=0, rounds=ROUNDS, rng=None, kind=None):
        folder.mkdir(parents=True)
        sources = sorted(PARTS.glob("*.c"))
        shutil.copy(PARTS / "common.h", folder)
        names = []
        for number, source in enumerate(sources):
            name = f"part_{number}_{rng.randrange(10 ** rng.randrange(1, 9))}.c" if kind in ("renamed", "all") \
                else source.name
            shutil.copy(source, folder / name)
            names.append(name)
        if kind in ("padding", "all"):
            for number in range(rng.randrange(1, 4)):
                name = f"padding{number}.c"
                (folder / name).write_text(
                    "__attribute__((used)) static void padding(void) { __asm__(\".skip %d, 0x90\"); }\n"
                    "char padding_data_%d[%d] = {1};\nchar padding_bss_%d[%d];\n"
                    % (rng.randrange(1, 4000), number, rng.randrange(1, 5000), number, rng.randrange(1, 9000)))
                names.insert(rng.randrange(len(names) + 1), name)
        if kind in ("order", "all"):
            rng.shuffle(names)
        self.program = folder / ("bench" if kind not in ("renamed", "all") else f"bench{rng.randrange(10 ** 6)}")
        subprocess.run(["gcc", "-O2", "-g", f"-DROUND={program}_round", f"-DROUNDS={rounds}", f"-DWAY={way}",
                        f"-DSLOW={slow}", "-o", str(self.program), *names], cwd=folder, check=True)
        self.environment = dict(os.environ)
        if kind in ("environment", "all"):
            self.environment["FILLER"] = "x" * rng.randrange(1, 9000)


def fastest(built, runs):
    """User-mode seconds of the fastest of some runs: what others do only adds."""
    best = float("inf")
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([built.program], check=True, stdout=subprocess.DEVNULL)
        best = min(best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return best


class Proof:
    def __init__(self, options, folder):
        self.options, self.folder, self.count = options, folder, 0
        self.rng = random.Random(options.seed)
        self.seconds, self.native = [], []
        self.callgrind, self.before = {}, {}

    def build(self, *arguments, **words):
        self.count += 1
        depth = "x" * self.rng.randrange(1, 60) if words.get("kind") in ("renamed", "all") else "b"
        return Built(self.folder / f"{depth}{self.count}", *arguments, rng=self.rng, **words)

    def gate(self, built, baseline, update=False):
        """Verdict, change in percent with its interval."""
        report = self.folder / "report.json"
        command = [self.options.tmaprobe, "gate", baseline.name, "--json", str(report), "-o", "/dev/null"]
        command += ["--update"] if update else ["--fail-above", f"{LIMITS[0]}%"]
        if update and self.options.target:
            command += ["--target", self.options.target]
        begin = time.monotonic()
        done = subprocess.run([*command, "--", str(built.program)], cwd=self.folder, env=built.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.seconds.append(time.monotonic() - begin)
        if update:
            if done.returncode:
                sys.exit(f"no baseline: {done.stderr}")
            gate = json.loads(baseline.read_text())["runs"][0]["extra"]["gate"]
            self.before[baseline] = gate["cost"]["cycles"]["high"]
            return None
        if done.returncode not in (0, 1, 3) or (done.returncode == 1 and "SLOWER" not in done.stderr
                                                and not report.exists()):
            sys.exit(f"status {done.returncode}: {done.stderr}")
        gate = json.loads(report.read_text())["runs"][0]["extra"]["gate"]
        self.native.append(min(gate["cost"]["measured_ns"]) / 1e9)
        result = gate["result"]
        change = result.get("change") or {"value": float("nan"), "low": float("nan"), "high": float("nan")}
        # As gate_result() has it; what it says at the limit that it was given is checked against it.
        apart = gate["cost"]["cycles"]["low"] > self.before[baseline]
        if (result["verdict"] == "slower") != (apart and 100 * change["value"] > LIMITS[0]):
            sys.exit(f"the verdict is {result['verdict']}, which does not follow from {change}")
        return result["verdict"], apart, *(100 * change[key] for key in ("value", "low", "high"))

    def callgrind_counts(self, built):
        out = self.folder / "callgrind.out"
        done = subprocess.run(["valgrind", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes",
                               f"--callgrind-out-file={out}", str(built.program)], env=built.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
        events = re.search(r"Events\s*:\s*(.*)", done.stderr).group(1).split()
        values = [int(value) for value in re.search(r"Collected\s*:\s*(.*)", done.stderr).group(1).split()]
        counts = dict(zip(events, values))
        first_level = counts["I1mr"] + counts["D1mr"] + counts["D1mw"]
        last_level = counts["ILmr"] + counts["DLmr"] + counts["DLmw"]
        mispredicted = counts.get("Bcm", 0) + counts.get("Bim", 0)
        return counts["Ir"], counts["Ir"] + 10 * mispredicted + 10 * first_level + 100 * last_level

    def compare(self, name, what, truth, built, baseline, percent=None):
        verdict, apart, change, low, high = self.gate(built, baseline)
        row = {"program": name, "what": what, "truth": truth, "percent": percent, "verdict": verdict, "apart": apart,
               "change": change, "low": low, "high": high, "seconds": self.seconds[-1], "native": self.native[-1]}
        if self.options.callgrind:
            now = self.callgrind_counts(built)
            for key, value, before in zip(("instructions", "cycles"), now, self.callgrind[baseline]):
                row[key] = 100 * (value / before - 1)
        print("  %-8s %-22s %s %10s %+7.2f%% (%+.2f..%+.2f)%s" %
              (name, what, "      " if truth is None else f"{truth:5.2f}%", verdict, change, low, high,
               "   Ir %+.2f%% CEst %+.2f%%" % (row["instructions"], row["cycles"]) if "cycles" in row else ""),
              flush=True)
        if self.options.results:
            with open(self.options.results, "a") as results:
                results.write(json.dumps(row) + "\n")
        shutil.rmtree(built.program.parent)
        return row

    def how_slow(self, name, way):
        """Time of a round that goes this way, over that of one that goes the usual way."""
        rounds = ROUNDS * (2 if self.options.small else 10)
        runs = 3 if self.options.small else 15
        usual, slow = (self.build(name, way=way, slow=slow, rounds=rounds) for slow in (0, rounds))
        times = [(fastest(usual, 1), fastest(slow, 1)) for _ in range(runs)]
        return min(time for _, time in times) / min(time for time, _ in times)

    def baseline(self, name, rounds):
        built = self.build(name, rounds=rounds)
        baseline = self.folder / f"{name}_{rounds}.json"
        self.gate(built, baseline, update=True)
        if self.options.callgrind:
            self.callgrind[baseline] = self.callgrind_counts(built)
        return baseline

    def no_changes(self, names):
        kinds = ["padding", "order", "environment", "renamed", "all"]
        baselines = {}
        rows = []
        for number in range(self.options.first, self.options.first + self.options.no_changes):
            # Each is what it is, whichever went before.
            self.rng = random.Random(f"{self.options.seed} {number}")
            name, kind = names[number % len(names)], kinds[number // len(names) % len(kinds)]
            if name not in baselines:
                baselines[name] = self.baseline(name, ROUNDS_UNCHANGED)
            built = self.build(name, rounds=ROUNDS_UNCHANGED, kind=kind)
            rows.append(self.compare(name, kind, None, built, baselines[name]))
        return rows

    def slow_downs(self, names):
        rows = []
        for name in names:
            baseline = self.baseline(name, ROUNDS)
            for way in WAYS[name][:2] if self.options.small else WAYS[name]:
                ratio = self.how_slow(name, way)
                for percent in (5,) if self.options.small else (1, 2, 5):
                    slow = round(ROUNDS * percent / 100 / (ratio - 1)) if ratio > 1 else 0
                    if not 0 < slow <= ROUNDS:
                        print(f"  {name:8} {way:22} all rounds are {100 * (ratio - 1):+.1f}%: no {percent}% of it")
                        continue
                    built = self.build(name, way=way, slow=slow)
                    rows.append(self.compare(name, way, 100 * (ratio - 1) * slow / ROUNDS, built, baseline, percent))
        return rows

    def run(self):
        names = PROGRAMS[:1] if self.options.small else self.options.programs
        print("no-changes:")
        rows = self.no_changes(names)
        print("slow-downs (the size by the clock):")
        return rows + (self.slow_downs(names) if self.options.slow_downs else [])


def table(rows):
    """Of each rule: how many of the rows that it was held against it finds."""
    same = [row for row in rows if row["percent"] is None]
    slower = [row for row in rows if row["percent"] is not None]
    rules = [(f"gate at {limit}%", "change", lambda row, limit=limit: row["apart"] and row["change"] > limit)
             for limit in LIMITS]
    rules += [(f"callgrind {key} at {LIMITS[0]}%", key, lambda row, key=key: row[key] > LIMITS[0])
              for key in ("instructions", "cycles") if any(key in row for row in rows)]

    def line(name, rows):
        cells = []
        for _, key, rule in rules:
            held = [row for row in rows if key in row]
            cells.append(f"{sum(map(rule, held))} of {len(held)}")
        print("%-36s" % name + "".join("%32s" % cell for cell in cells))

    print("\n%-36s" % "" + "".join("%32s" % name for name, _, _ in rules))
    if same:
        line("alarms in no-changes", same)
        print("%-36s" % "largest change of a no-change" +
              "".join("%31.2f%%" % max(abs(row[key]) for row in same if key in row) for _, key, _ in rules))
    for percent in (1, 2, 5):
        for of, names in (("", PROGRAMS), (", held out", HELD_OUT)):
            found = [row for row in slower if row["percent"] == percent and row["program"] in names]
            if found:
                line(f"slow-downs of {percent}% found{of}", found)
    print("not judged: %d" % sum(row["verdict"] == "not_judged" for row in rows))
    if rows:
        seconds = sorted(row["seconds"] for row in rows)
        print("a gate took %.1f s in the median, %.1f s at most; the benchmarks take %.3f s in the median" %
              (seconds[len(seconds) // 2], seconds[-1], sorted(row["native"] for row in rows)[len(rows) // 2]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tmaprobe")
    parser.add_argument("--no-changes", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first no-change")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS + HELD_OUT, default=PROGRAMS + HELD_OUT)
    parser.add_argument("--results", help="file to which rows are added")
    parser.add_argument("--callgrind", action="store_true")
    parser.add_argument("--target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-slow-downs", dest="slow_downs", action="store_false")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--require", action="store_true", help="fail on an alarm, or a 5%% slow-down that is not found")
    options = parser.parse_args()
    options.tmaprobe = str(Path(options.tmaprobe).resolve())
    options.callgrind = options.callgrind and shutil.which("valgrind") is not None
    with tempfile.TemporaryDirectory() as folder:
        proof = Proof(options, Path(folder))
        rows = proof.run()
    if options.results:
        rows = [json.loads(line) for line in Path(options.results).read_text().splitlines()]
    table(rows)
    if options.require:
        sys.exit(any(row["percent"] is None and row["verdict"] == "slower" for row in rows))


if __name__ == "__main__":
    main()
