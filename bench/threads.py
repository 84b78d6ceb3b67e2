"""clarinet threads on 1,000 threads of 30 frames, against ClrMD on the same process, taking turns; and
clarinet tasks on a million live tasks.

The suspension is the tool's own word; ClrMD stops the process from attaching to letting go, by its own
clock. Memory is what the target has resident after the looks, less than before.
Bars: suspension under 50 ms, whole command under 1 s; tasks: under 5 s, suspended under 0.5 s; under
20 MB added to the target.
BENCH_VERSIONS takes other runtimes than the newest, BENCH_PART (threads or tasks) one part.
"""
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from attach import start
from ps import chosen_runtimes

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/oracles"))
from build import oracle  # noqa: E402

CLARINET = Path(os.environ.get("CLARINET_BUILD", ROOT / "build")) / "clarinet"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
THREADS, DEPTH, CALLS = 1000, 24, 310000
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


def main():
    failed = []
    for version, dotnet in chosen_runtimes():
        for part in (threads, tasks):
            if os.environ.get("BENCH_PART", part.__name__) == part.__name__:
                failed += part(dotnet, version)
    for line in failed:
        print(f"FAILED {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
