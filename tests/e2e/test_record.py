"""clarinet record: a running process and a command, what is in the recording, and what goes wrong."""
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

from conftest import PATIENCE, has_ended, size_of, wait_until
from exceptions_truth import counted, exceptions, report, rows_until_now, said
from recording_reader import chunks


def test_a_command_is_recorded_from_its_start(runtime, sample_command, clarinet):
    command = sample_command("ExceptionStorm", "--rounds", 25, "--rate", 200)
    alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command)
    assert done.code == alone.returncode == 0, done
    assert done.out == alone.stdout
    table = exceptions(report(clarinet, "out.clarinet"))
    assert counted(table) == said(done.out), table["types"]
    assert "report out.clarinet" in done.err, done


def test_a_process_that_exits_slowly_has_exited(newest_runtime, sample, compile_c, clarinet):
    """The agent goes with the runtime; what the program's libraries do after that takes a second."""
    slow = compile_c(
        "#include <unistd.h>\n"
        "__attribute__((destructor)) static void linger(void) { usleep(1500000); }\n",
        "-shared", "-fPIC",
    )
    with sample("ExceptionStorm", "--rate", 50, env={"LD_PRELOAD": slow}) as patient:
        recorder = clarinet.start("record", "-p", "exceptions", "-o", "out.clarinet", patient.pid)
        wait_until(lambda: rows_until_now(clarinet.folder / "out.clarinet"))
        assert patient.finish() == 0, patient
        _out, err = recorder.communicate(timeout=PATIENCE)
    assert recorder.returncode == 0, err
    data = report(clarinet, "out.clarinet")
    assert data["processes"][0]["end"] == "target exited", err


def test_a_running_process_is_recorded(runtime, sample, clarinet):
    with sample("ExceptionStorm", "--rate", 50) as patient:
        for seconds in (1, 5, 25):  # until each of its types was thrown meanwhile
            done = clarinet("record", patient.pid, "-p", "exceptions", "-d", f"{seconds}s", "-o",
                            "out.clarinet")
            assert done.code == 0, done
            assert patient.is_running
            data = report(clarinet, "out.clarinet")
            if len(counted(exceptions(data))) == 11:
                break
    assert patient.process.returncode == 0, patient
    assert data["processes"][0]["end"] == "duration"
    assert data["processes"][0]["pid"] == patient.pid
    assert data["processes"][0]["info"]["runtime_version"] == runtime.version
    assert data["processes"][0]["profilers"][0]["state"] == "stopped"
    found = counted(exceptions(data))
    whole = said(patient.stdout)
    assert set(found) == set(whole)
    assert all(0 < found[name] <= whole[name] for name in found)


@pytest.mark.parametrize("way", ["agent", "port", "start"])
def test_secrets_are_not_in_a_recording(way, newest_runtime, sample_command, start_program,
                                        clarinet, tmp_path):
    """Neither those of the environment nor those of the command line, the tool's own included."""
    command = sample_command("Idle", "--password=hush1", "x", "--api-key", "hush2", "--db",
                             "Server=a;Pwd=hush3")
    env = {"PLAIN": "seen", "DB_PASSWORD": "hush4", "DATABASE": "pg://ann:hush5@db/shop"}
    file = tmp_path / "out.clarinet"
    if way == "start":
        done = clarinet("record", "-p", "gc", "-o", file, "--", *command, env=env)
    else:
        patient = start_program(command, env)
        done = clarinet("record", "-p", "gc", "-d", "1s", "-o", file, patient.pid,
                        env={"CLARINET_WAY": way})
    assert done.code == 0, done
    payloads = b"".join(payload for _, _, payload in chunks(file.read_bytes(), 16))
    assert b"DB_PASSWORD" in payloads and b"hush" not in payloads
    info = report(clarinet, "out.clarinet")["processes"][0]["info"]
    hidden = " --password=*** x --api-key *** --db Server=a;Pwd=***"
    assert info["command_line"].endswith(hidden), info
    lines = info["environment"].split("\n")
    assert {"PLAIN=seen", "DB_PASSWORD=(not recorded)", "DATABASE=pg://***@db/shop"} <= set(lines)
    told = clarinet("checkup", "out.clarinet", "--json").json["target"]
    assert told["environment"] == lines and told["command_line"] == info["command_line"]


