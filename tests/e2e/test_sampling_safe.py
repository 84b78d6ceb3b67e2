"""Sampling does no harm: storms, timeouts, threads that come and go, the program's own signals."""
import collections
import resource
import subprocess
import time

import pytest

from conftest import PATIENCE
from recording_reader import Recording

STORM = ["-p", "cpu,wall", "--set", "cpu.interval=1ms", "--set", "cpu.clock=monotonic",
         "--set", "wall.interval=1ms"]


def record(clarinet, tmp_path, pid, *args, seconds=4, enough=lambda recording: True):
    """Once more, for longer, where the machine is so busy that there is not enough."""
    for length in (seconds, 4 * seconds, 16 * seconds):
        path = tmp_path / f"{time.monotonic_ns()}.clarinet"
        done = clarinet("record", *args, "-d", f"{length}s", "-o", path, pid)
        assert done.code == 0, done
        recording = Recording.load(path)
        if enough(recording):
            break
    return recording


def has_samples(recording, kind="cpu", least=1, thread=""):
    return sum(recording.thread_name(s.thread).startswith(thread)
               for s in recording.samples(kind)) >= least


def test_null_reference_storm_attached_in_its_midst(runtime, sample, clarinet, tmp_path):
    with sample("Rough", "--parts", "nulls") as patient:
        for _ in range(3):
            recording = record(clarinet, tmp_path, patient.pid, *STORM, seconds=2,
                               enough=lambda r: has_samples(r, least=11, thread="nulls"))
            stacks = [s for s in recording.samples("cpu")
                      if recording.thread_name(s.thread).startswith("nulls")]
            assert len(stacks) > 10
            whole = [s for s in stacks if s.stack and s.stack[0].name != "(incomplete)"]
            assert len(whole) >= 0.99 * len(stacks) - 2, recording.losses
    assert patient.process.returncode == 0, patient
    assert "all well" in patient.lines, patient


def test_everything_rough_at_once(runtime, sample, clarinet, tmp_path):
    parts = "nulls,churn,garbage,libraries,children,emitted"
    with sample("Rough", "--parts", parts) as patient:
        recording = record(clarinet, tmp_path, patient.pid, *STORM, seconds=6,
                           enough=lambda r: has_samples(r, least=11))
        assert len(list(recording.samples("cpu"))) > 10
    assert patient.process.returncode == 0, patient
    assert "all well" in patient.lines, patient


