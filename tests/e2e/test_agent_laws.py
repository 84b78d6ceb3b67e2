"""The agent's laws (docs/agent-laws.md), each on real runtimes: what the agent may do in a target."""
import fcntl
import hashlib
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from conftest import PATIENCE, has_ended, size_of, wait_until
from program_memory import outside_the_heap
from exceptions_truth import record_some, report, said, whole_rounds
from test_record import is_recorded, own_threads

PROTOCOL = 2  # docs/agent-protocol.md
CLSID = bytes.fromhex("701ea2c1" "3b4e" "7d4b" "9f52" "0d5b6c2a7e11")


def library(clarinet_program):
    return clarinet_program.parent / "libclarinet.so"


def is_mapped(pid):
    return "libclarinet-" in Path(f"/proc/{pid}/maps").read_text()


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def folders(pid):
    return [f for top in ("/tmp", "/dev/shm") for f in Path(top).glob(f"clarinet-*-{pid}-*")]


def signal_lines(pid):
    """What the kernel says about the process's signals: caught and ignored."""
    text = Path(f"/proc/{pid}/status").read_text()
    return re.findall(r"^Sig(?:Cgt|Ign):.*$", text, re.M)


def start_recording(clarinet, patient, *options, file="out.clarinet"):
    tool = clarinet.start("record", "-p", "exceptions", *options, "-o", file, patient.pid)
    wait_until(lambda: is_recorded(patient.pid))
    # what the agent says first, with the profilers that were started, has reached the file
    wait_until(lambda: size_of(clarinet.folder / file) > 600)
    return tool


# ---- 1: no harm; 7: letting go -------------------------------------------------------------------


def test_law_1_output_and_exit_code_are_the_same(runtime, sample_command, start_program, clarinet):
    # its output does not depend on how long it ran
    alone = subprocess.run(sample_command("Healthy", "--rounds", 50), capture_output=True, text=True,
                           timeout=PATIENCE)
    patient = start_program(sample_command("Healthy"))
    before = signal_lines(patient.pid)
    done = clarinet("record", "-p", "exceptions", "-d", "500ms", "-o", "out.clarinet", patient.pid)
    assert done.code == 0, done
    assert signal_lines(patient.pid) == before
    assert patient.finish() == alone.returncode == 0, patient
    assert patient.stdout == alone.stdout
    assert patient.stderr == alone.stderr == ""


@pytest.mark.parametrize("profilers", ["allocations,gc,jit,pauses", "contention,exceptions", "cpu,wall"])
def test_law_1_code_that_goes_is_not_asked_about(runtime, sample_command, clarinet, profilers):
    """Assemblies and methods are made, run and unloaded all the time; what is half gone is a trap."""
    command = sample_command("Fates", "--parts", "burn,gone,departed,remade", "--types", 16, "--throws",
                             60, "--work", 20)
    alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE,
                           stdin=subprocess.DEVNULL)
    done = clarinet("record", "-p", profilers, "-o", "out.clarinet", "--", *command)
    assert done.code == alone.returncode == 0, done
    assert done.out == alone.stdout


def test_law_7_the_tool_is_killed_and_the_agent_lets_go(runtime, sample_command, start_program,
                                                        clarinet):
    patient = start_program(sample_command("ExceptionStorm", "--rate", 100))
    # the runtime keeps some descriptors of its own after a first attach
    clarinet("record", "-p", "exceptions", "-d", "50ms", "-o", "first.clarinet", patient.pid)
    wait_until(lambda: not is_mapped(patient.pid))
    before = descriptors(patient.pid)
    tool = start_recording(clarinet, patient)
    tool.kill()
    tool.wait()
    wait_until(lambda: not own_threads(patient.pid) and not is_mapped(patient.pid))
    wait_until(lambda: descriptors(patient.pid) <= before)
    assert patient.is_running, patient
    assert not folders(patient.pid)
    record_some(clarinet, patient.pid, "next.clarinet")
    assert patient.finish() == 0, patient
    whole_rounds(patient.stdout)


