"""clarinet ps on real processes: what is found, what is said about it, and what it must not do."""
import json
import os
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from conftest import PATIENCE, environment, size_of, wait_until

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def listed(result):
    """{pid: row} of `ps --json`."""
    assert result.code == 0, result
    return {row["pid"]: row for row in result.json}


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def stop(patient):
    patient.kill(signal.SIGSTOP)
    while state_of(patient.pid) != "T":
        time.sleep(0.01)


@pytest.fixture
def open_folder():
    """A folder that every user can reach (pytest's own are closed to others)."""
    folder = Path(tempfile.mkdtemp(prefix="clarinet-e2e-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def public_command(open_folder, newest_runtime, samples_folder, clarinet_program):
    """(command line of the sample Idle, path of clarinet), both usable by any user."""
    folder = open_folder / "dotnet"
    framework = Path("shared/Microsoft.NETCore.App") / newest_runtime.version
    shutil.copytree(newest_runtime.folder / "host", folder / "host")
    shutil.copytree(newest_runtime.folder / framework, folder / framework)
    shutil.copy2(newest_runtime.dotnet, folder / "dotnet")
    shutil.copytree(samples_folder / "Idle", open_folder / "Idle")
    shutil.copy2(clarinet_program, open_folder / "clarinet")
    command = [folder / "dotnet", "exec", "--fx-version", newest_runtime.version]
    return [*command, open_folder / "Idle/Idle.dll"], open_folder / "clarinet"


def as_user(user):
    row = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={row.pw_uid}", f"--regid={row.pw_gid}", "--clear-groups"]


# ---- what is found --------------------------------------------------------------------------------


def test_process_is_described(runtime, sample, clarinet):
    with sample("Idle", "--threads", 2) as patient:
        row = listed(clarinet("ps", "--json"))[patient.pid]
        table = clarinet("ps")
    assert row["name"] == row["entry_assembly"] == "Idle"
    assert row["runtime_version"] == runtime.version
    assert row["architecture"] in ("x64", "arm64")
    assert row["command_line"] == " ".join(patient.command)
    assert row["user"]
    assert 0 <= row["uptime_seconds"] < 600
    assert row["container"] is False and row["inner_pid"] == patient.pid
    assert row["attachable"] is True and "reason" not in row
    assert row["profiler"] is None
    line = next(line for line in table.out.splitlines() if line.split()[0] == str(patient.pid))
    assert runtime.version in line and "Idle" in line and line.endswith(row["command_line"])
    assert patient.process.returncode == 0, patient


def test_native_processes_are_not_listed(clarinet):
    rows = listed(clarinet("ps", "--json"))
    assert os.getpid() not in rows and 1 not in rows


@pytest.fixture
def short_folder():
    """The path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        yield Path(folder)


def test_temporary_folder_of_its_own(runtime, sample, clarinet, short_folder):
    folder = short_folder / "t"
    folder.mkdir()
    with sample("Idle", env={"TMPDIR": folder}) as patient:
        row = listed(clarinet("ps", "--json"))[patient.pid]
    assert row["attachable"] is True, row
    assert row["socket"].startswith(str(folder))
    assert row["entry_assembly"] == "Idle"


def test_temporary_folder_within_its_own(sample, clarinet, tmp_path):
    (tmp_path / "t").mkdir()
    with sample("Idle", env={"TMPDIR": "t"}) as patient:  # it runs in tmp_path
        row = listed(clarinet("ps", "--json"))[patient.pid]
    assert row["attachable"] is True, row
    assert row["socket"].startswith(str(tmp_path / "t"))


def test_no_proc_is_told(clarinet):
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh",
         clarinet.program, "ps"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 1 and "mount -t proc" in done.stderr, done


@pytest.mark.parametrize("name", ["DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC"])
def test_disabled_diagnostics_are_named(runtime, sample, clarinet, name):
    with sample("Idle", env={name: 0}) as patient:
        row = listed(clarinet("ps", "--json"))[patient.pid]
        table = clarinet("ps")
    assert row["attachable"] is False
    assert row["reason"] == f"diagnostics are disabled by {name}=0"
    assert row["runtime_version"] == runtime.version
    assert row["name"] == "Idle" and row["entry_assembly"] is None
    assert f"not attachable: {row['reason']}" in table.out


def test_removed_socket_is_named(sample, clarinet, tmp_path):
    with sample("Idle", env={"TMPDIR": tmp_path}) as patient:
        for path in tmp_path.glob("dotnet-diagnostic-*"):
            path.unlink()
        row = listed(clarinet("ps", "--json"))[patient.pid]
    assert row["attachable"] is False
    assert row["reason"] == f"its diagnostics socket is not in {tmp_path}"


def test_old_runtime_is_named(old_runtime, sample, clarinet):
    with sample("OldTimer", runtime=old_runtime) as patient:
        row = listed(clarinet("ps", "--json"))[patient.pid]
    assert row["runtime_version"] == "3.1.3" and row["name"] == "OldTimer"
    assert row["attachable"] is False
    assert "too old" in row["reason"] and "clarinet launch" in row["reason"]
    assert patient.process.returncode == 0, patient


def test_stopped_process_does_not_hang_the_list(sample, clarinet):
    with sample("Idle") as stopped, sample("Idle") as other:
        stop(stopped)
        try:
            rows = listed(clarinet("ps", "--json"))
        finally:
            stopped.kill(signal.SIGCONT)
    assert rows[stopped.pid]["attachable"] is False
    assert rows[stopped.pid]["reason"] == "it is stopped by a signal"
    assert rows[stopped.pid]["advice"] == f"`kill -CONT {stopped.pid}` continues it"
    assert rows[stopped.pid]["name"] == "Idle"
    assert rows[other.pid]["attachable"] is True


@root_only
def test_pid_namespace_without_a_proc_of_its_own(start_program, sample_command, clarinet, tmp_path):
    """The runtime names its socket after the outer process with its number, which is another one."""
    command = ["unshare", "--pid", "--fork", "--kill-child", *sample_command("Idle")]
    outer = start_program(command, env={"TMPDIR": tmp_path})
    inner = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text())
    rows = listed(clarinet("ps", "--json", env={"TMPDIR": tmp_path}))
    assert rows[inner]["attachable"] is True, rows[inner]
    assert rows[inner]["inner_pid"] == 1 and rows[inner]["name"] == "Idle"
    assert "belongs to process" not in (rows.get(1) or {}).get("reason", "")
    done = clarinet("record", "-p", "exceptions", "-d", "100ms", "-o", "out.clarinet", inner)
    assert done.code == 0, done


def test_stale_sockets_are_not_processes(sample, clarinet, short_folder):
    """One of a process that is gone, and one whose PID is used again by somebody else."""
    with sample("Idle", env={"TMPDIR": short_folder}) as patient:
        names = [f"dotnet-diagnostic-{pid}-1-socket" for pid in (2**22 + 1, patient.pid)]
        for name in names:
            with socket.socket(socket.AF_UNIX) as left_behind:
                left_behind.bind(str(short_folder / name))
        done = clarinet("ps", "--json", env={"TMPDIR": short_folder})
        table = clarinet("ps", env={"TMPDIR": short_folder})
    rows = listed(done)
    assert 2**22 + 1 not in rows
    assert rows[patient.pid]["attachable"] is True
    assert not rows[patient.pid]["socket"].endswith("-1-socket")
    assert "left behind" in table.err


def test_loaded_profiler_is_shown(runtime, sample, clarinet, compile_c, tmp_path):
    """A library with any name, named by the environment: it need not be a working profiler."""
    library = compile_c(
        "int DllGetClassObject(void) { return 0x80040111; }\n"
        "__attribute__((constructor)) static void stay(void)\n"
        '{ extern void *dlopen(const char *, int); extern char *getenv(const char *);\n'
        '  dlopen(getenv("CORECLR_PROFILER_PATH"), 0x1002); }\n',
        "-shared", "-fPIC",
    )
    env = {
        "CORECLR_ENABLE_PROFILING": 1,
        "CORECLR_PROFILER": "{11111111-2222-3333-4444-555555555555}",
        "CORECLR_PROFILER_PATH": library,
    }
    with sample("Idle", env=env) as patient:
        row = listed(clarinet("ps", "--json"))[patient.pid]
    assert row["profiler"] == library.name


def test_our_agent_is_shown_only_while_it_works(newest_runtime, sample, clarinet):
    """A session that samples leaves the agent's library mapped: a late signal must find it."""
    with sample("Healthy") as patient:
        recorder = clarinet.start("record", "-p", "cpu", "-o", "out.clarinet", patient.pid)
        shown = lambda: listed(clarinet("ps", "--json"))[patient.pid]["profiler"]
        wait_until(lambda: (shown() or "").startswith("libclarinet-"))
        wait_until(lambda: size_of(clarinet.folder / "out.clarinet") > 600)  # it has begun
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=PATIENCE)
        wait_until(lambda: shown() is None)
        maps = Path(f"/proc/{patient.pid}/maps").read_text()
        assert "libclarinet-" in maps


def test_single_file_program(clarinet, start_program, tmp_path):
    """The runtime is linked into the program: there is no libcoreclr.so to be seen."""
    folder = tmp_path / "single"
    folder.mkdir()
    version = subprocess.run(["dotnet", "--version"], capture_output=True, text=True, check=True)
    (folder / "single.csproj").write_text(
        '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType>'
        f"<TargetFramework>net{version.stdout.split('.')[0]}.0</TargetFramework>"
        "<RuntimeIdentifier>linux-x64</RuntimeIdentifier><SelfContained>true</SelfContained>"
        "<PublishSingleFile>true</PublishSingleFile><NuGetAudit>false</NuGetAudit>"
        "<InvariantGlobalization>true</InvariantGlobalization></PropertyGroup></Project>"
    )
    (folder / "Program.cs").write_text(
        "public static class Program { public static void Main() {"
        'System.Console.WriteLine("ready"); System.Console.In.ReadToEnd(); } }'
    )
    subprocess.run(
        ["dotnet", "publish", "-v", "quiet", "-nodeReuse:false", "-o", folder / "out", folder],
        check=True, env=environment(None), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )
    patient = start_program([folder / "out/single"])
    disabled = start_program([folder / "out/single"], env={"DOTNET_EnableDiagnostics": 0})
    rows = listed(clarinet("ps", "--json"))
    assert "libcoreclr" not in Path(f"/proc/{patient.pid}/maps").read_text()
    assert rows[patient.pid]["attachable"] is True and rows[patient.pid]["name"] == "single"
    assert rows[disabled.pid]["attachable"] is False
    assert rows[disabled.pid]["runtime_version"] == rows[patient.pid]["runtime_version"]
    # Its assembly is no file: it is read out of the program, and its PDB lies beside that.
    assert "Program.cs:1" in clarinet("threads", patient.pid).out
    names = clarinet("il", folder / "out/single", "--assemblies").out.split()
    assert "single.dll" in names and "System.Private.CoreLib.dll" in names, names
    listing = clarinet("il", folder / "out/single", "Main").out
    assert "Program::Main" in listing and "Program.cs:1" in listing, listing
    assert "System.String::Concat" in clarinet("il", folder / "out/single", "--assembly", "System.Private.CoreLib",
                                               "--list", "System.String::Concat").out


# ---- other users, containers ----------------------------------------------------------------------


@root_only
def test_other_users_process(public_command, start_program, clarinet):
    """Root sees and reaches it; its own user does; a third one sees it and is told why not."""
    command, program = public_command
    patient = start_program([*as_user("nobody"), *command])
    row = listed(clarinet("ps", "--json"))[patient.pid]
    assert row["user"] == "nobody" and row["attachable"] is True
    assert row["entry_assembly"] == "Idle"

    def rows_for(user):
        done = subprocess.run(
            [*map(str, as_user(user)), str(program), "ps", "--json"],
            capture_output=True, text=True, check=True, cwd="/",
        )
        return {row["pid"]: row for row in json.loads(done.stdout)}

    assert rows_for("nobody")[patient.pid]["attachable"] is True
    row = rows_for("daemon")[patient.pid]
    assert row["attachable"] is False
    assert row["reason"] == "it belongs to the user nobody"
    assert row["name"] == "Idle"


@root_only
def test_process_in_a_container(runtime, sample_command, start_program, clarinet, shelter):
    """PID and mount namespaces and a /tmp of its own, as a container has them."""
    setup, command = shelter(sample_command("Idle"))
    inside = " ".join(command)
    script = f"{setup} && cd / && mount -t tmpfs tmpfs /tmp && exec {inside}"
    patient = start_program(
        ["unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]
    )
    rows = [row for row in listed(clarinet("ps", "--json")).values() if row["container"]]
    table = clarinet("ps")
    mine = [row for row in rows if row["command_line"] == inside]
    assert len(mine) == 1, rows
    row = mine[0]
    assert row["inner_pid"] == 1 and row["pid"] != 1
    assert row["attachable"] is True, row
    assert row["socket"].startswith(f"/proc/{row['pid']}/root/tmp/dotnet-diagnostic-1-")
    assert row["runtime_version"] == runtime.version
    assert "CONTAINER" in table.out and "as 1" in table.out
    assert patient.is_running


@root_only
def test_programs_that_are_pid_1_are_told_apart(newest_runtime, sample_command, start_program,
                                                clarinet, shelter):
    """Who reads a checkup must know which of the containers it is about."""
    setup, command = shelter(sample_command("Idle"))
    script = f"{setup} && cd / && mount -t tmpfs tmpfs /tmp && exec {' '.join(command)}"
    outer = [start_program(["unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc",
                            "sh", "-c", script]).pid for _ in range(2)]
    pids = [int(open(f"/proc/{pid}/task/{pid}/children").read()) for pid in outer]
    for pid in pids:
        done = clarinet("checkup", pid, "-d", "500ms", "--json", "-o", f"{pid}.html")
        assert done.code == 0, done
        target = done.json["target"]
        assert (target["pid"], target["inner_pid"]) == (pid, 1), target
        assert f"Idle, pid {pid} (1 inside)" in done.json["headline"], done.json["headline"]
        data = clarinet("report", f"{pid}.clarinet", "-f", "json", "--process", pid).json
        assert [p["pid"] for p in data["processes"]] == [pid]
        assert f"(pid {pid})" in clarinet("report", f"{pid}.clarinet", "-f", "md").out
        rows = clarinet("threads", pid, "--json").json["threads"]
        assert [row["role"] for row in rows if row["os_id"] == 1] == ["main"], rows


@root_only
def test_shared_folder_but_another_pid_namespace(sample, clarinet):
    """From a sidecar without the target's PID namespace only the socket can be seen."""
    with sample("Idle") as patient:
        done = subprocess.run(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", clarinet.program, "ps",
             "--json"],
            capture_output=True, text=True, check=True,
        )
    rows = [row for row in json.loads(done.stdout) if row["inner_pid"] == patient.pid]
    assert len(rows) == 1, done.stdout
    assert rows[0]["pid"] is None and rows[0]["entry_assembly"] == "Idle"
    assert rows[0]["attachable"] is False and "PID namespace" in rows[0]["reason"]


# ---- the verb ---------------------------------------------------------------------------------------


def test_a_name_does_not_steer_the_terminal(newest_runtime, sample_command, start_program, clarinet):
    """ESC, DEL and the one-character form of ESC [ in the command line."""
    name = "a\x1b[31m\x7fb\u009b31mc"
    patient = start_program(["bash", "-c", 'exec -a "$0" "$@"', name, *sample_command("Idle")])
    table = clarinet("ps").out
    assert "a [31m?b?31mc" in table, table
    assert not [c for c in table if c != "\n" and (c < " " or "\x7f" <= c <= "\x9f")], table
    assert listed(clarinet("ps", "--json"))[patient.pid]["command_line"].startswith("a")


def test_watch_goes_on_until_interrupted(sample, clarinet):
    with sample("Idle") as patient:
        watching = clarinet.start("ps", "--watch", "--json")
        rounds = [json.loads(watching.stdout.readline()) for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE) == 0
    for rows in rounds:
        assert patient.pid in [row["pid"] for row in rows]


def test_wrong_option_is_usage(clarinet):
    done = clarinet("ps", "--frobnicate")
    assert done.code == 2 and "--frobnicate" in done.err and done.out == ""


def test_table_fits_the_terminal(sample, clarinet):
    script = (
        "import fcntl, os, pty, struct, sys, termios\n"
        "pid, fd = pty.fork()\n"
        "if pid == 0:\n"
        "    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))\n"
        "    os.execv(sys.argv[2], sys.argv[2:])\n"
        "out = b''\n"
        "while True:\n"
        "    try: more = os.read(fd, 4096)\n"
        "    except OSError: break\n"
        "    if not more: break\n"
        "    out += more\n"
        "sys.stdout.buffer.write(out)\n"
    )
    with sample("Idle") as patient:
        for width in (70, 20):
            done = subprocess.run(
                [sys.executable, "-c", script, str(width), clarinet.program, "ps"],
                capture_output=True, text=True, check=True, env={**os.environ, "NO_COLOR": "1"},
            )
            lines = [line.rstrip("\r") for line in done.stdout.splitlines()]
            line = next(line for line in lines if line.split()[:1] == [str(patient.pid)])
            assert len(line) <= width and (width == 20 or line.endswith("…")), lines
            assert "\x1b[" not in done.stdout


def test_nothing_is_left_in_the_target(sample, clarinet):
    """Listing asks one question: no descriptor, thread or output more than before."""

    def things(pid):
        """Descriptors and threads; the runtime may end one of its own meanwhile."""
        return {f"{kind} {name}" for kind in ("fd", "task") for name in os.listdir(f"/proc/{pid}/{kind}")}

    with sample("Idle", "--threads", 1) as patient:
        clarinet("ps")
        before = things(patient.pid)
        for _ in range(20):
            assert clarinet("ps").code == 0
        deadline = time.monotonic() + PATIENCE
        while things(patient.pid) - before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert things(patient.pid) - before == set()
    assert patient.process.returncode == 0 and patient.stderr == "", patient


def test_too_few_open_files_are_named_whatever_is_asked(newest_runtime, sample, clarinet):
    with sample("Idle") as patient:
        for arguments in (["ps", "--json"], ["record", "-p", "exceptions", patient.pid],
                          ["record", "-p", "exceptions", "--", "true"], ["launch", "--", "true"]):
            for limit in (4, 5, 6, 7, 8):
                tool = clarinet.start(*arguments, preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_NOFILE,
                    (limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
                out, err = tool.communicate(timeout=PATIENCE)
                assert tool.returncode == 1 and out == "", (arguments, limit, out, err)
                assert "too few open files" in err and "ulimit -n 1024" in err, err
    assert patient.process.returncode == 0 and patient.stderr == "", patient
