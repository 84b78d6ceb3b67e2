"""Decode and encode every method of a framework, against Mono.Cecil reading the same methods.

Both read the same assemblies; Cecil only reads bodies (it cannot write one back alone), so the
comparison is in its favour. Processor time of the thread that reads. Bar: at least 20 times Cecil's rate.
"""
import pathlib
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
    readers = {"ours": [ROOT / "build" / "tests" / "cil_scale"], "theirs": oracle("cecil")}
    best = dict.fromkeys(readers, float("inf"))
    for _ in range(5):  # in turns, so that both meet the same machine
        for name, reader in readers.items():
            done = subprocess.run([*reader, "--time", *paths], capture_output=True, text=True, check=True)
            best[name] = min(best[name], float(done.stdout.split()[2]))
    ours, theirs = best["ours"], best["theirs"]
    print("| reader | ns an instruction |")
    print("|---|---|")
    print(f"| clarinet, decode and encode | {ours:.1f} |")
    print(f"| Mono.Cecil 0.11.6, decode | {theirs:.1f} |")
    print(f"\n{theirs / ours:.1f} times Cecil's rate (bar {BAR})")
    return 0 if theirs / ours >= BAR else 1


sys.exit(main())
