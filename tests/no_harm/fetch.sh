#!/usr/bin/env bash
# Installs the real programs of the bench that Debian has and that are small; compilers, JVM, node, Go and Rust are
# used where they are there. Safe to run again. What cannot be had is said and left out: its case is skipped.
set -uo pipefail
cd "$(dirname "$0")"

say() { echo "no_harm: $*"; }
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)

apt_install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq install -y \
        --no-install-recommends "$@" >/dev/null 2>&1
}

packages=(redis-server redis-tools nginx-light ruby tcl libtcmalloc-minimal4 gdb strace sqlite3 zstd bc tmux qemu-user)
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
done
[ ${#missing[@]} = 0 ] && exit 0
say "installing ${missing[*]}"

# The services themselves are not wanted: the bench starts its own, on sockets of its own.
policy=/usr/sbin/policy-rc.d
made_policy=no
if [ ! -e $policy ] && printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null; then
    "${as_root[@]}" chmod +x $policy
    made_policy=yes
fi
if ! apt_install "${missing[@]}"; then
    # The package lists may be missing or old; and one that is not to be had must not keep the others away.
    "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 -qq update
    for package in "${missing[@]}"; do
        apt_install "$package" || say "$package cannot be installed here: its cases will be skipped"
    done
fi
[ $made_policy = yes ] && "${as_root[@]}" rm -f $policy
exit 0
