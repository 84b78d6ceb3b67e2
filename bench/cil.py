"""Decode and encode every method of a framework, against Mono.Cecil reading the same methods.

Both read the same assemblies; Cecil only reads bodies (it cannot write one back alone), so the
comparison is in its favour. Bar: at least 20 times Cecil's rate.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "oracles"))
from build import oracle  # noqa: E402

BAR = 20


def main():
    done = subprocess.run([ROOT / "dev", "runtimes"], stdout=subprocess.PIPE, text=True, check=True)
    shared = pathlib.Path(done.stdout.splitlines()[-1]) / "shared" / "Microsoft.NETCore.App"
    folder = max(shared.iterdir(), key=lambda path: [int(n) for n in path.name.split(".")])
    paths = sorted(str(path) for path in folder.glob("System.*.dll"))
    ours = min(
        float(re.search(r"([\d.]+) ns an instr", subprocess.run(
            [ROOT / "build" / "tests" / "cil_scale", *paths], capture_output=True, text=True
        ).stderr).group(1))
        for _ in range(3)
    )
    theirs = min(
        float(subprocess.run([*oracle("cecil"), "--time", *paths], capture_output=True, text=True,
                             check=True).stdout.split()[2])
        for _ in range(3)
    )
    print("| reader | ns an instruction |")
    print("|---|---|")
    print(f"| clarinet, decode and encode | {ours:.1f} |")
    print(f"| Mono.Cecil 0.11.6, decode | {theirs:.1f} |")
    print(f"\n{theirs / ours:.1f} times Cecil's rate (bar {BAR})")
    return 0 if theirs / ours >= BAR else 1


sys.exit(main())
