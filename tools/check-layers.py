#!/usr/bin/env python3
"""Checks who includes whom in src/ and include/ against the table below.

usage: check-layers.py [ROOT]

The rule behind the table (docs/design.md, "The house"): base is the floor; the shared rooms stand
on it and are compiled for both sides; what lives in the target and what lives outside of it never
see each other. A new room needs a row here.
"""
import pathlib
import re
import sys

SHARED = {"base", "clr", "cil", "stackwalk", "catalogue", "control", "recording", "clarinet"}
OUTSIDE = SHARED | {"rules", "metadata", "symbols", "diagnostics", "session", "analysis", "report"}

MAY_USE = {
    # the floor
    "base": set(),
    # shared by both sides; "clarinet" is include/clarinet, the SDK's headers
    "clarinet": set(),
    "clr": {"base", "clarinet"},
    "cil": {"base", "clr", "clarinet"},
    "stackwalk": {"base"},
    "catalogue": {"base", "clr", "clarinet"},
    "recording": {"base", "catalogue"},
    "control": {"base", "catalogue", "recording"},
    "rules": {"base", "cil", "clarinet", "metadata"},
    # inside the target
    "agent": SHARED,
    "profilers": SHARED | {"agent"},
    "instrumentation": SHARED | {"rules"},
    "gate": {"base", "clarinet"},
    # outside
    "metadata": {"base", "cil"},
    "symbols": SHARED | {"metadata"},
    "diagnostics": SHARED | {"metadata", "symbols"},
    "session": SHARED | {"symbols", "diagnostics"},
    "analysis": SHARED | {"metadata", "symbols"},
    "report": SHARED | {"metadata", "symbols", "analysis"},
    "server": OUTSIDE,
    "cli": OUTSIDE | {"server"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([a-z_]+)/([^">]+)[">]')
ONLY_CLI = re.compile(r"\b((?:printf|puts|perror|exit|abort)|fprintf(?=\s*\(\s*std))\s*\(")


def files_of(root):
    """(room, path) of every source."""
    for path in sorted((root / "src").glob("*/**/*")):
        if path.suffix in (".c", ".h", ".S"):
            yield path.relative_to(root / "src").parts[0], path
    for path in sorted((root / "include" / "clarinet").glob("**/*.h")):
        yield "clarinet", path


def problems_of(root, room, path):
    name = path.relative_to(root)
    if room not in MAY_USE:
        yield f"{name}: the room '{room}' has no row in tools/check-layers.py"
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        used = match.group(1) if match else None
        if used in MAY_USE and used != room and used not in MAY_USE[room]:
            yield f"{name}:{number}: {room} may not use {used} ({match.group(2)})"
        # Only src/cli prints; nothing else ends the process either.
        call = ONLY_CLI.search(line)
        if call and room != "cli" and not line.lstrip().startswith(("*", "/*", "//", "#")):
            yield f"{name}:{number}: only src/cli may call {call.group(1)}"


def main():
    here = pathlib.Path(__file__).resolve().parents[1]
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here
    files = list(files_of(root))
    problems = [line for room, path in files for line in problems_of(root, room, path)]
    for line in problems:
        print(line)
    print(f"layers: {len(files)} files, {len(problems)} problems")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
