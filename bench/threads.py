"""clarinet threads on 1,000 threads of 30 frames, against ClrMD on the same process, taking turns;
clarinet tasks on a million live tasks; and what a program keeps of its throughput while it is looked
at ten times a second, which is as often as it can be.

Throughput: in one process windows with looks stand between bare ones, and are held against the mean
of these two: rounds a second, and rounds a second of the process's own processor time, the agent's
thread included. Beside it stands the share of the time in which the program was suspended.

The suspension is the tool's own word; ClrMD stops the process from attaching to letting go, by its own
clock. Memory is what the target has resident after the looks, less than before.
Bars: suspension under 50 ms, whole command under 1 s; tasks: under 5 s, suspended under 0.5 s; under
20 MB added to the target; throughput a second of processor time: at least 95 % kept.
BENCH_VERSIONS takes other runtimes than the newest, BENCH_PART (threads, tasks or throughput) one part.
"""
import json
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

from allocations import processor_seconds
from attach import start
from common import chosen_runtimes

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/oracles"))
from build import oracle  # noqa: E402

CLARINET = Path(os.environ.get("CLARINET_BUILD", ROOT / "build")) / "clarinet"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
THREADS, DEPTH, CALLS = 1000, 24, 310000
WINDOW, LOOKED_AT = 2.0, 2 * ROUNDS  # seconds of one window; windows with looks
BAR_KEPT = 0.95
BAR_SUSPENSION_MS, BAR_COMMAND_S, BAR_TASKS_S, BAR_TASKS_MS, BAR_MEMORY = 50, 1, 5, 500, 20 << 20


def rss(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1)) * 1024


def ask(command):
    """(seconds, answer) of a command that prints one JSON object."""
    begin = time.monotonic()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    taken = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    return taken, json.loads(done.stdout)


def threads(dotnet, version):
    failed = []
    target = start(dotnet, version, "Idle", "--threads", str(THREADS), "--depth", str(DEPTH))
    commands = {"clarinet": [CLARINET, "threads", target.pid, "--json"],
                "ClrMD": [*oracle("clrmd"), str(target.pid), "--stacks"]}
    ours, theirs = [], []
    before = rss(target.pid)
    for _ in range(ROUNDS):
        for name in random.sample([*commands], 2):
            taken, answer = ask(commands[name])
            if name == "clarinet":
                asleep = [t for t in answer["threads"] if t["name"].startswith("sleeper-")]
                depth = statistics.median(len(t["frames"]) for t in asleep)
                assert len(asleep) == THREADS and depth >= 30, (len(asleep), depth)
                ours.append((taken, answer["suspension_us"] / 1000))
            else:
                theirs.append((taken, answer["stopped_ms"]))
    added = rss(target.pid) - before
    target.stdin.close()
    target.wait()
    command, suspension = (statistics.median(column) for column in zip(*ours))
    command2, suspension2 = (statistics.median(column) for column in zip(*theirs))
    print(f"{version}: {THREADS} threads of 30 frames: suspended {suspension:.1f} ms "
          f"[{min(s for _, s in ours):.1f} to {max(s for _, s in ours):.1f}], whole command {command:.2f} s, "
          f"{added / 1e6:.1f} MB added; ClrMD {suspension2:.0f} ms and {command2:.2f} s: "
          f"{suspension2 / suspension:.1f} and {command2 / command:.1f} times as long")
    if suspension > BAR_SUSPENSION_MS or command > BAR_COMMAND_S or added > BAR_MEMORY:
        failed.append(f"{version}: threads: above the bar")
    return failed


