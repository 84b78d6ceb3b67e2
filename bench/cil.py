"""Decode every method of a framework, and encode it again, against Mono.Cecil with the same methods.

Both have the same bodies of the same assemblies in memory. Like is held against like: our decoding
against its reading, our decoding and encoding against its reading and writing (the part of its writer
that makes bodies, without the rest of the module; its table of tokens is full already). Cecil is warm:
it did everything once before. Processor time of the thread that works, in turns, the best of five.
Bar: at least 20 times Cecil's rate, in both rows. Versions as arguments choose the frameworks (the newest).
"""
import subprocess
import sys

from common import ROOT, chosen_runtimes

sys.path.insert(0, str(ROOT / "tests" / "oracles"))
from build import oracle  # noqa: E402

BAR = 20


def rates(dotnet, version):
    """How many times Cecil's rate ours is, decoding, and decoding and encoding."""
    folder = dotnet.parent / "shared" / "Microsoft.NETCore.App" / version
    paths = sorted(str(path) for path in folder.glob("System.*.dll"))
    readers = {"ours": [ROOT / "build" / "tests" / "cil_scale"], "theirs": oracle("cecil")}
    best = {name: [float("inf")] * 2 for name in readers}
    for _ in range(5):  # in turns, so that both meet the same machine
        for name, reader in readers.items():
            done = subprocess.run([*reader, "--time", *paths], capture_output=True, text=True, check=True)
            figures = map(float, done.stdout.split()[2:])
            best[name] = [min(pair) for pair in zip(best[name], figures)]
    found = [theirs / ours for ours, theirs in zip(best["ours"], best["theirs"])]
    for what, ours, theirs, rate in zip(("decode", "decode and encode"), *best.values(), found):
        print(f"| {version} | {what} | {ours:.1f} ns an instruction | {theirs:.1f} ns | {rate:.1f} |", flush=True)
    return found


def main():
    chosen = chosen_runtimes(default="newest")
    print("| framework | work | clarinet | Mono.Cecil 0.11.6 | times its rate |")
    print("|---|---|---|---|---|")
    least = min(rate for version, dotnet in chosen for rate in rates(dotnet, version))
    print(f"\n{least:.1f} times Cecil's rate or more (bar {BAR})")
    return 0 if least >= BAR else 1


sys.exit(main())
