#!/usr/bin/env bash
# The kernel's own event tables in third_party/pmu-events, for the tests that read a whole tree. They come
# along when libperf is built; this fetches them where libperf was there already. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/../../third_party"
[ -e pmu-events/arch/x86/mapfile.csv ] && exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
archive=$(ls /usr/src/linux-source-*.tar.* 2>/dev/null | sort -V | tail -n 1 || true)
if [ -z "$archive" ]; then
    package=$(apt-cache depends linux-source | sed -n 's/.*Depends: *\(linux-source-[0-9.]*\).*/\1/p' | head -n 1)
    echo "setup: fetching $package for the kernel's event tables"
    if ! (cd "$scratch" && apt-get -qq -o APT::Sandbox::User=root download "$package"); then
        echo "setup: it cannot be fetched here: the tests on a kernel's whole tree will be skipped" >&2
        exit 0
    fi
    dpkg -x "$scratch"/linux-source-*.deb "$scratch/package"
    archive=$(ls "$scratch"/package/usr/src/linux-source-*.tar.*)
fi
tar -C "$scratch" -xf "$archive" --wildcards '*/tools/perf/pmu-events/arch'
rm -rf pmu-events
mkdir pmu-events
mv "$scratch"/*/tools/perf/pmu-events/arch pmu-events/
