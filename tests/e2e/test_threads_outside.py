"""clarinet threads on processes that do not cooperate: looked at from outside, and left as they were."""
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import PATIENCE, state_of, wait_until

YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
MAY_TRACE = os.geteuid() == 0 or not YAMA.exists() or YAMA.read_text().strip() == "0"
pytestmark = pytest.mark.skipif(not MAY_TRACE, reason="this system lets nobody but root look into processes")

# Takes a process as a debugger does, and lets it run.
DEBUGGER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

int main(int argc, char **argv)
{
    if (argc < 2 || ptrace(PTRACE_SEIZE, atoi(argv[1]), NULL, NULL) != 0)
        return 1;
    puts("attached");
    fflush(stdout);
    getchar();
    return 0;
}
"""


def methods(thread):
    return [frame["method"] for frame in thread["frames"]]


def look(clarinet, *args):
    done = clarinet("threads", *args, "--json")
    assert done.code == 0, done
    assert done.json["looked_from"] == "outside", done
    return done.json, {thread["name"]: thread for thread in done.json["threads"]}


def sleeps(pid):
    """Whether the main thread has gone to sleep and stays there: it says "ready" before it waits."""
    def sleep():
        status = Path(f"/proc/{pid}/status").read_text()
        return re.findall(r"^(?:State|voluntary_ctxt_switches|nonvoluntary_ctxt_switches):\t(.*)", status, re.M)
    before = sleep()
    time.sleep(0.2)
    return before[0].startswith("S") and sleep() == before


def test_a_stopped_process_is_looked_at_and_stays_stopped(clarinet, sample, runtime, tmp_path):
    with sample("Stuck") as patient:
        wait_until(lambda: sleeps(patient.pid))
        patient.kill(signal.SIGSTOP)
        wait_until(lambda: state_of(patient.pid) == "T")
        file = tmp_path / "outside.clarinet"
        answer, threads = look(clarinet, patient.pid, "-o", file)
        assert answer["outside_reason"] == "it is stopped by a signal"
        assert answer["deadlocks"] == [] and answer["suspected_deadlocks"] == []
        assert threads["sleeper"]["state"] == "sleeping"
        assert threads["follower"]["state"] == "joining a thread"
        assert threads["listener"]["state"] == "in Monitor.Wait"
        assert "System.Threading.Thread.Sleep" in methods(threads["sleeper"])
        if runtime.name == "8.0":  # it does not say where its methods are
            assert any(re.match(r"\(managed code\) 0x", m) for m in methods(threads["payer"]))
        else:
            assert "Stuck.Program.Pay" in methods(threads["payer"])
            assert "Stuck.Program.Main.lambda" in methods(threads["follower"])
        assert {f["module"] for f in threads["sleeper"]["frames"]} >= {"libcoreclr.so", "System.Private.CoreLib.dll"}
        assert threads["payer"]["role"] == "thread" and threads[".NET Finalizer"]["role"] == "finalizer"
        for name in ("payer", "auditor", "clerk", "listener", "sleeper", "follower"):
            assert threads[name]["frames"][-1]["module"].startswith("libc"), threads[name]  # its beginning
            assert "(incomplete)" not in methods(threads[name]), threads[name]
        (main,) = [t for t in answer["threads"] if t["os_id"] == patient.pid]
        assert main["role"] == "main" and "coreclr_execute_assembly" in methods(main)
        assert clarinet("threads", file).out.startswith("LOOKED AT FROM OUTSIDE: it is stopped by a signal\n")
        # what needs the runtime's help says so and does not wait for it
        file.with_name("outside-heap.clarinet").write_text("of another look")
        look(clarinet, patient.pid, "-d", "1s", "--heap")
        look(clarinet, patient.pid, "-d", "1s", "--heap", "-o", file)
        assert not file.with_name("outside-heap.clarinet").exists()
        assert "\n  One look only: " in clarinet("threads", patient.pid, "-d", "1s").out
        refused = clarinet("tasks", patient.pid, "-d", "1s")
        assert refused.code == 1 and "stopped by a signal" in refused.err, refused
        assert f"`clarinet threads {patient.pid}` shows its threads" in refused.err, refused
        assert state_of(patient.pid) == "T"
        patient.kill(signal.SIGCONT)
        wait_until(lambda: state_of(patient.pid) != "T")
        # and it is as good as before, for the other way too
        done = clarinet("threads", patient.pid, "--json")
        assert done.code == 0 and done.json["looked_from"] == "inside", done
        assert len(done.json["deadlocks"]) == 1
        assert patient.finish() == 0
    assert "still stuck: True" in patient.lines


def test_a_mute_process_runs_on(clarinet, sample, newest_runtime):
    with sample("Crowded", env={"DOTNET_EnableDiagnostics": "0"}, runtime=newest_runtime) as patient:
        for _ in range(5):
            answer, _ = look(clarinet, patient.pid)
            assert "DOTNET_EnableDiagnostics" in answer["outside_reason"]
            assert len(answer["threads"]) >= 8
        assert patient.finish() == 0
    assert "every round counted: True" in patient.lines


def test_a_debugger_may_be_attached(clarinet, sample, newest_runtime, compile_c, start_program):
    with sample("Stuck", runtime=newest_runtime) as patient:
        debugger = start_program([compile_c(DEBUGGER), patient.pid], ready="^attached$")
        answer, _ = look(clarinet, patient.pid, "--outside")
        (main,) = [t for t in answer["threads"] if t["os_id"] == patient.pid]
        assert main["frames"], main
        assert debugger.finish() == 0
        assert patient.finish() == 0
    assert "still stuck: True" in patient.lines


def test_a_core_dump_has_all_stacks(clarinet, sample, runtime, tmp_path):
    dump = tmp_path / "dump"
    createdump = runtime.folder / "shared/Microsoft.NETCore.App" / runtime.version / "createdump"
    with sample("Stuck") as patient:
        before = clarinet("threads", patient.pid, "--json").json
        subprocess.run([createdump, "--normal", "-f", dump, str(patient.pid)], check=True,
                       capture_output=True, timeout=PATIENCE)
        assert patient.finish() == 0
    done = clarinet("threads", "--core", dump, "--json")
    assert done.code == 0, done
    assert done.json["looked_from"] == "core" and "is a core dump" in done.json["outside_reason"]
    threads = {thread["os_id"]: thread for thread in done.json["threads"]}
    for thread in before["threads"]:
        if thread["name"] in ("payer", "auditor", "clerk", "listener", "sleeper", "follower"):
            copy = threads[thread["os_id"]]
            assert copy["frames"][-1]["module"].startswith("libc"), copy  # its beginning
            assert "(incomplete)" not in methods(copy), copy
            own = [m for m in methods(thread) if m.startswith("Stuck.")]
            assert runtime.name == "8.0" or [m for m in methods(copy) if m.startswith("Stuck.")] == own, copy
            if thread["name"] in ("sleeper", "follower"):
                assert copy["state"] == thread["state"], copy
    assert "coreclr_execute_assembly" in methods(threads[patient.pid])
    assert clarinet("threads", "--core", dump).out.startswith("CORE DUMP: ")
    dump.write_bytes(dump.read_bytes()[:2000])
    assert clarinet("threads", "--core", dump).code == 1
    assert clarinet("threads", "--core", tmp_path).code == 1
