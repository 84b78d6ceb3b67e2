#!/usr/bin/env bash
# usage: build-windows.sh FOLDER
#
# Builds FOLDER/clarinet_instrument.dll, the instrumentation agent for Windows x64, with mingw. It is
# the same source as the Linux library; only os_windows.c and platform_windows.c differ. It needs
# nothing but what every Windows has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
OUT=$1
COMPILER=${WINDOWS_CC:-x86_64-w64-mingw32-gcc}
# printf formats are checked by the Linux build; mingw takes them for those of an old C library.
FLAGS=(-std=gnu11 -O2 -g -D_GNU_SOURCE -D__USE_MINGW_ANSI_STDIO=1 -DCLARINET_IN_TARGET=1
    "-DCLARINET_VERSION=\"$(sed -n 's/^project(clarinet VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)\""
    -Isrc -Iinclude -Wall -Wextra -Wshadow -Wconversion -Wvla -Werror -Wno-format
    -Wno-format-extra-args -ffunction-sections -fdata-sections)
objects=()

mkdir -p "$OUT/windows-objects"
while read -r source; do
    object=$OUT/windows-objects/$(tr / _ <<<"$source").o
    "$COMPILER" "${FLAGS[@]}" -c "$source" -o "$object"
    objects+=("$object")
done < <(find src/base src/rules src/clr src/cil src/metadata src/instrumentation \( -name '*.c' -o -name '*.S' \) \
    ! -name '*_linux.c' ! -name '*_arm64.S' | sort)
"$COMPILER" -shared -static-libgcc -Wl,--gc-sections -Wl,--exclude-all-symbols -s \
    "${objects[@]}" -o "$OUT/clarinet_instrument.dll"
rm -r "$OUT/windows-objects"
