#!/usr/bin/env python3
"""Runs tmaprobe's kernels and their peers alternately on this machine, and prints ratios with spread.

    compare.py TMAPROBE [chase] [stream] [sha256] [pingpong] [options]

likwid-bench, openssl, cryptest, mbw and core-to-core-latency are found in PATH; paths of other peers are given
as options. What is not there is left out, and said. Each round runs every program of every case once; a ratio is
taken within a round, so that a machine that slows down slows both. On a ratio, 1.00 is equal and more is better
for tmaprobe. Figures depend on the machine: only ratios of one run of this script mean anything.
"""
import argparse
import functools
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import types

import peers


def tmaprobe(setup, spec, statistic):
    """One measurement by tmaprobe: ns per operation, or bytes per second."""
    kernel, _, rest = spec.partition(":")
    words = [setup.tmaprobe, "--kernel", kernel, "--source", "none", "--repeat", "9", "--json", "-"]
    threads = setup.cpus[:setup.threads]
    words += ["--cpu", ",".join(map(str, threads)), "--threads", str(len(threads))]
    for part in filter(None, rest.split(",")):
        name, value = part.split("=")
        words += [f"--{name}", value] if name in ("size", "pages", "variant") else ["--option", part]
    done = subprocess.run([*setup.prefix, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise peers.Missing(done.stderr.strip().splitlines()[0] if done.stderr else "it failed")
    time = json.loads(done.stdout)["runs"][0]["time"]
    best = min if statistic == "ns_per_op" else max
    typical, extreme = time[statistic]["median"], best(time[statistic]["min"], time[statistic]["max"])
    return typical, extreme


# likwid-bench's test of each operation, by vector; what it has no test for is left out.
LIKWID = {"read": "load_{}", "write": "store_{}", "ntwrite": "store_mem_{}", "copy": "copy_{}",
          "ntcopy": "copy_mem_{}", "triad": "stream_{}_fma", "nttriad": "stream_mem_{}_fma"}
# STREAM's line; mbw's copy is the C library's, past the caches when it is large.
STREAM = {"copy": "Copy", "triad": "Triad"}
# tinymembench's block is fixed: 32 MiB are written, or as many copied from others. Its tests of each operation, without
# those that prefetch, and how often it counts a byte less than the program moves.
TINYMEMBENCH = {("write", "32M"): (("C fill", "SSE2 fill", "standard memset"), 1),
                ("ntwrite", "32M"): (("SSE2 nontemporal fill",), 1),
                ("copy", "64M"): (("C copy", "SSE2 copy"), 2),
                ("ntcopy", "64M"): (("SSE2 nontemporal copy", "standard memcpy"), 2)}


def stream_cases(setup):
    """Each operation at each size, in the vectors that tmaprobe chooses, against all vectors of likwid-bench."""
    vectors = ["sse", *(["avx"] if setup.avx else []), *(["avx512"] if setup.avx512 else [])]
    for name, size in {"16K": 16 << 10, "256K": 256 << 10, "8M": 8 << 20, "256M": 256 << 20}.items():
        in_memory = name == "256M"
        for op, test in LIKWID.items():
            if op.startswith("nt") and not in_memory:
                continue
            others = {f"likwid {test.format(vector)}": lambda test=test.format(vector), size=size: peers.likwid(setup, test, size)
                      for vector in vectors}
            if in_memory and op in STREAM:
                others["STREAM"] = lambda line=STREAM[op]: peers.stream(setup, line)
            if in_memory and op == "ntcopy":
                others["mbw"] = lambda size=size: peers.mbw(setup, size)
            yield f"stream {op} {name}", f"stream:size={name},op={op}", "bytes_per_second", "typical", others
    for (op, name), (lines, factor) in TINYMEMBENCH.items():
        yield f"stream {op} {name}", f"stream:size={name},op={op}", "bytes_per_second", "best", {
            f"tinymembench {line}": lambda line=line, factor=factor: peers.tinymembench(setup, line, factor)
            for line in lines}


def chase_cases(setup):
    """Each size and page mode. lat_mem_rd visits a new page with each load: it has cases of its own."""
    sizes = {"16K": 16 << 10, "256K": 256 << 10, "4M": 4 << 20, "64M": 64 << 20, "256M": 256 << 20}
    for pages in setup.pages:
        @functools.cache
        def first_level(pages=pages):
            return tmaprobe(setup, f"chase:size=16K,pages={pages}", "ns_per_op")[1]
        for name, size in sizes.items():
            others = {
                "multichase": lambda size=size, pages=pages: peers.multichase(setup, size, pages),
                "Chips and Cheese": lambda size=size, pages=pages: peers.chips_and_cheese_latency(setup, size, pages)}
            if name != "256M":
                others["tinymembench"] = lambda size=size, pages=pages, first_level=first_level: (
                    peers.tinymembench_latency(setup, size, pages, first_level))
            yield f"chase {name} {pages}", f"chase:size={name},pages={pages}", "ns_per_op", "best", others
            yield (f"chase {name} {pages} newpage", f"chase:size={name},pages={pages},order=newpage", "ns_per_op", "best",
                   {"lat_mem_rd": lambda size=size, pages=pages: peers.lat_mem_rd(setup, size, pages)})


def cases(setup, wanted):
    """(name, tmaprobe's spec, statistic, peer's statistic, {peer: function}) of what was asked for."""
    if "chase" in wanted:
        yield from chase_cases(setup)
    if "stream" in wanted:
        yield from stream_cases(setup)
    if "sha256" in wanted:
        for variant in peers.OPENSSL_MASKS:
            others = {"openssl": lambda variant=variant: peers.openssl(setup, variant)}
            if variant in ("shani", "armv8"):
                others["Crypto++"] = lambda: peers.cryptest(setup)
            yield f"sha256 {variant}", f"sha256:variant={variant}", "bytes_per_second", "typical", others
    if "pingpong" in wanted:
        for protocol, benchmark in (("cas", 1), ("load", 2)):
            yield (f"pingpong {protocol}", f"pingpong:protocol={protocol}", "ns_per_op", "best", {
                "core-to-core-latency": lambda benchmark=benchmark: peers.core_to_core_latency(setup, benchmark),
                "multichase": lambda protocol=protocol: peers.multichase_pingpong(setup, protocol)})


def show(values, best, statistic):
    """The best of the rounds, and their median with its spread."""
    scale, unit = (1, "ns") if statistic == "ns_per_op" else (1e9, "GB/s")
    return (f"{best(values) / scale:.2f} {unit}, median {statistics.median(values) / scale:.2f} "
            f"±{100 * spread(values):.1f}%")


def measure(setup, case, figures):
    """One round of one case: adds tmaprobe's figure and each peer's to `figures`, pairs by (case, peer)."""
    name, spec, statistic, peers_give, others = case
    present = {peer: run for peer, run in others.items() if (name, peer) not in setup.left_out}
    if not present:
        return
    setup.threads = 2 if spec.startswith("pingpong") else 1
    try:
        typical, extreme = tmaprobe(setup, spec, statistic)
    except peers.Missing as reason:
        setup.left_out.update({(name, peer): f"tmaprobe: {reason}" for peer in present})
        return
    for peer, run in present.items():
        try:
            pair = (extreme if peers_give == "best" else typical, run())
            figures.setdefault((name, peer), []).append(pair)
        except peers.Missing as reason:
            setup.left_out[name, peer] = str(reason)


def row_of(name, peer, pairs, statistic):
    """Figures and ratios over the rounds."""
    less_is_better = statistic == "ns_per_op"
    best = min if less_is_better else max
    mine, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    ratios = sorted(t / m if less_is_better else m / t for m, t in pairs)
    best_ratio = best(theirs) / best(mine) if less_is_better else best(mine) / best(theirs)
    return {"case": name, "peer": peer, "tmaprobe": mine, "theirs": theirs, "statistic": statistic, "ratios": ratios,
            "ratio": statistics.median(ratios), "ratio_of_best": best_ratio, "spread": spread(mine),
            "their_spread": spread(theirs)}


def print_rows(rows):
    print("| case | peer | tmaprobe | peer's | best to best | ratio within a round |\n|---|---|---|---|---|---|")
    for row in rows:
        best, ratios = min if row["statistic"] == "ns_per_op" else max, row["ratios"]
        print(f"| {row['case']} | {row['peer']} | {show(row['tmaprobe'], best, row['statistic'])} "
              f"| {show(row['theirs'], best, row['statistic'])} | {row['ratio_of_best']:.2f} "
              f"| {row['ratio']:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |")


def spread(values):
    """Half of the distance between the quartiles, as a share of the median."""
    if len(values) < 4:
        return (max(values) - min(values)) / 2 / statistics.median(values)
    quartiles = statistics.quantiles(values, method="inclusive")
    return (quartiles[2] - quartiles[0]) / 2 / quartiles[1]


def print_summary(rows):
    """Each case against the best of its peers."""
    print("\n| case | best peer | rounds | best to best | median within a round | spread of tmaprobe, of the peer |\n"
          "|---|---|---|---|---|---|")
    for case in dict.fromkeys(row["case"] for row in rows):
        nearest = min((row for row in rows if row["case"] == case), key=lambda row: row["ratio"])
        print(f"| {case} | {nearest['peer']} | {len(nearest['theirs'])} | {nearest['ratio_of_best']:.2f} | {nearest['ratio']:.2f} "
              f"| ±{100 * nearest['spread']:.1f}%, ±{100 * nearest['their_spread']:.1f}% |")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tmaprobe")
    parser.add_argument("kernels", nargs="*", default=[], metavar="KERNEL", help="chase, stream, sha256, pingpong")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", metavar="REGEX", help="only the cases whose name it matches: ' (16K|256K) '")
    parser.add_argument("--cpus", default="0,1", help="two CPUs; the first runs what has one thread")
    parser.add_argument("--pages", default="4k", help="of chase: 4k,2m (peers take transparent huge pages then)")
    parser.add_argument("--prefix", default="", help="put before every program, for example 'chrt -f 10'")
    parser.add_argument("--json", metavar="FILE", help="all figures; those of a file that is there already are kept, "
                        "as rounds before these")
    for peer in ("multichase", "multichase-pingpong", "stream", "tinymembench", "chips-and-cheese-latency", "lat-mem-rd"):
        parser.add_argument(f"--{peer}", default="", metavar="PATH")
    parser.add_argument("--core-to-core-latency", default="core-to-core-latency", metavar="PATH")
    return parser.parse_args()


def main():
    setup = types.SimpleNamespace(**vars(read_arguments()))
    setup.cpus = [int(cpu) for cpu in setup.cpus.split(",")]
    setup.pages, setup.prefix = setup.pages.split(","), setup.prefix.split()
    setup.threads, setup.left_out, setup.lat_mem_rd_megabytes = 1, {}, 64
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
        text = cpuinfo.read()
    setup.avx, setup.avx512 = " avx2 " in text, " avx512f " in text
    model = next((line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name")), "")
    wanted = setup.kernels or ["chase", "stream", "sha256", "pingpong"]
    chosen = [case for case in cases(setup, wanted) if re.search(setup.only, case[0])]
    if any("256M" in case[0] and "newpage" in case[0] for case in chosen):
        setup.lat_mem_rd_megabytes = 256
    statistic, figures, rows = {case[0]: case[2] for case in chosen}, {}, []
    if setup.json and os.path.exists(setup.json):
        with open(setup.json, encoding="utf-8") as file:
            rows = json.load(file)
        figures = {(row["case"], row["peer"]): list(zip(row["tmaprobe"], row["theirs"])) for row in rows}
        statistic.update({row["case"]: row["statistic"] for row in rows})
    for setup.round in range(setup.rounds):
        for case in chosen:
            measure(setup, case, figures)
        rows = [row_of(*key, pairs, statistic[key[0]]) for key, pairs in figures.items()]
        if setup.json:  # after every round: an interrupted comparison keeps those that it finished
            with open(setup.json, "w", encoding="utf-8") as file:
                json.dump(rows, file, indent=1)
    print(f"{model or platform.machine()}, Linux {platform.release()}, CPUs {setup.cpus}\n")
    print_rows(rows)
    print_summary(rows)
    for reason in dict.fromkeys(setup.left_out.values()):
        names = [f"{peer} ({name})" for (name, peer), why in setup.left_out.items() if why == reason]
        print(f"\nleft out: {reason}: {', '.join(names)}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
