"""cpu and wall on real runtimes: stacks that are hard to walk, each hole by name.

The sample Shapes runs known work in threads of their own; sampling_truth.py says what every stack of
a thread must begin with. Under CLARINET_WALKER=fp (plain frame pointers) the same checks must fail: else
they would prove nothing.
"""
import os
import re
import shutil
import subprocess
from collections import Counter

import pytest

from recording_reader import Recording
from sampling_truth import CHAINS, count_right, own

SECONDS = 8
WAITS = "join,semaphore"


def record_shapes(request, runtime, walker, work=",".join(CHAINS)):
    """A recording of Shapes under cpu and wall; made once per runtime and walker."""
    clarinet, sample, folder = (
        request.getfixturevalue(name) for name in ("clarinet", "sample", "tmp_path")
    )
    path = folder / f"shapes-{runtime.name}.clarinet"
    env = {"CLARINET_WALKER": walker} if walker else {}
    with sample("Shapes", "--work", work, env=env, runtime=runtime) as patient:
        for seconds in (SECONDS, 4 * SECONDS, 12 * SECONDS):  # longer where it hardly runs
            done = clarinet(
                "record", "-p", "cpu,wall", "--set", "cpu.interval=4ms", "-d", f"{seconds}s", "-o",
                path, patient.pid,
            )
            assert done.code == 0, done
            if work == WAITS or has_enough(Recording.load(path)):
                break
    assert patient.process.returncode == 0, patient
    assert f"done {len(work.split(','))}" in patient.lines, patient
    return Recording.load(path)


def has_enough(recording):
    """Samples, to be judged by their shares."""
    counts = {work: count_right(recording, work)[1] for work in CHAINS}
    return min(counts[work] for work, *_ in HOLES.values()) > 10 and sum(counts.values()) > 300


@pytest.fixture(scope="module")
def recordings():
    return {}


@pytest.fixture
def shapes(request, runtime, recordings):
    if (runtime.name, "") not in recordings:
        recordings[runtime.name, ""] = record_shapes(request, runtime, "")
    return recordings[runtime.name, ""]


@pytest.fixture
def shapes_by_frame_pointers(request, runtime, recordings):
    if (runtime.name, "fp") not in recordings:
        recordings[runtime.name, "fp"] = record_shapes(request, runtime, "fp")
    return recordings[runtime.name, "fp"]


@pytest.fixture
def waits(request, runtime, recordings):
    if (runtime.name, "waits") not in recordings:
        recordings[runtime.name, "waits"] = record_shapes(request, runtime, "", WAITS)
    return recordings[runtime.name, "waits"]


def share_with(recording, work, method):
    samples = [s for s in recording.samples("cpu") if recording.thread_name(s.thread) == work]
    return sum(method in own(s) for s in samples) / len(samples), len(samples)


HOLES = {
    "osr_caller_present": ("osr", "OsrCaller", 0.99),
    "allocating_method_not_lost": ("alloc", "Allocate", 0.9),
    "caller_of_a_frameless_method_present": ("thin", "ThinCaller", 0.97),
    "regex_caller_present": ("regex", "RegexCaller", 0.97),
    "qsort_callback_has_its_caller": ("qsort", "QsortCaller", 0.97),
    "exceptions_have_their_caller": ("throw", "ThrowCaller", 0.97),
}


@pytest.mark.parametrize("hole", HOLES)
def test_hole(shapes, hole):
    work, method, bar = HOLES[hole]
    share, count = share_with(shapes, work, method)
    assert count > 10, "too few samples to tell"
    # one more: the thread may have been met on its way there
    assert share * count >= bar * count - 1, f"{method} is in {share:.1%} of {count} samples of {work}"
    right, total = count_right(shapes, work)
    assert right >= total * 0.995 - 1, f"{work}: {right} of {total} stacks are right"


def test_the_same_checks_fail_with_frame_pointers_alone(shapes_by_frame_pointers):
    recording = shapes_by_frame_pointers
    counts = {work: count_right(recording, work) for work in ("osr", "alloc", "thin", "regex", "qsort")}
    for work, (right, total) in counts.items():
        assert total > 10
        assert right < total * 0.97, f"{work} is right by frame pointers alone: {counts}"


def test_managed_frames_are_right_in_the_whole_mix(shapes):
    counts = {work: count_right(shapes, work) for work in CHAINS}
    right, total = (sum(c[i] for c in counts.values()) for i in (0, 1))
    assert total > 300
    assert right >= total * 0.995 - 1, counts


