#!/usr/bin/env python3
"""Prints how true models of a core are to blocks that were timed.

Usage: blocks.py MEASURED MODEL=FILE ... [--worst N] [--set tuned|held_out|all]
MEASURED and each FILE hold lines "hexadecimal instructions cycles", as time_blocks and model_blocks print them. A third of
the blocks, chosen by hash, is held out: nothing is tuned on it.
"""

import argparse
import hashlib
import subprocess
import tempfile


def read(path):
    values = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.split()
            if len(fields) >= 3 and float(fields[2]) > 0:
                values[fields[0]] = float(fields[2])
    return values


def held_out(code):
    return hashlib.sha256(b"held out " + code.encode()).digest()[0] % 3 == 0


def tau(pairs):
    """Kendall's tau-a with ties counted as neither."""
    agree = total = 0
    for i, (a, b) in enumerate(pairs):
        for c, d in pairs[:i]:
            product = (a - c) * (b - d)
            agree += (product > 0) - (product < 0)
            total += 1
    return agree / total if total else 0


def disassembled(codes):
    """Instructions of each block, by objdump."""
    lines = []
    for code in codes:
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes.fromhex(code))
            file.flush()
            listing = subprocess.run(["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "--no-show-raw-insn", file.name],
                                     capture_output=True, text=True, check=False).stdout
        lines.append("; ".join(" ".join(line.split("\t")[1].split()) for line in listing.splitlines() if "\t" in line))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--set", default="both", choices=["tuned", "held_out", "all", "both"])
    options = parser.parse_args()
    measured = read(options.measured)
    models = {name: read(path) for name, path in (model.split("=", 1) for model in options.models)}
    common = [code for code in measured if all(code in values for values in models.values())]
    sets = {"tuned": [c for c in common if not held_out(c)], "held_out": [c for c in common if held_out(c)], "all": common}
    print(f"{len(measured)} blocks timed, {len(common)} taken by all models")
    print(f"{'':<28} {'blocks':>6} {'mean':>7} {'median':>7} {'<10%':>6} {'tau':>6}")
    for part in (["tuned", "held_out"] if options.set == "both" else [options.set]):
        for name, values in models.items():
            errors = sorted(abs(values[c] - measured[c]) / measured[c] for c in sets[part])
            if not errors:
                continue
            pairs = [(measured[c], values[c]) for c in sets[part]]
            print(f"{name + ', ' + part:<28} {len(errors):>6} {100 * sum(errors) / len(errors):>6.1f}% {100 * errors[len(errors) // 2]:>6.1f}% "
                  f"{100 * sum(e < 0.1 for e in errors) / len(errors):>5.0f}% {tau(pairs):>6.3f}")
    if options.worst:
        name, values = next(iter(models.items()))
        chosen = sets["tuned" if options.set == "both" else options.set]
        worst = sorted(chosen, key=lambda c: -abs(values[c] - measured[c]) / measured[c])[:options.worst]
        print(f"\nworst of {name}: measured, modelled, block")
        for code, text in zip(worst, disassembled(worst)):
            print(f"{measured[code]:8.2f} {values[code]:8.2f}  {text}")


if __name__ == "__main__":
    main()
