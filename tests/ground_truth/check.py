#!/usr/bin/env python3
"""Counts what each kernel really executes, and compares it with what its descriptor says.

    check.py RUN_KERNEL [--verbose]
    check.py RUN_KERNEL --emulator 'qemu-aarch64 -L /usr/aarch64-linux-gnu' [--verbose]

RUN_KERNEL is run under callgrind with two numbers of iterations; the difference is what the iterations
between them did, without start-up. Loads and stores are counted as instructions that touch memory. A
program for Arm runs under the emulator instead, which lists each instruction that it executes. Variants that valgrind cannot run (AVX-512, SHA extensions) are skipped, and say so.
Exit status: 0 all as said, 1 not, 77 skipped (no valgrind, or a machine that it cannot run on).
"""
import argparse
import functools
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
ARM_CASES = [
    ("chase:size=8K", 100, dict(loads=1, stores=1, instructions=1.05)),
    ("chase:size=8K,chains=4", 20, dict(loads=1, stores=1, instructions=1.05)),
    *((f"stream:size=12K,variant=neon,op={op}", 10, dict(loads=1, stores=1, instructions=3))
      for op in ("read", "write", "ntwrite", "copy", "ntcopy", "triad", "nttriad")),
    ("stream:size=12K,variant=neon,op=read,hint=t0", 10, dict(loads=1, stores=1, instructions=3)),
    ("stream:size=12K,variant=scalar,op=read", 10, dict(loads=1, stores=1, instructions=2.5)),
    ("stream:size=12K,variant=scalar,op=triad", 10, dict(loads=1, stores=1, instructions=2.5)),
    ("atomic:op=lockinc", 100, dict(loads=1, stores=1, instructions=0.6)),
    ("atomic:op=lockinc,variant=scalar", 100, dict(loads=1, stores=1, instructions=2.1)),
    ("atomic:op=inc", 100, dict(loads=1, stores=1, instructions=2)),
]
ARM_BLOCKS = [("sha256:variant=armv8", 1)]
# A message of twice the size must cost twice the instructions for what it is longer; what a message costs besides
# (padding, and writing the digest byte by byte) is the same at every size and depends on the compiler.
BLOCKS = [("sha256:variant=%s" % variant, 20) for variant in ("portable", "ssse3", "avx2")]

BLOCK_SIZES = ("16K", "32K", "64K")
# A message's own cost, in blocks of its variant: 5.7 were seen, of the shortest blocks.
MOST_BLOCKS_BESIDES = 12

# Reading the share's bounds and calling the loop are in the counts too.
SLACK, SLACK_PER_ITERATION = 0.01, 4


# Any will do, since accesses are counted, not misses; this machine's own may be ones that it cannot simulate.
SIMULATED_CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"]


class Unavailable(Exception):
    """The case cannot be counted here."""


def run_emulated(emulator, run_kernel, spec, iterations):
    """One run under user-mode emulation that logs every instruction of the program itself, not of its libraries."""
    help_text = subprocess.run([emulator[0], "--help"], capture_output=True, text=True).stdout
    single = "-one-insn-per-tb" if "one-insn-per-tb" in help_text else "-singlestep"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        done = subprocess.run([*emulator, single, "-d", "exec,nochain,in_asm", "-dfilter", "0x5500000000+0x1000000",
                               "-D", log, run_kernel, spec, str(iterations)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"the emulator ended with {done.returncode}: {done.stderr.strip()[-200:]}")
        names, instructions, loads, stores = {}, 0, 0, 0
        with open(log, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("Trace"):
                    name = names.get(int(line.split("/")[1], 16), "")
                    instructions += 1
                    # An atomic instruction does both.
                    both = name.startswith(("ldadd", "swp", "cas"))
                    loads += both or name.startswith("ld")
                    stores += both or name.startswith("st")
                elif line.startswith("0x"):
                    address, code, name = line.split()[:3]
                    # The emulator's disassembler is older than the atomic instructions of Armv8.1.
                    names[int(address.rstrip(":"), 16)] = "ldadd" if int(code, 16) & 0x3f20fc00 == 0x38200000 else name
    words = done.stdout.split()
    said = dict(zip(("operations", "bytes", "loads", "stores"), map(float, words[1:])))
    return said, (instructions, loads, stores)


def run_callgrind(run_kernel, spec, iterations):
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


def per_iteration(run, spec, iterations):
    """What the kernel says of one iteration, and what was counted for one."""
    said, few = run(spec, iterations)
    _, many = run(spec, 3 * iterations)
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
    # Start-up differs by some instructions from run to run, and the emulator's cases have few iterations to spread it on.
    fewest = max(said["loads"], said["stores"])
    if instructions < fewest - SLACK * fewest - SLACK_PER_ITERATION:
        faults.append(f"instructions: {instructions:.1f} cannot hold {touches:g} loads and stores")
    if "instructions" in expect and instructions > expect["instructions"] * touches + SLACK_PER_ITERATION:
        faults.append(f"instructions: {instructions:.1f} for {touches:g} loads and stores")
    return faults


def judge_blocks(sizes):
    """Faults of (blocks, instructions) at three sizes; the instructions per further block, twice, and per message."""
    (few, of_few), (more, of_more), (most, of_most) = sizes
    costs = (of_more - of_few) / (more - few), (of_most - of_more) / (most - more)
    besides = of_few - costs[0] * few
    faults = []
    if (more - few, most - more) != (256, 512):
        faults.append(f"blocks: {few:g}, {more:g} and {most:g} are not one for every 64 bytes and the padding")
    if abs(costs[0] / costs[1] - 1) > SLACK:
        faults.append(f"instructions per further block: {costs[0]:.2f} and {costs[1]:.2f} differ")
    if not 0 <= besides <= MOST_BLOCKS_BESIDES * costs[0]:
        faults.append(f"instructions per message besides its blocks: {besides:.0f}")
    return faults, costs, besides


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run_kernel")
    parser.add_argument("--emulator", default="", help="runs RUN_KERNEL, with its options")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    verbose, emulator = arguments.verbose, arguments.emulator.split()
    if not shutil.which(emulator[0] if emulator else "valgrind"):
        print(f"skipped: {emulator[0] if emulator else 'valgrind'} is not installed (third_party/setup.sh --test installs it)")
        return 77
    if emulator:
        cases, blocks, run = ARM_CASES, ARM_BLOCKS, functools.partial(run_emulated, emulator, arguments.run_kernel)
    else:
        cases, blocks, run = CASES, BLOCKS, functools.partial(run_callgrind, arguments.run_kernel)
    failed = counted_cases = 0
    for spec, iterations, expect in cases:
        try:
            said, counted = per_iteration(run, spec, iterations)
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
    for spec, iterations in blocks:
        try:
            sizes = [per_iteration(run, f"{spec},size={size}", iterations) for size in BLOCK_SIZES]
        except Unavailable as reason:
            print(f"skipped {spec}: {reason}")
            continue
        counted_cases += 1
        faults, costs, besides = judge_blocks([(said["operations"], counted[0]) for said, counted in sizes])
        failed += bool(faults)
        if verbose or faults:
            print(f"{'FAIL' if faults else 'ok'} {spec}: {costs[0]:.1f} and {costs[1]:.1f} instructions per further block, "
                  f"{besides:.0f} per message besides")
        for fault in faults:
            print(f"     {fault}")
    print(f"{counted_cases} kernels counted, {failed} not as said")
    if counted_cases == 0:
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
