#!/usr/bin/env bash
# Makes echarts.js anew from the published packages, for whoever changes modules.js or takes another release.
# Needs npm and its registry; a build of tmaprobe needs neither, since the result is kept in the tree.
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp modules.js "$work"
cd "$work"
npm install --no-save --no-audit --no-fund --loglevel=error echarts@6.1.0 esbuild@0.25.12
npx esbuild modules.js --bundle --minify --format=iife --global-name=echarts --target=es2018 \
    --legal-comments=eof --outfile=echarts.js
cd - >/dev/null
cp "$work/echarts.js" .
cp "$work"/node_modules/echarts/{LICENSE,NOTICE,licenses/LICENSE-d3} .
cp "$work/node_modules/zrender/LICENSE" LICENSE-zrender
sha256sum echarts.js > SHA256SUMS
