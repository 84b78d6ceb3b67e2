"""Probes and the stack: recursion as deep as it gets, every call counted."""
import json
import signal
import time

from conftest import PATIENCE
from recording_reader import Recording
from test_trace import tell

DEEP = 900_000  # fills most of the 64 MB that the sample gives its thread


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


def test_deep_recursion_goes_on_and_is_counted(sample, clarinet, runtime, tmp_path):
    recording = tmp_path / "deep.clarinet"
    with sample("Traceable") as patient:
        tell(patient, "frame 1000")
        plain = int(patient.wait_for(r"^frame (\d+)$").group(1))
        process = clarinet.start("trace", "--json", "-o", recording, patient.pid,
                                 "Traceable.Deep::Down")
        wait_until_asked_for(process, recording)
        tell(patient, "time 1000")  # an answer between the two
        patient.wait_for("^time ")
        before = len(patient.lines)
        tell(patient, f"frame {DEEP}")
        deadline = time.monotonic() + PATIENCE
        while len(patient.lines) == before and time.monotonic() < deadline:
            assert patient.is_running, patient
            time.sleep(0.1)
        traced = int(patient.lines[before].split()[1])
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
    assert patient.process.returncode == 0, patient
    assert traced <= plain + 32, (plain, traced)
    row = next(row for row in json.loads(out) if ".Down(" in row["method"])
    assert row["state"] == "probed" and row["calls"] == DEEP + 1, row
    assert row["active"] == 0 and row["exceptions"] == 0, row
