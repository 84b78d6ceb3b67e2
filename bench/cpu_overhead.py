"""What sampling costs the target: processor time per operation, bare, under cpu, under dotnet-trace.

One process (samples/Busy: JSON, sorting, dictionaries, 30 frames deep, 2 busy threads) from the first
window to the last: tools attach and leave. Short windows, and a bare one before and after each with a
tool; its cost is compared with the mean of these two, so that neither another process nor whatever
else the machine does for longer than a few seconds is taken for the tool's cost. Cost is the whole process's processor time per
operation: our own threads are in it. Also printed: the agent's own account (handler and threads,
after the first 5 s), the time of one handler, and the same with 500 sleeping threads.

BENCH_ROUNDS (20), BENCH_WINDOW seconds (1.5), BENCH_PARTS (overhead,own,sleeping,size,async), BENCH_VERSIONS (the newest; a list, or all),
BENCH_PEER=0 leaves dotnet-trace out, BENCH_SIZE=0 the recording of 3 minutes.
"""
import contextlib
import os
import random
import re
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from common import chosen_runtimes
from ps import peer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from recording_reader import Recording  # noqa: E402

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "20"))
WINDOW = float(os.environ.get("BENCH_WINDOW", "1.5"))
PEER = os.environ.get("BENCH_PEER", "1") != "0"
PARTS = os.environ.get("BENCH_PARTS", "overhead,own,sleeping,size,async").split(",")
SIZE = os.environ.get("BENCH_SIZE", "1") != "0"
# Chunks of what is there once: STRING, MODULE, METHOD, FRAME, SYMBOL, STACK, THREAD.
ONCE = range(2, 9)
CLARINET = Path(os.environ.get("CLARINET_BUILD", ROOT / "build")) / "clarinet"


