#!/usr/bin/env python3
"""The core gives small blocks the cycles that a machine of its kind took for them.

Usage: known_blocks_test.py MODEL_BLOCKS
"""

import os
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
with open("/proc/cpuinfo", encoding="utf-8") as cpu_info:
    HOST_HAS_512_BITS = " avx512f " in cpu_info.read()


def wrong_on(target):
    with open(os.path.join(FOLDER, f"known_{target}.txt"), encoding="utf-8") as file:
        known = [line.split(maxsplit=3) for line in file if not line.startswith("#")]
    blocks = "".join(f"{code} {count}\n" for code, count, _, _ in known)
    answer = subprocess.run([sys.argv[1], target], input=blocks, capture_output=True, text=True, check=True).stdout
    modelled = [float(line.split()[2]) for line in answer.splitlines()]
    assert len(modelled) == len(known) > 50, f"{len(modelled)} answers for {len(known)} blocks"
    wrong, not_run = [], 0
    for (_, _, measured, text), cycles in zip(known, modelled):
        if cycles < 0 and "%zmm" in text and not HOST_HAS_512_BITS:
            not_run += 1
            continue
        # A tenth, or what a clock cannot tell apart.
        if abs(cycles - float(measured)) > max(0.1 * float(measured), 0.045):
            wrong.append(f"{text.strip()}: measured {measured}, modelled {cycles:.2f}")
    print(f"{target}:", "\n".join(wrong) or f"{len(known) - not_run} blocks as measured")
    if not_run:
        print(f"{target}: {not_run} blocks not run: they have vectors of 512 bits, and this CPU has none")
    return wrong


def main():
    return 1 if any([wrong_on(target) for target in ("sapphirerapids", "amdzen3", "amdzen4")]) else 0


if __name__ == "__main__":
    sys.exit(main())
