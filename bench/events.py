"""All event profilers at once on ASP.NET Core at half load, against dotnet-trace with the same events.

samples/WebShop as in aspnet.py: its most requests a second, then half of that on a fixed schedule.
Windows take turns in random order: bare, clarinet, dotnet-trace. Told are the service's processor time
a request, the 99th percentile of the latencies, and the size of the files for the same time.
Bars: at most 3 % processor time a request; p99 inside the spread of the bare rounds; of dotnet-trace's
overhead at most 1/3, of its file at most 1/10.
BENCH_ROUNDS (7), BENCH_WINDOW seconds (4), BENCH_VERSIONS (the newest; a list, or all).
`events.py open` instead times the opening of a .nettrace file of 300 MB: under 3 s, under 500 MB.
"""
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from aspnet import build_load, load, start_service
from attach import start
from ps import chosen_runtimes, peer
from report import run

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
WINDOW = int(os.environ.get("BENCH_WINDOW", "4"))
PROFILERS = "allocations,gc,pauses,contention,jit,counters,http,exceptions"
RUNTIME = "Microsoft-Windows-DotNETRuntime"
COUNTERS = ["System.Runtime", "Microsoft-AspNetCore-Server-Kestrel"]
REQUESTS = ["Microsoft.AspNetCore.Hosting", "System.Net.Http"]
NO_KEYWORDS = "0x10000000000"
OPEN_BYTES = 300_000_000
OPEN_SECONDS, OPEN_MEGABYTES = 3.0, 500


def providers(version):
    """What clarinet itself asks the diagnostics port for (src/session/port_providers.c)."""
    keywords = 0x1 | 0x10 | 0x4000 | 0x8000  # collections, compilations, contention, exceptions
    if int(version.split(".")[0]) >= 10:
        keywords |= 0x80000000000  # sampled allocations
    rows = [f"{RUNTIME}:{keywords:#x}:5", "System.Threading.Tasks.TplEventSource:0x80:4"]
    rows += [f"{name}:{NO_KEYWORDS}:4:EventCounterIntervalSec=1" for name in COUNTERS + REQUESTS]
    return ",".join(rows)


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def begin(command, file, size):
    """The tool, when its file shows that it is at work."""
    tool = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    while not file.exists() or file.stat().st_size <= size:
        if tool.poll() is not None:
            sys.exit(f"bench: {command[0]} ended with {tool.returncode}")
        time.sleep(0.05)
    return tool


def window(program, port, rate, target, version, scratch, kind):
    """Requests, p99, processor time a request in microseconds, and bytes of the file."""
    file = Path(scratch) / f"a.{kind}"
    tool = None
    if kind == "clarinet":
        tool = begin([ROOT / "build/clarinet", "record", "-p", PROFILERS, "--set",
                      "http.status=false", "-o", file, str(target.pid)], file, 600)
    elif kind == "dotnet-trace":
        tool = begin([peer(), "collect", "-p", str(target.pid), "--providers", providers(version),
                      "-o", file], file, 0)
    time.sleep(1)  # its first work is done
    used = processor_seconds(target.pid)
    found = load(program, port, rate, WINDOW)
    found["cpu"] = (processor_seconds(target.pid) - used) / found["requests"] * 1e6
    found["bytes"] = 0
    if tool:
        tool.send_signal(signal.SIGINT)
        if tool.wait(timeout=120) != 0:
            sys.exit(f"bench: {kind} failed")
        found["bytes"] = file.stat().st_size
        file.unlink()
    return found


def middle(rows, key):
    return statistics.median(row[key] for row in rows)


def bench(version, dotnet, program, scratch):
    target, port = start_service(version, dotnet, scratch)
    load(program, port, 0, 8)  # tiered compilation
    most = load(program, port, 0, 3)
    rate = round(most["requests"] / most["seconds"] / 2)
    rows = {"bare": [], "clarinet": [], "dotnet-trace": []}
    for number in range(ROUNDS):
        for kind in random.Random(number).sample([*rows], 3):
            rows[kind].append(window(program, port, rate, target, version, scratch, kind))
    target.stdin.close()
    target.wait()
    print(f"{version}: {rate} requests a second, half of the most; {ROUNDS} rounds of {WINDOW} s")
    bare = middle(rows["bare"], "cpu")
    for kind, found in rows.items():
        p99 = [row["p99"] / 1000 for row in found]
        print(f"  {kind:<13} {middle(found, 'cpu'):7.1f} us a request "
              f"({middle(found, 'cpu') / bare - 1:+.1%}) [{min(r['cpu'] for r in found):.1f} to "
              f"{max(r['cpu'] for r in found):.1f}]  p99 {statistics.median(p99):.2f} ms "
              f"[{min(p99):.2f} to {max(p99):.2f}]  {middle(found, 'bytes') / 1e6:.2f} MB")
    ours, theirs = (middle(rows[kind], "cpu") - bare for kind in ("clarinet", "dotnet-trace"))
    size = middle(rows["clarinet"], "bytes") / middle(rows["dotnet-trace"], "bytes")
    spread = max(row["cpu"] for row in rows["bare"]) - min(row["cpu"] for row in rows["bare"])
    ratio = ours / theirs if theirs > spread and ours > 0 else None
    print(f"  of dotnet-trace's overhead "
          f"{'no ratio: inside the spread of the bare rounds' if ratio is None else f'{ratio:.2f}'}, "
          f"of its file {size:.3f}", flush=True)
    return (ours <= 0.03 * bare and ratio is not None and ratio <= 1 / 3 and size <= 0.1 and
            middle(rows["clarinet"], "p99") <= max(row["p99"] for row in rows["bare"]))


def open_large(version, dotnet, scratch):
    """A file of dotnet-trace, of a program that throws as fast as it can."""
    target = start(dotnet, version, "Thrower")
    drain = subprocess.Popen(["cat"], stdin=target.stdout, stdout=subprocess.DEVNULL)
    file = Path(scratch) / "large.nettrace"
    tool = begin([peer(), "collect", "-p", str(target.pid), "--buffersize", "512", "--providers",
                  f"{RUNTIME}:0x8001:5,Microsoft-DotNETCore-SampleProfiler", "-o", file], file,
                 OPEN_BYTES)
    tool.send_signal(signal.SIGINT)
    tool.wait()
    target.stdin.close()
    target.wait()
    drain.wait()
    rounds = [run([ROOT / "build/clarinet", "report", file, "-f", "html", "-o",
                   f"{scratch}/out.html"]) for _ in range(3)]
    elapsed, cpu, peak = (statistics.median(r[i] for r in rounds) for i in range(3))
    print(f"{version}: {file.stat().st_size / 1e6:.0f} MB opened, report.html written: "
          f"{elapsed:.2f} s, processor {cpu:.2f} s, {peak:.0f} MB", flush=True)
    file.unlink()
    return cpu < OPEN_SECONDS and peak < OPEN_MEGABYTES


def main():
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        program = build_load(scratch)
        for version, dotnet in chosen_runtimes():
            if sys.argv[1:] == ["open"]:
                good &= open_large(version, dotnet, scratch)
            else:
                good &= bench(version, dotnet, program, scratch)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; bars "
          f"{'reached' if good else 'missed'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