def test_timeouts_sleeps_and_children_keep_their_times(runtime, sample, clarinet, tmp_path):
    with sample("Punctual", "--rounds", 20) as patient:
        process = clarinet.start(
            "record", "-p", "cpu,wall", "--set", "wall.interval=1ms", "-d", "30s",
            "-o", tmp_path / "punctual.clarinet", patient.pid, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for part in ("receive", "stream", "sleep", "child"):
            good = int(patient.wait_for(rf"^{part}: (\d+) of 20$").group(1))
            assert good >= 18, f"{part}: {good} of 20 in time"
        assert patient.wait() == 0
        process.wait(timeout=PATIENCE)


def test_a_thread_that_waits_where_it_waited_before_needs_no_signal(runtime, sample, clarinet,
                                                                    tmp_path):
    # A signal would begin each wait anew, with the whole of its time. On a busy machine a look may
    # meet the thread between two waits: then the next recording tells.
    seen = []
    with sample("Punctual", "--parts", "poll", "--rounds", 1000000) as patient:
        patient.wait_for("^waited ")
        for _ in range(4):
            before = len(patient.lines)
            recording = record(clarinet, tmp_path, patient.pid, "-p", "wall", seconds=2)
            stacks = [s.stack for s in recording.samples("wall")
                      if recording.thread_name(s.thread) == "poll"]
            named = any(f.name.endswith("Socket.Poll") for stack in stacks for f in stack)
            torn = sum(stack[0].name == "(incomplete)" for stack in stacks)
            seen.append((recording.costs[-1]["calls"], len(patient.lines) - before, named, torn))
            if seen[-1][0] < seen[-1][1] and named and torn == 0:
                break
        else:
            raise AssertionError(f"signals, waits, named, incomplete: {seen}")
        patient.kill()


def test_a_receive_that_waits_when_we_come_keeps_its_time(runtime, sample, clarinet, tmp_path):
    # A signal would begin it anew, with all of its 600 ms, once in each recording.
    # On a busy machine a look may meet the thread awake, and its signal come when it waits again.
    seen = []
    with sample("Punctual", "--parts", "silent", "--rounds", 1000000) as patient:
        patient.wait_for("^received ")
        for _ in range(3):
            before = len(patient.lines)
            recordings = [record(clarinet, tmp_path, patient.pid, "-p", "wall", "--set",
                                 "wall.interval=1ms", seconds=1) for _ in range(6)]
            time.sleep(1.3)
            waits = [int(line.split()[-1]) for line in patient.lines[before:]]
            stacks = [s.stack for recording in recordings for s in recording.samples("wall")
                      if recording.thread_name(s.thread) == "silent"]
            named = any(f.name.endswith("Socket.Receive") for stack in stacks for f in stack)
            torn = sum(stack[0].name == "(incomplete)" for stack in stacks)
            late = sum(wait > 690 for wait in waits)
            seen.append((late, len(waits), named, torn))
            if late <= 1 and named and torn == 0:
                break
        else:
            raise AssertionError(f"late, waits, named, incomplete: {seen}")
        patient.kill()


def states_of(recording, thread):
    states = collections.Counter()
    for s in recording.samples("wall"):
        if recording.thread_name(s.thread) == thread:
            states[s.state] += s.weight
    return states


def test_a_native_sleep_is_not_ended(runtime, sample, clarinet, tmp_path):
    # Whoever calls it there may take its end for the end of the time.
    with sample("Punctual", "--parts", "native", "--rounds", 20) as patient:
        path = tmp_path / "native.clarinet"
        process = clarinet.start("record", "-p", "cpu,wall", "-d", "30s", "-o", path, patient.pid,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert patient.wait() == 0
        process.wait(timeout=PATIENCE)
    assert "native: 20 of 20" in patient.lines, patient
    # Between sleeps it may wait for a processor, which is no sleep.
    states = states_of(Recording.load(path), "native")
    assert states["sleep"] >= 0.9 * (sum(states.values()) - states["running"]) > 0, states


def waits_with_an_end(recording, thread):
    return [s for s in recording.samples("wall") if recording.thread_name(s.thread) == thread and
            any("pthread_cond_timedwait" in f.name for f in s.stack[-3:])]


def test_a_wait_with_an_end_is_not_one_for_a_collection(runtime, sample, clarinet, tmp_path):
    # Optimised, 10.0 has the methods that wait in the one that calls them: none tells what for.
    with sample("Punctual", "--parts", "alive,collect", "--rounds", 1000000,
                env={"DOTNET_TC_CallCountThreshold": 5, "DOTNET_TC_CallCountingDelayMs": 0}) as patient:
        patient.wait_for("^ready$")
        time.sleep(2)
        recording = record(clarinet, tmp_path, patient.pid, "-p", "wall", seconds=3,
                           enough=lambda r: len(waits_with_an_end(r, "alive")) > 20)
        patient.kill()
    states = {s.state for s in waits_with_an_end(recording, "alive")}
    assert "gc" not in states and "wait" in states, states


def test_a_thread_stopped_for_a_collection_is_told_so(runtime, sample, clarinet, tmp_path):
    with sample("Punctual", "--parts", "spin,collect", "--rounds", 1000000) as patient:
        patient.wait_for("^ready$")
        recording = record(clarinet, tmp_path, patient.pid, "-p", "wall", seconds=2,
                           enough=lambda r: states_of(r, "spin")["gc"] > 0)
        states = states_of(recording, "spin")
        assert states["gc"] > 0, states
        assert states["wait"] <= 0.1 * sum(states.values()), states  # it never waits for anything else
        patient.kill()


def test_another_signal_is_found_when_the_program_takes_ours(newest_runtime, sample_command,
                                                             clarinet, tmp_path):
    # It takes SIGURG and all of real time again every 100 ms; SIGPROF is left.
    path = tmp_path / "taken.clarinet"
    done = clarinet("record", "-p", "cpu", "-o", path, "--",
                    *sample_command("Punctual", "--parts", "handlers", "--rounds", 30))
    assert done.code == 0 and "handlers: 30 of 30" in done.out, done
    times = [s.time for s in Recording.load(path).samples("cpu")
             if any(f.name.endswith("Punctual.Program.Handlers") for f in s.stack)]
    # The agent looks twice a second; without another signal there is nothing after the first.
    assert times and max(times) - min(times) > 1_500_000_000, times


def test_a_program_that_resets_all_signals_is_not_ended_by_ours(runtime, sample_command, clarinet,
                                                                tmp_path):
    # Every 100 ms; what a signal of ours does until that is seen is nothing.
    path = tmp_path / "reset.clarinet"
    done = clarinet("record", "-p", "cpu,wall", "--set", "cpu.interval=4ms", "-o", path, "--",
                    *sample_command("Punctual", "--parts", "defaults", "--rounds", 30))
    assert done.code == 0 and "defaults: 30 of 30" in done.out, done
    for kind in ("cpu", "wall"):
        times = [s.time for s in Recording.load(path).samples(kind)
                 if any(f.name.endswith("Punctual.Program.Defaults") for f in s.stack)]
        assert times and max(times) - min(times) > 1_500_000_000, (kind, times)


def stacks_of(recording, thread):
    return [[f.name for f in s.stack] for s in recording.samples("cpu")
            if recording.thread_name(s.thread) == thread]


OWN = {"Rough.Program.First": "Made1", "Rough.Program.Second": "Made2"}


def made_pairs(recording):
    """(caller, what it called) of each sample in a method that was made at run time."""
    return [(caller, stack[stack.index(caller) + 1]) for stack in stacks_of(recording, "pairs")
            for caller in OWN
            if caller in stack[:-1] and stack[stack.index(caller) + 1].startswith("Made")]


def test_methods_made_at_run_time_have_their_own_names(runtime, sample, clarinet, tmp_path):
    # Each is gone when its samples are walked, and the next one lies where it was.
    with sample("Rough", "--parts", "pairs") as patient:
        recording = record(clarinet, tmp_path, patient.pid, "-p", "cpu", seconds=2,
                           enough=lambda r: len(made_pairs(r)) > 20)
    names, pairs = stacks_of(recording, "pairs"), made_pairs(recording)
    assert len(pairs) > 20, names
    assert all(made == OWN[caller] for caller, made in pairs), pairs
    assert not any("(unknown)" in stack for stack in names), names


def test_every_line_is_read(runtime, sample, clarinet, tmp_path):
    with sample("Punctual", "--parts", "lines", "--rounds", 1) as patient:
        process = clarinet.start(
            "record", "-p", "cpu,wall", "--set", "wall.interval=1ms", "-d", "3s",
            "-o", tmp_path / "lines.clarinet", patient.pid, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for i in range(200):
            patient.process.stdin.write(f"line {i}\n")
            patient.process.stdin.flush()
            time.sleep(0.01)
        patient.process.stdin.write("end\n")
        patient.process.stdin.flush()
        patient.wait_for("^lines read: 200$")
        patient.wait_for("^lines: 1 of 1$")
        process.wait(timeout=PATIENCE)


def test_the_programs_own_sigprof_is_respected(runtime, sample, clarinet, tmp_path):
    with sample("Punctual", "--parts", "profile", "--rounds", 1000000) as patient:
        patient.wait_for("^profiles itself$")
        recording = record(clarinet, tmp_path, patient.pid, "-p", "cpu", seconds=3,
                           enough=lambda r: has_samples(r, least=11))
        note = recording.profilers[0]["note"]
        assert "SIGPROF" in note, note
        assert len(list(recording.samples("cpu"))) > 10
        assert patient.is_running
        patient.kill()


def test_a_sigprof_handler_that_comes_after_us_gets_none_of_our_ticks(
        newest_runtime, sample_command, clarinet, tmp_path):
    path = tmp_path / "later.clarinet"
    done = clarinet("record", "-p", "cpu,wall", "-o", path, "--",
                    *sample_command("Punctual", "--parts", "profile", "--rounds", 5))
    assert done.code == 0 and "profile: 5 of 5" in done.out, done
    for kind in ("cpu", "wall"):  # signals that its handler swallowed would leave no samples
        assert any(f.name.endswith("Punctual.Program.Profile") for s in
                   Recording.load(path).samples(kind) for f in s.stack), kind


OTHER_STACKS = """
#include <signal.h>
#include <string.h>
static void handle(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
}
__attribute__((constructor)) static void begin(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(SIGURG, &action, NULL);
}
"""


def thrown(recording):
    return any(profiler == "exceptions" for profiler, _ in recording.rows)


def test_a_program_with_small_stacks_of_its_own_is_not_signalled(runtime, sample, clarinet, compile_c,
                                                                 tmp_path):
    # As Go's runtime does when it is a library of a .NET program. What else is recorded goes on.
    library = compile_c(OTHER_STACKS, "-shared", "-fPIC")
    with sample("ExceptionStorm", "--rate", 50,
                env={"LD_PRELOAD": str(library)}) as patient:
        for _ in range(3):
            recording = record(clarinet, tmp_path, patient.pid, "-p", "cpu,wall,exceptions",
                               seconds=2, enough=lambda r: r.losses and thrown(r))
            notes = {profiler["name"]: profiler["note"] for profiler in recording.profilers
                     if profiler["note"] != ""}
            assert set(notes) == {"cpu", "wall"}, notes
            assert all("SIGURG" in note for note in notes.values()), notes
            assert set(recording.losses) == {("wall", "signal could not be sent"),
                                             ("cpu", "signal could not be sent")}, recording.losses
            assert thrown(recording) and not list(recording.samples("cpu"))
    assert patient.process.returncode == 0, patient


def blocks_signals(recording):
    return all(recording.losses.get((kind, "thread blocks the signal"), 0) > 0
               for kind in ("cpu", "wall"))


def test_a_program_that_takes_all_signals_itself_gets_none_of_ours(newest_runtime, sample, clarinet,
                                                                   tmp_path):
    with sample("Punctual", "--parts", "sigwait,signalfd", "--rounds", 1000000) as patient:
        for part in ("sigwait", "signalfd"):
            patient.wait_for(f"^{part} blocks all signals$")
        recording = record(clarinet, tmp_path, patient.pid, "-p", "cpu,wall", "--set",
                           "cpu.interval=1ms", seconds=2, enough=blocks_signals)
        assert patient.is_running
        patient.kill()
    assert not [line for line in patient.lines if line.startswith("got signal")], patient
    assert blocks_signals(recording), recording.losses
    notes = {profiler["name"]: profiler["note"] for profiler in recording.profilers}
    assert notes["wall"] == "", notes  # what the kernel does with CPU timers is none of its business


def test_timers_that_cannot_be_had_are_counted(newest_runtime, sample, clarinet, tmp_path):
    # Of the user's pending signals none is left. The kernel queues what wall sends all the same.
    with sample("Healthy", "--threads", 2, "--rate", 0) as patient:
        resource.prlimit(patient.pid, resource.RLIMIT_SIGPENDING, (0, 0))
        recording = record(clarinet, tmp_path, patient.pid, "-p", "cpu,wall", seconds=1,
                           enough=lambda r: r.losses.get(("cpu", "no timer for a thread"), 0) > 0)
    lost = recording.losses
    assert lost.get(("cpu", "no timer for a thread"), 0) > 0, lost
    assert ("wall", "signal could not be sent") not in lost, lost
    assert any(len(s.stack) > 2 for s in recording.samples("wall"))
    assert patient.process.returncode == 0, patient


def test_cpu_of_short_lived_threads_counts(runtime, sample_command, clarinet, tmp_path):
    threads, burn = 600, 5
    command = sample_command("Rough", "--parts", "churn", "--threads", threads, "--burn", burn,
                             "--seconds", 50)
    path = tmp_path / "churn.clarinet"
    done = clarinet("record", "-p", "cpu", "-o", path, "--", *command)
    assert done.code == 0 and "all well" in done.out, done
    recording = Recording.load(path)
    burned = sum(s.weight for s in recording.samples("cpu")
                 if any(f.name.endswith(".Burn") for f in s.stack)) / 1e9
    truth = threads * burn / 1000
    assert 0.6 * truth < burned < 1.4 * truth, f"{burned:.2f} s of {truth:.2f} s"


def test_a_filter_keeps_only_its_threads(newest_runtime, sample, clarinet, tmp_path):
    with sample("Shapes", "--work", "osr,sort") as patient:
        recording = record(clarinet, tmp_path, patient.pid, "-p", "cpu", "--set", "cpu.threads=o?r",
                           seconds=3, enough=has_samples)
    names = {recording.thread_name(s.thread) for s in recording.samples("cpu")}
    assert names == {"osr"}


def test_a_filter_knows_whole_names(runtime, sample, clarinet, tmp_path):
    # The kernel has the same 15 bytes of both. Each profiler has a filter of its own.
    with sample("CpuShares", "--threads", 2, "--name", "orders of the day ") as patient:
        recording = record(clarinet, tmp_path, patient.pid, "-p", "cpu,wall", "--set",
                           "cpu.threads=*day 1", "--set", "wall.threads=*day 2", seconds=2,
                           enough=lambda r: has_samples(r) and has_samples(r, "wall"))
    names = {kind: {recording.thread_name(s.thread) for s in recording.samples(kind)}
             for kind in ("cpu", "wall")}
    assert names == {"cpu": {"orders of the day 1"}, "wall": {"orders of the day 2"}}


def test_a_filter_looks_again_at_a_thread_with_a_new_name(newest_runtime, sample_command, clarinet,
                                                          tmp_path):
    path = tmp_path / "renamed.clarinet"
    command = sample_command("CpuShares", "--threads", 2, "--seconds", 5, "--rename", "a name later ")
    done = clarinet("record", "-p", "cpu", "--set", "cpu.threads=*later 2", "-o", path, "--",
                    *command)
    assert done.code == 0, done
    recording = Recording.load(path)
    assert {recording.thread_name(s.thread) for s in recording.samples("cpu")} == {"a name later 2"}


def test_a_thread_shows_under_its_new_name(runtime, sample_command, clarinet, tmp_path):
    # They run for a second under their first names, which is then in the recording already.
    path = tmp_path / "renamed.clarinet"
    command = sample_command("CpuShares", "--threads", 2, "--seconds", 4, "--name", "early ",
                             "--rename", "a name later than that ")
    done = clarinet("record", "-p", "cpu", "-o", path, "--", *command)
    assert done.code == 0, done
    recording = Recording.load(path)
    names = {recording.thread_name(s.thread) for s in recording.samples("cpu")}
    assert {f"a name later than that {i}" for i in (1, 2)} <= names
    assert not any(name.startswith("early ") for name in names)


def test_deep_recursion_is_cut_at_max_depth(runtime, sample, clarinet, tmp_path):
    # Each profiler has a depth of its own: what the small one needs copied is not enough for both.
    most = {"cpu": 32, "wall": 512}
    with sample("Shapes", "--work", "deep") as patient:
        time.sleep(1)
        recording = record(clarinet, tmp_path, patient.pid, "-p", "cpu,wall", "--set",
                           "cpu.max_depth=32", "--set", "wall.max_depth=512", seconds=3,
                           enough=lambda r: all(has_samples(r, kind, 6, "deep") for kind in most))
    for kind, depth in most.items():
        stacks = [s.stack for s in recording.samples(kind)
                  if recording.thread_name(s.thread) == "deep"]
        assert len(stacks) > 5
        cut = [s for s in stacks if any(f.name == "(truncated)" for f in s)]
        assert len(cut) > len(stacks) // 2, recording.losses
        for stack in cut:
            at = [f.name for f in stack].index("(truncated)")
            inner = [f for f in stack[at + 1:] if f.kind != "synthetic"]
            assert at <= 1 and len(inner) <= depth, (stack[:3], stack[-3:])
            assert at == 0 or stack[0].name == "Shapes.Works.DeepRoot", stack[0].name
            # On a busy machine the compiler comes late, and has many and large frames of its own.
            if all(f.module != "libclrjit.so" for f in inner):
                assert sum(f.name.endswith(".Deep") for f in inner) > depth * 3 // 4, inner[-3:]
        # We came in the midst of it: nobody has seen a whole stack. A thread that goes on while its
        # stack is looked at shows its start with the next sample.
        started = [s for s in cut if s[0].name != "(truncated)"]
        assert len(started) > len(cut) // 2


@pytest.mark.parametrize("rounds", [5])
def test_attach_and_leave_again_and_again(runtime, sample, clarinet, tmp_path, rounds):
    with sample("Healthy", "--threads", 2, "--rate", 0) as patient:
        for _ in range(rounds):
            recording = record(clarinet, tmp_path, patient.pid, "-p", "cpu", seconds=1,
                               enough=has_samples)
            assert len(list(recording.samples("cpu"))) > 0
    assert patient.process.returncode == 0


def test_new_threads_wake_a_sampler_that_has_nothing_to_do(newest_runtime, sample_command, clarinet,
                                                            tmp_path):
    # All is quiet before each burst, and wall looks every 400 ms: too late for half of the threads
    # that live for 200, were it not told of them.
    bursts, threads = 6, 4
    path = tmp_path / "births.clarinet"
    done = clarinet("record", "-p", "wall", "--set", "wall.interval=50ms", "-o", path, "--",
                    *sample_command("Bursty", "--bursts", bursts, "--burst", 200, "--threads",
                                    threads, "--period", 900, "--seconds", 50))
    assert done.code == 0 and "done" in done.out, done
    seen = {s.thread for s in Recording.load(path).samples("wall")
            if any(f.name.endswith(".Compute") for f in s.stack)}
    assert len(seen) > 0.85 * bursts * threads, f"{len(seen)} of {bursts * threads} threads"


def test_each_recording_counts_what_it_costs_itself(newest_runtime, sample, clarinet, tmp_path):
    with sample("Healthy", "--threads", 2, "--rate", 0) as patient:
        for seconds in (3, 2):  # the second one's sampler has done less than the first one's
            recording = record(clarinet, tmp_path, patient.pid, "-p", "wall", "--set",
                               "wall.interval=1ms", seconds=seconds)
            spent = [cost["thread_cpu_ns"] for cost in recording.costs]
            assert spent == sorted(spent) and spent[0] > 0 and spent[-1] < 20e9, spent


def test_many_threads_do_not_fill_the_ring(newest_runtime, sample, clarinet, tmp_path):
    # The first look at each brings a stack: together many times what the ring holds.
    threads = 1500
    with sample("Idle", "--threads", threads) as patient:
        recording = record(clarinet, tmp_path, patient.pid, "-p", "wall", seconds=2)
        again = record(clarinet, tmp_path, patient.pid, "-p", "cpu,wall", seconds=2)
    for one in (recording, again):
        seen = {s.thread for s in one.samples("wall")
                if one.thread_name(s.thread).startswith("sleeper-")}
        assert len(seen) == threads
        lost = sum(n for (_, reason), n in one.losses.items() if reason == "ring full")
        assert lost <= 3, one.losses
    assert "awake 1500" in patient.lines, patient


def test_threads_that_have_ended_have_names(runtime, sample_command, clarinet, tmp_path):
    # Each is gone before its first row is written.
    path = tmp_path / "ended.clarinet"
    done = clarinet("record", "-p", "wall", "-o", path, "--",
                    *sample_command("Bursty", "--bursts", 6, "--burst", 30, "--threads", 2,
                                    "--period", 300, "--seconds", 50))
    assert done.code == 0 and "done" in done.out, done
    recording = Recording.load(path)
    names = {s.thread: recording.thread_name(s.thread) for s in recording.samples("wall")
             if any(f.name.endswith(".Compute") for f in s.stack)}
    assert names and all(name in ("burst-1", "burst-2") for name in names.values()), names


def niceness(process):
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        return int(file.read().rsplit(")", 1)[1].split()[16])


@pytest.mark.parametrize("profilers, more", [("cpu,wall", 5), ("cpu,exceptions", 0)])
def test_the_tool_makes_way_where_its_records_can_wait(newest_runtime, sample_command, clarinet,
                                                       tmp_path, profilers, more):
    # Names are looked up beside the program. It is the tool that is nicer, and not what it started.
    path = tmp_path / "nice.clarinet"
    process = clarinet.start("record", "-p", profilers, "-o", path, "--",
                             *sample_command("Healthy", "--seconds", 60))
    try:
        deadline = time.monotonic() + PATIENCE
        while not path.exists() or path.stat().st_size < 1000:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.1)
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)],
                                  stdout=subprocess.PIPE, text=True).stdout.split()
        assert children and {niceness(child) for child in children} == {niceness("self")}
        assert niceness(process.pid) == niceness("self") + more
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
