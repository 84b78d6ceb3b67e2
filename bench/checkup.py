"""What the checkup costs a service, how long it takes, and the server: the figures of the doctor.

`checkup.py` (cost): samples/WebShop as in aspnet.py, at half of its most requests a second. Windows
with a whole checkup in them (attaching, recording, the look at the heap, judging) stand between bare
ones in the same process. Told are the service's processor time a request and the 99th percentile.
Bars: at most 3 % more; p99 inside the spread of the bare rounds.
`checkup.py time`: a checkup of 3 s of the idle service, end to end. Bar: 3 s more than it records.
`checkup.py server`: `clarinet serve` idle (bars: 15 MB, no processor time in 10 s), a list of 1,000
sessions (100 ms), and wrk on /api/processes with 64 connections (no error, p99 50 ms).
BENCH_ROUNDS (5), BENCH_WINDOW seconds (8), BENCH_VERSIONS (the newest; a list, or all).
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from allocations import processor_seconds
from aspnet import build_load, load, start_service
from common import chosen_runtimes

ROOT = Path(__file__).resolve().parents[1]
CLARINET = ROOT / "build/clarinet"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
WINDOW = int(os.environ.get("BENCH_WINDOW", "8"))
SESSIONS = 1000


def checkup(pid, seconds, scratch):
    return subprocess.Popen(
        [CLARINET, "checkup", "-d", f"{seconds}s", "-o", f"{scratch}/out.html", "--json", str(pid)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def window(program, port, rate, target, scratch, with_checkup):
    used = processor_seconds(target.pid)
    tool = checkup(target.pid, WINDOW - 2, scratch) if with_checkup else None
    found = load(program, port, rate, WINDOW)
    found["cpu"] = (processor_seconds(target.pid) - used) / found["requests"] * 1e6
    found["late"] = tool is not None and tool.poll() is None
    if tool is not None and tool.wait(timeout=60) != 0:
        sys.exit("bench: the checkup failed")
    return found


def cost(version, dotnet, scratch):
    program = build_load(scratch)
    target, port = start_service(version, dotnet, scratch)
    load(program, port, 0, 8)  # tiered compilation
    most = load(program, port, 0, 3)
    rate = round(most["requests"] / most["seconds"] / 2)
    bare = [window(program, port, rate, target, scratch, False)]
    rows = []
    for _ in range(ROUNDS):
        rows.append(window(program, port, rate, target, scratch, True))
        bare.append(window(program, port, rate, target, scratch, False))
        rows[-1]["added"] = rows[-1]["cpu"] * 2 / (bare[-2]["cpu"] + bare[-1]["cpu"]) - 1
    target.stdin.close()
    target.wait()
    added = [row["added"] for row in rows]
    p99 = [row["p99"] / 1000 for row in rows]
    bare99 = [row["p99"] / 1000 for row in bare]
    print(f"{version}: {rate} requests a second, {ROUNDS} rounds of {WINDOW} s: processor time a "
          f"request {statistics.median(added):+.1%} [{min(added):+.1%} to {max(added):+.1%}], bare "
          f"{statistics.median(row['cpu'] for row in bare):.1f} us; p99 "
          f"{statistics.median(p99):.2f} ms [{min(p99):.2f} to {max(p99):.2f}], bare "
          f"{statistics.median(bare99):.2f} ms [{min(bare99):.2f} to {max(bare99):.2f}]", flush=True)
    late = sum(row["late"] for row in rows)
    if late:
        print(f"  {late} of {ROUNDS} checkups ended after their window: not all of their cost is in it")
    return statistics.median(added) <= 0.03 and statistics.median(p99) <= max(bare99)


def whole_time(version, dotnet, scratch):
    target, _ = start_service(version, dotnet, scratch)
    taken = []
    for _ in range(ROUNDS):
        begin = time.monotonic()
        used = os.times()
        checkup(target.pid, 3, scratch).wait()
        now = os.times()
        taken.append((time.monotonic() - begin - 3,
                      now.children_user + now.children_system - used.children_user
                      - used.children_system))
    target.stdin.close()
    target.wait()
    more, own = zip(*taken)
    print(f"{version}: {statistics.median(more):.2f} s more than it records [{min(more):.2f} to "
          f"{max(more):.2f}]; processor time of the tool {statistics.median(own):.2f} s", flush=True)
    return max(more) <= 3


def resident_megabytes(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


def serve(scratch):
    """(process, address)"""
    server = subprocess.Popen(
        [CLARINET, "serve", "--port", "0", "--sessions", f"{scratch}/sessions", "--token", "bench"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in server.stdout:
        found = re.search(r"http://[0-9.]+:\d+/", line)
        if found:
            return server, found.group(0)
    sys.exit("bench: the server does not start")


def ask(address, path, data=None):
    request = urllib.request.Request(address + path, data=data,
                                     headers={"Authorization": "Bearer bench"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def copy_session(folder):
    """Makes SESSIONS of the only one."""
    (first,) = (path for path in folder.iterdir() if path.is_dir())
    for i in range(SESSIONS - 1):
        name = f"{first.name[:-8]}{i:08x}"
        shutil.copytree(first, folder / name)
        file = folder / name / "session.json"
        file.write_text(file.read_text().replace(first.name, name))


def server_figures(version, dotnet, scratch):
    target, _ = start_service(version, dotnet, scratch)
    checkup(target.pid, 1, scratch).wait()
    recording = Path(f"{scratch}/out.clarinet").read_bytes()
    server, address = serve(scratch)
    ask(address, "api/processes")
    time.sleep(2)
    used = processor_seconds(server.pid)
    time.sleep(10)
    idle = processor_seconds(server.pid) - used
    memory = resident_megabytes(server.pid)
    ask(address, "api/sessions/upload?name=shop.clarinet", recording)
    server.terminate()
    server.wait()
    copy_session(Path(f"{scratch}/sessions"))  # uploads are limited
    server, address = serve(scratch)
    times = {}
    for path in ("", "api/sessions"):
        rounds = []
        for _ in range(10):
            begin = time.monotonic()
            ask(address, path)
            rounds.append((time.monotonic() - begin) * 1000)
        times[path or "page"] = max(rounds)
    said = subprocess.run(["wrk", "-t2", "-c64", "-d5", "--latency", "-H",
                           "Authorization: Bearer bench", address + "api/processes"],
                          capture_output=True, text=True).stdout
    server.terminate()
    server.wait()
    target.stdin.close()
    target.wait()
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    p99 = float(p99.group(1)) * {"us": 0.001, "ms": 1, "s": 1000}[p99.group(2)]
    failed = "Non-2xx" in said or "Socket errors" in said
    print(f"server idle: {memory:.1f} MB, {idle * 1000:.0f} ms of processor time in 10 s; {SESSIONS} "
          f"sessions: page {times['page']:.1f} ms, list {times['api/sessions']:.1f} ms (the most of "
          f"10); wrk: p99 {p99:.1f} ms, {re.search(r'(.*) requests in', said).group(1).strip()} "
          f"requests, {'errors' if failed else 'no error'}", flush=True)
    if failed:
        print(said)
    return memory < 15 and idle == 0 and max(times.values()) < 100 and p99 < 50 and not failed


def main():
    parts = {"time": whole_time, "server": server_figures}
    chosen = chosen_runtimes(others=list(parts), default="newest")
    part = next((parts[word] for word in sys.argv[1:] if word in parts), cost)
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        for version, dotnet in chosen:
            good &= part(version, dotnet, scratch)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; bars "
          f"{'reached' if good else 'missed'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
