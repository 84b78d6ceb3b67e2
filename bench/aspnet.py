"""ASP.NET Core under a fixed request rate at half load: the 99th percentile, bare and under cpu.

samples/WebShop on loopback. First its most requests a second, then half of that on a fixed schedule
(bench/load.c: latency counts from the moment a request was due). Windows take turns in random order.
Bar: the median of the sampled rounds' p99 is inside the spread of the bare rounds, which is printed.
BENCH_ROUNDS (9), BENCH_WINDOW seconds (5), BENCH_PROFILERS (cpu), BENCH_VERSIONS (the newest; a list,
or all).
"""
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import chosen_runtimes

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "9"))
WINDOW = int(os.environ.get("BENCH_WINDOW", "5"))
PROFILERS = os.environ.get("BENCH_PROFILERS", "cpu")
CONNECTIONS = 16
PAGE = "/products"


def load(program, port, rate, seconds):
    done = subprocess.run([program, port, PAGE, str(rate), str(seconds), str(CONNECTIONS)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {done.stderr}")
    numbers = [float(word) for word in done.stdout.split()]
    return dict(zip(("requests", "seconds", "p50", "p90", "p99", "p999", "most"), numbers))


def window(program, port, rate, pid, scratch, sampled):
    process = None
    if sampled:
        process = subprocess.Popen(
            [ROOT / "build/clarinet", "record", "-p", PROFILERS, "-d", f"{WINDOW + 3}s", "-o",
             f"{scratch}/a.clarinet", str(pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)  # attached, its first work done
    found = load(program, port, rate, WINDOW)
    if process:
        if process.wait(timeout=120) != 0:
            sys.exit("bench: record failed")
        Path(f"{scratch}/a.clarinet").unlink()
    return found


def start_service(version, dotnet, scratch):
    """(process, port) of samples/WebShop, ready."""
    config = Path(scratch) / f"{version}.runtimeconfig.json"
    config.write_text(json.dumps({"runtimeOptions": {
        "rollForward": "Disable",
        "frameworks": [{"name": name, "version": version}
                       for name in ("Microsoft.NETCore.App", "Microsoft.AspNetCore.App")],
        "configProperties": {"System.GC.Server": False}}}))
    target = subprocess.Popen(
        [dotnet, "exec", "--runtimeconfig", config, ROOT / "build/samples/WebShop/WebShop.dll"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = None
    for line in target.stdout:
        found = re.match(r"listening on .*:(\d+)", line)
        port = found.group(1) if found else port
        if line == "ready\n":
            break
    return target, port


def bench(version, dotnet, program, scratch):
    target, port = start_service(version, dotnet, scratch)
    load(program, port, 0, 8)  # tiered compilation
    most = load(program, port, 0, 3)
    rate = round(most["requests"] / most["seconds"] / 2)
    rows = {"bare": [], PROFILERS: []}
    for number in range(ROUNDS):
        for kind in random.Random(number).sample([*rows], 2):
            rows[kind].append(window(program, port, rate, target.pid, scratch, kind != "bare"))
    target.stdin.close()
    target.wait()
    print(f"{version}: {rate} requests a second, half of the most; {ROUNDS} rounds of {WINDOW} s")
    for kind, found in rows.items():
        print(f"  {kind:<9}", "  ".join(
            "{} {:.2f} ms [{:.2f} to {:.2f}]".format(
                name, *(f([row[key] for row in found]) / 1000
                        for f in (statistics.median, min, max)))
            for name, key in (("p50", "p50"), ("p99", "p99"), ("p99.9", "p999"))))
    bare = [row["p99"] for row in rows["bare"]]
    return statistics.median(row["p99"] for row in rows[PROFILERS]) <= max(bare)


def build_load(scratch):
    program = f"{scratch}/load"
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, ROOT / "bench/load.c"], check=True)
    return program


def main():
    chosen = chosen_runtimes(default="newest")
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        program = build_load(scratch)
        for version, dotnet in chosen:
            good &= bench(version, dotnet, program, scratch)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if not good:
        print("above the bar: p99 under sampling is outside the spread of the bare rounds")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
