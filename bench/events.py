"""All event profilers at once on ASP.NET Core, against dotnet-trace with the same events.

samples/WebShop as in aspnet.py: its most requests a second; then half of that on a fixed schedule, all
the time; then as many as it can serve. In one process, windows with clarinet and with dotnet-trace stand
between bare ones: what a request costs is held against the two bare windows around it, so that whatever
else the machine does hits both alike. Told are the service's processor time a request, that and the
tool's together, the 99th percentile of the latencies, and the size of the files for the same time.
Bars: at half load at most 3 % processor time a request, p99 inside the spread of the bare rounds; of
dotnet-trace's overhead at most 1/3, of its file at most 1/10. The overheads are compared at full load,
with the tool's part: at half load a service does less for each request when the machine is fuller (it
meets more of them at once), by as much as either tool costs, and what fills it is the tool.
BENCH_ROUNDS (7), BENCH_WINDOW seconds (3), BENCH_VERSIONS (the newest; a list, or all),
BENCH_KINDS (of KINDS below; clarinet,dotnet-trace), BENCH_SHARES of the most requests, at each of which
all rounds are made (0.5,1; 1 is as many as there can be).
`events.py open` instead times the opening of a .nettrace file of 300 MB: under 3 s, under 500 MB.
"""
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from allocations import processor_seconds
from aspnet import build_load, load, start_service
from attach import start
from common import chosen_runtimes
from ps import peer
from report import run

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
WINDOW = int(os.environ.get("BENCH_WINDOW", "3"))
SHARES = [float(one) for one in os.environ.get("BENCH_SHARES", "0.5,1").split(",")]
CHOSEN = os.environ.get("BENCH_KINDS", "clarinet,dotnet-trace").split(",")
QUICK = "allocations,gc,pauses,contention,jit,counters,exceptions"
# rows beside the ones of the bars: what a part of it costs
KINDS = {"clarinet": [QUICK + ",http", "--set", "http.status=false"], "status": [QUICK + ",http"],
         "without-http": [QUICK], "http": ["http", "--set", "http.status=false"],
         "http-status": ["http"]}
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


def begin(command, file, size):
    """The tool, when its file shows that it is at work. A bench in the background of a shell ignores
    SIGINT, and so would dotnet-trace, for ever."""
    tool = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    while not file.exists() or file.stat().st_size <= size:
        if tool.poll() is not None:
            sys.exit(f"bench: {command[0]} ended with {tool.returncode}")
        time.sleep(0.05)
    return tool


def window(program, port, rate, target, version, scratch, kind):
    """Requests, p99, processor time a request in microseconds, and bytes of the file."""
    file = Path(scratch) / f"a.{kind}"
    tool = None
    if kind in KINDS:
        tool = begin([ROOT / "build/clarinet", "record", "-p", *KINDS[kind], "-o", file,
                      str(target.pid)], file, 600)
    elif kind == "dotnet-trace":
        tool = begin([peer(), "collect", "-p", str(target.pid), "--providers", providers(version),
                      "-o", file], file, 0)
    load(program, port, rate, 1)  # its first work is done
    used = processor_seconds(target.pid), processor_seconds(tool.pid) if tool else 0
    found = load(program, port, rate, WINDOW)
    found["cpu"] = (processor_seconds(target.pid) - used[0]) / found["requests"] * 1e6
    found["tool"] = (processor_seconds(tool.pid) - used[1] if tool else 0) / found["requests"] * 1e6
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


def show(kind, found, bare):
    """Prints a row; returns the shares of processor time that are added, to the service and to it
    and the tool together."""
    added, whole = (statistics.median(row[key] for row in found) for key in ("added", "whole"))
    p99 = [row["p99"] / 1000 for row in found]
    print(f"  {kind:<13} {middle(found, 'cpu'):7.1f} us a request, {added:+.1%} "
          f"[{min(r['added'] for r in found):+.1%} to {max(r['added'] for r in found):+.1%}], "
          f"with the tool {whole:+.1%}  "
          f"p99 {statistics.median(p99):.2f} ms [{min(p99):.2f} to {max(p99):.2f}]; bare "
          f"{middle(bare, 'cpu'):.1f} us, p99 {middle(bare, 'p99') / 1000:.2f} ms "
          f"[to {max(row['p99'] for row in bare) / 1000:.2f}]  "
          f"{middle(found, 'bytes') / 1e6:.2f} MB", flush=True)
    return added, whole


def measure(rate, version, program, target, port, scratch):
    """All rounds at one rate; 0 = as many requests as there can be. Whether its bars are reached."""
    rows = {kind: [] for kind in CHOSEN}
    bare = [window(program, port, rate, target, version, scratch, "bare")]
    for _ in range(ROUNDS):
        for kind, found in rows.items():
            found.append(window(program, port, rate, target, version, scratch, kind))
            bare.append(window(program, port, rate, target, version, scratch, "bare"))
            around = (bare[-2]["cpu"] + bare[-1]["cpu"]) / 2
            found[-1]["added"] = found[-1]["cpu"] / around - 1
            found[-1]["whole"] = (found[-1]["cpu"] + found[-1]["tool"]) / around - 1
    served = statistics.median(row["requests"] / row["seconds"] for row in bare)
    print(f"{version}: {'full load, ' if rate == 0 else ''}{served:.0f} requests a second; "
          f"{ROUNDS} rounds of {WINDOW} s")
    added = {kind: show(kind, found, bare) for kind, found in rows.items()}
    if rate != 0:
        return "clarinet" not in rows or (
            added["clarinet"][0] <= 0.03 and
            middle(rows["clarinet"], "p99") <= max(row["p99"] for row in bare))
    if "dotnet-trace" not in rows or "clarinet" not in rows:
        return True
    size = middle(rows["clarinet"], "bytes") / middle(rows["dotnet-trace"], "bytes")
    ratio = added["clarinet"][1] / added["dotnet-trace"][1] if added["dotnet-trace"][1] > 0 else 1
    print(f"  of dotnet-trace's overhead {ratio:.2f}, of its file {size:.3f}", flush=True)
    return ratio <= 1 / 3 and size <= 0.1


def bench(version, dotnet, program, scratch):
    target, port = start_service(version, dotnet, scratch)
    load(program, port, 0, 8)  # tiered compilation
    most = load(program, port, 0, 3)
    good = True
    for share in SHARES:
        rate = 0 if share >= 1 else round(most["requests"] / most["seconds"] * share)
        good &= measure(rate, version, program, target, port, scratch)
    target.stdin.close()
    target.wait()
    return good


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
    chosen = chosen_runtimes(others=["open"], default="newest")
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        program = build_load(scratch)
        for version, dotnet in chosen:
            if "open" in sys.argv[1:]:
                good &= open_large(version, dotnet, scratch)
            else:
                good &= bench(version, dotnet, program, scratch)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; bars "
          f"{'reached' if good else 'missed'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
