#!/bin/sh
# How long perf takes to parse the metrics of this CPU, beside tmaprobe's own: best of ten starts each.
#   tests/benchmarks/perf_startup.sh build/release/tmaprobe
set -eu
tmaprobe=${1:?path of tmaprobe}
best() {
    python3 - "$@" <<'PYTHON'
import subprocess, sys, time
best = None
for _ in range(10):
    start = time.perf_counter()
    status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    took = time.perf_counter() - start
    best = took if best is None else min(best, took)
print(f"{best * 1000:8.1f} ms  (status {status})  {' '.join(sys.argv[1:])}")
PYTHON
}
command -v perf >/dev/null || { echo "perf is not installed: nothing to compare with" >&2; exit 1; }
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
printf '1000000,,cycles,1000,100.00,,\n' >"$counts"
best perf stat -M ipc true
best perf stat -M TopdownL1 true
best perf list metric
best "$tmaprobe" list metrics --level 6
best "$tmaprobe" list metrics --target sapphirerapids --level 6
best "$tmaprobe" replay "$counts" --target sapphirerapids --level 6 --json -
best "$tmaprobe" --version
