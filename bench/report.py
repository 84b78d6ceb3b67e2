#!/usr/bin/env python3
"""Reports of generated recordings: time, memory and size against their bars.

    bench/report.py [--build DIR]

Two recordings are made: 3 million samples, and 1 million samples on 50,000 distinct stacks. Each
report is made three times; the median of the CPU time (user and system) is held against the bar,
because the elapsed time of a busy machine says nothing; the elapsed time is printed beside it.
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROUNDS = 3
# recording, format, bar in seconds, bar in MB (None = no bar, only printed)
CASES = [
    ("3m", "html", 3.0, 300),
    ("3m", "pprof", None, None),
    ("3m", "md", None, None),
    ("3m", "collapsed", None, None),
    ("1m", "html", 2.0, None),
    ("1m", "pprof", 2.0, None),
    ("1m", "speedscope", None, None),
]
SAMPLES = {"3m": (3_000_000, 20_000, 8), "1m": (1_000_000, 50_000, 8)}
BYTES_PER_SAMPLE = 16


def run(command):
    """(elapsed seconds, CPU seconds, peak MB) of one child."""
    start = time.monotonic()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} ended with {process.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def sizes(build, folder):
    """Makes the recordings; prints and checks bytes per sample. True when all bars hold."""
    good = True
    print(f"{'recording':<10} {'samples':>9} {'form':<7} {'bytes':>11} {'bytes/sample':>13}")
    for name, (samples, stacks, threads) in SAMPLES.items():
        # The same without samples: what the stacks and names cost, each once.
        empty = folder / "empty.clarinet"
        for form, extra in (("plain", ["plain"]), ("packed", [])):
            path = folder / f"{name}.clarinet"
            maker = build / "tests" / "make_recording"
            for file, count in ((empty, 1), (path, samples)):
                subprocess.run([maker, file, str(count), str(stacks), str(threads), *extra],
                               check=True)
            each = (path.stat().st_size - empty.stat().st_size) / samples
            good &= each <= BYTES_PER_SAMPLE
            print(f"{name:<10} {samples:>9} {form:<7} {path.stat().st_size:>11} {each:>13.2f}")
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    build = parser.parse_args().build.resolve()
    good = True
    with tempfile.TemporaryDirectory(prefix="clarinet-bench-") as name:
        folder = pathlib.Path(name)
        good &= sizes(build, folder)
        print(f"bar: at most {BYTES_PER_SAMPLE} bytes a sample\n")
        print(f"{'recording':<10} {'format':<11} {'elapsed s':>9} {'cpu s':>7} {'MB':>6} "
              f"{'out MB':>7}  bar")
        for recording, form, seconds, megabytes in CASES:
            out = folder / "out"
            command = [build / "clarinet", "report", folder / f"{recording}.clarinet", "-f", form,
                       "-o", out]
            rounds = [run(command) for _ in range(ROUNDS)]
            elapsed, cpu, peak = (statistics.median(r[i] for r in rounds) for i in range(3))
            missed = (seconds is not None and cpu > seconds) or (
                megabytes is not None and peak > megabytes)
            good &= not missed
            bar = " ".join([f"{seconds:g} s" if seconds else "", f"{megabytes} MB" if megabytes
                            else ""]).strip()
            print(f"{recording:<10} {form:<11} {elapsed:>9.2f} {cpu:>7.2f} {peak:>6.0f} "
                  f"{out.stat().st_size / 1e6:>7.1f}  {bar}{' MISSED' if missed else ''}")
    print(f"\nload average during the run: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return 0 if good else 1


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
