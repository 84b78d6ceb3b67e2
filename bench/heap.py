"""What a heap snapshot costs: the pause of the program, the whole command, memory and bytes.

A program holds OBJECTS (6,000,000) objects (samples/LeakyCache: half of them entries, half their
bodies). Rounds of a quick look and of a snapshot with roots take turns. ClrMD reads the same process
from outside at the end (types, sizes and roots, no references: less than what we do). The yardstick
of the pause with roots is the same session of events with an empty callback (bench/heap_empty.c), in
the same process and in turn. dotnet-trace takes the same heap through the port (0x1980001).
CLRMD=0, TRACE=0 and EMPTY=0 leave these out. PAGE=1 opens the page of the last snapshot in a browser
(needs the packages of tests/browser), DIFF=1 compares the first snapshot with the last.
The snapshot's threads and the tool need both processors: beside the median of all rounds comes that
of the rounds in which nobody else had more than CALM of them.
Bars: with roots at most 1.3 times the empty session; a quick look pauses under 50 ms per million objects; file under 12 bytes an object; the
program's memory grows by less than 32 MB; at least 5 times faster than ClrMD; of 20,000,000 objects
the whole command under 20 s with under 2.5 GB.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from common import ROOT, chosen_runtimes
from ps import peer

sys.path.insert(0, str(ROOT / "tests/oracles"))
from build import oracle

OBJECTS = int(os.environ.get("OBJECTS", "6000000"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
WITH_CLRMD = os.environ.get("CLRMD", "1") != "0"
WITH_TRACE = os.environ.get("TRACE", "1") != "0"
WITH_EMPTY = os.environ.get("EMPTY", "1") != "0"
WITH_PAGE = os.environ.get("PAGE", "0") != "0"
WITH_DIFF = os.environ.get("DIFF", "0") != "0"
TRACE_SECONDS = 20
CALM = 0.1  # of the processors' time


def busy_seconds():
    """Of all processors, with what the host took from them."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, soft, stolen = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + soft + stolen) / os.sysconf("SC_CLK_TCK")


def own_seconds(pid):
    """Processor time of a process so far."""
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


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
    """(seconds, its data, growth of the program, peak memory of the tool, bytes of the file, share of
    the processors that others had)"""
    watch = Watch(target.pid)
    busy, own = busy_seconds(), own_seconds(target.pid) + sum(os.times()[:2])
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out:
        tool = subprocess.Popen(
            [ROOT / "build/clarinet", "heap", "--json", "--top", "5", "-o", file, *options,
             str(target.pid)], stdout=out)
        _, status, usage = os.wait4(tool.pid, 0)
        tool.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        ours = (own_seconds(target.pid) + sum(os.times()[:2]) - own
                + usage.ru_utime + usage.ru_stime)
        others = max(busy_seconds() - busy - ours, 0) / seconds / os.cpu_count()
        assert tool.returncode == 0, "the snapshot failed"
        out.seek(0)
        data = json.load(out)
    return seconds, data, watch.stop(), usage.ru_maxrss << 10, os.path.getsize(file), others


class Empty:
    """The session with an empty callback, in the program."""

    def __init__(self, scratch):
        self.library = os.path.join(scratch, "libheap_empty.so")
        self.paths = [os.path.join(scratch, name) for name in ("in", "out")]
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-I", ROOT / "include",
                        ROOT / "bench/heap_empty.c", "-o", self.library,
                        ROOT / "build/libclarinet_sdk.a", "-lpthread"], check=True)

    def environment(self):
        for path in self.paths:
            if os.path.exists(path):
                os.unlink(path)
            os.mkfifo(path)
        return {**os.environ, "CORECLR_ENABLE_PROFILING": "1",
                "CORECLR_PROFILER": "{C1A21E70-0009-4C4C-8A11-6E6574434C52}",
                "CORECLR_PROFILER_PATH": self.library,
                "HEAP_EMPTY_IN": self.paths[0], "HEAP_EMPTY_OUT": self.paths[1]}

    def connect(self):
        self.input = open(self.paths[0], "w")
        self.output = open(self.paths[1])

    def take(self, pid):
        """(ns, growth of the program)"""
        watch = Watch(pid)
        self.input.write("x")
        self.input.flush()
        ns, events = self.output.readline().split()
        grown = watch.stop()
        assert int(ns) > 0 and int(events) > 0
        return int(ns), grown