def test_a_tool_that_sleeps_at_the_end_misses_nothing(runtime, sample_command, clarinet, tmp_path):
    """The program throws and ends while the tool stands still, far more than a socket takes."""
    command = sample_command("ExceptionStorm", "--rounds", 1500, "--rate", 0)
    file = tmp_path / "out.clarinet"
    tool = clarinet.start("record", "-p", "exceptions", "--set", "exceptions.stacks=100000", "-o",
                          file, "--", *command)
    wait_until(lambda: size_of(file) > 500)
    tool.send_signal(signal.SIGSTOP)
    try:
        for child in children_of(tool.pid):
            wait_until(lambda: has_ended(child))
    finally:
        tool.send_signal(signal.SIGCONT)
    out, err = tool.communicate(timeout=PATIENCE)
    assert tool.returncode == 0, err
    process = report(clarinet, file)["processes"][0]
    assert process["profilers"][0]["state"] == "stopped", process  # the agent's last word
    table = exceptions({"processes": [process]})
    losses = {loss["reason"] for loss in process["loss"]}
    if not any("rows dropped" in reason for reason in losses):
        assert counted(table) == said(out), (losses, err)


def children_of(pid):
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []  # it has ended already: a slow machine


def all_threads_stand_still(pid):
    try:
        states = [(task / "stat").read_text().rsplit(")", 1)[1].split()[0]
                  for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return False  # one has just ended
    return set(states) == {"T"}


def test_a_process_that_is_stopped_is_named_soon(newest_runtime, sample, clarinet):
    with sample("ExceptionStorm", "--rate", 50) as patient:
        tool = clarinet.start("record", "-p", "exceptions", "-o", "out.clarinet", patient.pid)
        wait_until(lambda: rows_until_now(clarinet.folder / "out.clarinet"))
        patient.kill(signal.SIGSTOP)
        try:
            wait_until(lambda: all_threads_stand_still(patient.pid))  # the agent's too
            tool.send_signal(signal.SIGINT)
            _out, err = tool.communicate(timeout=PATIENCE)
        finally:
            patient.kill(signal.SIGCONT)
        assert tool.returncode == 1, err
        assert f"process {patient.pid} is stopped" in err and f"kill -CONT {patient.pid}" in err, err
        assert patient.finish() == 0, patient
    data = report(clarinet, "out.clarinet")
    assert data["processes"][0]["end"] == "connection lost", err
    assert counted(exceptions(data)), err


def test_time_after_the_recording_is_not_the_recordings(newest_runtime, sample_command, clarinet):
    command = sample_command("ExceptionStorm", "--seconds", 3, "--rate", 20)
    done = clarinet("record", "-p", "exceptions", "-d", "500ms", "-o", "out.clarinet", "--",
                    *command)
    assert done.code == 0, done
    process = report(clarinet, "out.clarinet")["processes"][0]
    assert process["duration_ns"] == process["profilers"][0]["stop_ns"]


def test_the_tool_and_the_report_tell_the_same_length(newest_runtime, sample, clarinet):
    with sample("Crowded") as patient:
        done = clarinet("record", "-p", "cpu", "-d", "1s", "-o", "out.clarinet", patient.pid)
        assert done.code == 0, done
    told = re.search(r"records? in ([0-9.]+) s \(duration\)", done.err)
    process = report(clarinet, "out.clarinet")["processes"][0]
    assert told and told[1] == f"{process['duration_ns'] / 1e9:.1f}", done.err


def test_the_exit_code_of_the_command_is_passed_through(newest_runtime, clarinet):
    for code in (0, 7, 255):
        done = clarinet("record", "-p", "exceptions", "--", "sh", "-c", f"exit {code}")
        assert done.code == code, done
        assert "no .NET process" in done.err, done
    done = clarinet("record", "-p", "exceptions", "--", "sh", "-c", "kill -TERM $$")
    assert done.code == 128 + signal.SIGTERM, done


def test_a_signal_to_end_is_passed_on_to_the_command(clarinet):
    """As the first process of a container the tool alone is told to end."""
    script = 'trap "exit 5" TERM; touch ready; while :; do sleep 0.05; done'
    tool = clarinet.start("record", "-p", "exceptions", "-o", "out.clarinet", "--", "sh", "-c", script)
    wait_until(lambda: (clarinet.folder / "ready").exists())
    tool.send_signal(signal.SIGTERM)
    tool.communicate(timeout=PATIENCE)
    assert tool.returncode == 5


def test_a_signal_to_end_is_passed_on_after_the_recording(newest_runtime, sample_command, clarinet):
    tool = clarinet.start("record", "-p", "exceptions", "-d", "200ms", "-o", "out.clarinet", "--",
                          *sample_command("ExceptionStorm", "--seconds", 600, "--rate", 20))
    wait_until(lambda: is_whole(clarinet, clarinet.folder / "out.clarinet"))
    tool.send_signal(signal.SIGTERM)
    tool.communicate(timeout=PATIENCE)
    assert tool.returncode == 128 + signal.SIGTERM


def is_whole(clarinet, file):
    """Its only process has its end: the tool only waits for the command now."""
    done = clarinet("report", file, "-f", "json")
    return done.code == 0 and done.json["processes"] and "no end" not in (done.json.get("cut") or "")


def test_ctrl_c_stops_early_and_keeps_all(runtime, sample, clarinet):
    with sample("ExceptionStorm", "--rate", 100) as patient:
        tool = clarinet.start("record", "-p", "exceptions", "-d", "600s", "-o", "out.clarinet",
                              patient.pid)
        wait_until(lambda: rows_until_now(clarinet.folder / "out.clarinet"))
        tool.send_signal(signal.SIGINT)
        out, err = tool.communicate(timeout=PATIENCE)
        assert tool.returncode == 0, err
    data = report(clarinet, "out.clarinet")
    assert data["processes"][0]["end"] == "stopped"
    assert exceptions(data)["total"] > 0


def test_two_sessions_share_the_agent(runtime, sample, clarinet):
    with sample("ExceptionStorm", "--rate", 50) as patient:
        first = clarinet.start("record", "-p", "exceptions", "-o", "first.clarinet", patient.pid)
        wait_until(lambda: rows_until_now(clarinet.folder / "first.clarinet"))
        second = clarinet("record", "-p", "exceptions", "--set", "exceptions.depth=2", "-d", "1s",
                          "-o", "second.clarinet", patient.pid)
        assert second.code == 0, second
        assert len(own_threads(patient.pid)) == 1
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=PATIENCE)
        assert first.returncode == 0
        wait_until(lambda: not is_recorded(patient.pid))
    one = exceptions(report(clarinet, "first.clarinet"))
    two = exceptions(report(clarinet, "second.clarinet"))
    assert one["total"] > two["total"] > 0


