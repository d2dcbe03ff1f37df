#!/usr/bin/env python3
"""Holds the model against published measurements and prints both, with the error.

Usage: published.py TMAPROBE [section ...]      sections: sha256 cycles_per_byte loops latency memory here
Published figures live here and nowhere in the tool. Exit status 0 when every figure is within its limit,
1 when one is not: that is a finding about the model, and docs/model-truth.md says which ones are known.
"""

import json
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
misses = []


def model(tool, arguments):
    """The only run of a record made with the model."""
    record = subprocess.run([tool, "--source", "model", "--level", "2", "--json", "-", *arguments],
                            capture_output=True, text=True, check=False)
    if record.returncode not in (0,) and not record.stdout:
        raise SystemExit(f"{' '.join(arguments)}: {record.stderr.strip()}")
    run = json.loads(record.stdout)["runs"][0]
    run["model"] = run["extra"]["model"] if "extra" in run else run["model"]
    run["values"] = {m["name"]: m["value"] for m in run["metrics"] if m["status"] == "modelled"}
    return run


def line(what, modelled, published, unit, limit):
    """`limit`: allowed difference in the unit, or a string such as '20%'."""
    error = modelled - published
    allowed = published * float(limit[:-1]) / 100 if isinstance(limit, str) else limit
    verdict = "ok" if abs(error) <= allowed else "OFF"
    if verdict == "OFF":
        misses.append(what)
    relative = f"{100 * error / published:+.0f}%" if published else ""
    print(f"  {what:<46} {modelled:9.2f} {published:9.2f} {error:+8.2f} {relative:>6}  {unit:<16} {verdict}")


def head(title, source):
    print(f"\n{title}\n  published: {source}")
    print(f"  {'':<46} {'model':>9} {'published':>9} {'error':>8}")


def sha256(tool):
    head("SHA-256 with the SHA extensions on Zen 4, % of slots",
         "Ryzen 9 7950X, Linux 6.5, Crypto++ 8.9, perf stat -M PipelineL1,PipelineL2")
    values = model(tool, ["--kernel", "sha256", "--variant", "shani", "--target", "amdzen4"])["values"]
    for name, figure, limit in [
            ("frontend_bound", 6.1, 5), ("bad_speculation", 0.0, 5), ("backend_bound", 67.5, 5), ("retiring", 26.3, 5),
            ("frontend_bound_latency", 0.1, 5), ("frontend_bound_bandwidth", 6.1, 5), ("backend_bound_memory", 1.7, 5),
            ("backend_bound_cpu", 65.9, 5), ("retiring_fastpath", 20.2, 5), ("retiring_microcode", 6.1, 5)]:
        line(name, 100 * values.get(name, 0), figure, "% of slots", limit)
    order = sorted(["backend_bound_cpu", "retiring_fastpath", "retiring_microcode", "frontend_bound_bandwidth",
                    "backend_bound_memory", "frontend_bound_latency"], key=lambda n: -values.get(n, 0))
    print("  level 2, largest first: " + ", ".join(order))


def cycles_per_byte(tool):
    head("SHA-256 with the SHA extensions, cycles per byte", "2.05 for Zen as quoted with OpenSSL's assembly; Ice Lake see the script")
    for target, name, figure in CYCLES_PER_BYTE:
        run = model(tool, ["--kernel", "sha256", "--variant", "shani", "--target", target])
        facts = run["model"]["facts"]
        # 32 sha256rnds2 a block; every other instruction count follows from the kernel's own loop.
        instructions_per_block = run["parameters"].get("instructions_per_block") or instructions(tool)
        line(name, facts["cycles"] / facts["instructions"] * instructions_per_block / 64, figure, "cycles/byte", "25%")


_instructions = []


def instructions(tool):
    """Instructions of one 64-byte block of the kernel: from time and cycles of this machine's own model."""
    if not _instructions:
        listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", tool], capture_output=True, text=True, check=False).stdout
        best = 0
        for function in listing.split("\n\n"):
            lines = function.splitlines()[1:]
            rounds = [i for i, text in enumerate(lines) if "sha256rnds2" in text]
            if len(rounds) != 32:
                continue
            # The loop: from the target of the backward jump after the last round to that jump.
            addresses = {text.split(":")[0].strip(): i for i, text in enumerate(lines)}
            for i in range(rounds[-1], len(lines)):
                fields = lines[i].split("\t")
                if len(fields) > 1 and fields[1].startswith("j"):
                    target = fields[1].split()[1]
                    if target in addresses and addresses[target] <= rounds[0]:
                        best = max(best, i - addresses[target] + 1)  # another has the rounds alone, to be timed
                        break
        _instructions.append(best or 126)
    return _instructions[0]