def test_law_7_the_tool_is_killed_in_run_mode_and_the_program_goes_on(runtime, sample_command,
                                                                      clarinet, tmp_path):
    command = sample_command("ExceptionStorm", "--rounds", 100, "--rate", 50)
    with open(tmp_path / "said", "w+") as out:
        tool = clarinet.start("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command,
                              stdout=out)
        child = wait_for_child(tool.pid)
        wait_until(lambda: size_of(tmp_path / "out.clarinet") > 2000)
        tool.kill()
        tool.wait()
        wait_until(lambda: has_ended(child))
        assert sum(said((tmp_path / "said").read_text()).values()) == 100 * 14
    data = report(clarinet, "out.clarinet")  # what was written before the end is good
    assert data["processes"][0]["pid"] == child


def wait_for_child(pid):
    """The process that the tool started, once it runs .NET."""
    found = []

    def look():
        found[:] = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return bool(found)

    wait_until(look)
    return found[0]


@pytest.mark.parametrize("rounds", [50])
def test_law_7_many_rounds_leave_nothing_behind(newest_runtime, sample, clarinet, rounds):
    with sample("ExceptionStorm", "--rate", 200) as patient:
        clarinet("record", "-p", "exceptions", "-d", "100ms", "-o", "r.clarinet", patient.pid)
        wait_until(lambda: not is_mapped(patient.pid))
        before = descriptors(patient.pid)
        memory = []
        for _ in range(rounds):
            done = clarinet("record", "-p", "exceptions", "-d", "50ms", "-o", "r.clarinet",
                            patient.pid)
            assert done.code == 0, done
            memory.append(outside_the_heap(patient.pid))
        wait_until(lambda: not is_mapped(patient.pid))
        wait_until(lambda: descriptors(patient.pid) <= before)
        first, last = sum(memory[:10]) / 10, sum(memory[-10:]) / 10
        assert last - first < 4 << 20, memory
        assert not folders(patient.pid)
    assert patient.process.returncode == 0, patient


def test_law_7_nobody_connects_and_the_agent_leaves(runtime, sample, clarinet_program):
    """The tool dies between attaching and connecting."""
    with sample("Healthy") as patient:
        attach_by_hand(patient.pid, library(clarinet_program))
        wait_until(lambda: own_threads(patient.pid))
        wait_until(lambda: not own_threads(patient.pid) and not is_mapped(patient.pid))
        assert not folders(patient.pid)
    assert patient.process.returncode == 0, patient


# ---- strangers at the door -------------------------------------------------------------------------


def attach_by_hand(pid, agent, token=bytes(32), clsid=CLSID, protocol=PROTOCOL):
    """What the tool does, without the tool: folder, library, attach command. Returns the folder."""
    start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    folder = Path(f"/tmp/clarinet-{os.geteuid()}-{pid}-{start}")
    folder.mkdir(mode=0o700)
    shutil.copy(agent, folder / "libclarinet-hand.so")
    text = str(folder / "libclarinet-hand.so") + "\0"
    name = b"libclarinet-hand.so"
    data = struct.pack("<I", protocol) + token
    for part in (str(folder).encode(), name):
        data += bytes([len(part)]) + part
    payload = struct.pack("<I", 5000) + clsid + struct.pack("<I", len(text))
    payload += text.encode("utf-16-le") + struct.pack("<I", len(data)) + data
    message = b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 3, 1, 0) + payload
    # with its start time: a killed process of the same number leaves its socket behind
    port = Path(f"/tmp/dotnet-diagnostic-{pid}-{start}-socket")
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(port))
        s.sendall(message)
        answer = s.recv(100)
    assert answer[16:18] == b"\xff\x00", answer
    return folder


def chunk(kind, payload, crc):
    head = struct.pack("<HHII", kind, 0, 0, len(payload))
    return head + struct.pack("<I", crc(head + payload)) + payload