def test_the_target_is_killed_and_the_recording_is_good(runtime, sample, clarinet):
    with sample("ExceptionStorm", "--rate", 100) as patient:
        tool = clarinet.start("record", "-p", "exceptions", "-o", "out.clarinet", patient.pid)
        wait_until(lambda: len(rows_until_now(clarinet.folder / "out.clarinet")) > 100)
        seen = rows_until_now(clarinet.folder / "out.clarinet")
        patient.kill()
        out, err = tool.communicate(timeout=PATIENCE)
        assert tool.returncode == 0, err
        assert "target exited" in err
    data = report(clarinet, "out.clarinet")
    assert data["processes"][0]["end"] == "target exited"
    assert max(row["last_ns"] for row in exceptions(data)["types"]) >= max(row[0] for row in seen)
    assert exceptions(data)["total"] >= len(seen)  # all that was there when it was killed


def test_a_program_that_closes_the_connection_is_told(runtime, sample, compile_c, clarinet, tmp_path):
    """As programs do that close every descriptor they find; this one closes all of its sockets."""
    go = tmp_path / "go"
    closer = compile_c(
        "#include <pthread.h>\n#include <stdlib.h>\n#include <sys/stat.h>\n#include <unistd.h>\n"
        "static void *close_sockets(void *go)\n"
        "{\n"
        "    struct stat s;\n"
        "    while (access(go, F_OK) != 0) usleep(10000);\n"
        "    for (int i = 3; i < 1000; i++)\n"
        "        if (fstat(i, &s) == 0 && S_ISSOCK(s.st_mode)) close(i);\n"
        "    return NULL;\n"
        "}\n"
        "__attribute__((constructor)) static void begin(void)\n"
        "{\n"
        "    pthread_t one;\n"
        '    if (getenv("CLOSE_WHEN") != NULL)\n'
        '        pthread_create(&one, NULL, close_sockets, getenv("CLOSE_WHEN"));\n'
        "}\n",
        "-shared", "-fPIC",
    )
    env = {"LD_PRELOAD": closer, "CLOSE_WHEN": str(go)}
    with sample("ExceptionStorm", "--rate", 50, env=env) as patient:
        tool = clarinet.start("record", "-p", "exceptions,cpu", "-o", "out.clarinet", patient.pid)
        wait_until(lambda: rows_until_now(clarinet.folder / "out.clarinet"))
        go.touch()
        _out, err = tool.communicate(timeout=PATIENCE)
        assert patient.is_running
        assert patient.finish() == 0, patient
    assert tool.returncode == 1, err
    assert f"process {patient.pid} has closed the connection" in err, err
    data = report(clarinet, "out.clarinet")
    assert data["processes"][0]["end"] == "connection closed by the program", err
    assert counted(exceptions(data)), err
    words = clarinet("report", "out.clarinet", "-f", "md").out
    assert "what the program did after that is missing" in words
    assert "Nothing was lost" not in words


