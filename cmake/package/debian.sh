#!/usr/bin/env bash
# Builds a Debian package of this tree for the machine at hand, from what `cmake --install` puts where.
#   cmake/package/debian.sh [FOLDER]      the package goes to FOLDER; default: build/package
# With TMAPROBE_BUILD=FOLDER, of a build that is there already (configured with CMAKE_INSTALL_PREFIX=/usr; with
# TMAPROBE_STATIC the package depends on nothing); otherwise the preset `package` is built. TMAPROBE_ARCHITECTURE says
# what it was built for, where that is not this machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
output=$(realpath -m "${1:-build/package}")
build=${TMAPROBE_BUILD:-build/package}
if [ -z "${TMAPROBE_BUILD:-}" ]; then
    cmake --preset package
    cmake --build --preset package
fi
version=$(sed -n 's/^project(tmaprobe VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
architecture=${TMAPROBE_ARCHITECTURE:-$(dpkg --print-architecture)}
maintainer="$(git log -1 --format='%an <%ae>')"
date=$(git log -1 --format=%cD)
strip=strip
[ "$architecture" = "$(dpkg --print-architecture)" ] || strip=$(dpkg-architecture -a "$architecture" -qDEB_HOST_GNU_TYPE 2>/dev/null)-strip

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
umask 022
root=$scratch/debian/tmaprobe
DESTDIR=$root cmake --install "$build" --prefix /usr >/dev/null
"$strip" --remove-section=.comment --remove-section=.note "$root/usr/bin/tmaprobe"
gzip -9n "$root/usr/share/man/man1/tmaprobe.1"

doc=$root/usr/share/doc/tmaprobe
mkdir -p "$doc" "$root/DEBIAN"
gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
rm -f "$doc/CHANGELOG.md"
cat >"$scratch/changelog" <<END
tmaprobe ($version-1) unstable; urgency=medium

  * What changed stands in /usr/share/doc/tmaprobe/changelog.gz.

 -- $maintainer  $date
END
gzip -9nc "$scratch/changelog" >"$doc/changelog.Debian.gz"
cat >"$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: tmaprobe

Files: *
Copyright: $(git log --reverse --format=%ad --date=format:%Y | head -n 1) the tmaprobe authors
License: Apache-2.0
 On Debian systems the text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
Comment:
 The events and formulas in /usr/share/tmaprobe/events are their vendors',
 as the SOURCE file of each folder says. The program's pages hold ECharts,
 Copyright the Apache Software Foundation, under the same licence.
END

mkdir -p "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/tmaprobe" <<END
# LLVM's tables alone need 1.8 MB of relocations, which every start of a position-independent program pays for.
tmaprobe: hardening-no-pie *usr/bin/tmaprobe*
# It is built by its own tree, and nobody asked Debian for it.
tmaprobe: initial-upload-closes-no-bugs *
END

# dpkg-shlibdeps wants a source package's control file.
printf 'Source: tmaprobe\n\nPackage: tmaprobe\nArchitecture: any\n' >"$scratch/debian/control"
depends=$(cd "$scratch" && dpkg-shlibdeps -O debian/tmaprobe/usr/bin/tmaprobe 2>/dev/null | sed -n 's/^shlibs:Depends=/Depends: /p' || true)
[ -n "$depends" ] || cat >>"$root/usr/share/lintian/overrides/tmaprobe" <<END
# A package that was built on another architecture holds the program that runs everywhere.
tmaprobe: statically-linked-binary *usr/bin/tmaprobe*
tmaprobe: embedded-library *usr/bin/tmaprobe*
END
sed '/^$/d' >"$root/DEBIAN/control" <<END
Package: tmaprobe
Version: $version-1
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -ks "$root" | cut -f 1)
$depends
Suggests: prometheus-node-exporter
Section: devel
Priority: optional
Description: where a CPU's pipeline slots go, and what pages and TLBs cost
 tmaprobe measures top-down metrics with the CPU's own counters where there
 are any, and models them from the instructions that really ran where there
 are none, as in most virtual machines. It has the published trees of Intel,
 AMD and Arm cores, and says of each value how far it can be trusted.
END
# A timer that nobody asked for would measure on every host: it is installed, and enabled by the administrator.
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
mkdir -p "$output"
package=$output/tmaprobe_$version-1_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
