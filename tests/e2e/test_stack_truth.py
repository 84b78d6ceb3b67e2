"""Sampled stacks against the runtime's own: a parked program.

The sample Parked writes down each thread's stack with System.Diagnostics.StackTrace, which uses the
runtime's stack walker and its reader of PDB files, and stands still. What `wall` sees of the same
threads must be the same methods, and the same lines. Then independently of the program: a profiler of
the tests' own stops the runtime and asks DoStackSnapshot for every thread, down to its leaf.
"""
import re
import subprocess
import time

import pytest

from conftest import BUILD, PATIENCE, ROOT
from recording_reader import Recording

# Work done in a handler: the runtime shows the line of the try block, we that of the handler.
IN_HANDLER = {"finally", "catch", "filter", "dispose"}


def plain(name):
    """A method's name without what is only spelling: generic arguments, nesting, lambdas."""
    name = name.replace("+", ".")
    name = re.sub(r"\.?<>c(__DisplayClass\d+_\d+)?(?=\.)", "", name)
    name = re.sub(r"<([\w.]+)>b__[\d_]+", r"\1.lambda", name)
    name = re.sub(r"\.<(\w+)>d__\d+\.MoveNext", r".\1", name)
    name = re.sub(r"`\d+", "", name)
    while True:
        shorter = re.sub(r"<[^<>]*>(d__\d+)?", "", name)
        if shorter == name:
            return name
        name = shorter


def is_shown(name):
    """The runtime also lists its exception dispatch, marshalling stubs, and calls into itself."""
    return not name.startswith("System.Runtime.EH.") and name not in (
        "Parked.Odd.qsort", "System.RuntimeMethodHandle.InvokeMethod"
    )


def once(frames):
    """Without a method that repeats at once: a handler runs in a frame of its own."""
    return [f for i, f in enumerate(frames) if i == 0 or frames[i - 1][0] != f[0]]


def expected(patient):
    stacks = {}
    for line in patient.lines:
        match = re.match(r"stack (\S+) (.*)", line)
        if match:
            frames = [f.rsplit(":", 1) for f in match.group(2).split("|")]
            stacks[match.group(1)] = once(
                [(plain(name), int(number)) for name, number in frames if is_shown(plain(name))]
            )
    return stacks


def sampled(recording):
    """The stack that each thread showed last, down to Park."""
    stacks = {}
    for sample in recording.samples("wall"):
        frames = [(plain(f.name), f.line) for f in sample.stack if f.kind == "managed"]
        names = [name for name, _line in frames]
        if "Parked.Odd.Park" in names:
            stacks[recording.thread_name(sample.thread)] = once(frames[: names.index("Parked.Odd.Park")])
    return stacks


def record(clarinet, patient, path):
    done = clarinet("record", "-p", "wall", "-d", "2s", "-o", path, patient.pid)
    assert done.code == 0, done
    return sampled(Recording.load(path))


def test_parked_threads_show_what_the_runtime_says(runtime, sample, clarinet, tmp_path):
    with sample("Parked") as patient:
        seen = record(clarinet, patient, tmp_path / "parked.clarinet")
        truth = expected(patient)
    assert len(truth) >= 20
    for thread, frames in truth.items():
        assert thread in seen, f"{thread} was not sampled"
        names = [name for name, _line in frames]
        assert [name for name, _line in seen[thread]] == names, thread
        if thread in IN_HANDLER:
            continue
        for (name, line), (_name, found) in zip(frames, seen[thread]):
            # The method that starts a state machine has no line of its own in the PDB.
            if line != 0:
                assert found == line, f"{thread}: {name} is at line {line}, not {found}"


@pytest.fixture(scope="session")
def snapshot_library(tmp_path_factory):
    """The profiler sdk/snapshot.c, built."""
    library = tmp_path_factory.mktemp("snapshot") / "libsnapshot.so"
    subprocess.run(
        ["cc", "-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror",
         "-fvisibility=hidden", "-Wl,-z,defs", "-Wl,--gc-sections", f"-I{ROOT}/include",
         str(ROOT / "tests/e2e/sdk/snapshot.c"), "-o", str(library),
         str(BUILD / "libclarinet_sdk.a"), "-lpthread"], check=True,
    )
    return library


def ask_runtime(file, patient):
    """{OS thread: [method, …]} of every thread whose stack the runtime can walk."""
    deadline = time.monotonic() + PATIENCE
    file.with_name(file.name + ".ask").touch()
    while not file.exists():
        assert patient.is_running and time.monotonic() < deadline, f"no answer\n{patient}"
        time.sleep(0.05)
    rows = (line.split(" ", 2) for line in file.read_text().splitlines())
    return {int(row[1]): names_of(row[2].split("|")) for row in rows if row[0] == "stack"}


def names_of(names):
    return [name for name, _line in once([(plain(name), 0) for name in names])]


def test_every_frame_is_as_the_runtimes_snapshot_says(runtime, sample, clarinet, snapshot_library,
                                                      tmp_path):
    file, path = tmp_path / "snapshot", tmp_path / "parked.clarinet"
    env = {"CORECLR_ENABLE_PROFILING": 1, "CORECLR_PROFILER_PATH": snapshot_library,
           "CORECLR_PROFILER": "{C1A21E70-00FE-4C4C-8A11-6E6574434C52}", "SNAPSHOT_FILE": file}
    with sample("Parked", env=env) as patient:
        done = clarinet("record", "-p", "wall", "-d", "2s", "-o", path, patient.pid)
        assert done.code == 0, done
        truth = ask_runtime(file, patient)
        parked = set(expected(patient))
    recording = Recording.load(path)
    seen = {s.thread: names_of([f.name for f in s.stack if f.kind == "managed"])
            for s in recording.samples("wall")}
    names = {thread: recording.thread_name(thread) for thread in seen}
    # The runtime's own threads are not parked: only the program's stand where they stood.
    compared = {names[t]: t for t in truth if not names.get(t, ".NET").startswith(".NET")}
    assert parked <= set(compared) and len(parked) >= 20
    assert compared.keys() - parked, "neither the main thread nor the one that reads stdin"
    for name, thread in compared.items():
        assert seen[thread] == truth[thread], name


def test_frame_pointers_alone_disagree(newest_runtime, sample, clarinet, tmp_path):
    with sample("Parked", env={"CLARINET_WALKER": "fp"}) as patient:
        seen = record(clarinet, patient, tmp_path / "parked.clarinet")
        truth = expected(patient)
    wrong = [
        thread for thread, frames in truth.items()
        if [n for n, _ in seen.get(thread, [])] != [n for n, _ in frames]
    ]
    assert wrong, "plain frame pointers gave every stack: this test proves nothing"