def test_dotnet_build_is_recorded_with_all_its_processes(dotnet_build_project, clarinet):
    env = dotnet_build_project.env
    build = [*dotnet_build_project.build, "--no-incremental"]
    plain = subprocess.run(build, capture_output=True, text=True, env={**os.environ, **env})
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *build, env=env,
                    timeout=PATIENCE)
    assert done.code == plain.returncode == 0, done
    assert without_times(done.out) == without_times(plain.stdout)
    data = report(clarinet, "out.clarinet")
    assert len(data["processes"]) >= 2, data["processes"]
    assert len({p["pid"] for p in data["processes"]}) == len(data["processes"])


def test_dotnet_run_records_the_program_only(dotnet_build_project, clarinet):
    project = dotnet_build_project
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *project.run,
                    env=project.env, timeout=PATIENCE)
    assert done.code == 0 and done.out.splitlines()[-1] == "built", done
    data = report(clarinet, "out.clarinet")
    assert [p["name"] for p in data["processes"]] == ["tiny"], data["processes"]


def test_a_script_that_only_builds_is_told_of_the_sdk(dotnet_build_project, clarinet, tmp_path):
    project = dotnet_build_project
    build = " ".join(project.build)
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", "sh", "-c", build,
                    env=project.env, timeout=PATIENCE)
    assert done.code == 0 and "--sdk" in done.err, done
    assert not (tmp_path / "out.clarinet").exists()
    done = clarinet("record", "--sdk", "-p", "exceptions", "-o", "out.clarinet", "--", "sh", "-c",
                    build, env=project.env, timeout=PATIENCE)
    assert done.code == 0, done
    assert report(clarinet, "out.clarinet")["processes"], done


DAEMON = """{command} < "$1" > /dev/null 2>&1 &
echo $! > child
exit 5
"""


@pytest.fixture
def daemon(newest_runtime, sample_command, tmp_path):
    """A script that starts a program and ends at once, with code 5; the program ends with us."""
    fifo = tmp_path / "stdin"
    os.mkfifo(fifo)
    descriptor = os.open(fifo, os.O_RDWR)
    script = tmp_path / "start.sh"
    script.write_text(DAEMON.format(command=" ".join(sample_command("ExceptionStorm", "--rate", 50))))
    yield ["sh", script, fifo]
    os.close(descriptor)
    child = tmp_path / "child"
    if child.exists():
        pid = int(child.read_text())
        wait_until(lambda: has_ended(pid))


