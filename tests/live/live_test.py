#!/usr/bin/env python3
"""On a machine whose PMU counts: measured numbers must be possible, repeatable and agree with each other.

    live_test.py TMAPROBE

Exit status: 0 passed, 1 failed, 77 skipped because no hardware counter can be measured here (the reason is printed).
"""
import json
import subprocess
import sys

SKIPPED = 77
failures = []


def run(*arguments):
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        failures.append(f"{' '.join(arguments)}: status {done.returncode}: {done.stderr.strip()}")
        return None
    return json.loads(done.stdout)


def expect(holds, what):
    print(("pass  " if holds else "FAIL  ") + what)
    if not holds:
        failures.append(what)


def level(record, number):
    return {m["name"]: m for m in record["runs"][0]["metrics"] if m["level"] == number}


def check_tree(record, what, widest):
    top = level(record, 1)
    expect(all(m["status"] == "measured" for m in top.values()), f"{what}: every node of level 1 is measured")
    expect(all(-widest <= m["value"] <= 1 + widest for m in top.values()), f"{what}: every share lies in 0..1")
    expect(all(m["low"] <= m["value"] <= m["high"] for m in top.values()), f"{what}: every value lies within its bounds")
    if {m["unit"] for m in top.values()} == {"slots"}:
        total = sum(m["value"] for m in top.values())
        expect(abs(total - 1) < widest, f"{what}: level 1 adds up to {total:.4f}")


def check_events(record, what):
    for event in record["runs"][0]["events"]:
        if event["pmu"] == "software" or event["note"]:
            continue
        expect(0 < event["time_running_ns"] <= event["time_enabled_ns"] * 1.001, f"{what}: {event['name']} ran {event['time_running_ns']} ns")
    instructions = next((m for m in record["runs"][0]["metrics"] if m["name"] in ("ipc", "tma_info_thread_ipc")), None)
    if instructions:
        expect(0.02 < instructions["value"] < 12, f"{what}: {instructions['value']:.2f} instructions per cycle")


def main():
    doctor = subprocess.run([sys.argv[1], "doctor", "--json"], capture_output=True, text=True, check=False)
    report = json.loads(doctor.stdout)
    if not report["counts_hardware"]:
        for check in report["checks"]:
            if check["state"] == "blocks":
                print(f"skipped: no hardware counters here: {check['what']}")
        return SKIPPED
    print(f"checking on {report['host']['cpu_model']} ({report['host']['cpu_id']})")

    common = ["--kernel", "sha256", "--size", "16K", "--source", "perf", "--json", "-", "--level", "2"]
    first, second, rotated = run(*common, "--passes"), run(*common, "--passes"), run(*common, "--multiplex")
    if first and second and rotated:
        check_tree(first, "passes", 0.02)
        check_events(first, "passes")
        check_tree(rotated, "multiplexed", 0.2)
        for name, metric in level(first, 1).items():
            again = level(second, 1)[name]["value"]
            expect(abs(metric["value"] - again) < 0.05, f"{name}: {metric['value']:.4f}, again {again:.4f}")
            other = level(rotated, 1)[name]
            expect(other["low"] - 0.05 <= metric["value"] <= other["high"] + 0.05,
                   f"{name}: {metric['value']:.4f} lies within the multiplexed {other['low']:.4f}..{other['high']:.4f}")
        retiring = [m["value"] for n, m in level(first, 1).items() if m["category"] == "retiring"]
        expect(bool(retiring) and retiring[0] > 0.05, "a hash retires some of its slots")
    command = run("--source", "perf", "--json", "-", "--", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
    if command:
        check_tree(command, "command", 0.2)
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
