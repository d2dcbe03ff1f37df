#!/usr/bin/env bash
# Start-up of `tmaprobe -- true` against `perf stat -- true`, alternately, as medians.
#   tests/benchmarks/startup.sh TMAPROBE [RUNS]
# Exit status: 0 when the ratio is at most 1.5, 1 when it is more, 77 when perf is missing.
set -euo pipefail
tmaprobe=${1:?usage: startup.sh TMAPROBE [RUNS]}
runs=${2:-40}
perf=$(command -v perf) || { echo "skipped: perf is not installed (linux-perf)"; exit 77; }

exec python3 - "$tmaprobe" "$perf" "$runs" <<'PYTHON'
import statistics, subprocess, sys, time

tmaprobe, perf, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
# The same software events are counted by both; a PMU, where there is one, adds its own to both.
commands = {"tmaprobe": [tmaprobe, "--source", "none", "--", "true"],
            "perf stat": [perf, "stat", "-e", "task-clock,page-faults,context-switches,cpu-migrations", "--", "true"]}
times = {name: [] for name in commands}
for turn in range(runs + 3):
    for name, command in commands.items():
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        if turn >= 3:
            times[name].append(time.perf_counter() - start)
for name, taken in times.items():
    print(f"{name:10} {1000 * statistics.median(taken):7.2f} ms (min {1000 * min(taken):.2f}, max {1000 * max(taken):.2f})")
ratio = statistics.median(times["tmaprobe"]) / statistics.median(times["perf stat"])
print(f"ratio      {ratio:7.2f} (wanted: at most 1.5)")
sys.exit(ratio > 1.5)
PYTHON