def test_what_outlives_the_command_is_let_go_and_named(daemon, clarinet, tmp_path):
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *daemon)
    assert done.code == 5, done
    pid = int((tmp_path / "child").read_text())
    assert f"still runs: ExceptionStorm ({pid})" in done.err and "-d" in done.err, done
    assert "command ended" in done.err, done
    data = report(clarinet, "out.clarinet")
    assert data["processes"][0]["end"] == "command ended"
    assert exceptions(data)["total"] > 0
    wait_until(lambda: not is_recorded(pid))
    assert Path(f"/proc/{pid}").exists()


def test_with_a_duration_what_outlives_the_command_is_recorded_on(daemon, clarinet, tmp_path):
    done = clarinet("record", "-p", "exceptions", "-d", "7s", "-o", "out.clarinet", "--", *daemon)
    assert done.code == 5 and "still runs" not in done.err, done
    data = report(clarinet, "out.clarinet")
    assert data["processes"][0]["end"] == "duration"


def test_a_recording_can_be_piped(newest_runtime, sample, clarinet, tmp_path):
    with sample("ExceptionStorm", "--rate", 50) as patient:
        file = tmp_path / "piped.clarinet"
        with open(file, "wb") as out:
            tool = clarinet.start("record", "-p", "exceptions", "-d", "1s", "-o", "-", patient.pid,
                                  stdout=subprocess.PIPE, text=False)
            data, err = tool.communicate(timeout=PATIENCE)
            out.write(data)
        assert tool.returncode == 0 and b"next:" not in err, err
        assert exceptions(report(clarinet, file))["total"] > 0
        tool = clarinet.start("record", "-p", "exceptions", "-d", "60s", "-o", "-", patient.pid)
        tool.stdout.close()  # nobody reads
        assert tool.wait(PATIENCE) == 1
        assert "cannot write" in tool.stderr.read()
        wait_until(lambda: not is_recorded(patient.pid))
    assert patient.process.returncode == 0, patient


def without_times(text):
    return re.sub(r"\d\d:\d\d:\d\d\.\d+", "TIME", text)


def test_web_service_is_recorded(web_service, clarinet):
    tool = clarinet.start("record", "-p", "exceptions", "-o", "out.clarinet", web_service.pid)
    wait_until(lambda: get(web_service.url + "/throw?n=5") == "5" and
               rows_until_now(clarinet.folder / "out.clarinet"))
    tool.send_signal(signal.SIGINT)
    out, err = tool.communicate(timeout=PATIENCE)
    assert tool.returncode == 0, err
    assert report(clarinet, "out.clarinet")["processes"][0]["name"] == "WebShop"


def test_default_file_name(newest_runtime, sample, clarinet, tmp_path):
    with sample("Healthy") as patient:
        done = clarinet("record", "-p", "exceptions", "-d", "200ms", patient.pid)
        assert done.code == 0, done
    files = [f.name for f in tmp_path.glob("*.clarinet")]
    assert len(files) == 1
    assert re.fullmatch(rf"Healthy-{patient.pid}-\d{{8}}-\d{{6}}\.clarinet", files[0])


def test_existing_profilers_of_an_apm_are_kept(newest_runtime, clarinet):
    shown = "echo $CORECLR_NOTIFICATION_PROFILERS; echo $CORECLR_PROFILER"
    done = clarinet("record", "-p", "exceptions", "--", "sh", "-c", shown,
                    env={"CORECLR_NOTIFICATION_PROFILERS": "/opt/apm.so={0123}",
                         "CORECLR_PROFILER": "{apm}"})
    first, second = done.out.splitlines()
    assert re.fullmatch(r"/opt/apm\.so=\{0123\};/.*/libclarinet-[0-9a-f]+\.so=\{[0-9A-F-]+\};", first)
    assert second == "{apm}"


