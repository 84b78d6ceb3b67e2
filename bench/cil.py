"""Decode every method of a framework, against Mono.Cecil reading the same methods.

Both read the same bodies of the same assemblies, which are in memory; Cecil is warm (it reads all of
them once before), we are not. Like is held against like: our decoding against its reading. It cannot
write a body back alone; what decoding and encoding take together is printed beside. Processor time of
the thread that reads, in turns, the best of five. Bar: at least 20 times Cecil's rate.
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
    best = {name: [float("inf")] * 2 for name in readers}
    for _ in range(5):  # in turns, so that both meet the same machine
        for name, reader in readers.items():
            done = subprocess.run([*reader, "--time", *paths], capture_output=True, text=True, check=True)
            figures = map(float, done.stdout.split()[2:])
            best[name] = [min(pair) for pair in zip(best[name], figures)]
    decode, both = best["ours"]
    theirs, = best["theirs"]
    print("| reader | ns an instruction | Mono.Cecil takes |")
    print("|---|---|---|")
    print(f"| clarinet, decode | {decode:.1f} | {theirs / decode:.1f} times as long |")
    print(f"| clarinet, decode and encode | {both:.1f} | {theirs / both:.1f} times as long, only to decode |")
    print(f"| Mono.Cecil 0.11.6, decode | {theirs:.1f} | |")
    print(f"\n{theirs / decode:.1f} times Cecil's rate (bar {BAR})")
    return 0 if theirs / decode >= BAR else 1


sys.exit(main())
