"""What recording every wait for a lock costs a program that waits 100,000 times a second.

samples/TwoLocks --convoy without spinning: on each processor four threads that hand one lock on, so
that nearly every enter is contended, and compute between, just so long that there are 100,000 contended
enters a second. A row beside it, flat out, does not compute and has no bar. In one process windows with a recording stand between bare ones;
the cost is the process's own processor time an enter, the agent's thread included, against the two
bare windows around it. The first second of a recording is told apart (attaching, the first
stacks). A run from start to end is held against the runtime's own count of contended enters.
Bars: at least 100,000 contended enters a second, every wait counted, at most 5 % lost.
BENCH_ROUNDS (8), BENCH_VERSIONS (the newest; a list, or all), BENCH_SET more parameters of `record`.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from allocations import processor_seconds
from common import chosen_runtimes

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "8"))
SET = [word for text in os.environ.get("BENCH_SET", "").split() for word in ("--set", text)]
WINDOW = 2.0  # seconds of one window
FIRST = 1.0  # of a recording, told apart
WANTED = 100_000
AIM = 1.06 * WANTED  # bare: recorded there are fewer
GUESS = 1000  # steps of computing, to see how long they take
BAR = 0.95
NO_SPINNING = {**os.environ, "DOTNET_Monitor_SpinCount": "0"}


def sample(version, dotnet, *options):
    return [dotnet, "exec", "--fx-version", version, ROOT / "build/samples/TwoLocks/TwoLocks.dll",
            "--convoy", "1", "--count", "1", *options]


def record(*options):
    return [ROOT / "build/clarinet", "record", "-p", "contention", *SET, *options]


def is_counted(version, dotnet, file):
    """Whether a whole run has as many waits as the runtime itself counted."""
    done = subprocess.run(record("-o", file, "--", *sample(version, dotnet, "--seconds", "2")),
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, env=NO_SPINNING)
    if done.returncode != 0:
        sys.exit(f"bench: {done.stderr}")
    told = int(re.search(r"^contended (\d+)", done.stdout, re.M).group(1))
    report = subprocess.run([ROOT / "build/clarinet", "report", file, "-f", "json"],
                            capture_output=True, text=True, check=True)
    tables = json.loads(report.stdout)["processes"][0]["tables"]
    waits = [table for table in tables if table["name"] == "waits"][0]["total"]
    print(f"{version:9} recorded {waits} of {told} waits", flush=True)
    return waits == told


def between(samples, begin, end):
    """Microseconds an enter, contended enters a second."""
    inside = [s for s in samples if begin <= s[0] <= end]
    if len(inside) < 3:
        return None
    time_s, cpu, enters, waits = (inside[-1][i] - inside[0][i] for i in range(4))
    return cpu / enters * 1e6, waits / time_s


def bare_rate(version, dotnet, work):
    """Contended enters a second, nothing recorded."""
    done = subprocess.run(sample(version, dotnet, "--seconds", "4", "--work", str(work)), check=True,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, env=NO_SPINNING)
    counts = [int(count) for count in re.findall(r"^so far \d+ contended (\d+)", done.stdout, re.M)]
    late = counts[len(counts) // 2:]  # the hot methods are compiled for good
    return (late[-1] - late[0]) / (0.1 * (len(late) - 1))


def find_work(version, dotnet):
    """Steps of computing that leave about as many contended enters a second as the bar names."""
    flat, work = 1 / bare_rate(version, dotnet, 0), GUESS
    for _ in range(2):  # the second time from near by
        slowed = 1 / bare_rate(version, dotnet, work)
        work = max(1, round((1 / AIM - flat) / (slowed - flat) * work))
    return work


def measure(version, dotnet, file, work):
    """Rounds of (bare before, recorded, bare after, the recording's first second)."""
    target = subprocess.Popen(sample(version, dotnet, "--work", str(work)), stdin=subprocess.PIPE,
                              env=NO_SPINNING, stdout=subprocess.PIPE, text=True)
    samples, windows = [], []

    def read():
        for line in target.stdout:
            match = re.match(r"so far (\d+) contended (\d+)", line)
            if match:
                samples.append((time.monotonic(), processor_seconds(target.pid), int(match[1]),
                                int(match[2])))

    def rest():
        begin = time.monotonic()
        time.sleep(WINDOW)
        return begin + 0.1, time.monotonic()

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(2)  # until the hot methods are compiled for good
    for _ in range(ROUNDS):
        before = rest()
        begin = time.monotonic()
        subprocess.run(record("-d", f"{FIRST + WINDOW}s", "-o", file, str(target.pid)), check=True,
                       capture_output=True)
        first, on = (begin, begin + FIRST), (begin + FIRST, time.monotonic() - 0.1)
        time.sleep(0.5)  # the agent detaches
        windows.append((before, on, rest(), first))
    target.stdin.close()
    target.wait()
    reader.join()
    rounds = [[between(samples, *window) for window in four] for four in windows]
    return [four for four in rounds if None not in four]


def show(version, kind, rounds):
    """Prints a row; returns the rate of the recorded windows and the share that is kept."""
    rate = statistics.median(on[1] for _, on, _, _ in rounds)
    kept = [(before[0] + after[0]) / 2 / on[0] for before, on, after, _ in rounds]
    first = [(before[0] + after[0]) / 2 / first[0] for before, _, after, first in rounds]
    print(f"{version:9} {kind:9} {rate:7.0f} contended enters a second recorded, "
          f"{statistics.median(before[1] for before, _, _, _ in rounds):7.0f} bare; "
          f"{statistics.median(on[0] for _, on, _, _ in rounds):.2f} us an enter, "
          f"{statistics.median(before[0] for before, _, _, _ in rounds):.2f} bare; "
          f"kept {statistics.median(kept):.1%} [{min(kept):.1%} to {max(kept):.1%}], "
          f"in the first second {statistics.median(first):.1%}", flush=True)
    return rate, statistics.median(kept)


def bench(version, dotnet, scratch):
    file = f"{scratch}/a.clarinet"
    counted = is_counted(version, dotnet, file)
    show(version, "flat out", measure(version, dotnet, file, 0))
    rate, kept = show(version, "100,000/s",
                      measure(version, dotnet, file, find_work(version, dotnet)))
    return counted and rate >= WANTED and kept >= BAR


def main():
    chosen = chosen_runtimes(default="newest")
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        for version, dotnet in chosen:
            good &= bench(version, dotnet, scratch)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; bars: {WANTED} "
          f"a second, every wait, {BAR:.0%} kept: {'reached' if good else 'missed'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