def test_the_folders_of_killed_tools_are_removed_by_the_next(clarinet, monkeypatch):
    holder = tempfile.TemporaryDirectory()  # a short path: sockets need one
    folder = Path(holder.name)
    monkeypatch.setenv("TMPDIR", holder.name)
    (folder / "points.json").write_text(
        '{"points": [{"assembly": "Shop", "class": "Shop.Till", "method": "Pay"}]}')
    command = ["record", "-p", "exceptions", "-o", "out.clarinet", "--"]
    tools = [clarinet.start(*words, "cat", stdin=subprocess.PIPE)  # for as long as we like
             for words in (command, ["launch", "--"],
                           ["instrument", "run", "--otlp", "spans.json", "--points",
                            folder / "points.json", "--"])]
    made = ["clarinet-run-*/control", "clarinet-launch-*/report", "clarinet-spans-*/points"]
    wait_until(lambda: all(list(folder.glob(pattern)) for pattern in made))
    # instrument run has a clarinet-run- folder too
    wait_until(lambda: len(list(folder.glob("clarinet-run-*/control"))) == 2)
    left = list(folder.glob("clarinet-*"))
    for path in left:
        os.utime(path, (1, 1))
    clarinet(*command, "true")
    assert all(path.exists() for path in left)  # their tools are at work
    for tool in tools:
        tool.kill()
        tool.communicate(timeout=PATIENCE)  # closes its stdin
    clarinet(*command, "true")
    assert not list(folder.glob("clarinet-*"))
    holder.cleanup()


# ---- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, words", [
    (["-p", "exceptions", "4194000"], "4194000"),
    (["-p", "exceptions", "no-such-program"], "no-such-program"),
    (["-p", "nonsense", "1"], "the profilers are"),
    (["-p", "exceptions", "--set", "exceptions.colour=1", "1"], "its parameters are: stacks"),
    (["-p", "exceptions", "--set", "exceptions.stacks=0", "1"], "range"),
    (["-p", "exceptions", "--set", "stacks", "1"], "PROFILER.PARAMETER=VALUE"),
    (["-p", "exceptions", "-d", "soon", "1"], "500ms"),
    (["-p", "exceptions"], "clarinet ps"),
    (["1"], "clarinet profilers"),
    (["-p", "exceptions,", "1"], "separated by one comma"),
    (["-p", "exceptions", "-o", "-", "--", "true"], "-o out.clarinet"),
    (["-p", "exceptions", "--sdk", "1"], "a command after --"),
    (["-p", "exceptions", "99999999999999999999"], "is not a process id"),
    (["-p", "exceptions", "-o", "/dev/full", "--", "true"], "true was not run: cannot write"),
    (["-p", "exceptions", "--", "/no/such/program"], "/no/such/program"),
])
def test_mistakes_are_explained(arguments, words, clarinet, tmp_path):
    done = clarinet("record", *arguments)
    assert done.code in (1, 2), done
    assert words in done.err, done
    assert not list(tmp_path.glob("*.clarinet"))


@pytest.mark.parametrize("command", ["/no/such/program", "true"])
def test_an_earlier_recording_outlives_a_failure(command, clarinet, tmp_path):
    earlier = tmp_path / "kept.clarinet"
    earlier.write_text("an earlier recording")
    done = clarinet("record", "-p", "exceptions", "-o", earlier, "--", command)
    assert "clarinet: " in done.err, done
    assert earlier.read_text() == "an earlier recording"


def test_a_native_process_is_named_as_such(clarinet):
    native = subprocess.Popen(["sleep", "60"])
    try:
        done = clarinet("record", "-p", "exceptions", native.pid)
        assert done.code == 1, done
        assert ".NET" in done.err, done
    finally:
        native.kill()
        native.wait()


def test_output_that_cannot_be_written(newest_runtime, sample, clarinet):
    with sample("Healthy") as patient:
        done = clarinet("record", "-p", "exceptions", "-d", "1s", "-o", "/no/such/folder/x",
                        patient.pid)
        assert done.code == 1 and "/no/such/folder/x" in done.err, done
        assert not own_threads(patient.pid)


