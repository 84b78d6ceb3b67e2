"""The diagnostics port of real runtimes: every command, every refusal that can be brought about."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from conftest import BUILD, PATIENCE, ROOT, Result, environment, size_of, wait_until
from test_launch import CLSID, profilers  # noqa: F401 (a fixture)
from test_ps import as_user, open_folder, public_command, root_only  # noqa: F401

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def driver():
    """The program port_driver, linked with the tool's own library; any user may run it."""
    folder = Path(tempfile.mkdtemp(prefix="clarinet-e2e-"))
    folder.chmod(0o755)
    subprocess.run(
        ["gcc", "-D_GNU_SOURCE", f"-I{ROOT}/src", f"-I{ROOT}/include", HERE / "port_driver.c",
         BUILD / "libclarinet_tool.a", "-o", folder / "port_driver"],
        check=True,
    )
    yield folder / "port_driver"
    shutil.rmtree(folder)


@pytest.fixture
def port(driver):
    def run(pid, *args, before=()):
        command = [*before, str(driver), str(pid), *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd="/")
        return Result(command, done.returncode, done.stdout, done.stderr)

    return run


def listens(pid):
    """Whether its diagnostics socket is there and takes connections (the file comes first)."""
    rows = (line.split() for line in Path("/proc/net/unix").read_text().splitlines())
    return any(len(row) == 8 and int(row[3], 16) & 0x10000 and f"/dotnet-diagnostic-{pid}-" in row[7]
               for row in rows if row[0] != "Num")


# ---- questions ------------------------------------------------------------------------------------


def test_process_info(runtime, sample, port):
    with sample("Idle") as patient:
        done = port(patient.pid, "info")
    assert done.code == 0, done
    version, pid, system, architecture, entry, runtime_version, rid = done.out.splitlines()
    assert int(version) == 3 and int(pid) == patient.pid
    assert (system.lower(), entry, runtime_version) == ("linux", "Idle", runtime.version)
    assert rid == f"linux-{architecture}"


def test_environment(runtime, sample, port):
    with sample("Idle", env={"COLOUR": "grün = green"}) as patient:
        assert "COLOUR=grün = green" in port(patient.pid, "environment").out.splitlines()
        assert port(patient.pid, "set", "FRUIT", "Äpfel").code == 0
        assert "FRUIT=Äpfel" in port(patient.pid, "environment").out.splitlines()
        assert port(patient.pid, "set", "FRUIT").code == 0
        assert "FRUIT=" not in port(patient.pid, "environment").out
        done = port(patient.pid, "set", "A=B", "x")
        assert done.code == 1 and "is not the name of a variable" in done.err
    assert patient.process.returncode == 0, patient


def test_perf_map(runtime, sample, port):
    with sample("Healthy") as patient:
        path = Path(f"/tmp/perf-{patient.pid}.map")
        assert port(patient.pid, "perf-map").code == 0
        try:
            wait_until(path.exists)
            assert port(patient.pid, "no-perf-map").code == 0
        finally:
            for left in Path("/tmp").glob(f"perf*-{patient.pid}.map"):
                left.unlink()
    assert patient.process.returncode == 0, patient


# ---- profilers --------------------------------------------------------------------------------------


def test_attach_and_a_second_one(runtime, sample, port, profilers, tmp_path):  # noqa: F811
    proof = tmp_path / "proof"
    with sample("Idle", env={"PROOF": proof}) as patient:
        done = port(patient.pid, "attach", CLSID, profilers["good"])
        assert done.code == 0, done
        assert proof.read_text().split() == [str(patient.pid)]
        done = port(patient.pid, "attach", CLSID, profilers["good"])
        assert done.code == 1, done
        assert "another profiler already has the main place" in done.err
        assert "CORPROF_E_PROFILER_ALREADY_ACTIVE" in done.err and "notification-only" in done.err
    assert patient.process.returncode == 0, patient


def test_attach_refusals(runtime, sample, port, profilers, compile_c, tmp_path):  # noqa: F811
    no_entry = compile_c("int other;", "-shared", "-fPIC")
    missing_symbol = compile_c(
        "int missing_one(void); int DllGetClassObject(void) { return missing_one(); }",
        "-shared", "-fPIC", "-Wl,-z,now",
    )
    text = tmp_path / "text.so"
    text.write_text("no library")
    cases = [
        ("/nonexistent.so", "ERROR_MOD_NOT_FOUND"),
        (text, "ERROR_MOD_NOT_FOUND"),
        (missing_symbol, "ERROR_MOD_NOT_FOUND"),
        (no_entry, "ERROR_PROC_NOT_FOUND"),
        (profilers["refusing"], "E_FAIL"),
        ("relative.so", "must be absolute"),
    ]
    with sample("Idle") as patient:
        for library, words in cases:
            done = port(patient.pid, "attach", CLSID, library)
            assert done.code == 1 and words in done.err, done
        done = port(patient.pid, "attach", CLSID[:-2] + "6}", profilers["good"])
        assert done.code == 1 and "0x8" in done.err, done
        assert port(patient.pid, "attach", CLSID, profilers["good"]).code == 0
    assert patient.process.returncode == 0 and patient.stderr == "", patient


