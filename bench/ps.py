"""clarinet ps against dotnet-trace ps: processor time of one listing, with a process of each runtime.

Interleaved runs in random order; user and system time of the whole command. Bar: under 1/5.
"""
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from common import ROOT, chosen_runtimes

CACHE_HOME = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
CACHE = Path(os.environ.get("CLARINET_CACHE", CACHE_HOME / "clarinet"))
PEER_VERSION = "10.0.750501"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
BAR = 0.2
TRIES = 5


def peer():
    """The program dotnet-trace, installed once into the cache."""
    folder = CACHE / "tools" / f"dotnet-trace-{PEER_VERSION}"
    program = folder / "dotnet-trace"
    if not program.exists():
        subprocess.run(
            ["dotnet", "tool", "install", "dotnet-trace", "--version", PEER_VERSION,
             "--tool-path", folder],
            check=True, stdout=subprocess.DEVNULL,
        )
    return program


def run(command):
    """(processor seconds, wall seconds, output)"""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode != 0:
        sys.exit(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, out


def run_steadily(command):
    """dotnet-trace ps ends with 1 when a process of the machine ends while it is being listed."""
    for _ in range(TRIES):
        try:
            return run(command)
        except SystemExit as failure:
            print(f"again: {failure}", file=sys.stderr)
    return run(command)


def measure(commands, pids):
    samples = {name: [] for name in commands}
    for name in [*commands] * 2:  # warm
        run_steadily(commands[name])
    for _ in range(ROUNDS):
        for name in random.sample([*commands], len(commands)):
            cpu, wall, out = run_steadily(commands[name])
            missing = [pid for pid in pids if str(pid) not in out]
            if missing:
                sys.exit(f"{name} does not list {missing}:\n{out}")
            samples[name].append((cpu, wall))
    return samples


def main():
    chosen = chosen_runtimes()
    os.environ.update(DOTNET_ROLL_FORWARD="Major", DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1")
    commands = {"clarinet ps": [ROOT / "build/clarinet", "ps"], "dotnet-trace ps": [peer(), "ps"]}
    patients = []
    try:
        for version, dotnet in chosen:
            program = ROOT / "build/samples/Idle/Idle.dll"
            patients.append(
                subprocess.Popen(
                    [dotnet, "exec", "--fx-version", version, program, "--threads", "4"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )
            patients[-1].stdout.readline()
        samples = measure(commands, [patient.pid for patient in patients])
    finally:
        for patient in patients:
            patient.stdin.close()
            patient.wait()
    medians = {}
    print(f"{len(patients)} processes, {ROUNDS} runs each, interleaved")
    print(f"{'command':<18}{'CPU ms':>10}{'least':>8}{'most':>8}{'wall ms':>10}   (medians)")
    for name, rows in samples.items():
        cpu = [row[0] * 1000 for row in rows]
        medians[name] = statistics.median(cpu)
        wall = statistics.median(row[1] * 1000 for row in rows)
        print(f"{name:<18}{medians[name]:>10.2f}{min(cpu):>8.2f}{max(cpu):>8.2f}{wall:>10.2f}")
    ratio = medians["clarinet ps"] / medians["dotnet-trace ps"]
    print(f"ratio {ratio:.4f} (bar {BAR}): {'reached' if ratio < BAR else 'MISSED'}")
    return 0 if ratio < BAR else 1


if __name__ == "__main__":
    sys.exit(main())