def test_hostile_words_end_the_connection_not_the_target(runtime, sample, clarinet_program,
                                                         clarinet):
    import zlib

    token = os.urandom(32)
    hello = struct.pack("<I", PROTOCOL) + token + b"\x011"
    with sample("ExceptionStorm", "--rate", 20) as patient:
        folder = attach_by_hand(patient.pid, library(clarinet_program), token)
        keep = connect(folder)
        keep.sendall(chunk(0x8001, hello, zlib.crc32))
        assert keep.recv(100)[:2] == b"\x81\x80"  # welcome
        wrong = struct.pack("<I", PROTOCOL) + bytes(32) + b"\x011"
        for words in (
            os.urandom(300),
            chunk(0x8001, wrong, zlib.crc32),
            chunk(0x8001, b"", zlib.crc32),
            chunk(0x8002, b"\x01\x0aexceptions\x00", zlib.crc32),  # start before hello
            struct.pack("<HHIII", 0x8001, 0, 0, 0xFFFFFFF0, 0),
            b"GET / HTTP/1.0\r\n\r\n",
        ):
            with connect(folder) as s:
                s.sendall(words)
                answer = read_all(s)
                assert answer[:2] in (b"", b"\xff\x80"), answer
        for number in (PROTOCOL - 1, 99):  # a tool of another version reads ours, and is let go
            with connect(folder) as s:
                s.sendall(chunk(0x8001, struct.pack("<I", number) + token + b"\x019", zlib.crc32))
                answer = read_all(s)
                assert answer[:2] == b"\x81\x80", answer
                assert answer[16:20] == struct.pack("<I", PROTOCOL), answer
        for words in (
            chunk(0x8002, b"\x01\x06teapot\x00", zlib.crc32),
            chunk(0x8002, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", zlib.crc32),
            chunk(0x8002, b"\x01\x0aexceptions\x01\x06stacks\x00", zlib.crc32),
        ):
            keep.sendall(words)
            assert keep.recv(1000)[:2] == b"\xff\x80"  # refused, and the connection stays
        keep.sendall(chunk(0x9999, b"some later version's word", zlib.crc32))
        keep.sendall(chunk(0x8005, b"", zlib.crc32))
        assert keep.recv(100)[:2] == b"\x85\x80"  # pong
        done = clarinet("record", "-p", "exceptions", "-d", "300ms", "-o", "o.clarinet", patient.pid)
        assert done.code == 0, done  # by the resident agent
        assert len(own_threads(patient.pid)) == 1
        keep.close()
        wait_until(lambda: not is_mapped(patient.pid))
    assert patient.process.returncode == 0, patient


def test_an_agent_of_an_older_version_is_named_and_left_alone(newest_runtime, sample, clarinet,
                                                              clarinet_program):
    import zlib

    old = clarinet_program.parent / "tests/older/libclarinet.so"
    token = os.urandom(32)
    with sample("ExceptionStorm", "--rate", 20) as patient:
        folder = attach_by_hand(patient.pid, old, token, protocol=PROTOCOL - 1)
        session = connect(folder)
        hello = struct.pack("<I", PROTOCOL - 1) + token + b"\x050.0.7"
        session.sendall(chunk(0x8001, hello, zlib.crc32))
        welcome = session.recv(100)
        assert welcome[16:20] == struct.pack("<I", PROTOCOL - 1), welcome
        for words in (["record", "-p", "exceptions", "-d", "1s"], ["tasks"],
                      ["checkup", "-d", "1s"], ["heap"]):
            done = clarinet(*words, patient.pid)
            assert done.code == 1, done
            assert "an agent of clarinet 0.0.7 is loaded in the process" in done.err, done
            assert f"speaks protocol {PROTOCOL - 1}, this clarinet" in done.err, done
            assert "wait until its session has ended" in done.err, done
            assert not list(clarinet.folder.glob("*.clarinet")), done
        assert clarinet("ps").code == 0
        session.sendall(chunk(0x8005, b"", zlib.crc32))
        assert session.recv(100)[:2] == b"\x85\x80"  # pong: its session goes on
        session.close()
        wait_until(lambda: not is_mapped(patient.pid))
        done = clarinet("record", "-p", "exceptions", "-d", "300ms", "-o", "o.clarinet", patient.pid)
        assert done.code == 0, done
    assert patient.process.returncode == 0, patient


def connect(folder):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(PATIENCE)
    s.connect(str(folder / "control"))
    return s


def read_all(s):
    data = b""
    try:
        while piece := s.recv(4096):
            data += piece
    except ConnectionResetError:
        pass
    return data


# ---- 2: what the library is -------------------------------------------------------------------------

HOST = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <pthread.h>

static void *nothing(void *p) { return p; }

int main(int argc, char **argv)
{
    static const uint8_t BESIDE[16] = {0x70, 0x1e, 0xa2, 0xc1, 0x3b, 0x4e, 0x7d, 0x4b,
                                       0x9f, 0x52, 0x0d, 0x5b, 0x6c, 0x2a, 0x7e, 0x11};
    static const uint8_t INSTRUMENT[16] = {0x61, 0x21, 0x03, 0x36, 0xc0, 0xff, 0x61, 0x4b,
                                           0xb5, 0x59, 0xf6, 0xc5, 0xd4, 0x1b, 0xae, 0x5a};
    const uint8_t *class_id = argc == 3 ? INSTRUMENT : BESIDE;
    int busy = argc == 3 ? 0 : 1; /* the instrumentation agent never asks to be kept */
    static const uint8_t IUNKNOWN[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0x46};
    int32_t (*get)(const void *, const void *, void **);
    int32_t (*can_unload)(void);
    void *library = dlopen(argv[1], RTLD_NOW);
    void *object = NULL;
    pthread_t thread;

    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    if (library == NULL)
        return printf("%s\n", dlerror()), 1;
    *(void **)&get = dlsym(library, "DllGetClassObject");
    *(void **)&can_unload = dlsym(library, "DllCanUnloadNow");
    if (get == NULL || can_unload == NULL || can_unload() != 0)
        return printf("no entry\n"), 1;
    if (get(IUNKNOWN, IUNKNOWN, &object) == 0 || object != NULL)
        return printf("answers a foreign class\n"), 1;
    if (get(class_id, IUNKNOWN, &object) != 0 || object == NULL || can_unload() != busy)
        return printf("no class\n"), 1;
    ((uint32_t(**)(void *))*(void **)object)[2](object);
    printf("%d\n", can_unload());
    return dlclose(library);
}
"""


@pytest.mark.parametrize("words", [["libclarinet.so"], ["libclarinet_instrument.so", "instrument"]],
                         ids=["clarinet", "instrument"])
@pytest.mark.parametrize("compiler", ["gcc", "musl-gcc"])
def test_law_2_a_glibc_and_a_musl_program_load_it(compiler, words, compile_c, clarinet_program):
    program = compile_c(HOST, "-ldl", "-lpthread", compiler=compiler)
    file, *more = words
    done = subprocess.run([program, clarinet_program.parent / file, *more], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "0\n"), done


def test_law_2_it_exports_two_names_and_needs_nothing(clarinet_program, tmp_path):
    file = library(clarinet_program)
    names = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True)
    assert [line.split()[2] for line in names.stdout.splitlines()] == [
        "DllCanUnloadNow", "DllGetClassObject",
    ]
    needs = subprocess.run(["readelf", "-dV", file], capture_output=True, text=True).stdout
    assert "NEEDED" not in needs and "GLIBC" not in needs
    subprocess.run(["strip", "-o", tmp_path / "stripped.so", file], check=True)
    assert (tmp_path / "stripped.so").stat().st_size < 400 * 1024


# ---- 4: never waiting; 8: memory --------------------------------------------------------------------


STORM_SECONDS = 16  # of processor time: several times what the agent keeps for a slow tool


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_law_4_a_tool_that_does_not_read_does_not_hold_the_target(runtime, sample, clarinet):
    """The storm goes on while the tool is stopped, for so long that what it throws cannot all be kept
    for the tool; what was dropped is counted and told once the tool reads again."""
    with sample("ExceptionStorm", "--rate", 0) as patient:
        tool = start_recording(clarinet, patient, "--set", "exceptions.stacks=100000")
        tool.send_signal(signal.SIGSTOP)
        before = processor_seconds(patient.pid)
        deadline = time.monotonic() + PATIENCE
        while processor_seconds(patient.pid) < before + STORM_SECONDS and time.monotonic() < deadline:
            time.sleep(0.1)
        assert processor_seconds(patient.pid) >= before + STORM_SECONDS, "the target stood still"
        tool.send_signal(signal.SIGCONT)
        assert patient.finish() == 0, patient
        out, err = tool.communicate(timeout=PATIENCE)
        assert tool.returncode == 0, err
    data = report(clarinet, "out.clarinet")
    (table,) = [t for t in data["processes"][0]["tables"] if t["name"] == "exceptions"]
    assert table["rows"] > 0
    assert sum(row["count"] for row in data["processes"][0]["loss"]) > 0, data["processes"][0]["loss"]


def test_law_8_memory_is_capped_and_a_cap_reached_is_told(runtime, sample, clarinet):
    with sample("ExceptionStorm", "--rate", 100, env={"CLARINET_MEMORY": "4M"}) as patient:
        done = clarinet("record", "-p", "exceptions", "-d", "1500ms", "-o", "o.clarinet",
                        patient.pid)
        assert done.code == 0, done
    cost = report(clarinet, "o.clarinet")["processes"][0]["cost"]
    assert 0 < cost["memory_bytes"] <= 4 << 20


def test_law_8_an_idle_agent_is_small(newest_runtime, sample, clarinet):
    with sample("Idle", "--threads", 50) as patient:
        time.sleep(1)
        before = patient.rss()
        tool = start_recording(clarinet, patient)
        time.sleep(1)
        assert patient.rss() - before < 10 << 20
        tool.send_signal(signal.SIGINT)
        tool.communicate(timeout=PATIENCE)
        assert tool.returncode == 0


# ---- 9: the file --------------------------------------------------------------------------------------


def test_law_9_the_library_is_a_private_copy(runtime, sample, clarinet, clarinet_program):
    with sample("Healthy") as patient:
        tool = start_recording(clarinet, patient)
        [folder] = folders(patient.pid)
        files = {f.name: f.stat() for f in folder.iterdir()}
        [name] = [n for n in files if n.startswith("libclarinet-")]
        assert re.fullmatch(r"libclarinet-[0-9a-f]{16}\.so", name)
        assert set(files) == {name, "control", "token"}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(files[name].st_mode) == 0o500
        assert stat.S_IMODE(files["token"].st_mode) == 0o600
        assert {s.st_uid for s in files.values()} == {os.geteuid()}
        original = library(clarinet_program).read_bytes()
        assert hashlib.sha256((folder / name).read_bytes()).digest() == hashlib.sha256(
            original
        ).digest()
        tool.send_signal(signal.SIGINT)
        tool.communicate(timeout=PATIENCE)
        wait_until(lambda: not folders(patient.pid))


def test_law_9_a_noexec_folder_is_passed_over(newest_runtime, sample_command, start_program,
                                              clarinet, shelter):
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    mount = "mount -t tmpfs -o noexec none /mnt && TMPDIR=/mnt exec \"$@\""
    patient = start_program(["unshare", "-m", "sh", "-c", mount, "sh", *sample_command("Healthy")])
    done = clarinet("record", "-p", "exceptions", "-d", "300ms", "-o", "o.clarinet", patient.pid)
    assert done.code == 0, done
    setup, command = shelter(sample_command("Healthy"))
    mount = (f"{setup} || exit; "
             "for f in /mnt /tmp /dev/shm; do mount -t tmpfs -o noexec none $f || exit; done; "
             "TMPDIR=/mnt exec \"$@\"")
    patient = start_program(["unshare", "-m", "sh", "-c", mount, "sh", *command], cwd="/")
    done = clarinet("record", "-p", "cpu", "-d", "300ms", "-o", "o.clarinet", patient.pid)
    assert done.code == 1, done
    assert "/mnt: mounted noexec" in done.err and "/dev/shm: mounted noexec" in done.err, done

    # what lives on events comes through the diagnostics port, and the tool says so
    done = clarinet("checkup", "-d", "1s", "-o", "o.html", patient.pid)
    assert done.code == 0 and "through the diagnostics port" in done.err, done
    assert "/mnt: mounted noexec" in done.err, done
    assert "need the agent: cpu, wall, threads" in done.err, done
    done = clarinet("report", "o.clarinet", "-f", "json")
    process = done.json["processes"][0]
    assert process["info"]["attach"] == "port" and "noexec" in process["info"]["port_reason"], done
    states = {row["name"]: row["state"] for row in process["profilers"]}
    assert states["gc"] == "stopped" and states["cpu"] == "failed", states
    done = clarinet("counters", "-i", "250ms", "-d", "1s", patient.pid)
    assert done.code == 0 and "through the diagnostics port" in done.err, done
    assert "/mnt: mounted noexec" in done.err and "  Working Set  " in done.out, done
    done = clarinet("heap", "--json", "--fields", "System.String", patient.pid)
    assert done.code == 0 and "through the diagnostics port" in done.err, done
    assert "need the agent: threads\n" in done.err, done
    assert "no object of the type" not in done.err, done
    assert done.json["objects"] > 100 and done.json["unknown_references"] == 0, done


def test_law_9_left_behind_folders_are_removed(newest_runtime, sample, clarinet):
    with sample("Healthy") as first:
        tool = start_recording(clarinet, first)
        first.kill()
        tool.communicate(timeout=PATIENCE)
        assert folders(first.pid)  # a killed process cannot clean up
    with sample("Healthy") as second:
        clarinet("record", "-p", "exceptions", "-d", "100ms", "-o", "o.clarinet", second.pid)
        assert not folders(first.pid)


def test_law_9_half_made_copies_are_removed(newest_runtime, sample, clarinet):
    """A tool that was killed while it copied the library: the next attach cleans up after it."""
    with sample("Healthy") as patient:
        stat_line = Path(f"/proc/{patient.pid}/stat").read_text()
        start = stat_line.rpartition(")")[2].split()[19]
        folder = Path(f"/tmp/clarinet-{os.geteuid()}-{patient.pid}-{start}")
        folder.mkdir(mode=0o700)
        old, new = (folder / f"libclarinet-0123456789abcdef.so.{n}" for n in (11, 22))
        for file in (old, new):
            file.write_bytes(b"\x7fELF")
        os.utime(old, (1, 1))  # `new` may be at work
        done = clarinet("record", "-p", "exceptions", "-d", "50ms", "-o", "out.clarinet",
                        patient.pid)
        assert done.code == 0, done
        assert not old.exists() and new.exists()
        with open(new) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            os.utime(new, (1, 1))
            clarinet("record", "-p", "exceptions", "-d", "50ms", "-o", "out.clarinet", patient.pid)
            assert new.exists()  # somebody holds it
        clarinet("record", "-p", "exceptions", "-d", "50ms", "-o", "out.clarinet", patient.pid)
        assert not new.exists()
        wait_until(lambda: not folders(patient.pid))


def test_another_users_process(samples_folder, start_program, clarinet, tmp_path):
    """As root: the files belong to the target's user, and the agent takes root's connection."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    home = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True).stdout.strip())
    try:
        shutil.copytree(samples_folder / "Healthy", home / "app")
        home.chmod(0o755)
        (home / "tmp").mkdir(mode=0o777)
        (home / "tmp").chmod(0o777)
        patient = start_program(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "dotnet", "exec",
             str(home / "app/Healthy.dll")],
            env={"HOME": home / "tmp", "TMPDIR": home / "tmp"}, cwd="/",
        )
        tool = start_recording(clarinet, patient)
        [folder] = (home / "tmp").glob("clarinet-65534-*")
        assert {f.stat().st_uid for f in [folder, *folder.iterdir()]} == {65534}
        tool.send_signal(signal.SIGINT)
        out, err = tool.communicate(timeout=PATIENCE)
        assert tool.returncode == 0, err
        tool = subprocess.run(
            ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups",
             str(clarinet.program), "record", "-p", "exceptions", "-o", "/dev/null",
             str(patient.pid)], capture_output=True, text=True,
        )
        assert tool.returncode == 1, tool
        assert "65534" in tool.stderr or "nobody" in tool.stderr, tool
    finally:
        patient.release()
        shutil.rmtree(home)


