"""clarinet trace: async calls from the call to their completion, and how many run at once."""
import json
import signal
import subprocess
import time

from recording_reader import Recording
from conftest import PATIENCE
from test_trace import rounds, tell, wait_until_probed

CROWD = 3
ACTIVE, KIND = 8, 10  # columns of trace_calls


def wait_for_active(process, path, count):
    """Until the recording says that so many calls of one method run: the tracer has looked."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()
        if path.exists() and path.stat().st_size >= 16:
            rows = Recording.load(path).rows.get(("trace", "trace_calls")) or []
            if any(row[ACTIVE] == count and row[KIND] == 0 for row in rows):
                return
        time.sleep(0.2)
    raise AssertionError("the crowd was not seen")


def crowd(patient, clarinet, path, *arguments):
    """Traces a crowd that gathers, stays until it was seen, and disperses; the JSON answer."""
    process = clarinet.start("trace", "--json", "-o", path, "--rate", "10000", *arguments,
                             patient.pid, "Traceable.Crowd::Stay*")
    wait_until_probed(process)
    tell(patient, f"crowd {CROWD}")
    patient.wait_for(f"^crowded {CROWD}$")
    wait_for_active(process, path, CROWD)
    time.sleep(0.1)  # every call takes at least that long
    tell(patient, "disperse")
    patient.wait_for("^dispersed 1029$")  # 5 + 6, 1000 for the one that fails, 5 + 6 + 7
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (out, err)
    return json.loads(out)


def name_of(call):
    return call["method"].rpartition(".")[2]


def test_whole_async_calls(sample, clarinet, runtime, tmp_path):
    path = tmp_path / "crowd.clarinet"
    with sample("Traceable") as patient:
        answer = crowd(patient, clarinet, path, "--args")
    assert patient.process.returncode == 0, patient
    calls = [call for call in answer["calls"] if "Async" in call["method"]]
    assert all(call["async"] and call["duration_ns"] > 0 for call in calls), calls
    assert sorted((name_of(call), call["values"], call.get("exception", "")) for call in calls) == [
        ("StayAsync", 'number=0, name="guest 0" → 5', ""),
        ("StayAsync", 'number=1, name="guest 1" → 6', ""),
        ("StayAsync", 'number=2, name="guest 2"', "System.InvalidOperationException"),
        ("StayValueAsync", "number=0 → 5", ""),
        ("StayValueAsync", "number=1 → 6", ""),
        ("StayValueAsync", "number=2 → 7", ""),
    ], calls
    for row in answer["methods"]:
        if row["kind"] == "async" or row["method"].endswith(".Stay()"):
            assert row["peak"] == row["calls"] == CROWD and row["active"] == 0, row
    spans = [span for resource in clarinet("report", path, "-f", "otlp").json["resourceSpans"]
             for scope in resource["scopeSpans"] for span in scope["spans"]]
    marks = [{a["key"]: a["value"].get("stringValue") for a in span["attributes"]} for span in spans]
    assert sum(m.get("clarinet.call") == "async" for m in marks) == 2 * CROWD, spans
    events = clarinet("report", path, "-f", "chrome").json["traceEvents"]
    begins = {e["id"]: e for e in events if e["ph"] == "b"}
    ends = {e["id"]: e for e in events if e["ph"] == "e"}
    assert len(begins) == 2 * CROWD and begins.keys() == ends.keys(), events
    assert all(begins[n]["ts"] < ends[n]["ts"] for n in begins), events


def test_slow_async_calls_only(sample, clarinet, runtime, tmp_path):
    """Calls that return their task at once but take long until they are complete are slow."""
    with sample("Traceable") as patient:
        rounds(patient, 5)
        answer = crowd(patient, clarinet, tmp_path / "slow.clarinet", "--slower-than", "20ms")
        none = crowd(patient, clarinet, tmp_path / "none.clarinet", "--slower-than", "1h")
    assert patient.process.returncode == 0, patient
    slow = sorted(name_of(call) for call in answer["calls"] if call.get("async"))
    assert slow == ["StayAsync"] * CROWD + ["StayValueAsync"] * CROWD, answer
    assert all(call["duration_ns"] >= 20_000_000 for call in answer["calls"]), answer
    assert none["calls"] == [], none


def test_call_that_awaits_nothing_is_complete_and_shown_though_it_is_the_first(sample_command, clarinet, runtime, tmp_path):
    out = tmp_path / "pass.json"
    process = clarinet.start("trace", f"--json={out}", "--args", "Traceable.Crowd::PassAsync", "--",
                             *sample_command("Traceable"), stdin=subprocess.PIPE)
    answer, err = process.communicate("pass\n", timeout=PATIENCE)
    assert process.returncode == 0 and "passed 9" in answer, (answer, err)
    answer = json.loads(out.read_text())
    assert [(name_of(call), call["values"], call["async"]) for call in answer["calls"]] == [
        ("PassAsync", "number=4 → 9", True)], answer
    assert {row["kind"]: row["calls"] for row in answer["methods"]} == {"method": 1, "steps": 1, "async": 1}, answer
    assert next(row for row in answer["methods"] if row["kind"] == "async")["completions"] == 1, answer


def test_builders_of_other_kinds(sample_command, clarinet, runtime, tmp_path):
    """async void has times like others; pooled calls cannot be told apart, but are counted and shown;
    the framework's own methods name their builders in another way."""
    out = tmp_path / "odd.json"
    process = clarinet.start("trace", f"--json={out}", "--args", "Traceable.Crowd::VoidAsync",
                             "Traceable.Crowd::PooledAsync", "System.IO.File::*Async", "--",
                             *sample_command("Traceable"), stdin=subprocess.PIPE)
    answer, err = process.communicate("odd\n", timeout=PATIENCE)
    assert process.returncode == 0 and "odd 10" in answer, (answer, err)
    assert "no memory" not in err, err
    answer = json.loads(out.read_text())
    wholes = {name_of(row).partition("(")[0]: row for row in answer["methods"] if row["kind"] == "async"}
    for name in ("VoidAsync", "PooledAsync"):
        row = wholes.pop(name)
        assert (row["calls"], row["completions"], row["active"], row["peak"]) == (3, 3, 0, 1), row
        assert (row["max_ns"] > 0) == (name == "VoidAsync"), row
    assert sum(row["calls"] for row in wholes.values()) > 0, wholes
    assert all(row["calls"] == row["completions"] for row in wholes.values()), wholes
    shown = [(name_of(call), call["values"].partition(" ")[0].rstrip(","), call.get("async", False))
             for call in answer["calls"] if "Traceable" in call["method"]]
    assert shown == [call for n in range(3) for call in (("PooledAsync", f"number={n}", False),
                                                         ("VoidAsync", f"number={n}", True))], shown
