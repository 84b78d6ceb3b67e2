"""What a heap snapshot costs: the pause of the program, the whole command, memory and bytes.

A program holds OBJECTS (6,000,000) objects (samples/LeakyCache: half of them entries, half their
bodies). Rounds of a quick look and of a snapshot with roots take turns. ClrMD reads the same process
from outside at the end (types, sizes and roots, no references: less than what we do).
Bars: a quick look pauses under 50 ms per million objects; file under 12 bytes an object; the
program's memory grows by less than 32 MB; at least 5 times faster than ClrMD; of 20,000,000 objects
the whole command under 20 s with under 2.5 GB.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from exceptions import ROOT, runtimes

sys.path.insert(0, str(ROOT / "tests/oracles"))
from build import oracle

OBJECTS = int(os.environ.get("OBJECTS", "6000000"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
WITH_CLRMD = os.environ.get("CLRMD", "1") != "0"


def own_memory(pid):
    """Bytes that are resident and not of a file."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))


class Watch:
    """How much a process grows while something is done to it."""

    def __init__(self, pid):
        self.pid = pid
        self.first = self.most = own_memory(pid)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.over.wait(0.005):
            self.most = max(self.most, own_memory(self.pid))

    def stop(self):
        self.over.set()
        self.thread.join()
        return self.most - self.first


def take(target, file, *options):
    """(seconds, its data, growth of the program, peak memory of the tool, bytes of the file)"""
    watch = Watch(target.pid)
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out:
        tool = subprocess.Popen(
            [ROOT / "build/clarinet", "heap", "--json", "--top", "5", "-o", file, *options,
             str(target.pid)], stdout=out)
        _, status, usage = os.wait4(tool.pid, 0)
        tool.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        assert tool.returncode == 0, "the snapshot failed"
        out.seek(0)
        data = json.load(out)
    return seconds, data, watch.stop(), usage.ru_maxrss << 10, os.path.getsize(file)


def measure(folder, version, scratch):
    target = subprocess.Popen(
        [f"{folder}/dotnet", "exec", "--fx-version", version,
         ROOT / "build/samples/LeakyCache/LeakyCache.dll", "--entries", str(OBJECTS // 2)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )
    while target.stdout.readline() != "ready\n":
        pass
    rows = {"quick": [], "with roots": []}
    file = os.path.join(scratch, "heap.clarinet")
    for _ in range(ROUNDS):
        if not version.startswith("8."):
            rows["quick"].append(take(target, file, "--quick"))
        rows["with roots"].append(take(target, file))
    clrmd = None
    if WITH_CLRMD:
        command = oracle("clrmd")
        begin = time.monotonic()
        subprocess.run([*command, str(target.pid)], stdout=subprocess.DEVNULL, check=True)
        clrmd = time.monotonic() - begin
    target.communicate("", timeout=120)
    return rows, clrmd


def main():
    print(f"{OBJECTS:,} objects, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as scratch:
        folder, versions = runtimes()
        for version in sys.argv[1:] or versions:
            rows, clrmd = measure(folder, version, scratch)
            for name, taken in rows.items():
                if not taken:
                    continue
                million = taken[0][1]["objects"] / 1e6
                pauses = [one[1]["session_ns"] / 1e6 / million for one in taken]
                print(f"{version} {name}: pause {statistics.median(pauses):.1f} ms per million "
                      f"objects [{min(pauses):.1f} to {max(pauses):.1f}], "
                      f"command {statistics.median(one[0] for one in taken):.2f} s, "
                      f"tool {max(one[3] for one in taken) / 2**20:.0f} MB, "
                      f"file {taken[-1][4] / taken[-1][1]['objects']:.2f} bytes an object, "
                      f"program grew by {max(one[2] for one in taken) / 2**20:.1f} MB "
                      f"(first {taken[0][2] / 2**20:.1f})")
            if clrmd is not None:
                ours = statistics.median(one[0] for one in rows["with roots"])
                print(f"{version} ClrMD: {clrmd:.2f} s, {clrmd / ours:.1f} times ours with analysis")


if __name__ == "__main__":
    main()
