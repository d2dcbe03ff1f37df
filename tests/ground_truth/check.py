#!/usr/bin/env python3
"""Counts what each kernel really executes, and compares it with what its descriptor says.

    check.py RUN_KERNEL [--verbose]

RUN_KERNEL is run under callgrind with two numbers of iterations; the difference is what the iterations
between them did, without start-up. Loads and stores are counted as instructions that touch memory.
Variants that valgrind cannot run (AVX-512, SHA extensions) are skipped, and say so.
Exit status: 0 all as said, 1 not, 77 skipped (no valgrind, or a machine that it cannot run on).
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# spec, iterations, and what callgrind is expected to count of it: "loads" and "stores" as factors of what
# the kernel says, and the most instructions per load or store, so that loop overhead stays small.
# Factors other than 1 are callgrind's own: its fused multiply-add loads a 32-byte operand as four lanes,
# it drops loads into a register that is loaded again before anything reads it, and it takes an
# increment in memory without lock for one store.
CASES = [
    ("chase:size=64K", 2000, dict(loads=1, stores=1, instructions=1.05)),
    ("chase:size=64K,chains=4", 2000, dict(loads=1, stores=1, instructions=1.05)),
    ("chase:size=64K,chains=12", 1000, dict(loads=1, stores=1, instructions=1.05)),
    ("chase:size=256K,order=newpage,chains=2", 1000, dict(loads=1, stores=1, instructions=1.05)),
    ("stream:size=48K,variant=avx2,op=read", 200, dict(loads=1, stores=1, instructions=1.5)),
    ("stream:size=48K,variant=avx2,op=write", 200, dict(loads=1, stores=1, instructions=1.5)),
    ("stream:size=48K,variant=avx2,op=ntwrite", 200, dict(loads=1, stores=1, instructions=1.5)),
    ("stream:size=48K,variant=avx2,op=copy", 200, dict(loads=1, stores=1, instructions=1.5)),
    ("stream:size=48K,variant=avx2,op=ntcopy", 200, dict(loads=1, stores=1, instructions=1.5)),
    ("stream:size=48K,variant=avx2,op=triad", 200, dict(loads=2.5, stores=1, instructions=1.5)),
    ("stream:size=48K,variant=avx2,op=nttriad", 200, dict(loads=2.5, stores=1, instructions=1.5)),
    ("stream:size=48K,variant=sse2,op=read", 200, dict(loads=1, stores=1, instructions=1.5)),
    ("stream:size=48K,variant=sse2,op=triad", 200, dict(loads=1, stores=1, instructions=1.5)),
    ("stream:size=48K,variant=scalar,op=read", 200, dict(stores=1, instructions=1.5)),
    ("stream:size=48K,variant=scalar,op=copy", 200, dict(loads=1, stores=1, instructions=1.5)),
    ("atomic:op=lockinc", 2000, dict(loads=1, stores=1, instructions=0.6)),
    ("atomic:op=inc", 2000, dict(loads=0, stores=1, instructions=0.6)),
]
# Twice the message must be twice the instructions, block for block.
BLOCKS = [("sha256:variant=%s" % variant, 20) for variant in ("portable", "ssse3", "avx2")]

# Reading the share's bounds and calling the loop are in the counts too.
SLACK, SLACK_PER_ITERATION = 0.01, 4


# Any will do, since accesses are counted, not misses; this machine's own may be ones that it cannot simulate.
SIMULATED_CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"]


class Unavailable(Exception):
    """The case cannot be counted here."""


def run(run_kernel, spec, iterations):
    """One run under callgrind: what the kernel says, and (instructions, loads, stores) in all."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--cache-sim=yes", *SIMULATED_CACHES, f"--callgrind-out-file={out}", run_kernel,
             spec, str(iterations)], capture_output=True, text=True)
        if done.returncode == 1:
            raise Unavailable(done.stderr.strip().splitlines()[-1])
        if done.returncode != 0 or not out.exists():
            raise Unavailable(f"valgrind ended with {done.returncode}: {done.stderr.strip().splitlines()[-1]}")
        text = out.read_text()
    events = re.search(r"^events: (.*)$", text, re.M).group(1).split()
    totals = dict(zip(events, map(int, re.search(r"^(?:totals|summary): (.*)$", text, re.M).group(1).split())))
    words = done.stdout.split()
    said = dict(zip(("operations", "bytes", "loads", "stores"), map(float, words[1:])))
    return said, (totals["Ir"], totals["Dr"], totals["Dw"])


def per_iteration(run_kernel, spec, iterations):
    """What the kernel says of one iteration, and what callgrind counted for one."""
    said, few = run(run_kernel, spec, iterations)
    _, many = run(run_kernel, spec, 3 * iterations)
    return said, [(b - a) / (2 * iterations) for a, b in zip(few, many)]


def judge(said, counted, expect):
    """Faults of one case, as lines."""
    instructions, loads, stores = counted
    faults = []
    for name, value in (("loads", loads), ("stores", stores)):
        wanted = said[name] * expect.get(name, 1)
        if name in expect and abs(value - wanted) > SLACK * wanted + SLACK_PER_ITERATION:
            faults.append(f"{name}: expected {wanted:g}, counted {value:.2f}")
    touches = said["loads"] + said["stores"]
    if instructions < max(said["loads"], said["stores"]):
        faults.append(f"instructions: {instructions:.1f} cannot hold {touches:g} loads and stores")
    if instructions > expect["instructions"] * touches + SLACK_PER_ITERATION:
        faults.append(f"instructions: {instructions:.1f} for {touches:g} loads and stores")
    return faults


def main():
    run_kernel = sys.argv[1]
    verbose = "--verbose" in sys.argv
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed (third_party/setup.sh --test installs it)")
        return 77
    failed = counted_cases = 0
    for spec, iterations, expect in CASES:
        try:
            said, counted = per_iteration(run_kernel, spec, iterations)
        except Unavailable as reason:
            print(f"skipped {spec}: {reason}")
            continue
        counted_cases += 1
        faults = judge(said, counted, expect)
        failed += bool(faults)
        if verbose or faults:
            print(f"{'FAIL' if faults else 'ok'} {spec}: instructions {counted[0]:.1f}, loads {counted[1]:.2f} "
                  f"(said {said['loads']:g}), stores {counted[2]:.2f} (said {said['stores']:g})")
        for fault in faults:
            print(f"     {fault}")
    for spec, iterations in BLOCKS:
        try:
            one, of_one = per_iteration(run_kernel, spec + ",size=16K", iterations)
            two, of_two = per_iteration(run_kernel, spec + ",size=32K", iterations)
        except Unavailable as reason:
            print(f"skipped {spec}: {reason}")
            continue
        counted_cases += 1
        first, second = of_one[0] / one["operations"], of_two[0] / two["operations"]
        fault = abs(first / second - 1) > SLACK or two["operations"] - one["operations"] != 256
        failed += fault
        if verbose or fault:
            print(f"{'FAIL' if fault else 'ok'} {spec}: {first:.1f} and {second:.1f} instructions per block")
    print(f"{counted_cases} kernels counted, {failed} not as said")
    if counted_cases == 0:
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
