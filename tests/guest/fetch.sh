#!/bin/bash
# Fetches what the emulated machines need: emulators, kernels, headers, busybox and perf for x86-64 and arm64.
#
#   tests/guest/fetch.sh            fetch everything that is missing (idempotent; about 250 MB the first time)
#   tests/guest/fetch.sh --check    say whether everything is there, fetch nothing
#
# Host tools come from the machine's own package sources. What belongs to the guests is downloaded through private
# package roots and unpacked under the cache, so the machine itself never gets a foreign architecture or a second kernel.
# Cache: $TMAPROBE_GUESTS_CACHE, default ~/.cache/tmaprobe-guests.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
readonly here
home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
readonly cache="${TMAPROBE_GUESTS_CACHE:-${XDG_CACHE_HOME:-$home/.cache}/tmaprobe-guests}"
# Raise when the list of packages below changes, so that an old cache is completed.
readonly layout=2

say() { echo "guests: $*"; }
fail() { echo "guests: error: $*" >&2; exit 1; }
. "$here/../../third_party/foreign_packages.sh"

host_packages() {
    # Two module builds (amd64 natively, arm64 crossed), two emulators, user-mode emulation, images without mounting.
    echo qemu-system-x86 qemu-system-arm qemu-user gcc-12 make bc cpio xz-utils e2fsprogs python3 \
         g++-aarch64-linux-gnu binutils-aarch64-linux-gnu
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo > /dev/null; then sudo "$@"
    else fail "need root (or sudo) to run: $*"
    fi
}

try_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qq install -y --no-install-recommends \
        "$@" > "$cache/install.log" 2>&1
}

install_host_packages() {
    local missing=() package
    for package in $(host_packages); do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    say "installing ${missing[*]}"
    # Package lists may be missing or old: then once more with new ones.
    try_install "${missing[@]}" || { as_root apt-get -qq update && try_install "${missing[@]}"; } || {
        tail -5 "$cache/install.log" >&2
        fail "could not install ${missing[*]} (whole log: $cache/install.log)"
    }
}

# Kernel, headers, busybox and perf of one guest architecture.
#   $cache/ARCH/kernel/boot/vmlinuz-*, lib/modules/*   the distribution's cloud kernel
#   $cache/ARCH/headers/usr/src, usr/lib/linux-kbuild  to build the module against
#   $cache/ARCH/root/                                  busybox, perf and its libraries
fetch_guest() {  # ARCH
    local arch=$1 root=$cache/apt-$1 image abi series
    private_root "$root" "$arch"
    image=$(dependency_of "$root" "linux-image-cloud-$arch" "linux-image-[0-9].*")
    [ -n "$image" ] || fail "the package lists name no kernel image for linux-image-cloud-$arch"
    abi=${image#linux-image-}                       # for example 6.1.0-56-cloud-amd64
    series=$(echo "$abi" | cut -d. -f1,2)           # 6.1
    if [ "$(cat "$cache/$arch/complete" 2> /dev/null)" = "$layout $abi" ]; then
        say "$arch: $abi is in the cache"
        return
    fi
    say "$arch: fetching kernel $abi, headers, busybox and perf"
    rm -rf "${cache:?}/$arch" "$root/archives"
    mkdir -p "$root/archives/partial"
    download "$root" "$image"
    unpack "$cache/$arch/kernel" "$root"/archives/linux-image-*.deb
    download "$root" "linux-headers-$abi" "linux-headers-${abi%-cloud-*}-common"
    unpack "$cache/$arch/headers" "$root"/archives/linux-headers-*.deb
    # The build scripts (linux-kbuild) run on this machine, so both architectures use this machine's.
    if [ "$arch" = amd64 ]; then
        download "$root" "linux-kbuild-$series"
        unpack "$cache/$arch/headers" "$root"/archives/linux-kbuild-*.deb
    else
        mkdir -p "$cache/$arch/headers/usr/lib"
        cp -a "$cache/amd64/headers/usr/lib/linux-kbuild-$series" "$cache/$arch/headers/usr/lib/"
    fi
    rm -f "$root"/archives/linux-*.deb
    # The headers' makefile names its other half by the path it would be installed at.
    sed -i "s|^include /usr|include $cache/$arch/headers/usr|" \
        "$cache/$arch/headers/usr/src/linux-headers-$abi/Makefile"
    download_closure "$root" busybox-static linux-perf
    unpack "$cache/$arch/root" "$root"/archives/*.deb
    rm -rf "$cache/$arch/root"/usr/share/{doc,man,locale} "$cache/$arch/root"/usr/lib/python3
    echo "$layout $abi" > "$cache/$arch/complete"
}

# User-mode emulation new enough for the SHA instructions of x86 (7.2, the distribution's own, is not).
fetch_new_user_emulator() {
    local root=$cache/apt-user release
    if [ -x "$cache/qemu-user/qemu-x86_64" ]; then
        say "$("$cache/qemu-user/qemu-x86_64" --version | head -1) is in the cache"
        return
    fi
    for release in trixie bookworm-backports; do
        private_root "$root" "$(dpkg --print-architecture)" "$release"
        rm -f "$root"/archives/*.deb
        (download "$root" qemu-user) || continue
        unpack "$cache/qemu-user.new" "$root"/archives/qemu-user_*.deb
        mkdir -p "$cache/qemu-user"
        cp "$cache/qemu-user.new/usr/bin/qemu-x86_64" "$cache/qemu-user.new/usr/bin/qemu-aarch64" "$cache/qemu-user/"
        rm -rf "$cache/qemu-user.new"
        "$cache/qemu-user/qemu-x86_64" --version | head -1 | sed 's/^/guests: fetched /'
        return
    done
    fail "no release offered qemu-user 10 or later"
}

check() {
    local missing=() file
    for file in amd64/complete arm64/complete arm64/dev/complete arm64/dev/libperf/lib/libperf.a qemu-user/qemu-x86_64; do
        [ -e "$cache/$file" ] || missing+=("$cache/$file")
    done
    for file in qemu-system-x86_64 qemu-system-aarch64 qemu-aarch64 aarch64-linux-gnu-g++ mke2fs; do
        command -v "$file" > /dev/null || missing+=("$file")
    done
    [ ${#missing[@]} = 0 ] || fail "missing: ${missing[*]} (run tests/guest/fetch.sh)"
    say "everything is there ($cache)"
}

main() {
    [ "$(dpkg --print-architecture)" = amd64 ] || {
        say "skipped: the emulated machines are built on x86-64 hosts only"
        return
    }
    PATH=$PATH:/usr/sbin:/sbin
    mkdir -p "$cache"
    case "${1:-}" in
        --check) check ;;
        "") install_host_packages; fetch_guest amd64; fetch_guest arm64; "$here/../../third_party/arm64.sh"; fetch_new_user_emulator; check ;;
        *) echo "usage: $0 [--check]" >&2; exit 2 ;;
    esac
}
main "$@"
