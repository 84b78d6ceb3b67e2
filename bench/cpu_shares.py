"""Shares of processor time against the truth: cpu and dotnet-trace on the same program in turn.

samples/CpuShares burns known shares in five methods on 2 threads, by each thread's own CPU clock,
and says at its end what that clock says. dotnet-trace's nettrace is turned into time per method by
its own converter (TraceEvent). Printed: each share, the largest error, and the samples it is from.
Bar: ours within 2 percentage points when at least 10,000 samples were taken (else the chance of
fewer samples is added). BENCH_SECONDS (30) a run, BENCH_VERSIONS (the newest; a list, or all).
"""
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import chosen_runtimes
from ps import peer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from recording_reader import Recording  # noqa: E402

SECONDS = int(os.environ.get("BENCH_SECONDS", "30"))
NAMES = ("Fifty", "TwentyFive", "Fifteen", "Seven", "Three")
BAR = 2.0


def run(dotnet, version, command):
    """Runs the program while `command(pid)` looks at it; the truth in percent."""
    target = subprocess.Popen(
        [dotnet, "exec", "--fx-version", version, ROOT / "build/samples/CpuShares/CpuShares.dll",
         "--threads", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while target.stdout.readline() != "ready\n":
        pass
    done = subprocess.run(command(target.pid), capture_output=True, text=True)
    out, _ = target.communicate()
    if done.returncode != 0:
        sys.exit(f"bench: the tool ended with {done.returncode}: {done.stdout}{done.stderr}")
    rows = [line.split() for line in out.splitlines() if line.startswith("truth ")]
    return {name: float(share) for _, name, share in rows}


def to_shares(weights):
    total = sum(weights.values())
    return {name: 100 * weight / total for name, weight in weights.items()}


def ours(dotnet, version, scratch):
    path = f"{scratch}/shares.clarinet"
    truth = run(dotnet, version, lambda pid: [
        ROOT / "build/clarinet", "record", "-p", "cpu", "--set", "cpu.interval=4ms", "-d",
        f"{SECONDS}s", "-o", path, str(pid)])
    weights, count = dict.fromkeys(NAMES, 0), 0
    for sample in Recording.load(path).samples("cpu"):
        name = next((frame.name.rsplit(".", 1)[-1] for frame in sample.stack
                     if frame.name.rsplit(".", 1)[-1] in NAMES), None)
        if name:
            weights[name] += sample.weight
            count += 1
    return truth, to_shares(weights), count


def theirs(dotnet, version, scratch):
    path = Path(scratch) / "shares.nettrace"
    truth = run(dotnet, version, lambda pid: [
        peer(), "collect", "-p", str(pid), "--duration",
        f"00:00:{SECONDS // 60:02}:{SECONDS % 60:02}", "--format", "Speedscope", "-o", path])
    data = json.loads(path.with_suffix(".speedscope.json").read_text())
    names = [frame["name"].split("(")[0].rsplit(".", 1)[-1] for frame in data["shared"]["frames"]]
    weights, count = dict.fromkeys(NAMES, 0.0), 0
    for profile in data["profiles"]:
        since = {}
        for event in profile["events"]:
            name = names[event["frame"]]
            if name not in weights:
                continue
            if event["type"] == "O":
                since[name] = event["at"]
                count += 1
            elif name in since:
                weights[name] += event["at"] - since.pop(name)
    return truth, to_shares(weights), count


def main():
    chosen = chosen_runtimes(default="newest")
    failed = False
    print(f"{'runtime':<9} {'tool':<13} {'samples':>8}  " +
          " ".join(f"{name:>18}" for name in NAMES) + "   largest error")
    with tempfile.TemporaryDirectory() as scratch:
        for version, dotnet in chosen:
            for tool, measure in (("clarinet", ours), ("dotnet-trace", theirs)):
                truth, shares, count = measure(dotnet, version, scratch)
                errors = {name: shares[name] - truth[name] for name in NAMES}
                worst = max(abs(error) for error in errors.values())
                chance = 0 if count >= 10000 else 200 * math.sqrt(0.25 / max(count, 1))
                missed = tool == "clarinet" and worst > BAR + chance
                failed |= missed
                counted = str(count) if tool == "clarinet" else "-"
                print(f"{version:<9} {tool:<13} {counted:>8}  " + " ".join(
                    f"{shares[name]:>7.2f} of {truth[name]:>6.2f}  " for name in NAMES) +
                    f"  {worst:.2f}{' MISSED' if missed else ''}", flush=True)
    print(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
