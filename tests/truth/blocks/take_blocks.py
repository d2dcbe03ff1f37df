#!/usr/bin/env python3
"""Takes basic blocks out of the programs of this machine, as blocks.json says, and prints each as hexadecimal and its number of
instructions.

Usage: take_blocks.py [blocks.json] > blocks.txt
A block is what lies between two places where control flow may come or go, without the branch at its end. Which blocks
are taken follows from their bytes and a fixed seed, so that the same programs give the same list.
"""

import hashlib
import json
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
LINE = re.compile(r"^\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(.*)$")
ENDS = re.compile(r"^(?:bnd |notrack |data16 |rex\S* )*(j|call|ret|loop|syscall|sysenter|int|hlt|ud|iret|xbegin|xabort|xend)")
# What leaves user mode, waits for the world, or addresses what only its own program has.
EXCLUDED = re.compile(r"(%fs|%gs|%ds|%es|%cs|\brep|lock|cpuid|rdtsc|rdpmc|xgetbv|\bin\b|\bout|cli|sti|fence|pause|rdrand|rdseed|"
                      r"\(bad\)|data16|endbr|%st|\bf[a-z]+|emms|xsave|xrstor|prefetch|clflush|ldmxcsr|stmxcsr|%mm|std|cld|popf|"
                      r"pushf|enter|%eiz|%riz|addr32|gather|scatter|maskmov)")


def digest(seed, data):
    return hashlib.sha256(seed.encode() + data).hexdigest()


def text_section(path):
    for line in subprocess.run(["objdump", "-h", path], capture_output=True, text=True, check=False).stdout.splitlines():
        fields = line.split()
        if len(fields) > 4 and fields[1] == ".text":
            return int(fields[3], 16), int(fields[2], 16)
    return None


def chunks(path, seed, count, size):
    section = text_section(path)
    if not section:
        return
    start, length = section
    for i in range(count):
        offset = int(digest(seed, f"{os.path.basename(path)} {i}".encode())[:12], 16) % max(1, length - size)
        yield start + offset, start + offset + size


def instructions(path, start, stop):
    listing = subprocess.run(["objdump", "-d", "-w", f"--start-address={start}", f"--stop-address={stop}", path],
                             capture_output=True, text=True, check=False).stdout
    for line in listing.splitlines():
        match = LINE.match(line)
        if match:
            yield int(match[1], 16), bytes.fromhex(match[2].replace(" ", "")), match[3].strip()


def blocks(path, start, stop):
    # A chunk may begin within an instruction: what follows the first of them is in step again.
    code = list(instructions(path, start, stop))[20:]
    targets = {int(m[1], 16) for _, _, text in code if (m := re.match(r"^(?:bnd )?j\w+\s+([0-9a-f]+)\b", text))}
    current, usable = [], True
    for address, data, text in code:
        ends = ENDS.match(text)
        if current and (ends or address in targets):
            if usable:
                yield b"".join(current), len(current)
            current, usable = [], True
        if ends:
            current, usable = [], True
            continue
        if text.startswith("nop") or text.startswith("xchg   %ax,%ax"):
            continue
        usable = usable and not EXCLUDED.search(text)
        current.append(data)


def main():
    with open(sys.argv[1] if len(sys.argv) > 1 else os.path.join(FOLDER, "blocks.json"), encoding="utf-8") as file:
        wanted = json.load(file)
    taken = set()
    for program in wanted["programs"]:
        path = next((p for p in program["paths"] if os.path.exists(p)), None)
        if not path:
            print(f"{program['paths'][0]}: not here", file=sys.stderr)
            continue
        found = {}
        for start, stop in chunks(path, wanted["seed"], wanted["chunks"], wanted["chunk_bytes"]):
            found |= {data: count for data, count in blocks(path, start, stop) if wanted["least"] <= count <= wanted["most"]}
        chosen = sorted(found.keys() - taken, key=lambda data: digest(wanted["seed"], data))[:program["blocks"]]
        taken |= set(chosen)
        print(f"{path}: {len(chosen)} of {len(found)}", file=sys.stderr)
        for data in chosen:
            print(data.hex(), found[data])


if __name__ == "__main__":
    main()
