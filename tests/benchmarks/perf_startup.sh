#!/bin/sh
# CPU time until the metrics of a CPU are ready: perf's own, to look them up and to parse their events, and
# tmaprobe's, to load the same CPU's table, parse all six levels and plan or evaluate them.
#   tests/benchmarks/perf_startup.sh TMAPROBE [CPU-ID [RUNS]]
# perf needs the CPU's PMU to come to an end; where the kernel has none, perf stops at the first event, and
# what is printed for it is less than it would take.
set -eu
tmaprobe=${1:?usage: perf_startup.sh TMAPROBE [CPU-ID [RUNS]]}
cpu=${2:-GenuineIntel-6-55-7}
runs=${3:-20}
command -v perf >/dev/null || { echo "skipped: perf is not installed (linux-perf)"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PERF_CPUID="$cpu"
printf '1000000,,cycles,1000,100.00,,\n' >"$scratch/counts"

# Mean CPU time of a command in ms, as perf stat prints it.
cpu_ms() {
    perf stat -r "$runs" -x, -e task-clock -o "$scratch/time" -- "$@" >"$scratch/out" 2>&1 || true
    sed -n 's/^\([0-9.]*\),msec,task-clock.*/\1/p' "$scratch/time"
}
show() {
    what=$1
    shift
    printf '%9s ms  %s\n' "$(cpu_ms "$@")" "$what"
}

all=TopdownL1,TopdownL2,TopdownL3,TopdownL4,TopdownL5,TopdownL6
echo "# CPU time of $runs runs each, metrics of $cpu, $(perf --version)"
show "perf stat -e task-clock true (no metrics)" perf stat -o /dev/null -e task-clock true
show "perf stat -M TopdownL1 true" perf stat -o /dev/null -M TopdownL1 true
show "perf stat -M TopdownL1..L6 true" perf stat -o /dev/null -M "$all" true
if perf stat -o /dev/null -M TopdownL1 true 2>&1 | grep -q "Cannot find PMU"; then
    echo "             (perf found no PMU for these events and stopped at the first)"
fi
show "tmaprobe --version (nothing loaded)" "$tmaprobe" --version
show "tmaprobe plan --level 1" "$tmaprobe" plan --target "$cpu" --level 1
show "tmaprobe plan --level 6" "$tmaprobe" plan --target "$cpu" --level 6
show "tmaprobe replay --level 6" "$tmaprobe" replay "$scratch/counts" --target "$cpu" --level 6