# target, what, cycles per byte
CYCLES_PER_BYTE = [("amdzen4", "Zen 4 (published for Zen)", 2.05), ("amdzen3", "Zen 3 (published for Zen)", 2.05),
                   ("amdzen2", "Zen 2 (published for Zen)", 2.05),
                   # No long-message measurement at hand: 32 dependent sha256rnds2 of 4 cycles (uops.info) are the floor.
                   ("icelakex", "Ice Lake (floor by instruction latency)", 2.0)]

# Latencies and reciprocal throughputs in cycles as uops.info and A. Fog's instruction tables give them.
LOOPS = {
    "amdzen4": {"add_latency": 1, "imul_latency": 3, "imul_throughput": 1, "load_latency": 4, "addsd_latency": 3,
                "mulsd_latency": 3, "fma_latency": 4, "divsd_latency": 13, "sqrtsd_latency": 21, "crc32_latency": 3,
                "popcnt_throughput": 0.25, "paddd_throughput": 0.25, "pmulld_latency": 3, "aesenc_latency": 4,
                "shuffle_throughput": 0.5},
    "cascadelakex": {"add_latency": 1, "imul_latency": 3, "imul_throughput": 1, "load_latency": 4, "addsd_latency": 4,
                     "mulsd_latency": 4, "fma_latency": 4, "divsd_latency": 13, "sqrtsd_latency": 18, "crc32_latency": 3,
                     "popcnt_throughput": 1, "paddd_throughput": 0.33, "pmulld_latency": 10, "aesenc_latency": 4,
                     "shuffle_throughput": 1},
}