def waiting(recording, thread):
    return [s for s in recording.samples("wall") if recording.thread_name(s.thread) == thread]


def test_frameless_waits_keep_their_callers(waits):
    for thread, caller, wait in (
        ("join", "JoinCaller", "System.Threading.Thread.Join"),
        ("semaphore", "SemaphoreCaller", "System.Threading.SemaphoreSlim.Wait"),
    ):
        samples = waiting(waits, thread)
        total = sum(s.weight for s in samples)
        right = sum(
            s.weight for s in samples
            if caller in own(s) and any(f.name.startswith(wait) for f in s.stack)
        )
        assert total > 0.8 * SECONDS * 1e9, f"{thread} waited only {total / 1e9:.1f} s"
        assert right >= 0.99 * total, f"{thread}: {right / total:.1%} under {caller}"
        waited = sum(s.weight for s in samples if s.state in ("wait", "lock"))
        assert waited >= 0.95 * total, [(s.state, s.weight) for s in samples]


def test_waiting_threads_are_not_signalled_again(waits):
    # A signal ends a row. Time of a thread that is left alone is added up and written when a second
    # of it is there; one that is signalled again and again never gets such a row. How long a thread
    # runs and spins before it waits is the scheduler's affair: that time is not counted.
    for thread in ("semaphore", "join"):
        rows = waiting(waits, thread)
        last = max(i for i, s in enumerate(rows) if s.stack[-1].name == "sched_yield" or i == 0)
        settled = rows[last + 1 :]
        alone = sum(s.weight for s in settled if s.weight >= 1e9)
        assert len(settled) > 1, "it never settled"
        assert alone >= 0.5 * sum(s.weight for s in settled), [s.weight for s in rows]


def test_waiting_for_a_monitor_is_waiting_for_a_lock(runtime, sample, clarinet, tmp_path):
    # On 8.0 and 9.0 no method of Monitor is on the stack: only the runtime's own record tells.
    path = tmp_path / "locks.clarinet"
    with sample("LockQueue") as patient:
        done = clarinet("record", "-p", "wall", "-d", "3s", "-o", path, patient.pid)
        assert done.code == 0, done
    recording = Recording.load(path)
    queued, ends = {"lock": 0, "wait": 0}, {}  # no row begins before the recording does
    for row in recording.samples("wall"):
        assert row.time >= ends.get(row.thread, 0), "rows of one thread overlap"
        ends[row.thread] = row.time + row.weight
        names = [f.name for f in row.stack if f.kind == "managed"]
        if row.state in queued and "LockQueue.Till.Serve" in names:
            queued[row.state] += row.weight
    assert queued["lock"] > 0 and queued["wait"] <= 0.1 * queued["lock"], queued


def test_threads_have_their_whole_names(runtime, sample, clarinet, tmp_path):
    # The kernel keeps 15 bytes of a name.
    path, name = tmp_path / "names.clarinet", "Überprüfung der Bestellungen "
    with sample("CpuShares", "--threads", 2, "--name", name) as patient:
        done = clarinet("record", "-p", "wall", "-d", "2s", "-o", path, patient.pid)
        assert done.code == 0, done
    recording = Recording.load(path)
    names = {recording.thread_name(s.thread) for s in recording.samples("wall")}
    assert {name + "1", name + "2"} <= names, names


def test_the_time_of_a_loop_is_in_its_line(runtime, sample_command, clarinet, tmp_path):
    """Code that was replaced while it ran: a part of the loop stands behind the method's end,
    and the runtime's map has no place for it."""
    file = tmp_path / "loop.clarinet"
    done = clarinet("record", "-p", "cpu", "--set", "cpu.interval=4ms", "-o", file, "--",
                    *sample_command("Lines", "--loop", 1))
    assert done.code == 0, done
    line = int(re.search(r"^loop (\d+)$", done.out, re.M)[1])
    leaves = Counter(s.stack[-1].line for s in Recording.load(file).samples("cpu")
                     if s.stack and s.stack[-1].name == "Lines.Shapes.Burn")
    assert leaves[line] > 20 and leaves[line] >= 0.98 * sum(leaves.values()), leaves


