#!/usr/bin/env bash
# Installs what tmaprobe is built from on Debian 12 (and its relatives), and builds libperf, which the
# distribution has only as kernel source. Safe to run again: what is there is left alone.
#   third_party/setup.sh          what the tool needs
#   third_party/setup.sh --test   and what the tests need
set -euo pipefail
cd "$(dirname "$0")"

for_tests=no
case "${1:-}" in
    "") ;;
    --test) for_tests=yes ;;
    *) echo "setup.sh: unknown argument '$1'; use no argument, or --test" >&2; exit 2 ;;
esac

say() { echo "setup: $*"; }
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
fail() { echo "setup: $*" >&2; exit 1; }

command -v apt-get >/dev/null || fail "this script knows apt-get only; install the packages listed in it by hand"
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
updated=no
update_package_lists() {
    [ $updated = yes ] && return 0
    "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -qq update ||
        say "apt-get update failed; is the package mirror reachable?"
    updated=yes
}

# Debian 13 packages libperf; elsewhere it is built from the kernel's source.
libperf=()
if [ ! -e libperf/lib/libperf.a ]; then
    [ -n "$(apt-cache search --names-only '^libperf-dev$' 2>/dev/null)" ] || update_package_lists
    [ -z "$(apt-cache search --names-only '^libperf-dev$' 2>/dev/null)" ] || libperf=(libperf-dev)
fi
tool_packages=("${libperf[@]}" g++ make cmake ninja-build pkg-config xz-utils
    libpfm4-dev libfmt-dev libspdlog-dev libcli11-dev libexpected-dev libhwloc-dev libudev-dev
    libbenchmark-dev)
llvm_packages=(llvm-19-dev libzstd-dev zlib1g-dev libxml2-dev)
test_packages=(libgtest-dev libgmock-dev nlohmann-json3-dev python3)
# Without the first two nothing is fuzzed, without the others tests are skipped.
further_test_packages=(clang-19 clang-format-19 libclang-rt-19-dev python3-fusepy fuse3 valgrind)

# Installs the named packages that are not installed yet.
install_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return 0
    [ ${#as_root[@]} = 0 ] || command -v sudo >/dev/null ||
        fail "missing: ${missing[*]}; neither root nor sudo is here to install them"
    update_package_lists
    say "installing ${missing[*]}"
    # What apt-get itself expects to fetch; all of it together is some 150 MB.
    say "$("${as_root[@]}" apt-get install --no-install-recommends --assume-no "${missing[@]}" 2>/dev/null |
        grep -E '^(Need to get|After this operation)' | tr '\n' ' ') (one to ten minutes, by the mirror)"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -qq install -y \
        --no-install-recommends "${missing[@]}" >/dev/null 2>"$errors" || { cat "$errors" >&2; return 1; }
}

install_packages "${tool_packages[@]}" || fail "a package could not be installed; see apt-get's message above"
install_packages "${llvm_packages[@]}" ||
    say "LLVM 19 cannot be installed here: tmaprobe will be built without the model source"
if [ $for_tests = yes ]; then
    install_packages "${test_packages[@]}" || fail "a package could not be installed; see apt-get's message above"
    install_packages "${further_test_packages[@]}" || say "not all of these can be installed here: some tests will be skipped"
fi

[ ${#libperf[@]} = 1 ] || [ -e libperf/lib/libperf.a ] ||
    say "libperf: 140 MB of kernel source are fetched for 0.5 MB of it, and built in a minute or two"
./build_libperf.sh || fail "libperf could not be built; the log is third_party/libperf/build.log"

if [ $for_tests = yes ]; then
    for part in ../tests/*/fetch.sh; do
        [ -e "$part" ] || continue
        "$part" || say "$part failed, see its message above: the tests that need it will be skipped"
    done
fi
say "done, after $SECONDS s"