def loops(tool):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "loops")
        subprocess.run(["cc", "-O2", "-mfma", "-o", program, os.path.join(FOLDER, "loops.c")], check=True)
        for target, figures in LOOPS.items():
            head(f"Small loops on {target}, cycles per instruction", "uops.info; A. Fog, Instruction tables")
            for name, figure in figures.items():
                # The first window is the program's start, which is not the loop.
                windows = model(tool, ["--target", target, "--", program, name])["model"]["each_window"][1:]
                cycles = sorted(window["cycles"] / window["instructions"] for window in windows)
                line(name, cycles[len(cycles) // 2] * 66 / 64, figure, "cycles", "15%")


def chase_cycles(tool, target, size, pages):
    run = model(tool, ["--kernel", "chase", "--size", size, "--target", target, "--assume-pages", pages])
    facts = run["model"]["facts"]
    return facts["cycles"] / facts["loads"]


def latency(tool):
    print("\nLatency against block size on Zen 2, cycles per load\n"
          "  published: EPYC 7452: knees at 8 MB with 4 KB pages and at 16 MB; 1.5x between page modes at 16 MB; L3 about 40 clocks")
    sizes = ["16K", "256K", "1M", "2M", "4M", "6M", "8M", "10M", "12M", "14M", "16M", "20M", "24M", "32M", "64M"]
    table = {}
    for pages in ("4k", "2m"):
        table[pages] = [chase_cycles(tool, "amdzen2", size, pages) for size in sizes]
    print(f"  {'size':>6} {'4k pages':>10} {'2m pages':>10} {'ratio':>7}")
    for i, size in enumerate(sizes):
        print(f"  {size:>6} {table['4k'][i]:10.1f} {table['2m'][i]:10.1f} {table['4k'][i] / table['2m'][i]:7.2f}")
    at = dict(zip(sizes, range(len(sizes))))
    line("L3 latency, 4M with 2m pages", table["2m"][at["4M"]], 40, "cycles", "15%")
    line("ratio of page modes at 16M", table["4k"][at["16M"]] / table["2m"][at["16M"]], 1.5, "", "25%")
    knee = table["4k"][at["12M"]] / table["4k"][at["6M"]] - table["2m"][at["12M"]] / table["2m"][at["6M"]]
    print(f"  knee of 4k pages past 8M (12M over 6M, less that of 2m pages): {knee:+.2f}")


def memory(tool):
    print("\nMemory-bound kernels on Zen 4 and Cascade Lake")
    for target, backend, name in [("amdzen4", "backend_bound_memory", "Zen 4"), ("cascadelakex", "tma_memory_bound", "Cascade Lake")]:
        values = model(tool, ["--kernel", "chase", "--size", "256M", "--target", target])["values"]
        print(f"  chase 256M on {name}: {100 * values.get(backend, 0):.1f}% of slots bound by memory (expected above 90)")
        if values.get(backend, 0) < 0.9:
            misses.append(f"chase {name}")
    for hint in ("none", "t0"):
        try:
            run = model(tool, ["--kernel", "stream", "--size", "256M", "--target", "amdzen4", "--option", f"hint={hint}"])
        except SystemExit as reason:
            print(f"  stream, hint {hint}: {reason}")
            continue
        loads = 64 // STREAM_LOADS[run["variant"]]
        # A hint counts as one more load of its line.
        facts = run["model"]["facts"]
        cycles = facts["cycles"] / facts["loads"] * (loads + (hint != "none"))
        print(f"  stream 256M {run['variant']}, prefetch hint {hint}: {cycles:.1f} cycles per line")


# What a load of each variant of stream takes at once, in bytes.
STREAM_LOADS = {"avx512": 64, "avx2": 32, "sse2": 16, "scalar": 8, "neon": 16}
HERE = ([["sha256", "--variant", "shani"]]
        + [["chase", "--size", size] for size in ("16K", "256K", "4M", "16M", "256M")]
        + [["stream", "--size", size, "--variant", variant] for size in ("16K", "256M") for variant in ("avx512", "avx2", "sse2", "scalar")]
        + [["atomic", "--option", f"op={op}"] for op in ("lockinc", "inc")])


def here(tool):
    print("\nThis machine: modelled cycles of an operation against measured time, in cycles of the clock measured beside it\n"
          f"  {'kernel':<40} {'modelled':>9} {'low':>8} {'high':>8} {'measured':>9} {'fastest':>9} {'ratio':>6}")
    ratios = []
    for kernel, *arguments in HERE:
        name = " ".join([kernel, *(word for word in arguments if not word.startswith("--"))])
        try:
            run = model(tool, ["--kernel", kernel, *arguments])
        except (SystemExit, json.JSONDecodeError) as reason:
            print(f"  {name:<40} {reason}")
            continue
        cycles = run["time"].get("cycles_per_op") or {}
        if not cycles.get("median"):
            print(f"  {name:<40} no measured cycles")
            continue
        check = run["model"].get("clock_check") or {}
        if not check.get("modelled_ns"):
            print(f"  {name:<40} not held against the clock")
            continue
        modelled = check["modelled_ns"] * check["clock_hz"] * 1e-9
        low, high = (modelled * bound for bound in spread(run))
        ratios.append(modelled / cycles["median"])
        print(f"  {name:<40} {modelled:9.2f} {low:8.2f} {high:8.2f} {cycles['median']:9.2f} {cycles['min']:9.2f} {ratios[-1]:6.2f}", flush=True)
    if ratios:
        ratios.sort()
        print(f"  ratio modelled to measured (median): from {ratios[0]:.2f} to {ratios[-1]:.2f}, median {ratios[len(ratios) // 2]:.2f}")


def spread(run):
    """How far the model's own variations move its cycles per instruction, as factors."""
    base = run["model"]["facts"]["cycles"] / run["model"]["facts"]["instructions"]
    found = [variation["cycles"] / variation["instructions"] / base for variation in run["model"].get("variations", [])] or [1]
    return min(1, *found), max(1, *found)


SECTIONS = {"sha256": sha256, "cycles_per_byte": cycles_per_byte, "loops": loops, "latency": latency, "memory": memory, "here": here}


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    for name in sys.argv[2:] or SECTIONS:
        SECTIONS[name](sys.argv[1])
    print("\n" + (f"outside their limits: {', '.join(misses)}" if misses else "all within their limits"))
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
