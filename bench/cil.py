"""Decode every method of a framework, and encode it again, against Mono.Cecil with the same methods.

Both have the same bodies of the same assemblies in memory. Like is held against like: our decoding
against its reading, our decoding and encoding against its reading and writing (the part of its writer
that makes bodies, without the rest of the module; its table of tokens is full already). Cecil is warm:
it did everything once before. Processor time of the thread that works, in turns, the best of five.
Bar: at least 20 times Cecil's rate, in both rows.
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
    rates = [theirs / ours for ours, theirs in zip(best["ours"], best["theirs"])]
    print("| work | clarinet | Mono.Cecil 0.11.6 | times its rate |")
    print("|---|---|---|---|")
    for what, ours, theirs, rate in zip(("decode", "decode and encode"), *best.values(), rates):
        print(f"| {what} | {ours:.1f} ns an instruction | {theirs:.1f} ns | {rate:.1f} |")
    print(f"\n{min(rates):.1f} times Cecil's rate or more (bar {BAR})")
    return 0 if min(rates) >= BAR else 1


sys.exit(main())
