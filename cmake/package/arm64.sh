#!/usr/bin/env bash
# Cross-builds the release for arm64 on another machine, on Debian and its relatives, and packages it.
#   cmake/package/arm64.sh [FOLDER]      the program and its Debian package go to FOLDER; default: build/arm64
set -euo pipefail
cd "$(dirname "$0")/../.."
output=$(realpath -m "${1:-build/arm64}")
build=$output/build

third_party/arm64.sh --model
cache="${TMAPROBE_GUESTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tmaprobe-guests}"
cmake --preset release -B "$build" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" -DCMAKE_INSTALL_PREFIX=/usr \
    -DTMAPROBE_MODEL=ON -DTMAPROBE_LLVM_LIBDIR="$cache/arm64/dev/usr/lib/llvm-19/lib"
cmake --build "$build" --target tmaprobe tmaprobe_help
aarch64-linux-gnu-strip -o "$output/tmaprobe" "$build/tmaprobe"
echo "$output/tmaprobe"
TMAPROBE_BUILD=$build TMAPROBE_ARCHITECTURE=arm64 cmake/package/debian.sh "$output"
