#!/bin/sh
# Runs every fuzz target for a number of seconds each, one after another, from the seeds in the tree.
#   tests/fuzz/run.sh SECONDS [BUILD_FOLDER]
# What a target finds is kept as BUILD_FOLDER/found-<name>-*, and the script fails.
set -eu
seconds=${1:?seconds for each target}
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${2:-$here/../../build/fuzz}" && pwd)
status=0
for name in expression table counts record; do
    corpus=$build/corpus-$name
    mkdir -p "$corpus"
    echo "fuzz $name: $seconds s"
    ASAN_OPTIONS=detect_leaks=1 "$build/tests/fuzz/tmaprobe_fuzz_$name" \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
        -artifact_prefix="$build/found-$name-" "$corpus" "$here/seeds/$name" >"$build/fuzz-$name.log" 2>&1 || status=1
    grep -E 'stat::number_of_executed_units|SUMMARY|Done ' "$build/fuzz-$name.log" || tail -5 "$build/fuzz-$name.log"
done
exit $status