def trace(target, file):
    """(seconds until dotnet-trace's file stops growing, its bytes)"""
    begin = last = time.monotonic()
    size = 0
    tool = subprocess.Popen(
        [peer(), "collect", "-p", str(target.pid), "--providers",
         "Microsoft-Windows-DotNETRuntime:0x1980001:5", "-o", file,
         "--duration", f"00:00:{TRACE_SECONDS}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while time.monotonic() < begin + TRACE_SECONDS:
        now = os.path.getsize(file) if os.path.exists(file) else 0
        if now != size:
            size, last = now, time.monotonic()
        time.sleep(0.02)
    assert tool.wait() == 0, "dotnet-trace failed"
    return last - begin, size


def compare(first, last):
    begin = time.monotonic()
    tool = subprocess.Popen([ROOT / "build/clarinet", "heap", "diff", first, last],
                            stdout=subprocess.PIPE, text=True)
    said = tool.stdout.readline().strip()
    tool.stdout.read()
    _, status, usage = os.wait4(tool.pid, 0)
    tool.returncode = os.waitstatus_to_exitcode(status)
    assert tool.returncode == 0, "heap diff failed"
    print(f"heap diff: {time.monotonic() - begin:.2f} s, processor "
          f"{usage.ru_utime + usage.ru_stime:.2f} s, tool {usage.ru_maxrss / 1024:.0f} MB; {said}")


def need_page():
    """Ends the bench before it has begun when the page could not be opened at its end."""
    steps = []
    chromium = os.environ.get("CLARINET_CHROMIUM", "/usr/bin/chromium")
    if shutil.which("node") is None:
        steps.append("apt-get install nodejs npm")
    if not (ROOT / "tests/browser/node_modules/playwright-core").is_dir():
        steps.append("npm ci --prefix tests/browser")
    if not os.access(chromium, os.X_OK):
        steps.append("apt-get install chromium")
    if steps:
        print(f"{Path(sys.argv[0]).name}: PAGE=1 opens the page in a browser; run first: "
              f"{' && '.join(steps)}", file=sys.stderr)
        sys.exit(2)


def open_page(file):
    begin = time.monotonic()
    subprocess.run([ROOT / "build/clarinet", "report", file, "-f", "html", "-o", file + ".html"],
                   check=True)
    print(f"report -f html: {time.monotonic() - begin:.2f} s", flush=True)
    subprocess.run(["node", ROOT / "bench/heap_page.mjs", file + ".html"], check=True)


def measure(dotnet, version, scratch):
    empty = Empty(scratch) if WITH_EMPTY else None
    target = subprocess.Popen(
        [dotnet, "exec", "--fx-version", version,
         ROOT / "build/samples/LeakyCache/LeakyCache.dll", "--entries", str(OBJECTS // 2)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=empty.environment() if empty else None,
    )
    if empty:
        empty.connect()
    while target.stdout.readline() != "ready\n":
        pass
    rows = {"quick": [], "with roots": []}
    bare = []
    file = os.path.join(scratch, "heap.clarinet")
    for i in range(ROUNDS):
        if not version.startswith("8."):
            rows["quick"].append(take(target, file, "--quick"))
        if empty:
            bare.append(empty.take(target.pid))
        rows["with roots"].append(take(target, file))
        if WITH_DIFF and i == 0:
            os.rename(file, file + ".first")
    traced = trace(target, os.path.join(scratch, "heap.nettrace")) if WITH_TRACE else None
    clrmd = None
    if WITH_CLRMD:
        command = oracle("clrmd")
        begin = time.monotonic()
        subprocess.run([*command, str(target.pid)], stdout=subprocess.DEVNULL, check=True)
        clrmd = time.monotonic() - begin
    target.communicate("", timeout=120)
    if WITH_DIFF:
        compare(file + ".first", file)
    if WITH_PAGE:
        open_page(file)
    return rows, bare, traced, clrmd


def main():
    if WITH_PAGE:
        need_page()
    chosen = chosen_runtimes()
    print(f"{OBJECTS:,} objects, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as scratch:
        for version, dotnet in chosen:
            rows, bare, traced, clrmd = measure(dotnet, version, scratch)
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
            last = rows["with roots"][-1]
            if bare:
                ratios = [one[1]["session_ns"] / ns
                          for one, (ns, _) in zip(rows["with roots"], bare)]
                print(f"{version} empty session: {statistics.median(ns for ns, _ in bare) / 1e6:.0f} "
                      f"ms; with roots {statistics.median(ratios):.2f} times that "
                      f"[{min(ratios):.2f} to {max(ratios):.2f}]")
                calm = [ratio for ratio, one in zip(ratios, rows["with roots"]) if one[5] <= CALM]
                others = ", ".join(f"{ratio:.2f} at {one[5] * 100:.0f} %"
                                   for ratio, one in zip(ratios, rows["with roots"]))
                print(f"{version} by what others had of the processors: {others}; "
                      + (f"{statistics.median(calm):.2f} times in {len(calm)} calm rounds" if calm
                         else "no calm round"))
                own = max(grown for _, grown in bare)
                most = max(one[2] for one in rows["with roots"])
                print(f"{version} memory of the program: grew by {most / 2**20:.1f} MB with roots; "
                      f"{own / 2**20:.1f} MB are the runtime's own (the empty session takes them "
                      f"too), {max(most - own, 0) / 2**20:.1f} MB ours")
            if traced:
                print(f"{version} dotnet-trace: {traced[0]:.2f} s, "
                      f"{traced[0] / statistics.median(one[0] for one in rows['with roots']):.1f} "
                      f"times ours with analysis; file {traced[1] / 2**20:.0f} MB, "
                      f"{traced[1] / last[4]:.0f} times ours")
            if clrmd is not None:
                ours = statistics.median(one[0] for one in rows["with roots"])
                print(f"{version} ClrMD: {clrmd:.2f} s, {clrmd / ours:.1f} times ours with analysis")


if __name__ == "__main__":
    main()
