#!/usr/bin/env bash
# Fetches toplev's formulas (pmu-tools) for toplev_test.py into build/pmu-tools; without them that
# test is skipped and says so. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=2026.7.24.0
target=build/pmu-tools
if [ -e "$target/pmu_tools-$version.dist-info" ]; then
    exit 0
fi
if ! python3 -m pip --version >/dev/null 2>&1; then
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq install -y \
        --no-install-recommends python3-pip >/dev/null || true
fi
echo "setup: fetching pmu-tools $version"
if ! python3 -m pip -q --disable-pip-version-check install --no-deps --no-warn-script-location --root-user-action ignore \
        --upgrade --target "$target" "pmu-tools==$version"; then
    echo "setup: pmu-tools cannot be fetched here: the comparison with toplev will be skipped" >&2
fi
