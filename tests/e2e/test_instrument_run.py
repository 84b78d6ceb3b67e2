"""clarinet instrument run: spans for the methods that extension files name, without a managed agent.

The program Flow calls through threads, tasks and awaits, 20 orders at once; each order must be one
tree of spans, whatever thread its parts ran on.
"""
import collections
import http.server
import json
import re
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from conftest import BUILD, PATIENCE, ROOT, wait_until

ORDERS = 20
NAMES = ["Order", "Check", "PayAsync", "Charge", "AlreadyDone", "Ship", "Refuse", "FailAsync"]
# Child and parent; what fails.
TREE = {
    "Order": None, "Check": "Order", "PayAsync": "Order", "Charge": "PayAsync",
    "AlreadyDone": "PayAsync", "Ship": "Order", "Refuse": "Order", "FailAsync": "Order",
}
FAIL = {"Refuse": "System.InvalidOperationException", "FailAsync": "Flow.Shop+Failed"}
STATUS_ERROR = 2


@pytest.fixture(scope="session")
def flow_program():
    out = BUILD / "instrumentation"
    done = subprocess.run(
        ["dotnet", "build", "-nologo", "-v", "q", "-nodeReuse:false", f"-p:ClarinetOutput={out}/",
         str(ROOT / "tests/instrumentation/Flow/Flow.csproj")],
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "Flow/Flow.dll"


@pytest.fixture
def points(tmp_path):
    """An extension file; one point names its overload."""
    methods = "".join(
        f"<exactMethodMatcher methodName='{name}'"
        + (" parameters='System.Int32'" if name == "Check" else "") + "/>"
        for name in NAMES
    )
    file = tmp_path / "flow.xml"
    file.write_text(
        "<extension xmlns='urn:newrelic-extension'><instrumentation><tracerFactory>"
        f"<match assemblyName='Flow' className='Flow.Shop'>{methods}</match>"
        "</tracerFactory></instrumentation></extension>"
    )
    return file


@pytest.fixture
def json_points(tmp_path):
    """The same points in JSON, and one with a typing error."""
    file = tmp_path / "flow.json"
    where = {"assembly": "Flow", "class": "Flow.Shop"}
    file.write_text(json.dumps({"points": [
        {**where, "method": [name for name in NAMES if name != "Check"]},
        {**where, "method": "Check", "parameters": ["System.Int32"]},
        {"assembly": "Flow", "class": "Flow.Shpo", "method": "Check"},
    ]}, indent=2))
    return file


def spans_of(request):
    """The spans of an ExportTraceServiceRequest, checked as a receiver would."""
    found = []
    for resource in request["resourceSpans"]:
        keys = [a["key"] for a in resource["resource"]["attributes"]]
        assert "service.name" in keys
        for scope in resource["scopeSpans"]:
            assert scope["scope"]["name"] == "clarinet"
            found += scope["spans"]
    for span in found:
        assert len(span["traceId"]) == 32 and int(span["traceId"], 16) != 0
        assert len(span["spanId"]) == 16 and int(span["spanId"], 16) != 0
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
    return found


def exceptions_of(span):
    """Types: the span's own attribute, then those of its events."""
    places = [span, *(event for event in span.get("events", []) if event["name"] == "exception")]
    return [a["value"]["stringValue"] for place in places for a in place["attributes"] if a["key"] == "exception.type"]


def check_tree(spans):
    by_id = {span["spanId"]: span for span in spans}
    assert len(by_id) == len(spans) == ORDERS * len(TREE)
    assert len({span["traceId"] for span in spans}) == ORDERS
    counts = collections.Counter()
    for span in spans:
        name = span["name"].rpartition(".")[2]
        parent = by_id[span["parentSpanId"]] if "parentSpanId" in span else None
        assert (parent["name"].rpartition(".")[2] if parent else None) == TREE[name]
        assert parent is None or parent["traceId"] == span["traceId"]
        assert (span["status"].get("code") == STATUS_ERROR) == (name in FAIL), span
        assert exceptions_of(span) == ([FAIL[name]] * 2 if name in FAIL else []), span
        assert "clarinet.end" not in {a["key"] for a in span["attributes"]}, span
        if parent is not None:  # it is awaited or called: it ends before the span around it
            assert int(parent["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]), (span, parent)
            assert int(span["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"]), (span, parent)
        counts[name] += 1
    assert set(counts.values()) == {ORDERS}


def test_spans_follow_the_flow_through_awaits_into_a_file(clarinet, runtime, flow_program, json_points):
    bare = subprocess.run(runtime.command(flow_program), capture_output=True, text=True)
    done = clarinet("instrument", "run", "--otlp", "spans.json", "--points", json_points, "--",
                    *runtime.command(flow_program), timeout=PATIENCE)
    assert (done.code, done.out) == (bare.returncode, bare.stdout) == (3, "sum 733\n"), done
    assert "160 spans in spans.json" in done.err, done
    assert f"1 point names no method that was loaded: [Flow]Flow.Shpo::Check ({json_points}, line " in done.err, done
    lines = (clarinet.folder / "spans.json").read_text().splitlines()
    check_tree([span for line in lines for span in spans_of(json.loads(line))])


@pytest.mark.parametrize("name, reason", [
    ("Store::Open", "it has no body: it is abstract, name the methods that implement it"),
    ("Shop::Native", "it has no body: its code is native, or the runtime's"),
])
def test_a_method_without_a_body_is_not_called_a_point_that_found_nothing(
        clarinet, runtime, flow_program, tmp_path, name, reason):
    points = tmp_path / "bodiless.json"
    of, method = name.split("::")
    points.write_text(json.dumps({"points": [{"assembly": "Flow", "class": "Flow." + of, "method": method}]}))
    done = clarinet("instrument", "run", "--otlp", "spans.json", "--points", points, "--",
                    *runtime.command(flow_program), timeout=PATIENCE)
    assert (done.code, done.out) == (3, "sum 733\n"), done
    assert f"1 point names no method with a body: [Flow]Flow.{name} ({points}, line 1), left alone: {reason}\n" in done.err, done
    assert "that was loaded" not in done.err, done


def test_points_for_everything_leave_out_what_spans_are_made_with(clarinet, newest_runtime, flow_program, tmp_path):
    points = tmp_path / "all.json"
    points.write_text(json.dumps({"points": [{"assembly": "*", "class": "*", "method": "*"}]}))
    done = clarinet("instrument", "run", "--otlp", "spans.json", "--points", points, "--",
                    *newest_runtime.command(flow_program), timeout=PATIENCE)
    assert (done.code, done.out) == (3, "sum 733\n"), done
    names = {span["name"].rpartition(".")[2]
             for line in (clarinet.folder / "spans.json").read_text().splitlines()
             for span in spans_of(json.loads(line))}
    assert set(NAMES) <= names
    assert "no body" not in done.err, done  # what everything has among it is nothing to tell


@pytest.mark.parametrize("how, number", [("throw", 6), ("kill", 9)])
def test_a_program_that_dies_is_told_with_what_is_missing(clarinet, newest_runtime, flow_program, points, how, number):
    done = clarinet("instrument", "run", "--otlp", "spans.json", "--points", points, "--",
                    *newest_runtime.command(flow_program), how, timeout=PATIENCE)
    assert (done.code, done.out) == (128 + number, "sum 295\n"), done
    assert ("System.InvalidOperationException: no 1" in done.err) == (how == "throw")
    assert done.err.count(f"clarinet: the program was ended by signal {number}: calls of its last 0.1 s may be missing") == 1
    spans = [span for line in (clarinet.folder / "spans.json").read_text().splitlines() for span in spans_of(json.loads(line))]
    assert f"clarinet: {len(spans)} span" in done.err and len(spans) <= 101  # some, as the moment has it


def test_the_programs_own_async_locals_stay_as_its_calls_leave_them(clarinet, runtime, flow_program, tmp_path):
    names = ["Outer", "Set", "SetAndThrow", "Throw", "Watch", "Suppress", "Leaf"]
    points = tmp_path / "locals.json"
    points.write_text(json.dumps({"points": [{"assembly": "Flow", "class": "Flow.Locals", "method": names}]}))
    command = [*runtime.command(flow_program), "locals"]
    bare = subprocess.run(command, capture_output=True, text=True)
    done = clarinet("instrument", "run", "--otlp", "spans.json", "--points", points, "--", *command,
                    timeout=PATIENCE)
    assert (done.code, done.out) == (bare.returncode, bare.stdout), done
    assert bare.stdout.splitlines()[-1] == "flows again: two, 5 after 1 changes, False"
    lines = (clarinet.folder / "spans.json").read_text().splitlines()
    spans = [span for line in lines for span in spans_of(json.loads(line))]
    name_of = {span["spanId"]: span["name"].rpartition(".")[2] for span in spans}
    pairs = collections.Counter(
        (name_of.get(span.get("parentSpanId")), name_of[span["spanId"]]) for span in spans)
    assert pairs == {(None, "Outer"): 1, ("Outer", "Set"): 2, ("Outer", "SetAndThrow"): 1, ("SetAndThrow", "Throw"): 1,
                     ("SetAndThrow", "Leaf"): 1, ("Outer", "Watch"): 1, ("Outer", "Suppress"): 1,
                     ("Outer", "Leaf"): 5}


def test_spans_are_in_the_file_while_the_program_runs_and_it_is_good_after_a_signal(
        clarinet, runtime, flow_program, tmp_path):
    points, file = tmp_path / "empty.json", tmp_path / "spans.json"
    points.write_text(json.dumps({"points": [{"assembly": "Flow", "class": "Flow.Shop", "method": "Empty"}]}))
    tool = clarinet.start("instrument", "run", "--otlp", file, "--points", points, "--",
                          *runtime.command(flow_program), "repeat", "2000000", "20")
    wait_until(lambda: file.exists() and file.read_bytes().count(b"\n") >= 3)
    early = file.read_bytes()
    tool.terminate()
    words = tool.communicate(timeout=PATIENCE)[1]
    assert file.read_bytes().startswith(early)
    spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
    assert len({span["spanId"] for span in spans}) == len(spans) != 0
    assert tool.returncode == 128 + 15 and f"clarinet: {len(spans)} spans in {file}" in words, words


def test_a_recording_that_is_stopped_before_the_program_ends_is_told(clarinet, newest_runtime, flow_program, tmp_path):
    points, file = tmp_path / "empty.json", tmp_path / "spans.json"
    points.write_text(json.dumps({"points": [{"assembly": "Flow", "class": "Flow.Shop", "method": "Empty"}]}))
    tool = clarinet.start("instrument", "run", "--otlp", file, "--points", points, "--",
                          *newest_runtime.command(flow_program), "repeat", "1000000", "5")
    wait_until(lambda: file.exists() and file.read_bytes().count(b"\n") >= 1)
    tool.send_signal(signal.SIGINT)
    words = tool.communicate(timeout=PATIENCE)[1]
    spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
    assert tool.returncode == 0 and f"clarinet: {len(spans)} spans in {file}" in words, words
    assert "it was stopped before the program ended: later calls have no spans\n" in words, words


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, self.headers["Content-Type"], body))
        self.send_response(self.server.busy.pop() if self.server.busy else self.server.status)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def collector():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.requests = []
    server.status = 200
    server.busy = []  # what is answered before that
    server.answer = b"{}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_collector_gets_the_spans_of_a_home_folder(
        clarinet, newest_runtime, flow_program, points, collector, tmp_path):
    home = tmp_path / "home"
    (home / "extensions").mkdir(parents=True)
    (home / "newrelic.config").write_text("<configuration/>")
    points.rename(home / "extensions/flow.xml")
    url = f"http://127.0.0.1:{collector.server_port}"
    collector.busy = [429, 503]
    collector.answer = b'{"partialSuccess": {"rejectedSpans": "7", "errorMessage": "no room"}}'
    done = clarinet("instrument", "run", "--otlp", url, "--home", home, "--",
                    *newest_runtime.command(flow_program), timeout=PATIENCE)
    assert done.code == 3 and "160 spans sent to" in done.err, done
    assert len(set(collector.requests[:3])) == 1  # the same until it was taken
    taken = collector.requests[2:]  # one, or more on a machine so slow that some waited for 5 s
    assert f"the collector rejected {7 * len(taken)} spans: no room" in done.err, done
    assert {(path, kind) for path, kind, _ in taken} == {("/v1/traces", "application/json")}
    check_tree([span for _, _, body in taken for span in spans_of(json.loads(body))])


