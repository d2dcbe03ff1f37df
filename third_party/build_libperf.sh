#!/usr/bin/env bash
# Builds libperf (tools/lib/perf) into third_party/libperf from the distribution's kernel source package.
# Does nothing when it is built already, or when the system has a libperf of its own.
#   build_libperf.sh                            for this machine
#   build_libperf.sh FOLDER MAKE_VARIABLE...    into another folder, for example ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
set -euo pipefail
cd "$(dirname "$0")"
folder=${1:-$PWD/libperf}
variables=("${@:2}")

[ -e "$folder/lib/libperf.a" ] && [ -e "$folder/lib/libapi.a" ] && [ -e "$folder/include/perf/evlist.h" ] && exit 0
[ $# = 0 ] && [ -e /usr/include/perf/evlist.h ] && exit 0

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
say() { echo "setup: $*"; }

mkdir -p "$folder/lib"
log=$folder/build.log
archive=$(ls /usr/src/linux-source-*.tar.* 2>/dev/null | sort -V | tail -n 1 || true)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ -z "$archive" ]; then
    package=$(apt-cache depends linux-source | sed -n 's/.*Depends: *\(linux-source-[0-9.]*\).*/\1/p' | head -n 1)
    [ -n "$package" ] || { echo "setup: no linux-source package in this distribution" >&2; exit 1; }
    # Unpacked, not installed: 140 MB that nothing else needs.
    say "fetching $package"
    (cd "$scratch" && apt-get -qq -o APT::Sandbox::User=root download "$package") || exit 1
    dpkg -x "$scratch"/linux-source-*.deb "$scratch/package"
    archive=$(ls "$scratch"/package/usr/src/linux-source-*.tar.*)
fi
say "building libperf from $(basename "$archive")"
top=$(basename "$archive" | sed 's/\.tar\..*//')
tar -C "$scratch" -xf "$archive" "$top/tools/lib" "$top/tools/include" "$top/tools/build" "$top/tools/scripts" \
    "$top/tools/perf/pmu-events/arch" "$top/tools/arch" "$top/scripts" "$top/include/uapi" "$top/include/linux" "$top/arch/x86/include" "$top/arch/arm64/include"
make -C "$scratch/$top/tools/lib/perf" "${variables[@]}" -j"$(nproc)" >"$log" 2>&1
make -C "$scratch/$top/tools/lib/perf" "${variables[@]}" prefix="$folder" libdir="$folder/lib" install_lib install_headers >>"$log" 2>&1
find "$scratch/$top/tools/lib" -name libapi.a -exec cp {} "$folder/lib/" \; 
if [ ! -e "$folder/lib/libapi.a" ]; then
    make -C "$scratch/$top/tools/lib/api" "${variables[@]}" >>"$log" 2>&1
    cp "$scratch/$top/tools/lib/api/libapi.a" "$folder/lib/"
fi
cp "$(find "$scratch/$top/tools/lib/perf" -name libperf.a | head -n 1)" "$folder/lib/"
rm -f "$folder"/lib/libperf.so*
# The kernel's event tables, which the tests of --events read; they come with the same archive.
if [ $# = 0 ] && [ ! -e pmu-events/arch ]; then
    mkdir -p pmu-events
    mv "$scratch/$top/tools/perf/pmu-events/arch" pmu-events/
fi
