"""What recording every wait for a lock costs a program whose threads fight for one all the time.

samples/TwoLocks --storm: threads enter one lock as fast as they can. Runs with and without a
recording take turns; a run's throughput is enters per second of the process's own processor time, the
agent's thread included. What is recorded is held against the runtime's own count of contended enters.
Bars: every wait is counted; at most 5 % of the throughput is lost.
BENCH_ROUNDS (9), BENCH_VERSIONS (the newest; a list, or all).
"""
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from ps import chosen_runtimes

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "9"))
SECONDS = 2
THREADS = 4
BAR = 0.95


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"bench: {done.stderr}")
    return {name: int(re.search(rf"^{name} (?:ms )?(\d+)", done.stdout, re.M).group(1))
            for name in ("entered", "contended", "processor")}


def recorded_waits(file):
    done = subprocess.run([ROOT / "build/clarinet", "report", file, "-f", "json"],
                          capture_output=True, text=True, check=True)
    tables = json.loads(done.stdout)["processes"][0]["tables"]
    return [table for table in tables if table["name"] == "waits"][0]["total"]


def bench(version, dotnet, scratch):
    command = [dotnet, "exec", "--fx-version", version, ROOT / "build/samples/TwoLocks/TwoLocks.dll",
               "--storm", str(THREADS), "--seconds", str(SECONDS), "--count", "1"]
    file = f"{scratch}/a.clarinet"
    rows = {"bare": [], "contention": []}
    counted = True
    for number in range(ROUNDS):
        for kind in random.Random(number).sample([*rows], 2):
            if kind == "bare":
                rows[kind].append(run(command))
                continue
            rows[kind].append(run([ROOT / "build/clarinet", "record", "-p", "contention", "-o", file,
                                   "--", *command]))
            waits = recorded_waits(file)
            os.unlink(file)
            if waits != rows[kind][-1]["contended"]:
                print(f"  recorded {waits} of {rows[kind][-1]['contended']} waits")
                counted = False
    for kind, found in rows.items():
        print(f"{version:9} {kind:10} {statistics.median(r['entered'] / SECONDS for r in found):9.0f} "
              f"enters/s, {statistics.median(r['contended'] / SECONDS for r in found):7.0f} contended, "
              f"{statistics.median(r['entered'] / r['processor'] for r in found):7.1f} a processor ms")
    kept = [on["entered"] / on["processor"] / (off["entered"] / off["processor"])
            for off, on in zip(rows["bare"], rows["contention"])]
    print(f"{version:9} kept {statistics.median(kept):.1%} [{min(kept):.1%} to {max(kept):.1%}], "
          f"every wait counted: {'yes' if counted else 'no'}", flush=True)
    return counted and statistics.median(kept) >= BAR


def main():
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        for version, dotnet in chosen_runtimes():
            good &= bench(version, dotnet, scratch)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; bar {BAR:.0%} kept: "
          f"{'reached' if good else 'missed'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
