#!/usr/bin/env python3
"""Programs whose debug information and unwinding tables are broken by chance, the same each time: `tmaprobe where`
answers all the same.

    where_broken.py TMAPROBE TARGET PROGRAM ARGUMENT...
"""
import os
import random
import re
import subprocess
import sys

VARIANTS = 6


def sections(program):
    found = {}
    for line in subprocess.run(["readelf", "-SW", program], check=True, capture_output=True, text=True).stdout.splitlines():
        match = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+\S+\s+\S+\s+([0-9a-f]+)\s+([0-9a-f]+)", line)
        if match and (match[1].startswith(".debug") or match[1].startswith(".eh_frame")):
            found[match[1]] = (int(match[2], 16), int(match[3], 16))
    return found


def main(tmaprobe, target, program, *arguments):
    whole, places = open(program, "rb").read(), sections(program)
    assert ".eh_frame" in places and ".debug_info" in places, places
    for seed in range(VARIANTS):
        chance = random.Random(seed)
        broken = bytearray(whole)
        names = [".eh_frame", ".debug_info"][seed % 2:][:1] + chance.sample(sorted(places), 2)
        for offset, size in (places[name] for name in names):
            for _ in range(max(4, size // 20)):
                broken[offset + chance.randrange(size)] = chance.randrange(256)
        with open("broken", "wb") as file:
            file.write(broken)
        os.chmod("broken", 0o755)
        done = subprocess.run([tmaprobe, "where", "--repeatable", "--target", target, "--by", "path", "--", "./broken", *arguments],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0 and re.search(r"whole +low", done.stderr), (seed, names, done.returncode, done.stderr[-2000:])


main(*sys.argv[1:])
