# Packages of another architecture or release, fetched from this machine's own package sources and unpacked into folders:
# the machine itself gets no foreign architecture. To be sourced by a script that has `fail MESSAGE`.

# A private package root for one architecture and one release: lists, cache and an empty status file of its own.
# Its sources are those of this machine (mirror included), with the release's name replaced where asked.
private_root() {  # ROOT ARCH [RELEASE]
    local root=$1 arch=$2 release=${3:-} uri suite
    mkdir -p "$root"/{lists/partial,archives/partial,etc}
    : > "$root/status"
    : > "$root/etc/sources.list"
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(CREATED_BY)' |
        awk '$1 == "Debian" && $4 == "Packages" { print $2, $3 }' | sort -u > "$root/etc/sources"
    [ -s "$root/etc/sources" ] || fail "no Debian package source is configured here (run apt-get update first)"
    while read -r uri suite; do
        if [ -n "$release" ]; then
            case $suite in *-*) continue ;; esac    # only the base suite is renamed
            suite=$release
        fi
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" >> "$root/etc/sources.list"
    done < "$root/etc/sources"
    cat > "$root/etc/apt.conf" <<CONF
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
Dir::State "$root";
Dir::State::lists "$root/lists";
Dir::State::status "$root/status";
Dir::Cache "$root";
Dir::Cache::archives "$root/archives";
Dir::Etc::sourcelist "$root/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
    APT_CONFIG="$root/etc/apt.conf" apt-get -qq update > "$root/update.log" 2>&1 || {
        tail -3 "$root/update.log" >&2
        fail "could not read the package lists for $arch ${release:-}"
    }
}

# Downloads exactly the named packages into the root's archives.
download() {  # ROOT PACKAGE...
    local root=$1
    shift
    (cd "$root/archives" && APT_CONFIG="$root/etc/apt.conf" apt-get -qq download "$@" > "$root/download.log" 2>&1) || {
        tail -3 "$root/download.log" >&2
        fail "could not download $*"
    }
}

# Downloads the named packages with everything they depend on.
download_closure() {  # ROOT PACKAGE...
    local root=$1
    shift
    APT_CONFIG="$root/etc/apt.conf" apt-get -qq -y --download-only -o Debug::NoLocking=1 install "$@" \
        > "$root/download.log" 2>&1 || {
        tail -3 "$root/download.log" >&2
        fail "could not download $* and what they depend on"
    }
}

dependency_of() {  # ROOT PACKAGE PATTERN: the first dependency of PACKAGE that matches
    APT_CONFIG="$1/etc/apt.conf" apt-cache depends "$2" | sed -n "s/^ *Depends: \($3\)$/\1/p" | head -1
}

unpack() {  # INTO DEB...
    local into=$1 deb
    shift
    mkdir -p "$into"
    for deb in "$@"; do dpkg-deb -x "$deb" "$into"; done
}
