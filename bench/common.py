"""Which runtimes a benchmark runs on.

Versions stand on the command line or in BENCH_VERSIONS (with commas): whole ones (10.0.14), their
beginnings (10.0), or `all`. One that there is not ends the benchmark: without a runtime nothing would
be measured, and no bar could be missed.
"""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def runtimes():
    """[(version, dotnet)] of the runtimes the tests run on, oldest first, without the one that is too old."""
    done = subprocess.run([ROOT / "dev", "runtimes"], stdout=subprocess.PIPE, text=True, check=True)
    folder = Path(done.stdout.splitlines()[-1])
    rows = (ROOT / "tools/runtimes/versions").read_text().splitlines()
    versions = [row.split()[1] for row in rows if row.endswith("aspnetcore")]
    versions.sort(key=lambda version: [int(part) for part in version.split(".")])
    return [(version, folder / "dotnet") for version in versions]


def chosen_runtimes(others=(), default="all"):
    """The runtimes that were asked for. OTHERS are words that a benchmark knows for itself; without a
    version it runs on DEFAULT, `all` or `newest`."""
    words = [word for word in sys.argv[1:] if word not in others]
    words = words or [word for word in os.environ.get("BENCH_VERSIONS", "").split(",") if word]
    found = runtimes()
    if not words:
        return found if default == "all" else found[-1:]
    for word in words:
        if word != "all" and not any(is_of(version, word) for version, _ in found):
            known = ", ".join(version for version, _ in found)
            print(f"{Path(sys.argv[0]).name}: there is no runtime {word}; there are {known}", file=sys.stderr)
            sys.exit(2)
    return [row for row in found if any(word == "all" or is_of(row[0], word) for word in words)]


def is_of(version, word):
    """Is it that version, or one that begins with it?"""
    return f"{version}.".startswith(f"{word}.")
