#!/usr/bin/env bash
# Fetches what tmaprobe is built from for arm64 on another machine, by a cross compiler (cmake/aarch64.cmake). Safe to run
# again: what is there is left alone.
#   third_party/arm64.sh            the libraries of the tool and of its tests
#   third_party/arm64.sh --model    and LLVM 19's, of which the model source is built (45 MB more)
# They are unpacked under $TMAPROBE_GUESTS_CACHE, default ~/.cache/tmaprobe-guests, in arm64/dev. The C and C++ libraries
# are the cross compiler's.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
cache="${TMAPROBE_GUESTS_CACHE:-${XDG_CACHE_HOME:-$home/.cache}/tmaprobe-guests}"
root=$cache/apt-arm64
into=$cache/arm64/dev
# Raise when what is taken of the packages changes, so that an old cache is filled again.
layout=2

say() { echo "arm64: $*"; }
fail() { echo "arm64: error: $*" >&2; exit 1; }
. "$here/foreign_packages.sh"
case "${1:-}" in
    "" | --model) ;;
    *) echo "usage: $0 [--model]" >&2; exit 2 ;;
esac

command -v aarch64-linux-gnu-g++ >/dev/null || {
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    say "installing the cross compiler"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qq install -y --no-install-recommends \
        g++-aarch64-linux-gnu binutils-aarch64-linux-gnu >/dev/null || fail "g++-aarch64-linux-gnu could not be installed"
}

packages=(libfmt-dev libhwloc-dev libudev-dev libpfm4-dev libgtest-dev libgmock-dev nlohmann-json3-dev
    rapidjson-dev libcli11-dev libexpected-dev libspdlog-dev)
if [ "$(cat "$into/complete" 2>/dev/null)" != "$layout ${packages[*]}" ]; then
    say "fetching the libraries that tmaprobe is built from"
    private_root "$root" arm64
    rm -rf "$into" "$root"/archives
    mkdir -p "$root/archives/partial"
    download_closure "$root" "${packages[@]}"
    # Only the programs' own libraries: a C library there would be found before the cross compiler's.
    rm -f "$root"/archives/{libc6,libc6-dev,libc-dev-bin,linux-libc-dev,libcrypt-dev,gcc-*,g++*,libgcc-*,libstdc++-*}_*.deb
    unpack "$into" "$root"/archives/*.deb
    rm -rf "$into"/usr/share/{doc,man,locale,info} "$into"/usr/bin
    echo "$layout ${packages[*]}" >"$into/complete"
fi
if [ "${1:-}" = --model ] && [ ! -e "$into/complete.model" ]; then
    say "fetching LLVM 19"
    private_root "$root" arm64
    rm -rf "$root"/archives
    mkdir -p "$root/archives/partial"
    download "$root" llvm-19-dev libzstd-dev zlib1g-dev
    unpack "$into" "$root"/archives/*.deb
    touch "$into/complete.model"
fi
"$here/build_libperf.sh" "$into/libperf" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- ||
    fail "libperf could not be built for arm64; the log is $into/libperf/build.log"
