"""Probes and the stack: recursion nearly as deep as it gets, every call counted."""
import json
import signal
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