@pytest.mark.parametrize("namespaces", [["-U"], ["-Ur"], ["-Urmpf", "--mount-proc"]], ids=" ".join)
def test_a_user_namespace_of_another_user(namespaces, samples_folder, start_program, clarinet):
    """As in a rootless container: root has no number there, and the target's user another one."""
    user = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "unshare", *namespaces]
    if os.geteuid() != 0 or subprocess.run([*user, "true"], capture_output=True).returncode != 0:
        pytest.skip("needs root, and user namespaces for all")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o755)
        shutil.copytree(samples_folder / "Healthy", home / "app")
        (home / "tmp").mkdir()
        (home / "tmp").chmod(0o777)
        patient = start_program(
            [*user, "dotnet", "exec", str(home / "app/Healthy.dll"), "--rate", 50],
            env={"HOME": home / "tmp", "TMPDIR": home / "tmp"}, cwd="/",
        )
        pid = patient.pid
        while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            pid = int(children[0])
        done = clarinet("record", "-p", "exceptions", "-d", "200ms", "-o", "out.clarinet", pid)
        assert done.code == 0, done
        for _ in range(2):  # the agent stays after the first
            done = clarinet("trace", "-d", "500ms", "--json", pid, "Healthy.Worker::SortNumbers")
            assert done.code == 0 and "SortNumbers" in done.out, done
        assert patient.finish() == 0, patient


