#!/usr/bin/env bash
# Installs the programs that read reports in tests/report_real: from Debian all but DuckDB and the
# OpenMetrics parser, which come from PyPI into a folder of their own. Safe to run again. What cannot be
# had here is said and left out: its test is skipped.
set -uo pipefail
cd "$(dirname "$0")"

say() { echo "report_real: $*"; }
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)

apt_install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq install -y \
        --no-install-recommends "$@" >/dev/null
}

install_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return 0
    say "installing ${missing[*]}"
    apt_install "${missing[@]}" 2>/dev/null && return 0
    # The package lists may be missing or old.
    "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 -qq update && apt_install "${missing[@]}"
}

# Another source of Node.js may bring npm with it, and refuses Debian's package of it.
command -v npm >/dev/null || install_packages npm || say "npm cannot be installed here: the board's types will not be checked"
install_packages python3-jsonschema python3-venv || say "no JSON Schema validator: its test will be skipped"
install_packages chromium chromium-driver python3-selenium fonts-dejavu-core || say "no Chromium: its test will be skipped"
# The services themselves are not wanted: the test starts its own, on the loopback address.
policy=/usr/sbin/policy-rc.d
made_policy=no
if [ ! -e $policy ] && printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null; then
    "${as_root[@]}" chmod +x $policy
    made_policy=yes
fi
install_packages prometheus prometheus-node-exporter || say "no Prometheus: its test will be skipped"
[ $made_policy = yes ] && "${as_root[@]}" rm -f $policy

python_packages=(duckdb==1.4.1 prometheus-client==0.23.1)
python=../../build/report_real_python
if ! [ -x $python/bin/python3 ] || ! $python/bin/python3 -c 'import duckdb, prometheus_client' 2>/dev/null; then
    say "installing ${python_packages[*]} into build/report_real_python"
    if ! { mkdir -p ../../build && /usr/bin/python3 -m venv $python && $python/bin/python3 -m pip -q --disable-pip-version-check install "${python_packages[@]}"; }; then
        say "no DuckDB or OpenMetrics parser: their tests will be skipped"
        rm -rf $python
    fi
fi

node=../../build/report_real_node
if ! [ -d $node/node_modules/typescript ] || ! [ -d $node/node_modules/@grafana/schema ]; then
    say "installing Grafana's types and the TypeScript compiler into build/report_real_node"
    mkdir -p $node && echo '{"private": true}' >$node/package.json
    npm install --prefix $node --ignore-scripts --no-audit --no-fund --silent --legacy-peer-deps @grafana/schema@13.2.3 typescript@7.0.2 ||
        say "no types of Grafana: the check of the board against them will be skipped"
fi
exit 0