class Target:
    def __init__(self, dotnet, version, *args):
        self.process = subprocess.Popen(
            [dotnet, "exec", "--fx-version", version,
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

    def measure(self, seconds):
        """(processor ns per operation, share of one core) over the next seconds, or longer until
        the program has said enough."""
        first, begin = len(self.lines), time.monotonic()
        while time.monotonic() < begin + seconds or len(self.lines) < first + 10:
            time.sleep(0.05)
        one, other = self.lines[first], self.lines[-1]
        cpu, operations = other[2] - one[2], other[1] - one[1]
        return cpu / max(operations, 1), cpu / 1e9 / (other[0] - one[0])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Tool:
    """A tool that looks at the target: attached at the start of the block, ended at its end."""

    def __init__(self, command, file, settle=0.5):
        self.command, self.file, self.settle = command, Path(file), settle

    def __enter__(self):
        # In the background of a shell SIGINT is ignored, and .NET programs leave it so.
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        while not self.file.exists() or self.file.stat().st_size == 0:
            if self.process.poll() is not None:
                sys.exit(f"bench: {self.command[0]} ended with {self.process.returncode}")
            time.sleep(0.01)
        time.sleep(self.settle)  # its first work done

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=300)
        self.file.unlink()


def window(target, tool):
    """Processor time per operation while the tool (or none) looks."""
    with tool or contextlib.nullcontext():
        return target.measure(WINDOW)[0]


def record(target, profilers, file, **more):
    return Tool([CLARINET, "record", "-p", profilers, "-o", file, str(target.process.pid)], file, **more)


def interval(values):
    """Median, and its 95 % interval by resampling."""
    generator = random.Random(1)
    medians = sorted(
        statistics.median(generator.choices(values, k=len(values))) for _ in range(2000)
    )
    return statistics.median(values), medians[50], medians[1949]


def overhead(dotnet, version, scratch, trace):
    target = Target(dotnet, version)
    kinds = {"bare": None, "cpu": record(target, "cpu", f"{scratch}/a.clarinet")}
    if trace:
        file = f"{scratch}/a.nettrace"
        kinds["dotnet-trace"] = Tool(
            [trace, "collect", "-p", str(target.process.pid), "-o", file], file)
    ratios = {kind: [] for kind in kinds if kind != "bare"}
    time.sleep(3)  # tiered compilation
    before = window(target, None)
    for number in range(ROUNDS):
        order = list(ratios)
        random.Random(number).shuffle(order)
        for kind in order:
            cost = window(target, kinds[kind])
            after = window(target, None)
            ratios[kind].append(100 * (2 * cost / (before + after) - 1))
            before = after
    target.close()
    print(f"{version}: overhead per operation, median of {ROUNDS} rounds [95 % interval]")
    found = {}
    for kind, values in ratios.items():
        found[kind] = interval(values)
        print("  {:13} {:+.2f} % [{:+.2f} to {:+.2f}]".format(kind, *found[kind]))
    return found


def own_account(dotnet, version, scratch):
    """The agent's own cost after 5 s, and one handler's time."""
    target = Target(dotnet, version)
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
    print(f"{version}: own cost {100 * own / sampled:.3f} % of the sampled processor time, "
          f"handler {handler / 1000:.2f} us at depth {depth:.0f}, {len(late)} samples")
    return 100 * own / sampled, handler


def continuations(dotnet, version, scratch):
    """One handler's time in a program of continuations, whose chains it reads; its start included.

    Stacks are 30 frames deep in the recording; those that were copied are deeper, because the frames of
    the dispatch are left out."""
    path = f"{scratch}/awaits.clarinet"
    target = subprocess.Popen(
        [dotnet, "exec", "--fx-version", version, ROOT / "build/samples/Awaits/Awaits.dll",
         "--depth", "13"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    subprocess.run([CLARINET, "record", "-p", "cpu", "--set", "cpu.interval=4ms", "-d", "8s", "-o", path,
                    str(target.pid)], check=True, capture_output=True)
    target.communicate("")
    recording = Recording.load(path)
    cost = recording.costs[-1]
    depth = statistics.median(len(s.stack) for s in recording.samples("cpu"))
    print(f"{version}: continuations, handler {cost['handler_ns'] / cost['calls'] / 1000:.2f} us at depth "
          f"{depth:.0f}, {cost['calls']} samples")
    return cost["handler_ns"] / cost["calls"]


def sleeping(dotnet, version, scratch):
    """cpu and wall beside 500 sleeping threads: share of one core."""
    target = Target(dotnet, version, "--threads", "0", "--idle", "500")
    time.sleep(3)
    bare = target.measure(5)[1]
    with record(target, "cpu,wall", f"{scratch}/s.clarinet", settle=2):
        sampled = target.measure(5)[1]
    target.close()
    print(f"{version}: 500 sleeping threads, cpu and wall: {100 * (sampled - bare):.2f} % of one core")
    return 100 * (sampled - bare)


def file_size(dotnet, version, scratch):
    """Bytes a sample of a recording of 3 minutes, without what is there once: names and stacks."""
    target = Target(dotnet, version)
    time.sleep(3)
    path = f"{scratch}/long.clarinet"
    subprocess.run([CLARINET, "record", "-p", "cpu", "-d", "180s", "-o", path, str(target.process.pid)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    target.close()
    rows = sum(1 for _ in Recording.load(path).samples("cpu"))
    data = Path(path).read_bytes()
    size, once, at = len(data), 0, 16
    while at + 16 <= size:
        kind, _, _, length, _ = struct.unpack_from("<HHIII", data, at)
        once += 16 + length if kind in ONCE else 0
        at += 16 + length
    print(f"{version}: 3 minutes, {rows} samples, {size} bytes: {once} of names and stacks, each once, "
          f"and {(size - once) / rows:.2f} bytes a sample (all in all {size / rows:.2f})")
    return (size - once) / rows


def main():
    chosen = chosen_runtimes(default="newest")
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        trace = peer() if PEER else None
        for version, dotnet in chosen:
            if "overhead" in PARTS:
                found = overhead(dotnet, version, scratch, trace)
                if found["cpu"][1] > 1:
                    failed.append(f"{version}: cpu costs more than 1 %")
                if "dotnet-trace" in found and found["cpu"][1] > found["dotnet-trace"][0] / 10:
                    failed.append(f"{version}: cpu costs more than a tenth of dotnet-trace")
            if "own" in PARTS:
                own, handler = own_account(dotnet, version, scratch)
                if own > 0.2:
                    failed.append(f"{version}: own cost {own:.3f} % is above 0.2 %")
                if handler > 5000:
                    failed.append(f"{version}: a handler takes {handler / 1000:.1f} us, above 5")
            if "async" in PARTS and continuations(dotnet, version, scratch) > 5000:
                failed.append(f"{version}: a handler that reads chains takes more than 5 us")
            if "sleeping" in PARTS and sleeping(dotnet, version, scratch) > 2:
                failed.append(f"{version}: more than 2 % of a core beside 500 sleeping threads")
            if SIZE and "size" in PARTS and file_size(dotnet, version, scratch) > 16:
                failed.append(f"{version}: more than 16 bytes a sample")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for line in failed:
        print("above the bar:", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
