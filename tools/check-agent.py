#!/usr/bin/env python3
"""Checks the libraries that live in somebody else's process, as built.

usage: check-agent.py BUILD_FOLDER [LIBRARY…]

For each library that exists: no library is needed, no symbol has a version (so it loads in glibc
and in musl), only its entry points are exported, every import is on the allow list, the stack is
not executable, there are no text relocations and no thread-local variables, and the stripped file is small enough.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ENTRY_POINTS = {"DllGetClassObject", "DllCanUnloadNow"}

# name: (room, further exports, allow list of imports, limit of the stripped size in bytes)
LIBRARIES = {
    "libclarinet.so": ("agent", HERE / "agent-exports.txt", HERE / "agent-imports.txt", 400_000),
    "libclarinet_instrument.so": (
        "instrumentation", HERE / "instrument-exports.txt", HERE / "instrument-imports.txt",
        400_000,
    ),
    "libclarinet_gate.so": (
        "gate", HERE / "gate-exports.txt", HERE / "gate-imports.txt", 32 * 1024,
    ),
}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def names_in(path):
    """The names of a list file: one or more a line, '#' begins a comment."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return set(re.sub(r"#.*", "", text).split())


def dynamic_symbols(path):
    """(imports, exports, versioned) of the dynamic symbol table."""
    imports, exports, versioned = set(), set(), set()
    for line in run("readelf", "-W", "--dyn-syms", str(path)).splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        name, binding, section = fields[7], fields[4], fields[6]
        if "@" in name:
            versioned.add(name)
        name = name.split("@")[0]
        if section == "UND":
            imports.add(name)
        elif binding in ("GLOBAL", "WEAK"):
            exports.add(name)
    return imports - {""}, exports, versioned


def stripped_size(path):
    with tempfile.NamedTemporaryFile() as copy:
        run("strip", "-o", copy.name, str(path))
        return pathlib.Path(copy.name).stat().st_size


def problems_of(path, exports_file, imports_file, limit):
    headers = run("readelf", "-W", "-d", "-l", str(path))
    imports, exports, versioned = dynamic_symbols(path)
    expected = ENTRY_POINTS | names_in(exports_file)
    for line in headers.splitlines():
        if "(NEEDED)" in line or "(TEXTREL)" in line or "(VERNEED)" in line:
            yield f"has {line.split(None, 1)[1].strip()}"
        if line.split()[:1] == ["TLS"]:
            yield "has thread-local variables: loading it could cost a thread those of others"
        if "GNU_STACK" in line and "E" in line.split()[-2]:
            yield "asks for an executable stack"
    for name in sorted(versioned):
        yield f"versioned symbol {name}"
    for name in sorted(exports - expected):
        yield f"exports {name}"
    for name in sorted(expected - exports):
        yield f"does not export {name}"
    for name in sorted(imports - names_in(imports_file)):
        yield f"imports {name}, which is not in {imports_file.name}"
    size = stripped_size(path)
    print(f"{path.name}: {size} bytes stripped, {len(imports)} imports")
    if size >= limit:
        yield f"is {size} bytes stripped, the limit is {limit}"


def main():
    folder = pathlib.Path(sys.argv[1])
    chosen = sys.argv[2:] or LIBRARIES
    status = 0
    for name, (room, exports_file, imports_file, limit) in LIBRARIES.items():
        path = folder / name
        if name not in chosen:
            continue
        if not path.exists():
            has_sources = any((HERE.parent / "src" / room).glob("*.c"))
            print(f"{name}: not built" + (", but it has sources" if has_sources else ""))
            status |= has_sources
            continue
        for problem in problems_of(path, exports_file, imports_file, limit):
            print(f"{name}: {problem}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