def test_disk_full_keeps_what_was_written(newest_runtime, sample, clarinet):
    """A limit on the file's size stands for the full disk: the write fails in the same way."""
    limit = 8000
    with sample("ExceptionStorm", "--rate", 500) as patient:
        tool = clarinet.start(
            "record", "-p", "exceptions", "--set", "exceptions.stacks=2000", "-d", "20s", "-o",
            "out.clarinet", patient.pid,
        )
        wait_until(lambda: is_recorded(patient.pid))
        resource.prlimit(tool.pid, resource.RLIMIT_FSIZE, (limit, limit))
        out, err = tool.communicate(timeout=PATIENCE)
        assert tool.returncode == 1, err
        assert "out.clarinet" in err, err
        wait_until(lambda: not is_recorded(patient.pid))
    assert patient.process.returncode == 0, patient
    data = report(clarinet, "out.clarinet")
    assert "1 of 1 processes have no end" in data["cut"], data["cut"]
    assert data["damaged_chunks"] == 0
    assert exceptions(data)["total"] > 0


def test_a_process_that_ends_during_the_attach(runtime, sample_command, clarinet, start_program):
    for delay in (0.0, 0.02, 0.05):
        patient = start_program(sample_command("ExceptionStorm", "--rounds", 1, "--rate", 100),
                                ready=None)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and patient.is_running:
            if f"dotnet-diagnostic-{patient.pid}-" in " ".join(os.listdir("/tmp")):
                break
        time.sleep(delay)
        done = clarinet("record", "-p", "exceptions", "-d", "5s", "-o", "out.clarinet", patient.pid)
        assert done.code in (0, 1), done
        if done.code == 1:
            assert re.search(r"ended|no process|not a \.NET|starting or ending", done.err), done
        assert patient.wait() == 0, patient


def test_too_old_a_runtime_is_named(old_runtime, sample, clarinet):
    with sample("OldTimer", runtime=old_runtime) as patient:
        done = clarinet("record", "-p", "cpu", "-d", "1s", patient.pid)
        assert done.code == 1, done
        assert "3.1" in done.err, done
        # its events can be had
        done = clarinet("record", "-p", "jit", "-d", "1s", "-o", "out.clarinet", patient.pid)
        assert done.code == 0 and "through the diagnostics port" in done.err, done
        assert "3.1.3 is too old" in done.err, done
        process = clarinet("report", "out.clarinet", "-f", "json").json["processes"][0]
        assert process["info"]["runtime_version"] == "3.1.3", process["info"]
        assert [row["state"] for row in process["profilers"]] == ["stopped"], process
    assert patient.process.returncode == 0, patient


def test_profilers_are_listed_for_people_and_machines(clarinet):
    text = clarinet("profilers")
    assert text.code == 0 and "exceptions.stacks" in text.out
    listed = clarinet("profilers", "--json").json
    row = [p for p in listed if p["name"] == "exceptions"][0]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", row["guid"])
    assert row["attach"] and row["start"] and row["beside_another_profiler"]
    stacks = [p for p in row["parameters"] if p["name"] == "stacks"][0]
    assert (stacks["type"], stacks["default"], stacks["minimum"]) == ("number", "100", 1)
    assert len({p["guid"] for p in listed}) == len(listed)


# ---- looking at a target --------------------------------------------------------------------------


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


def own_threads(pid):
    """Ids of the agent's threads in a process."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            if (task / "comm").read_text().strip() == "clarinet":
                found.append(int(task.name))
        except OSError:
            pass
    return found


def is_recorded(pid):
    return bool(own_threads(pid))


# Connects as an agent would, as often as it is told, before a program runs: $1 = how often,
# $2 = whether all of them stay. With the last line it says that the program was let run.
CROWD = """
import os, select, socket, subprocess, sys
kept = []
for _ in range(int(sys.argv[1])):
    one = socket.socket(socket.AF_UNIX)
    one.connect(os.environ["CLARINET_CONNECT"])
    kept.append(one) if sys.argv[2] == "stay" else one.close()
if kept:
    select.select(kept, [], [], 60)
