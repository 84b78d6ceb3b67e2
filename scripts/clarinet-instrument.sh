#!/bin/sh
# Runs a .NET program under the instrumentation agent.
#
# usage: clarinet-instrument.sh [--home DIR] [--library FILE] [--] COMMAND [ARGUMENT…]
#
# --home     the folder with newrelic.config, extensions/ and the managed agent; without it the
#            environment's CORECLR_NEW_RELIC_HOME counts
# --library  libclarinet_instrument.so; without it the one beside this script, or of the
#            installation this script belongs to
set -eu

fail() {
    printf 'clarinet-instrument: %s\n' "$1" >&2
    exit 2
}

# The script may be called through links: its library is beside the file that they lead to.
self=$0
while [ -h "$self" ]; do
    link=$(readlink -- "$self")
    case $link in
    /*) self=$link ;;
    *) self=$(dirname -- "$self")/$link ;;
    esac
done
folder=$(CDPATH='' cd -- "$(dirname -- "$self")" && pwd -P)
library=
while [ $# -gt 0 ]; do
    case $1 in
    --home)
        [ $# -ge 2 ] || fail "--home needs a folder"
        CORECLR_NEW_RELIC_HOME=$2
        export CORECLR_NEW_RELIC_HOME
        shift 2
        ;;
    --library)
        [ $# -ge 2 ] || fail "--library needs a file"
        library=$2
        shift 2
        ;;
    -h | --help)
        sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    --)
        shift
        break
        ;;
    -*) fail "there is no option $1; --help lists them" ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || fail "which command? for example: clarinet-instrument.sh -- dotnet Shop.dll"
if [ -z "$library" ]; then
    for file in "$folder/libclarinet_instrument.so" \
        "$folder/../../lib/clarinet/libclarinet_instrument.so" \
        "$folder/../build/libclarinet_instrument.so"; do
        if [ -f "$file" ]; then
            library=$file
            break
        fi
    done
fi
[ -f "$library" ] || fail "libclarinet_instrument.so is not found; name it with --library"
CORECLR_ENABLE_PROFILING=1
CORECLR_PROFILER='{36032161-FFC0-4B61-B559-F6C5D41BAE5A}'
CORECLR_PROFILER_PATH=$(CDPATH='' cd -- "$(dirname -- "$library")" && pwd -P)/$(basename -- "$library")
export CORECLR_ENABLE_PROFILING CORECLR_PROFILER CORECLR_PROFILER_PATH
exec "$@"
