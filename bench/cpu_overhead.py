"""What sampling costs the target: processor time per operation, bare, under cpu, under dotnet-trace.

One process (samples/Busy: JSON, sorting, dictionaries, 30 frames deep, 2 busy threads). Windows take
turns in random order inside a round, and each is compared with the bare window of its round, so that
whatever else the machine does hits all alike. Cost is the whole process's processor time per
operation: our own threads are in it. Also printed: the agent's own account (handler and threads,
after the first 5 s), the time of one handler, and the same with 500 sleeping threads.

ROUNDS (7), WINDOW seconds (3), VERSIONS (the newest), PEER=0 leaves dotnet-trace out.
"""
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from recording_reader import Recording  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "7"))
WINDOW = float(os.environ.get("WINDOW", "3"))
PEER = os.environ.get("PEER", "1") != "0"
PEER_VERSION = "10.0.750501"
CLARINET = Path(os.environ.get("CLARINET_BUILD", ROOT / "build")) / "clarinet"


def runtimes():
    folder = subprocess.run(
        [ROOT / "dev", "runtimes"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()[-1]
    rows = [
        line.split()
        for line in (ROOT / "tools/runtimes/versions").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    versions = [version for _, version, web in rows if web == "aspnetcore"]
    return folder, os.environ.get("VERSIONS", versions[-1]).split(",")


def peer(scratch):
    """dotnet-trace, installed for this run; None when it cannot be had."""
    if not PEER:
        return None
    done = subprocess.run(
        ["dotnet", "tool", "install", "dotnet-trace", "--version", PEER_VERSION, "--tool-path", scratch],
        capture_output=True, text=True,
    )
    if done.returncode != 0:
        print("dotnet-trace could not be installed:", done.stderr.strip().splitlines()[-1:])
        return None
    return f"{scratch}/dotnet-trace"


class Target:
    def __init__(self, folder, version, *args):
        subprocess.run([ROOT / "dev", "samples"], check=True, stderr=subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [f"{folder}/dotnet", "exec", "--fx-version", version,
             ROOT / "build/samples/Busy/Busy.dll", *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            match = re.match(r"at \d+ operations (\d+) cpu (\d+)", line)
            if match:
                self.lines.append((time.monotonic(), int(match.group(1)), int(match.group(2))))

    def per_operation(self, begin, end):
        """Processor ns per operation between two moments."""
        inside = [line for line in self.lines if begin <= line[0] <= end]
        return (inside[-1][2] - inside[0][2]) / (inside[-1][1] - inside[0][1])

    def cpu_share(self, begin, end):
        inside = [line for line in self.lines if begin <= line[0] <= end]
        return (inside[-1][2] - inside[0][2]) / 1e9 / (inside[-1][0] - inside[0][0])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def window(target, command):
    """Processor time per operation while `command` (or nothing) runs."""
    process = None
    if command:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1.0)  # attached, and its first work done
    begin = time.monotonic()
    time.sleep(WINDOW)
    end = time.monotonic()
    if process:
        process.wait(timeout=120)
    return target.per_operation(begin, end)


def interval(values):
    """Median, and its 95 % interval by resampling."""
    generator = random.Random(1)
    medians = sorted(
        statistics.median(generator.choices(values, k=len(values))) for _ in range(2000)
    )
    return statistics.median(values), medians[50], medians[1949]


def overhead(folder, version, scratch, trace):
    target = Target(folder, version)
    seconds = int(WINDOW + 2)
    kinds = {
        "bare": None,
        "cpu": [CLARINET, "record", "-p", "cpu", "-d", f"{seconds}s", "-o", f"{scratch}/a.clarinet",
                str(target.process.pid)],
    }
    if trace:
        kinds["dotnet-trace"] = [trace, "collect", "-p", str(target.process.pid), "--duration",
                                 f"00:00:0{seconds}", "-o", f"{scratch}/a.nettrace"]
    ratios = {kind: [] for kind in kinds if kind != "bare"}
    time.sleep(3)  # tiered compilation
    for number in range(ROUNDS):
        order = list(kinds)
        random.Random(number).shuffle(order)
        cost = {kind: window(target, kinds[kind]) for kind in order}
        for kind in ratios:
            ratios[kind].append(100 * (cost[kind] / cost["bare"] - 1))
        for path in Path(scratch).glob("a.*"):
            path.unlink()
    target.close()
    print(f"{version}: overhead per operation, median of {ROUNDS} rounds [95 % interval]")
    found = {}
    for kind, values in ratios.items():
        found[kind] = interval(values)
        print("  {:13} {:+.2f} % [{:+.2f} to {:+.2f}]".format(kind, *found[kind]))
    return found


def own_account(folder, version, scratch):
    """The agent's own cost after 5 s, and one handler's time."""
    target = Target(folder, version)
    time.sleep(3)
    path = f"{scratch}/own.clarinet"
    subprocess.run([CLARINET, "record", "-p", "cpu", "-d", "15s", "-o", path, str(target.process.pid)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    target.close()
    recording = Recording.load(path)
    first, last = recording.costs[5], recording.costs[-1]
    late = [s for s in recording.samples("cpu") if s.time > 5.5e9]
    sampled = sum(s.weight for s in late)
    own = sum(last[key] - first[key] for key in ("thread_cpu_ns", "handler_ns"))
    handler = (last["handler_ns"] - first["handler_ns"]) / (last["calls"] - first["calls"])
    depth = statistics.median(len(s.stack) for s in late)
    size = os.path.getsize(path)
    print(f"{version}: own cost {100 * own / sampled:.3f} % of the sampled processor time, "
          f"handler {handler / 1000:.2f} us at depth {depth:.0f}, recording {size} bytes")
    return 100 * own / sampled, handler


def sleeping(folder, version, scratch):
    """cpu and wall beside 500 sleeping threads: share of one core."""
    target = Target(folder, version, "--threads", "0", "--idle", "500")
    time.sleep(3)
    begin = time.monotonic()
    time.sleep(5)
    middle = time.monotonic()
    process = subprocess.Popen(
        [CLARINET, "record", "-p", "cpu,wall", "-d", "8s", "-o", f"{scratch}/s.clarinet",
         str(target.process.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(2)
    start = time.monotonic()
    time.sleep(5)
    end = time.monotonic()
    process.wait(timeout=60)
    bare, sampled = target.cpu_share(begin, middle), target.cpu_share(start, end)
    target.close()
    print(f"{version}: 500 sleeping threads, cpu and wall: {100 * (sampled - bare):.2f} % of one core")
    return 100 * (sampled - bare)


def main():
    failed = []
    folder, versions = runtimes()
    with tempfile.TemporaryDirectory() as scratch:
        trace = peer(scratch)
        for version in versions:
            found = overhead(folder, version, scratch, trace)
            if found["cpu"][1] > 1:
                failed.append(f"{version}: cpu costs more than 1 %")
            if "dotnet-trace" in found and found["cpu"][1] > found["dotnet-trace"][2] / 10:
                failed.append(f"{version}: cpu costs more than a tenth of dotnet-trace")
            own, handler = own_account(folder, version, scratch)
            if own > 0.2:
                failed.append(f"{version}: own cost {own:.3f} % is above 0.2 %")
            if handler > 5000:
                failed.append(f"{version}: a handler takes {handler / 1000:.1f} us, above 5")
            if sleeping(folder, version, scratch) > 2:
                failed.append(f"{version}: more than 2 % of a core beside 500 sleeping threads")
    for line in failed:
        print("above the bar:", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
