"""Probes and the stack: recursion nearly as deep as it gets, every call counted."""
import json
import shutil
import signal
import struct
import subprocess
import time

from conftest import PATIENCE
from recording_reader import Recording
from test_trace import tell

STACK = 64 << 20  # that the sample gives its thread


def wait_until_asked_for(process, path):
    """The recording names the methods as soon as the runtime was asked for them."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        if path.exists() and path.stat().st_size >= 16 and \
                Recording.load(path).rows.get(("trace", "trace_methods")):
            return
        time.sleep(0.1)
    raise AssertionError("no method was asked for")


def ask(patient, line):
    """The number that the sample answers with."""
    before = len(patient.lines)
    tell(patient, line)
    deadline = time.monotonic() + PATIENCE
    while len(patient.lines) == before and time.monotonic() < deadline:
        assert patient.is_running, patient
        time.sleep(0.05)
    return int(patient.lines[before].split()[1])


def test_recursion_10_percent_below_the_limit_goes_on_and_is_counted(sample, clarinet, runtime, tmp_path):
    recording = tmp_path / "deep.clarinet"
    with sample("Traceable") as patient:
        for _ in range(3):
            plain = ask(patient, "frame 1000")
        deep = STACK * 9 // 10 // plain
        assert ask(patient, f"frame {deep}") <= plain
        process = clarinet.start("trace", "--json", "-o", recording, patient.pid,
                                 "Traceable.Deep::Down")
        wait_until_asked_for(process, recording)
        traced = ask(patient, f"frame {deep}")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
        assert ask(patient, f"frame {deep}") <= plain
    assert patient.process.returncode == 0, patient
    assert traced <= plain + 4, (plain, traced)  # 33,000 calls are timed and take a little more
    row = next(row for row in json.loads(out) if ".Down(" in row["method"])
    assert row["state"] == "probed" and row["calls"] == deep + 1, row
    assert row["active"] == 0 and row["exceptions"] == 0, row


KINDS = ("loop", "generic", "mutual", "room")


def test_other_recursion_loses_its_probes_and_is_named(sample, clarinet, runtime, tmp_path):
    """With loops, generic, through each other, with stackalloc: then the probes go, and the tool says so."""
    with sample("Traceable") as patient:
        depths = {}
        for kind in KINDS:
            for _ in range(3):
                plain = ask(patient, f"frame 1000 {kind}")
            depths[kind] = STACK * 9 // 10 // plain
            assert ask(patient, f"frame {depths[kind]} {kind}") <= plain
        recording = tmp_path / "deep.clarinet"
        process = clarinet.start("trace", "--json", "-o", recording, patient.pid, "Traceable.Deep::*",
                                 "!*::Start", "!*::FrameBytes", "!*::<*")
        wait_until_asked_for(process, recording)
        for kind in KINDS:
            ask(patient, f"frame {depths[kind]} {kind}")
            ask(patient, f"frame {depths[kind]} {kind}")
        ask(patient, "frame 1000")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
        for kind in KINDS:
            ask(patient, f"frame {depths[kind]} {kind}")
    assert patient.process.returncode == 0, patient
    rows = {row["method"].split(".")[2].split("(")[0].split("<")[0]: row for row in json.loads(out)}
    for name in ("Loop", "Generic", "Even", "Odd", "Room"):
        assert rows[name]["state"].startswith("left alone: recursion left no stack"), (name, rows[name])
        assert rows[name]["calls"] >= (16384 if name in ("Even", "Odd") else 32768), rows
        assert rows[name]["active"] == 0 and rows[name]["exceptions"] == 0, rows
    assert rows["Down"]["state"] == "probed" and rows["Down"]["calls"] == 1001, rows


def test_callers_in_the_recursion_that_are_not_traced_inline_again(sample, clarinet, runtime, tmp_path):
    """Outer is made to call what it had inlined; a frame more for each of them would not fit."""
    with sample("Traceable") as patient:
        for _ in range(20):  # until it is optimised and has inlined them
            plain = ask(patient, "frame 1000 caller")
        depth = STACK * 9 // 10 // plain
        ask(patient, f"frame {depth} caller")
        recording = tmp_path / "caller.clarinet"
        process = clarinet.start("trace", "--json", "-o", recording, patient.pid,
                                 "Traceable.Caller::Inner", "Traceable.Caller::Twin")
        wait_until_asked_for(process, recording)
        ask(patient, f"frame {depth} caller")
        ask(patient, f"frame {depth} caller")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
        ask(patient, f"frame {depth} caller")
    assert patient.process.returncode == 0, patient
    rows = json.loads(out)
    # with the first of them Outer has its old code back, and nobody calls the other
    assert any(row["state"].startswith("left alone: recursion left no stack") for row in rows), rows
    assert sum(row["calls"] for row in rows) >= 32000, rows
    assert all(row["active"] == 0 and row["exceptions"] == 0 for row in rows), rows


def test_recursion_of_methods_that_never_ran_without_probes(sample, sample_command, clarinet, runtime, tmp_path):
    """From the start there is no old code; the methods are optimised at once instead."""
    small = ("tiny", "pair")  # which the JIT inlines into each other, but not while they have probes
    kinds = ("down", *KINDS, *small)
    with sample("Traceable", env={"DOTNET_TieredCompilation": "0"}) as patient:
        # the pair takes 5.3 bytes for a call, of which we see 5
        depths = {kind: STACK * 9 // 10 // (ask(patient, f"frame 1000 {kind}") + (kind == "pair")) for kind in kinds}
        assert depths["tiny"] > STACK // 10, depths
        for kind in kinds:
            ask(patient, f"frame {depths[kind]} {kind}")
    assert patient.process.returncode == 0, patient
    out = tmp_path / "deep.json"
    process = clarinet.start("trace", f"--json={out}", "Traceable.Deep::*", "Traceable.Tiny::P*", "*.Tiny::Self",
                             "!*::Start", "!*::FrameBytes", "!*::<*", "--", *sample_command("Traceable"),
                             stdin=subprocess.PIPE)
    lines = [f"frame 1000 {kind}" for kind in kinds] + [f"frame {depths[kind]} {kind}" for kind in kinds]
    answers, err = process.communicate("\n".join(lines) + "\n", timeout=PATIENCE)
    assert process.returncode == 0, (answers, err)
    assert answers.count("frame ") == len(lines), (answers, err)
    rows = {row["method"].split(".")[2].split("(")[0].split("<")[0]: row for row in json.loads(out.read_text())}
    for name in ("Down", "Loop", "Generic", "Even", "Odd", "Self", "Ping", "Pong"):
        assert rows[name]["state"].startswith("left alone: recursion left no stack"), (name, rows[name])
        assert rows[name]["active"] == 0, rows


def make_section_writable(path):
    """Then the runtime maps the file, as it does precompiled ones, instead of reading it as it is."""
    image = bytearray(path.read_bytes())
    header = struct.unpack_from("<I", image, 0x3C)[0]
    sections = header + 24 + struct.unpack_from("<H", image, header + 20)[0]
    image[sections + 40 + 39] |= 0x80
    path.write_bytes(image)


def test_reflection_sees_no_flag_of_small_recursive_methods(samples_folder, sample_command, clarinet, runtime, tmp_path):
    """Not before their first call either. In an assembly that is mapped but has no precompiled code."""
    program = samples_folder / "Traceable" / "Traceable.dll"
    folder = shutil.copytree(program.parent, tmp_path / "mapped")
    make_section_writable(folder / program.name)
    command = [word.replace(str(program), str(folder / program.name)) for word in map(str, sample_command("Traceable"))]
    out = tmp_path / "flags.json"
    process = clarinet.start("trace", f"--json={out}", "*.Tiny::Self", "*.Tiny::P*", "--", *command,
                             stdin=subprocess.PIPE)

    def answer(line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        while not (reply := process.stdout.readline()).startswith(line.split()[0] + " "):
            assert reply, process.stderr.read()
        return reply.split(maxsplit=1)[1].strip()

    plain = "0 0 8"  # NoInlining
    assert answer("flags") == plain
    answer("frame 1000 tiny")
    assert answer("flags") == plain
    # The probes go, and 8.0 has to be told what to do while it compiles the method as it was.
    answer(f"frame {STACK * 9 // 10 // 8} tiny")
    deadline = time.monotonic() + PATIENCE
    while (now := answer("flags")) != plain and time.monotonic() < deadline:
        time.sleep(0.1)
    assert now == plain
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    rows = {row["method"].split(".")[2].split("(")[0]: row for row in json.loads(out.read_text())}
    assert rows["Self"]["state"].startswith("left alone: recursion left no stack"), rows