# ---- beside another profiler -----------------------------------------------------------------------------


def test_beside_another_profiler(runtime, sample_command, start_program, clarinet,
                                 clarinet_program):
    env = {
        "CORECLR_ENABLE_PROFILING": "1",
        "CORECLR_PROFILER": "{C1A21E70-0001-4C4C-8A11-6E6574434C52}",
        "CORECLR_PROFILER_PATH": clarinet_program.parent / "libclarinet_hello.so",
    }
    patient = start_program(sample_command("ExceptionStorm", "--rate", 100), env=env)
    assert "libclarinet_hello" in Path(f"/proc/{patient.pid}/maps").read_text()
    for number in range(2):
        record_some(clarinet, patient.pid, f"{number}.clarinet")
    assert patient.finish() == 0, patient
    whole_rounds(patient.stdout)


DECLINES = "examples/libclarinet_rewrite.so"  # without CLARINET_METHOD its Initialize fails


def declining(clarinet_program):
    return {
        "CORECLR_ENABLE_PROFILING": "1",
        "CORECLR_PROFILER": "{C1A21E70-0005-4C4C-8A11-6E6574434C52}",
        "CORECLR_PROFILER_PATH": clarinet_program.parent / DECLINES,
    }


def thrown(clarinet, file):
    tables = clarinet("report", file, "-f", "json").json["processes"][0]["tables"]
    return {t["name"]: t.get("total", t["rows"]) for t in tables}


