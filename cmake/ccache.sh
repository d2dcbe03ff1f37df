#!/bin/sh
# Compiles by way of ccache: ccache.sh CCACHE COMPILER ARGUMENTS...
# A precompiled header differs each time that g++ writes it, so what was compiled with it would never be found again.
# ccache takes the checksum beside it instead: of the compiler's version and of all that is precompiled.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=true
ccache=$1
shift

# Preprocesses what the command compiles. Its output and its dependencies are written nowhere.
preprocess() {
    for argument; do
        shift
        case "$skip$argument" in
            -o | -MT | -MF) skip=skip ;;
            skip* | -MD) skip= ;;
            *) set -- "$@" "$argument" ;;
        esac
    done
    "$@" -E -P
}

case " $* " in
    *" -x c++-header "*)
        header=$(echo "$* " | sed 's/.* -o \([^ ]*\) .*/\1/')
        rm -f "$header" # else it would stand for its content
        content=$(preprocess "$@") || exit 1
        { "$1" --version; echo "$content"; } | sha256sum >"$header.sum"
        ;;
esac
exec "$ccache" "$@"
