#!/usr/bin/env bash
# Start-up of `tmaprobe -- true` against `perf stat -- true`, alternately, as medians of wall and processor time.
#   tests/benchmarks/startup.sh TMAPROBE [RUNS]
# Where there is no PMU, perf stat counts software events alone, and so does `tmaprobe --source none`; without it
# tmaprobe would model the command, had it run long enough. Both are held to the ratio.
# Exit status: 0 when all ratios are at most 1.5, 1 when one is more, 77 when perf is missing.
set -euo pipefail
tmaprobe=${1:?usage: startup.sh TMAPROBE [RUNS]}
runs=${2:-40}
perf=$(command -v perf) || { echo "skipped: perf is not installed (linux-perf)"; exit 77; }

exec python3 - "$tmaprobe" "$perf" "$runs" <<'PYTHON'
import resource, statistics, subprocess, sys, time

tmaprobe, perf, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
commands = {"tmaprobe -- true": [tmaprobe, "--", "true"],
            "tmaprobe --source none -- true": [tmaprobe, "--source", "none", "--", "true"],
            "perf stat -- true": [perf, "stat", "--", "true"],
            "true": ["true"]}
wall = {name: [] for name in commands}
processor = {name: [] for name in commands}


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


for turn in range(runs + 3):
    for name, command in commands.items():
        before, start = processor_time(), time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        if turn >= 3:
            wall[name].append(time.perf_counter() - start)
            processor[name].append(processor_time() - before)
worst = 0
for name in commands:
    print(f"{name:30} wall {1000 * statistics.median(wall[name]):6.2f} ms (min {1000 * min(wall[name]):.2f}), "
          f"processor {1000 * statistics.median(processor[name]):6.2f} ms")
for name in list(commands)[:2]:
    for kind, times in (("wall", wall), ("processor", processor)):
        ratio = statistics.median(times[name]) / statistics.median(times["perf stat -- true"])
        worst = max(worst, ratio)
        print(f"{name:30} against perf stat -- true, {kind} time: {ratio:.2f} (wanted: at most 1.5)")
sys.exit(worst > 1.5)
PYTHON