def test_startup_profiler_of_a_held_process(
    runtime, sample_command, start_program, port, profilers, tmp_path  # noqa: F811
):
    proof = tmp_path / "proof"
    patient = start_program(
        sample_command("Idle"), ready=None,
        env={"DOTNET_DefaultDiagnosticPortSuspend": 1, "PROOF": proof},
    )
    wait_until(lambda: listens(patient.pid))
    done = port(patient.pid, "attach", CLSID, profilers["good"])
    assert done.code == 1 and "the runtime has not started yet" in done.err, done
    assert port(patient.pid, "startup", CLSID, profilers["good"]).code == 0
    assert not proof.exists()
    assert port(patient.pid, "resume").code == 0
    patient.wait_for("^ready$")
    assert proof.read_text().split() == [str(patient.pid)]
    assert patient.finish() == 0, patient


# ---- other users --------------------------------------------------------------------------------------


@root_only
def test_attach_across_users(
    public_command, open_folder, start_program, port, profilers  # noqa: F811
):
    """Root to another user's process; a user to an own one; not to somebody else's."""
    command, _ = public_command
    library = shutil.copy(profilers["good"], open_folder / "good.so")
    os.chmod(library, 0o755)
    as_nobody, as_daemon = as_user("nobody"), as_user("daemon")
    first = start_program([*as_nobody, *command])
    assert port(first.pid, "attach", CLSID, library).code == 0
    second = start_program([*as_nobody, *command])
    done = port(second.pid, "attach", CLSID, library, before=as_daemon)
    assert done.code == 1 and "it belongs to the user nobody" in done.err, done
    assert port(second.pid, "attach", CLSID, library, before=as_nobody).code == 0
    assert first.finish() == second.finish() == 0


# ---- processes that are none, or cannot -----------------------------------------------------------------


def test_pid_of_nobody_and_of_a_native_process(port, start_program):
    done = port(2**22 + 1, "info")
    assert done.code == 1 and f"there is no process {2**22 + 1}" in done.err
    native = start_program(["sh", "-c", "echo ready; cat"])
    done = port(native.pid, "info")
    assert done.code == 1 and re.search(r"process \d+ \((sh|dash|bash)\) is not a .NET process", done.err)


def test_names(port, start_program, tmp_path):
    """By a name nobody else on this machine can have."""
    name = f"Named{os.getpid()}"
    folder = tmp_path / "named"
    folder.mkdir()
    version = subprocess.run(["dotnet", "--version"], capture_output=True, text=True, check=True)
    (folder / f"{name}.csproj").write_text(
        '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType>'
        f"<TargetFramework>net{version.stdout.split('.')[0]}.0</TargetFramework>"
        "<UseAppHost>false</UseAppHost><NuGetAudit>false</NuGetAudit></PropertyGroup></Project>"
    )
    (folder / "Program.cs").write_text(
        "public static class Program { public static void Main() {"
        'System.Console.WriteLine("ready"); System.Console.In.ReadToEnd(); } }'
    )
    subprocess.run(
        ["dotnet", "build", "-v", "quiet", "-nodeReuse:false", "-o", folder / "out", folder],
        check=True, env=environment(None), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )
    command = ["dotnet", folder / "out" / f"{name}.dll"]
    done = port(name, "info")
    assert done.code == 1 and f"no .NET process is called '{name}'" in done.err, done
    first = start_program(command)
    for text in (name, name.lower(), f"{name}.dll"):
        assert str(first.pid) in port(text, "info").out.splitlines()
    second = start_program(command)
    done = port(name, "info")
    assert done.code == 1 and f"2 processes are called '{name}'" in done.err, done
    assert f"{first.pid}" in done.err and f"{second.pid}" in done.err