def test_beside_a_profiler_that_declines(runtime, sample_command, start_program, clarinet,
                                         clarinet_program):
    """The runtime then counts one profiler less than there are: alone, ours would hear nothing."""
    patient = start_program(sample_command("ExceptionStorm", "--rate", 100),
                            env=declining(clarinet_program))
    for number in range(3):
        record_some(clarinet, patient.pid, f"{number}.clarinet")
        assert thrown(clarinet, f"{number}.clarinet")["exceptions"] > 0
    assert patient.finish() == 0, patient
    whole_rounds(patient.stdout)


def test_a_program_goes_on_beside_a_profiler_that_declines(runtime, sample_command, clarinet,
                                                           clarinet_program):
    """From start, and longer than the recording: whoever is not counted cannot be detached."""
    command = sample_command("ExceptionStorm", "--rate", 100, "--rounds", 400)
    env = declining(clarinet_program)
    alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    whole = clarinet("record", "-p", "exceptions", "-o", "whole.clarinet", "--", *command, env=env)
    part = clarinet("record", "-p", "exceptions,gc", "-d", "2s", "-o", "part.clarinet", "--",
                    *command, env=env)
    for done in (whole, part):
        assert (done.code, done.out) == (alone.returncode, alone.stdout), done
    counts = [thrown(clarinet, f"{name}.clarinet")["exceptions"] for name in ("whole", "part")]
    assert counts[0] == sum(said(alone.stdout).values()), counts
    assert 0 < counts[1] < counts[0], counts
