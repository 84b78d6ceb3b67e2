"""Sampled stacks against the runtime's own: a parked program.

The sample Parked writes down each thread's stack with System.Diagnostics.StackTrace, which uses the
runtime's stack walker and its reader of PDB files, and stands still. What `wall` sees of the same
threads must be the same methods, and the same lines.
"""
import re

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


def test_frame_pointers_alone_disagree(newest_runtime, sample, clarinet, tmp_path):
    with sample("Parked", env={"CLARINET_WALKER": "fp"}) as patient:
        seen = record(clarinet, patient, tmp_path / "parked.clarinet")
        truth = expected(patient)
    wrong = [
        thread for thread, frames in truth.items()
        if [n for n, _ in seen.get(thread, [])] != [n for n, _ in frames]
    ]
    assert wrong, "plain frame pointers gave every stack: this test proves nothing"