def test_stopped_and_disabled_and_old(sample, port, old_runtime, profilers):  # noqa: F811
    with sample("Idle") as patient:
        patient.kill(signal.SIGSTOP)
        wait_until(lambda: " T " in Path(f"/proc/{patient.pid}/stat").read_text())
        try:
            done = port(patient.pid, "attach", CLSID, profilers["good"])
        finally:
            patient.kill(signal.SIGCONT)
        assert done.code == 1 and "it is stopped by a signal" in done.err, done
    with sample("Idle", env={"DOTNET_EnableDiagnostics_IPC": 0}) as patient:
        done = port(patient.pid, "attach", CLSID, profilers["good"])
        assert done.code == 1 and "DOTNET_EnableDiagnostics_IPC=0" in done.err, done
    with sample("OldTimer", runtime=old_runtime) as patient:
        done = port(patient.pid, "attach", CLSID, profilers["good"])
        assert done.code == 1 and "3.1.3 is too old" in done.err, done
    assert patient.process.returncode == 0


def test_process_that_ends_during_attach(sample_command, start_program, port, profilers):  # noqa: F811
    """Many processes that end by themselves, asked until they are gone: never a hang, never a lie."""
    words = set()
    for _ in range(5):
        patient = start_program(sample_command("Healthy", "--rounds", 1), ready=None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            while patient.is_running:
                done = port(patient.pid, "attach", CLSID, profilers["good"])
                words.add(done.err.split("\n")[1] if done.code else "attached")
        assert patient.wait() == 0, patient
    known = (
        r"attached|there is no process|is not a \.NET process|starting or ending|has ended|ended before it answered"
        r"|already has the main place|has not started yet|diagnostics socket|nobody listens"
        r"|closed the diagnostics connection"
    )
    for text in words:
        assert re.search(known, text), words


# ---- events -------------------------------------------------------------------------------------------

# Exception events (80) of one round of ExceptionStorm; from 9.0 on `throw;` makes none.
PER_ROUND = {"8.0": 14, "9.0": 13, "10.0": 13}


class Counts:
    def __init__(self, text):
        lines = text.split()
        self.process_id, self.exceptions, self.with_stack, self.others, self.dropped = map(int, lines[:5])
        self.has_fields, self.at_end = lines[5] == "1", lines[6] == "1"


@pytest.fixture
def storm(driver, sample_command, start_program, port, tmp_path):
    """storm(rounds, *options): held at its start, a session begun, then let go -> (patient, driver)."""
    started = []

    def start(rounds, *options):
        patient = start_program(
            sample_command("ExceptionStorm", "--rate", 0, "--rounds", rounds), ready=None,
            env={"DOTNET_DefaultDiagnosticPortSuspend": 1},
        )
        wait_until(lambda: listens(patient.pid))
        listening = subprocess.Popen(
            [driver, str(patient.pid), "events", tmp_path / "events", *map(str, options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        started.append(listening)
        assert listening.stdout.readline() == "started\n"
        assert port(patient.pid, "resume").code == 0
        return patient, listening

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_every_event_comes(runtime, storm):
    patient, listening = storm(20)
    counts = Counts(listening.stdout.read())
    assert listening.wait(PATIENCE) == 0 and patient.wait() == 0, patient
    assert counts.process_id == patient.pid
    assert counts.exceptions == 20 * PER_ROUND[runtime.name]
    assert counts.with_stack >= counts.exceptions
    assert counts.dropped == 0 and counts.at_end and counts.has_fields


def test_session_is_stopped_and_the_program_goes_on(runtime, sample, driver, tmp_path):
    with sample("ExceptionStorm", "--rate", 50) as patient:
        time.sleep(1)  # docs/nettrace.md: 8.0 locks up when asked in its first milliseconds
        listening = subprocess.Popen(
            [driver, str(patient.pid), "events", tmp_path / "events"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        assert listening.stdout.readline() == "started\n"
        wait_until(lambda: size_of(tmp_path / "events") > 0)
        out, _ = listening.communicate(timeout=PATIENCE)  # closes its stdin: stop
        assert listening.returncode == 0
        counts = Counts(out)
        assert counts.at_end and counts.exceptions > 0
        assert patient.is_running
    assert patient.process.returncode == 0, patient


def test_lost_events_are_counted(runtime, storm):
    """1 MB of room and nobody who reads: the runtime drops events, and says so."""
    patient, listening = storm(5000, 1)
    patient.wait_for("TimeoutException thrown")  # it is through
    listening.stdin.write("\n")
    listening.stdin.flush()
    counts = Counts(listening.stdout.read())
    listening.wait(PATIENCE)
    assert patient.wait() == 0, patient
    thrown = 5000 * PER_ROUND[runtime.name]
    assert 0 < counts.exceptions < thrown and counts.at_end
    assert counts.dropped > 0
    assert counts.exceptions + counts.dropped <= thrown + counts.others
