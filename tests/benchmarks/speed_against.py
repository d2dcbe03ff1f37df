#!/usr/bin/env python3
"""What waits for nobody's workload, in two builds of the tool, alternately in one run: start-up, lists, loading tables,
a comparison of 200 records, the default answer. Prints the ratio of the medians of processor time, with the middle half
of the ratios of neighbouring runs.

    tests/benchmarks/speed_against.py BEFORE AFTER [--runs N]
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile


def processor_ms(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 3):
        raise SystemExit(f"speed_against: {' '.join(map(str, command[:6]))} ended with {os.waitstatus_to_exitcode(status)}")
    return 1e3 * (used.ru_utime + used.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--runs", type=int, default=31)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder, "one.json")
        # Both read what the older one wrote.
        subprocess.run([arguments.before, "--kernel", "sha256", "--source", "none", "--size", "64K", "--repeat", "5",
                        "--json", record], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        records = []
        for number in range(200):
            records.append(pathlib.Path(folder, f"{number}.json"))
            records[-1].write_text(record.read_text())
        together = pathlib.Path(folder, "together.json")
        subprocess.run([arguments.before, "report", *records, "--format", "json", "-o", together], check=True)
        cases = {"--version": ["--version"],
                 "list kernels": ["list", "kernels"],
                 "list metrics, Sapphire Rapids": ["list", "metrics", "--target", "sapphirerapids"],
                 "list events, Zen 4": ["list", "events", "--target", "amdzen4"],
                 "plan, Sapphire Rapids": ["plan", "--target", "sapphirerapids", "--level", "4"],
                 "compare of 200 records": ["compare", together, together],
                 "html of 200 records": ["report", *records, "--format", "html"],
                 "--source none -- true": ["--source", "none", "--", "true"]}
        for name, words in cases.items():
            before, after = [], []
            for _ in range(arguments.runs):
                before.append(processor_ms([arguments.before, *words]))
                after.append(processor_ms([arguments.after, *words]))
            ratios = sorted(new / old for old, new in zip(before, after))
            print(f"{name:32} before {statistics.median(before):8.2f} ms, after {statistics.median(after):8.2f} ms, "
                  f"ratio {statistics.median(ratios):5.2f} ({ratios[len(ratios) // 4]:.2f} to "
                  f"{ratios[3 * len(ratios) // 4]:.2f})", flush=True)


if __name__ == "__main__":
    main()