def tasks(dotnet, version):
    failed = []
    target = start(dotnet, version, "Pending", "--calls", str(CALLS))
    before = rss(target.pid)
    rounds = [ask([CLARINET, "tasks", target.pid, "--json"]) for _ in range(max(2, ROUNDS // 2))]
    added = rss(target.pid) - before
    target.stdin.close()
    target.wait()
    taken = statistics.median(seconds for seconds, _ in rounds)
    stopped = statistics.median(answer["suspension_us"] / 1000 for _, answer in rounds)
    count = rounds[-1][1]["incomplete"]
    print(f"{version}: {count} tasks that are not done: {taken:.2f} s, suspended {stopped:.0f} ms, "
          f"{added / 1e6:.1f} MB added (collections included)")
    if taken > BAR_TASKS_S or stopped > BAR_TASKS_MS or added > BAR_MEMORY or count < 1000000:
        failed.append(f"{version}: tasks: above the bar")
    return failed


class Counter:
    """What a program that tells how many rounds so far has done, by the clock."""

    def __init__(self, target):
        self.target, self.said = target, []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.target.stdout:
            match = re.match(r"(?:so far|at \d+ operations) (\d+)", line)
            if match:
                self.said.append((time.monotonic(), processor_seconds(self.target.pid), int(match[1])))

    def rates(self, window):
        """Rounds a second, and a second of processor time; None when it said too little."""
        inside = [row for row in self.said if window[0] <= row[0] <= window[1]]
        if len(inside) < 3:
            return None
        wall, cpu, rounds = (inside[-1][i] - inside[0][i] for i in range(3))
        return rounds / wall, rounds / cpu

    def rest(self):
        begin = time.monotonic()
        time.sleep(WINDOW)
        return begin + 0.1, time.monotonic()

    def look(self, file):
        """The window, and how many looks suspended the program for which share of it."""
        begin = time.monotonic()
        subprocess.run([CLARINET, "record", "-p", "threads", "--set", "threads.interval=20ms",
                        "-d", f"{WINDOW}s", "-o", file, str(self.target.pid)], check=True, capture_output=True)
        window = begin + 0.2, time.monotonic() - 0.1
        shown = subprocess.run([CLARINET, "threads", file, "--watch", "--json"], check=True,
                               capture_output=True, text=True)
        stops = [json.loads(line)["suspension_us"] for line in shown.stdout.splitlines()]
        time.sleep(0.5)  # the agent detaches
        return window, len(stops), sum(stops) / 1e6 / WINDOW


def spread(values):
    """The median, the middle half, and all of it."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return f"{middle:.1%} [{low:.1%} to {high:.1%}; {min(values):.1%} to {max(values):.1%}]"


def throughput_of(version, name, target, scratch):
    counter, looks = Counter(target), []
    time.sleep(2)  # until the hot methods are compiled for good
    bare = [counter.rest()]
    for _ in range(LOOKED_AT):
        looks.append(counter.look(f"{scratch}/a.clarinet"))
        bare.append(counter.rest())
    target.stdin.close()
    failed = [f"{version}: {name}: ended with {target.returncode}"] if target.wait() != 0 else []
    counter.reader.join()
    kept = []
    for before, (window, _, _), after in zip(bare, looks, bare[1:]):
        three = [counter.rates(w) for w in (before, window, after)]
        if None not in three:
            kept.append([three[1][i] * 2 / (three[0][i] + three[2][i]) for i in range(2)])
    wall, cpu = zip(*kept)
    count, share = (statistics.median(look[i] for look in looks) for i in (1, 2))
    print(f"{version}: {name}, {count / WINDOW:.0f} looks a second, suspended {share:.2%} of the time: kept "
          f"{spread(cpu)} a second of processor time, {spread(wall)} a second ({len(kept)} windows)", flush=True)
    if statistics.median(cpu) < BAR_KEPT:
        failed.append(f"{version}: {name}: throughput below the bar")
    return failed


def throughput(dotnet, version):
    with tempfile.TemporaryDirectory() as scratch:
        return [line for name, options in (("Crowded", ("--tell", "1")), ("Busy", ()))
                for line in throughput_of(version, name, start(dotnet, version, name, *options), scratch)]


def main():
    chosen = chosen_runtimes(default="newest")
    failed = []
    for version, dotnet in chosen:
        for part in (threads, tasks, throughput):
            if os.environ.get("BENCH_PART", part.__name__) == part.__name__:
                failed += part(dotnet, version)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for line in failed:
        print(f"FAILED {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