sys.exit(subprocess.call(sys.argv[3:]))
"""


def test_processes_that_have_ended_make_room_for_others(newest_runtime, sample_command, clarinet):
    command = sample_command("ExceptionStorm", "--rounds", 1, "--rate", 100)
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--",
                    "python3", "-c", CROWD, 300, "go", *command)
    assert done.code == 0 and "not recorded" not in done.err, done
    assert counted(exceptions(report(clarinet, "out.clarinet"))) == said(done.out), done


def test_processes_that_find_no_room_are_counted(newest_runtime, sample_command, clarinet):
    command = sample_command("ExceptionStorm", "--rounds", 1, "--rate", 100)
    first = " ".join(map(str, command))
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--",
                    "sh", "-c", first + '; exec "$@"', "sh",
                    "python3", "-c", CROWD, 300, "stay", *command)
    assert done.code == 0, done
    missing = re.search(r"(\d+) more process\S* \w+ not recorded: at most 256", done.err)
    assert missing, done
    data = report(clarinet, "out.clarinet")
    assert data["info"]["processes_not_recorded"] == missing.group(1), data["info"]
    assert f"**{missing.group(1)} more process" in clarinet("report", "out.clarinet").out


def test_processes_beyond_the_descriptors_are_counted(runtime, sample_command, clarinet):
    """The second of two programs finds the tool without descriptors: it runs unrecorded."""
    command = " ".join(map(str, sample_command("ExceptionStorm", "--rounds", 1, "--rate", 100)))
    crowd = "ulimit -Sn 1024; " + command + '; exec "$@"'
    tool = clarinet.start(
        "record", "-p", "exceptions", "-o", "out.clarinet", "--", "sh", "-c", crowd, "sh",
        "python3", "-c", CROWD, 20, "stay", "sh", "-c", command,
        preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (24, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    out, err = tool.communicate(timeout=PATIENCE)
    assert tool.returncode == 0, err
    assert re.search(r"\d+ more processes were not recorded", err), err
    assert len(report(clarinet, "out.clarinet")["processes"]) >= 1
    assert out.count("System.InvalidOperationException thrown") == 2, out


def test_two_recordings_do_not_share_a_file(clarinet, tmp_path):
    inner = [clarinet.program, "record", "-p", "exceptions", "-o", "one.clarinet", "--", "true"]
    done = clarinet("record", "-p", "exceptions", "-o", "one.clarinet", "--", *inner)
    assert done.code == 1 and "one.clarinet is being recorded" in done.err, done


def test_the_next_step_is_spelled_for_a_shell(newest_runtime, sample_command, clarinet, tmp_path):
    name = "two words, it's\n.clarinet"
    done = clarinet("record", "-p", "exceptions", "-o", name, "--",
                    *sample_command("ExceptionStorm", "--rounds", 1, "--rate", 100))
    step = re.search(r"^next: clarinet (.*)\Z", done.err, re.S | re.M)
    assert done.code == 0 and step, done
    shown = subprocess.run(["sh", "-c", f"'{clarinet.program}' {step.group(1)}"], cwd=tmp_path,
                           capture_output=True, text=True, timeout=PATIENCE)
    assert shown.returncode == 0 and "# ExceptionStorm" in shown.stdout, shown


def test_a_prefix_does_not_hide_the_sdks_work(clarinet, tmp_path):
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", "env", "A=1", "nice",
                    "dotnet", "nuget", "locals", "all", "--list",
                    env={"DOTNET_CLI_HOME": tmp_path, "DOTNET_NOLOGO": "1"}, timeout=PATIENCE)
    assert done.code == 0 and "next: " in done.err, done
    assert len(report(clarinet, "out.clarinet")["processes"]) >= 1


@pytest.mark.parametrize("words", [("counters",), ("threads", "-d", "600s"), ("trace",)])
def test_a_killed_tool_leaves_no_temporary_recording(newest_runtime, sample, clarinet, tmp_path, words):
    """It has no name from the beginning, so there is nothing that could stay."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    with sample("ExceptionStorm", "--rate", 20) as patient:
        pattern = ("ExceptionStorm.*::*",) if words[0] == "trace" else ()
        tool = clarinet.start(*words, patient.pid, *pattern, env={"TMPDIR": str(folder)})
        wait_until(lambda: any(recording_of(tool.pid, folder)))
        assert list(folder.iterdir()) == []
        tool.kill()
        tool.communicate(timeout=PATIENCE)
        assert list(folder.iterdir()) == []


def recording_of(pid, folder):
    """The nameless files in the folder that the process has open, with something in them."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(link).startswith(str(folder)) and link.stat().st_size > 100:
                yield link
        except OSError:
            pass  # closed meanwhile
