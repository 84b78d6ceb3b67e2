"""What tracing costs: the sample Traceable calls a tiny method in a loop, untouched, traced and after
the tracer has gone (processor time, so that other load does not count); then 10,000 methods that
nobody calls are probed, and a thread that should run every millisecond says how long it could not.

Bars: at most 8 ns a call more for a pair of probes that do nothing (CLARINET_TRACE_PROBES=empty in the
target, for this benchmark only); at most 40 ns a call more while traced; after that as before (within 1.5 ns); 10,000 probes that
are not called cost nothing (within 1.5 ns), are applied in 2 s, with no pause of 50 ms.
With versions as arguments only those runtimes.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from common import ROOT, chosen_runtimes

CLARINET = str(ROOT / "build" / "clarinet")
CALLS = 20_000_000
BAR, EMPTY_BAR, SAME, APPLY_BAR, PAUSE_BAR = 40, 8, 1.5, 2.0, 50
# Methods that this program does not call, about 10,000 of them on each runtime.
UNUSED = ["[System.Private.CoreLib]System.Runtime.Intrinsics.*::*",
          "[System.Private.CoreLib]System.Globalization.*::*",
          "[System.Private.CoreLib]System.Numerics.*::*",
          "[System.Private.CoreLib]System.Reflection.*::*"]


def cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


class Patient:
    def __init__(self, command, **env):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **env})
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer.startswith(line.split()[0] + " "), answer
        return float(answer.split()[1])

    def cost(self):
        """ns of processor time per call, best of three."""
        best = float("inf")
        for _ in range(3):
            before = cpu(self.pid)
            self.ask(f"time {CALLS}")
            best = min(best, (cpu(self.pid) - before) * 1e9 / CALLS)
        return best

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def start(pid, *patterns):
    return subprocess.Popen([CLARINET, "trace", "--json", str(pid), *patterns],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stop(tool):
    tool.send_signal(signal.SIGINT)
    return json.loads(tool.communicate()[0])


def measure_call(command):
    patient = Patient(command)
    before = patient.cost()
    tool = start(patient.pid, "Traceable.Hot::Tiny")
    time.sleep(2)
    patient.cost()  # recompiled and optimised again
    traced = patient.cost()
    stop(tool)
    time.sleep(0.5)
    after = patient.cost()
    tool = start(patient.pid, "Traceable.Hot::Tiny")
    time.sleep(2)
    patient.cost()
    tool.kill()
    tool.communicate()
    time.sleep(2)
    killed = patient.cost()
    patient.end()
    return before, traced, after, killed


def measure_empty(command):
    """ns a call more with probes that do nothing."""
    patient = Patient(command, CLARINET_TRACE_PROBES="empty")
    before = patient.cost()
    tool = start(patient.pid, "Traceable.Hot::Tiny")
    time.sleep(2)
    patient.cost()
    empty = patient.cost()
    rows = stop(tool)
    patient.end()
    assert [row["calls"] for row in rows] == [0], rows  # probed, and nothing was counted
    return empty - before


def measure_many(command):
    """Methods, seconds more than for one method, longest gap in ms before and while applying, ns a call."""
    patient = Patient(command)
    before = patient.cost()
    patient.ask("gap")
    seconds = []
    for patterns in (["Traceable.Hot::Nobody"], UNUSED):
        began = time.monotonic()
        done = subprocess.run([CLARINET, "trace", "-d", "1s", "--json", str(patient.pid), *patterns],
                              capture_output=True, text=True)
        seconds.append(time.monotonic() - began)
    patient.ask("gap")
    time.sleep(sum(seconds))
    quiet = patient.ask("gap")
    tool = start(patient.pid, *UNUSED)
    time.sleep(4)
    pause = patient.ask("gap")
    probed = patient.cost()
    rows = stop(tool)
    patient.end()
    assert done.returncode == 0
    called = sum(row["calls"] > 0 for row in rows)
    return len(rows), called, seconds[1] - seconds[0], quiet, pause, before, probed


def clock_pair():
    """ns for two readings of the clock, which every traced call needs."""
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / "clock"
        subprocess.run(["cc", "-O2", "-o", program, ROOT / "bench/clock.c"], check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()


def main():
    sample = ROOT / "build" / "samples" / "Traceable" / "Traceable.dll"
    commands = {version: [dotnet, "exec", "--fx-version", version, sample]
                for version, dotnet in chosen_runtimes()}
    good = True
    print("| runtime | untouched, ns a call | traced | more | more with empty probes | after | 2 s after the tool was killed |")
    print("|---|---|---|---|---|---|---|")
    for version, command in commands.items():
        before, traced, after, killed = measure_call(command)
        empty = measure_empty(command)
        good &= empty <= EMPTY_BAR
        good &= traced - before <= BAR and max(after, killed) - before <= SAME
        print(f"| {version} | {before:.1f} | {traced:.1f} | {traced - before:.1f} | {empty:.1f} | "
              f"{after:.1f} | {killed:.1f} |", flush=True)
    print("\n| runtime | methods probed | of them called | applied and reverted in, s | longest gap, ms "
          "| without us, ms | ns a call before | with them probed |")
    print("|---|---|---|---|---|---|---|---|")
    for version, command in commands.items():
        count, called, seconds, quiet, pause, before, probed = measure_many(command)
        good &= count >= 9000 and seconds <= APPLY_BAR and probed - before <= SAME
        good &= pause <= max(PAUSE_BAR, 2 * quiet)
        print(f"| {version} | {count:,} | {called} | {seconds:.2f} | {pause:.1f} | {quiet:.1f} | "
              f"{before:.1f} | {probed:.1f} |", flush=True)
    load = pathlib.Path("/proc/loadavg").read_text().split()[0]
    print(f"\nbars: {BAR} ns more while traced, {EMPTY_BAR} ns with empty probes, as before after it; {APPLY_BAR} s and {PAUSE_BAR} ms for "
          f"10,000 methods; the machine's load was {load}; of what a traced call takes more, two readings of the clock are "
          f"{clock_pair()} ns here")
    return 0 if good else 1


sys.exit(main())