def test_a_collector_that_refuses_is_named_and_the_exit_code_stays(
        clarinet, newest_runtime, flow_program, points, collector):
    collector.status = 503
    url = f"http://127.0.0.1:{collector.server_port}/v1/traces"
    done = clarinet("instrument", "run", "--otlp", url, "--points", points, "--",
                    *newest_runtime.command(flow_program), timeout=PATIENCE)
    assert done.code == 3 and "refused the spans" in done.err and "503" in done.err, done
    assert len(collector.requests) == 4
    kept = Path(re.search(r"the spans are kept in (\S+)", done.err)[1])
    check_tree([span for line in kept.read_text().splitlines() for span in spans_of(json.loads(line))])
    shutil.rmtree(kept.parent)


def test_what_the_collector_took_is_not_kept_to_be_sent_again(
        clarinet, newest_runtime, flow_program, collector, tmp_path):
    points = tmp_path / "empty.json"
    points.write_text(json.dumps({"points": [{"assembly": "Flow", "class": "Flow.Shop", "method": "Empty"}]}))
    collector.busy = [503] * 4 + [200]  # the last is the first answer
    done = clarinet("instrument", "run", "--otlp", f"http://127.0.0.1:{collector.server_port}", "--points", points,
                    "--", *newest_runtime.command(flow_program), "repeat", "4000", "0", timeout=PATIENCE)
    said = re.search(r"(\d+) of (\d+) spans were sent before", done.err)
    assert done.code == 1 and said, done
    kept = Path(re.search(r"the other spans are kept in (\S+)", done.err)[1])
    ids = [{span["spanId"] for line in text.splitlines() for span in spans_of(json.loads(line))}
           for text in (collector.requests[0][2].decode(), kept.read_text())]
    shutil.rmtree(kept.parent)
    assert len(ids[0]) == int(said[1]) and len(ids[0] | ids[1]) == len(ids[0]) + len(ids[1]) == int(said[2])


@pytest.mark.parametrize("words, says", [
    (["--otlp", "https://collector/v1/traces", "--", "true"], "https is not supported"),
    (["--otlp", "ftp://x", "--", "true"], "is not an address"),
    (["--otlp", "http://user@x", "--", "true"], "is not an address"),
    (["--otlp", "out.json", "--", "true"], "--points"),
    (["--otlp", "out.json", "--points", "p.json", "--home", ".", "--", "true"], "not both"),
    (["--", "true"], "--otlp"),
    (["--otlp", "out.json"], "needs a command"),
])
def test_what_run_refuses_before_it_starts_anything(clarinet, words, says):
    done = clarinet("instrument", "run", *words, env={"CORECLR_NEW_RELIC_HOME": ""})
    assert done.code != 0 and says in done.err, done
    assert not (clarinet.folder / "out.json").exists()


def test_a_file_that_cannot_be_written_does_not_cost_a_run(clarinet, points):
    done = clarinet("instrument", "run", "--otlp", "no/folder.json", "--points", points, "--", "touch", "started")
    assert done.code == 1 and "no/folder.json cannot be written" in done.err, done
    assert "the program was not started" in done.err and not (clarinet.folder / "started").exists(), done