def test_lines_and_native_names(shapes):
    frames = [f for s in shapes.samples("cpu") for f in s.stack]
    mine = [f for f in frames if f.kind == "managed" and f.name.startswith("Shapes.")]
    with_line = [f for f in mine if f.file.endswith("Program.cs") and f.line > 0]
    assert len(with_line) >= 0.95 * len(mine), f"{len(with_line)} of {len(mine)} frames have lines"
    assert any(re.match(r"(__)?mem(move|cpy)", f.name) for f in frames), "memmove has no name"
    assert any(f.name == "qsort" or f.name.startswith("qsort_r") or f.name.startswith("msort")
               for f in frames), "qsort has no name"


def test_cost_and_losses_are_told(shapes):
    cost = shapes.costs[-1]
    assert cost["calls"] > 0 and cost["handler_ns"] > 0 and cost["thread_cpu_ns"] > 0
    assert 0 < cost["memory"] < 32 << 20
    broken = sum(n for (_p, reason), n in shapes.losses.items() if "incomplete" in reason)
    assert broken <= 0.005 * len(list(shapes.samples("cpu"))) + 5, shapes.losses


def normalised(text):
    """The output of a build without what differs from run to run."""
    return re.sub(r"Time Elapsed .*", "", text)


def test_dotnet_build_from_its_start(clarinet, dotnet_build_project, tmp_path):
    project = dotnet_build_project
    env = {**os.environ, **project.env}

    def clean():
        shutil.rmtree(project.folder / "bin", ignore_errors=True)

    clean()
    bare = subprocess.run(project.build, env=env, capture_output=True, text=True, check=True)
    clean()
    (project.folder / "Program.cs").touch()
    path = tmp_path / "build.clarinet"
    done = clarinet("record", "-p", "cpu", "-o", path, "--", *project.build, env=project.env,
                    timeout=600)
    assert done.code == 0, done
    assert normalised(done.out) == normalised(bare.stdout)
    names, incomplete, total = set(), 0, 0
    for process in range(4):
        recording = Recording.load(path, process)
        for sample in recording.samples("cpu"):
            names.update(f.name for f in sample.stack)
            incomplete += bool(sample.stack) and sample.stack[0].name == "(incomplete)"
            total += 1
    assert any(name.startswith("Microsoft.Build.") for name in names), "no frame of MSBuild"
    assert any(name.startswith("Microsoft.CodeAnalysis.") for name in names), "no frame of Roslyn"
    assert "(JIT compilation)" in names
    assert "(type loading)" in names
    assert incomplete <= 0.005 * total + 1, f"{incomplete} of {total} stacks are incomplete"


def test_type_loading_is_named(runtime, sample, clarinet, tmp_path):
    """A thread that makes types in turn with work that makes none: the mark is in one of them."""
    loading, others = Counter(), 0
    with sample("Shapes", "--work", "types", runtime=runtime) as patient:
        for number in range(20):
            path = tmp_path / f"types{number}.clarinet"
            done = clarinet("record", "-p", "cpu", "--set", "cpu.interval=4ms", "-d", "2s", "-o", path,
                            patient.pid)
            assert done.code == 0, done
            for one in Recording.load(path).samples("cpu"):
                names = [f.name for f in one.stack]
                if "Shapes.Works.TypesCaller" in names:
                    below = names[names.index("Shapes.Works.TypesCaller"):]
                    loading["(type loading)" in below] += 1
                else:
                    others += "Shapes.Works.NoTypesCaller" in names and "(type loading)" in names
            if loading.total() >= 40:
                break
    assert loading[True] >= 0.15 * loading.total() > 0, loading
    assert others == 0


def test_code_of_unloaded_assemblies_is_not_mistaken_for_another(
        runtime, sample_command, clarinet, tmp_path):
    """Methods that do the same work, one after the other, in code whose addresses are used again."""
    types = 32
    path = tmp_path / "burn.clarinet"
    done = clarinet("record", "-p", "cpu", "--set", "cpu.interval=2ms", "-o", path, "--",
                    *sample_command("Fates", "--parts", "burn", "--types", types))
    assert done.code == 0, done
    whole = 0
    shares = Counter()
    for names, weight in Recording.load(path).managed("cpu").items():
        if any(name.startswith("Fates.Burning.Work") for name in names):
            whole += weight
            for name in names:
                if name.startswith("Burn.Number"):
                    shares[name] += weight
    assert shares, "no method of an unloaded assembly was seen"
    # each did 1/32 of the work; one whose name stuck to its address would have that of many
    assert max(shares.values()) < whole / types * 3, (whole, shares)
    # nearly all of the work stands below them, though their code is gone when the recording ends
    assert shares.total() > 0.9 * whole, (whole, shares)
