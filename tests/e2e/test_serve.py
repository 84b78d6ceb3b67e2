"""clarinet serve: the REST API against its description, sessions from start to report, and what a
server must bear: wrong requests, wrong tokens, slow clients, its own end."""
import email
import gzip
import http.client
import http.server
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile

import jsonschema
import pytest

from conftest import PATIENCE, ROOT, environment, has_ended, wait_until
from test_report import decode_otlp_profile, decode_pprof

OPENAPI = json.loads((ROOT / "web/openapi.json").read_text())
ENDED = ("done", "failed", "cancelled")


def nullable(schema):
    """OpenAPI 3.0's `nullable` as JSON Schema, and nothing that is not described."""
    if isinstance(schema, list):
        return [nullable(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: nullable(value) for key, value in schema.items()}
    if out.pop("nullable", False):
        return {"anyOf": [{"type": "null"}, out]}
    if isinstance(out.get("$ref"), str):
        out["$ref"] = out["$ref"].replace("#/components/schemas/", "#/definitions/")
    return out


DEFINITIONS = nullable(OPENAPI["components"]["schemas"])


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"


class Server:
    """A running `clarinet serve`; every answer is held against the description of the API."""

    def __init__(self, program, folder, *options, env=None):
        self.process = subprocess.Popen(
            [program, "serve", "--port", "0", "--sessions", str(folder), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(env or {}))
        self.address = self.process.stdout.readline().strip()
        assert self.address, self.process.stderr.read()
        self.process.stdout.readline()
        self.base, _, self.token = self.address.partition("?token=")

    def ask(self, method, path, body=None, headers=None, token=True):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        request = urllib.request.Request(
            self.base.rstrip("/") + path, data=body, method=method,
            headers={**({"Authorization": f"Bearer {self.token}"} if token else {}),
                     **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                got = Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            got = Answer(error.code, error.headers, error.read())
        check_described(method, path.partition("?")[0], got)
        return got

    def start(self, pid, **wanted):
        answer = self.ask("POST", "/api/sessions", {"processId": pid, **wanted})
        assert answer.status == 201, answer
        assert answer.headers["Location"] == f"/api/sessions/{answer.json['id']}"
        return answer.json["id"]

    def wait_for(self, session, *statuses):
        until = time.monotonic() + PATIENCE
        while True:
            found = self.ask("GET", f"/api/sessions/{session}").json
            if found["status"] in statuses:
                return found
            assert time.monotonic() < until and found["status"] not in ENDED, found
            time.sleep(0.1)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        return code, self.process.stderr.read()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def check_described(method, path, answer):
    """The answer is one that the description knows, and its JSON is as described."""
    parts = path.split("/")
    if len(parts) > 3 and parts[2] == "sessions" and parts[3] != "upload":
        parts[3] = "{id}"
    described = OPENAPI["paths"].get("/".join(parts), {}).get(method.lower())
    if described is None:
        return
    assert str(answer.status) in described["responses"], (method, path, answer)
    content = described["responses"][str(answer.status)].get("content", {})
    schema = content.get("application/json", {}).get("schema")
    if schema is not None:
        jsonschema.validate(answer.json, {**nullable(schema), "definitions": DEFINITIONS})


@pytest.fixture
def serve(clarinet_program, tmp_path):
    servers = []

    def start(*options, folder=None, env=None):
        own = folder or tmp_path / f"sessions{len(servers)}"  # a folder has one server
        servers.append(Server(clarinet_program, own, *options, env=env))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def test_a_session_from_start_to_report(runtime, sample, serve):
    server = serve()
    with sample("SickShop") as patient:
        listed = {p["pid"]: p for p in server.ask("GET", "/api/processes").json}
        assert listed[patient.pid]["attachable"] and listed[patient.pid]["memory_bytes"] > 1 << 20
        session = server.start(patient.pid, duration="2s", tags=["night"])
        stream = urllib.request.urlopen(
            f"{server.base}api/sessions/{session}/events?token={server.token}", timeout=PATIENCE)
        events = [part.split("\ndata: ")
                  for part in stream.read().decode().split("\n\n") if part.startswith("event: ")]
        assert [name for name, _ in events] == ["event: progress"] * (len(events) - 1) + [
            "event: end"], events
        told = [json.loads(data) for _, data in events]
        assert told[-1]["status"] == "done" and told[-1]["progress"] == 1, told[-1]
        assert [t["progress"] for t in told] == sorted(t["progress"] for t in told)
        ended = server.ask("GET", f"/api/sessions/{session}").json
        assert ended["findings"]["critical"] >= 1 and ended["records"] > 0, ended
        assert {p["name"] for p in ended["profilers"]} >= {"cpu", "wall", "exceptions", "threads"}
        found = server.ask("GET", f"/api/sessions/{session}/findings").json
        assert "deadlock" in {f["id"] for f in found["findings"]}
        metrics = server.ask("GET", "/metrics")
        assert metrics.headers["Content-Type"].startswith("text/plain; version=0.0.4"), metrics
        values = dict(line.rsplit(" ", 1) for line in metrics.body.decode().splitlines()
                      if not line.startswith("#"))
        assert values['clarinet_sessions{status="done"}'] == "1", values
        assert int(values['clarinet_processes{attachable="true"}']) >= 1, values
        for severity, count in ended["findings"].items():
            key = f'clarinet_findings{{pid="{patient.pid}",name="SickShop",severity="{severity}"}}'
            assert values[key] == str(count), (key, values)
        for form, begin in (("html", b"<!doctype html>"), ("md", b"# Findings"), ("json", b"{"),
                            ("pprof", b"\x1f\x8b"), ("speedscope", b"{")):
            report = server.ask("GET", f"/api/sessions/{session}/report?format={form}")
            assert report.status == 200 and report.body.startswith(begin), (form, report)
        assert "sandbox" in server.ask("GET", f"/api/sessions/{session}/report").headers[
            "Content-Security-Policy"]
        archive = zipfile.ZipFile(io.BytesIO(
            server.ask("GET", f"/api/sessions/{session}/download").body))
        assert archive.testzip() is None
        names = {name.rpartition("/")[2] for name in archive.namelist()}
        assert names == {"session.json", "recording.clarinet", "findings.json", "report.html"}
        twin = server.ask("POST", "/api/sessions/upload?name=twin",
                          archive.read(f"{session}/recording.clarinet"))
        assert twin.status == 201 and twin.json["findings"] == ended["findings"], twin
        compared = server.ask(
            "GET", f"/api/compare?before={session}&after={twin.json['id']}&format=md")
        assert compared.status == 200 and compared.body.startswith(b"# Before and after"), compared
        assert [s["id"] for s in server.ask("GET", "/api/sessions?search=night").json] == [session]
        assert patient.is_running
    assert server.ask("DELETE", f"/api/sessions/{session}").status == 204
    assert server.ask("GET", f"/api/sessions/{session}").status == 404
    assert server.end() == (0, "")


def test_a_web_service_and_its_answers(web_service, serve):
    """Two sessions at once on an ASP.NET Core service that is asked all the while."""
    server = serve()
    sessions = [server.start(web_service.pid, duration=1, profilers=[{"name": "cpu"}]),
                server.start(web_service.pid, duration=1, profilers=[{"name": "exceptions"}])]
    for _ in range(50):
        with urllib.request.urlopen(f"{web_service.url}/health", timeout=PATIENCE) as answer:
            assert answer.status == 200
    for session in sessions:
        assert server.wait_for(session, "done")["error"] is None


def test_dotnet_build_is_not_disturbed(dotnet_build_project, serve, newest_runtime):
    """A session on every .NET process of a build, as soon as it is seen; the build is the same."""
    server = serve()
    build = subprocess.Popen(dotnet_build_project.build, env=environment(dotnet_build_project.env),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    sessions = {}
    while build.poll() is None:
        for process in server.ask("GET", "/api/processes").json:
            if process["pid"] == build.pid and process["attachable"] and not sessions:
                answer = server.ask("POST", "/api/sessions",
                                    {"processId": build.pid, "profilers": ["cpu"], "duration": 60})
                if answer.status == 201:
                    sessions[build.pid] = answer.json["id"]
        time.sleep(0.05)
    assert build.returncode == 0 and "error" not in build.stdout.read()
    build.stdout.close()
    for session in sessions.values():
        server.wait_for(session, *ENDED)


def test_stop_cancel_and_partial_results(sample, serve, newest_runtime):
    server = serve()
    with sample("Busy") as patient:
        session = server.start(patient.pid, duration="1h", profilers=[{"name": "cpu"}])
        while server.wait_for(session, "running")["records"] == 0:
            time.sleep(0.1)
        partial = server.ask("GET", f"/api/sessions/{session}/report?format=collapsed")
        assert partial.status == 200 and b"Busy" in partial.body, partial
        for words in ("method=--help", "from=5s&to=1s", "top=0"):
            answer = server.ask("GET", f"/api/sessions/{session}/report?format=md&{words}")
            assert answer.status == 400, (words, answer)
        assert server.ask("GET", f"/api/sessions/{session}/download").status == 409
        assert server.ask("POST", f"/api/sessions/{session}/stop", {"cancel": 1}).status == 400
        assert server.ask("POST", f"/api/sessions/{session}/stop").status == 202
        assert server.wait_for(session, "done")["records"] > 0
        session = server.start(patient.pid, duration="1h", profilers=[{"name": "cpu"}])
        server.wait_for(session, "running")
        assert server.ask("POST", f"/api/sessions/{session}/stop", {"cancel": True}).status == 202
        assert not server.wait_for(session, "cancelled")["recording"]
        assert server.ask("GET", f"/api/sessions/{session}/report").status == 409
        session = server.start(patient.pid, duration="1h", profilers=[{"name": "cpu"}])
        server.wait_for(session, "running")
        assert server.ask("DELETE", f"/api/sessions/{session}").status == 204  # one that runs
        assert patient.is_running


def test_sessions_survive_the_server(sample, serve, tmp_path, newest_runtime):
    folder = tmp_path / "kept"
    server = serve(folder=folder)
    with sample("Busy") as patient:
        whole = server.start(patient.pid, duration=0.5, profilers=[{"name": "cpu"}], tags=["one"])
        server.wait_for(whole, "done")
        stopped = server.start(patient.pid, duration="1h", profilers=[{"name": "cpu"}])
        server.wait_for(stopped, "running")
        assert server.end() == (0, "")  # stops what runs and keeps it
        server = serve(folder=folder)
        listed = {s["id"]: s for s in server.ask("GET", "/api/sessions").json}
        assert listed[whole]["tags"] == ["one"] and listed[stopped]["status"] == "done", listed
        cut = server.start(patient.pid, duration="1h", profilers=[{"name": "cpu"}])
        while server.wait_for(cut, "running")["records"] == 0:
            time.sleep(0.1)
        server.process.kill()
        server.process.wait()
        server = serve(folder=folder)
        found = server.ask("GET", f"/api/sessions/{cut}").json
        assert found["status"] == "failed" and "stopped" in found["error"]["message"], found
        assert server.ask("GET", f"/api/sessions/{cut}/report?format=collapsed").status == 200
        changed = server.ask("PATCH", f"/api/sessions/{whole}", {"tags": ["two"]})
        assert changed.json["tags"] == ["two"]
        assert patient.is_running
    assert server.end() == (0, "")
    limited = serve("--keep-size", "1", folder=folder)  # one byte: everything is too much
    assert limited.ask("GET", "/api/sessions").json == []


def test_a_folder_has_one_server(sample, serve, clarinet, tmp_path, newest_runtime):
    """A second one would call the first one's sessions failed, and remove them."""
    folder = tmp_path / "kept"
    server = serve(folder=folder)
    with sample("Busy") as patient:
        session = server.start(patient.pid, duration="1h", profilers=[{"name": "cpu"}])
        server.wait_for(session, "running")
        second = clarinet("serve", "--port", "0", "--sessions", str(folder))
        assert second.code == 1 and "another server keeps its sessions" in second.err, second
        assert f"pid {server.process.pid}, {server.base}" in second.err, second
        assert "--sessions" in second.err and server.token not in second.err, second
        assert server.ask("GET", f"/api/sessions/{session}").json["status"] == "running"
        assert server.ask("POST", f"/api/sessions/{session}/stop").status == 202
        server.wait_for(session, "done")
    server.process.kill()  # the lock goes with it
    server.process.wait()
    assert serve(folder=folder).ask("GET", f"/api/sessions/{session}").json["status"] == "done"


def test_a_target_that_dies(sample, serve, newest_runtime):
    server = serve()
    with sample("Busy") as patient:
        session = server.start(patient.pid, duration="1h", profilers=[{"name": "cpu"}])
        while server.wait_for(session, "running")["records"] == 0:
            time.sleep(0.1)
        patient.kill()
        ended = server.wait_for(session, "done", "failed")
        assert ended["recording"], ended
        assert server.ask("GET", f"/api/sessions/{session}/report?format=md").status == 200


WRONG = [
    ({"processId": 999999999}, 404),
    ({"processId": 1}, 404),
    ({"profilers": []}, 400),
    ({"processId": "x"}, 400),
    ({"processId": 1, "profilers": [{"name": "nope"}]}, 404),
    ({"processId": 1, "profilers": [{"name": "cpu", "parameters": {"interval": "0"}}]}, 400),
    ({"processId": 1, "profilers": [{"name": "cpu", "parameters": {"intervall": "1s"}}]}, 400),
    ({"processId": 1, "duration": "forever"}, 400),
    ({"processId": 1, "profilerGuid": "x"}, 404),
    ({"processId": 1, "duraton": "5s"}, 400),
    ([], 400),
]


def test_wrong_requests_have_their_reason(serve, sample, newest_runtime):
    server = serve()
    for body, status in WRONG:
        answer = server.ask("POST", "/api/sessions", body)
        assert answer.status == status and answer.json["error"]["message"], (body, answer)
    guid = "{3b7f1c52-0000-0000-0000-000000000000}"
    unknown = server.ask("POST", "/api/sessions", {"processId": 1, "profilerGuid": guid})
    assert unknown.status == 404 and f"'{guid}'" in unknown.json["error"]["message"], unknown
    assert server.ask("POST", "/api/sessions", b"{").status == 400
    assert server.ask("POST", "/api/sessions", b"x" * (1 << 21)).status == 413
    assert server.ask("GET", "/api/nothing").status == 404
    assert server.ask("PUT", "/api/sessions", b"").status == 405
    assert server.ask("GET", "/api/sessions/..%2f..%2fetc/report").status == 404
    assert server.ask("GET", "/api/sessions/../../etc/passwd").status == 404
    answer = server.ask("POST", "/api/sessions/upload?name=notes.txt", b"no recording")
    assert answer.status == 400, answer
    assert answer.json["error"]["message"].startswith("notes.txt is not a recording"), answer
    assert server.ask("GET", "/api/compare?before=a").status == 400
    with sample("Busy", env={"DOTNET_EnableDiagnostics": "0"}) as closed:
        answer = server.ask("POST", "/api/sessions", {"processId": closed.pid})
        assert answer.status == 409 and answer.json["error"]["advice"], answer
    assert server.ask("GET", "/api/sessions").json == []  # nothing was left behind
    assert server.end() == (0, "")


# Keeps the sample's standard input open; ends with the signal that it gets.
KEEPER = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE).wait()"


def test_a_session_of_a_command(serve, sample_command, tmp_path, newest_runtime):
    """Only where it is allowed; the program belongs to the session and ends with it."""
    mark = str(tmp_path / "mark")
    command = [str(word) for word in sample_command("Busy")]
    body = {"command": [sys.executable, "-c", KEEPER, *command, "--mark", mark], "duration": "1h",
            "profilers": [{"name": "cpu", "parameters": {"interval": "5ms"}}]}
    closed = serve(folder=tmp_path / "closed")
    refused = closed.ask("POST", "/api/sessions", body)
    assert refused.status == 403 and "--allow-commands" in refused.json["error"]["advice"], refused
    assert closed.ask("GET", "/api/version").json["commands"] is False
    server = serve("--allow-commands")
    assert server.ask("GET", "/api/version").json["commands"] is True
    for wrong in ([], "dotnet", [""], ["x", 1], ["a\0b"]):
        assert server.ask("POST", "/api/sessions", {"command": wrong}).status == 400
    assert server.ask("POST", "/api/sessions", {"command": ["x"], "processId": 1}).status == 400
    missing = server.ask("POST", "/api/sessions", {"command": ["/no/such/program"]})
    assert missing.status == 201, missing
    failed = server.wait_for(missing.json["id"], "failed")
    assert "/no/such/program" in failed["error"]["message"], failed
    started = server.ask("POST", "/api/sessions", body)
    assert started.status == 201 and started.json["processId"] is None, started
    session = started.json["id"]
    until = time.monotonic() + PATIENCE
    while b"Busy" not in server.ask("GET", f"/api/sessions/{session}/report?format=collapsed").body:
        now = server.ask("GET", f"/api/sessions/{session}").json
        assert time.monotonic() < until and now["status"] not in ENDED, now
        time.sleep(0.2)
    pids = [p["pid"] for p in server.ask("GET", "/api/processes").json if mark in p["command_line"]]
    assert len(pids) == 1
    assert server.ask("POST", f"/api/sessions/{session}/stop").status == 202
    ended = server.wait_for(session, "done")
    assert ended["recording"] and ended["bytes"] > 0, ended
    assert b"Busy" in server.ask("GET", f"/api/sessions/{session}/report?format=collapsed").body
    wait_until(lambda: has_ended(pids[0]))
    assert server.end() == (0, "")


def test_who_may_ask(serve):
    server = serve()
    assert server.ask("GET", "/api/version", token=False).status == 401
    assert server.ask("GET", "/", token=False).status == 401
    assert server.ask("GET", "/metrics", token=False).status == 401
    wrong = {"Authorization": f"Bearer {server.token[:-1]}x"}
    assert server.ask("GET", "/api/version", token=False, headers=wrong).status == 401
    assert server.ask("GET", "/api/version", headers={"Host": "evil.example"}).status == 421
    assert server.ask("GET", "/api/version", headers={"Host": "localhost:1"}).status == 200
    for foreign in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert server.ask("POST", "/api/sessions", {}, headers=foreign).status == 403
    asked = f"/api/sessions?token={server.token}"  # may stand in a link of another page
    assert server.ask("GET", asked, token=False).status == 200
    assert server.ask("POST", asked, {}, token=False).status == 401
    answer = server.ask("GET", "/api/version", headers={"Origin": "http://evil.example"})
    assert "Access-Control-Allow-Origin" not in answer.headers
    # the printed address gives a cookie, and the cookie is enough
    connection = http.client.HTTPConnection(server.base.split("/")[2], timeout=PATIENCE)
    connection.request("GET", f"/?token={server.token}")
    sent_on = connection.getresponse()
    sent_on.read()
    cookie = sent_on.headers["Set-Cookie"]
    assert sent_on.status == 303 and sent_on.headers["Location"] == "/"
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    connection.request("GET", "/", headers={"Cookie": cookie.partition(";")[0]})
    page = connection.getresponse()
    assert page.status == 200 and b"Content-Security-Policy" in page.read()
    connection.close()
    statuses = {server.ask("GET", "/api/version", token=False).status for _ in range(60)}
    assert statuses == {401, 429}  # guessing is slow
    assert server.ask("GET", "/api/version").status == 200  # but not for who knows it


def test_ways_to_begin(serve, clarinet, tmp_path):
    only_api = serve("--no-web-ui")
    off = only_api.ask("GET", "/")
    assert off.status == 404 and "--no-web-ui" in off.json["error"]["advice"], off
    assert only_api.ask("GET", "/metrics").status == 200
    assert only_api.ask("GET", "/api/version").status == 200
    only_page = serve("--no-rest-api", folder=tmp_path / "2", env={"CLARINET_TOKEN": "abc"})
    assert only_page.token == "abc"
    assert only_page.ask("GET", "/api/version").status == 403
    assert only_page.ask("GET", "/metrics").status == 403
    own = {"Sec-Fetch-Site": "same-origin"}
    assert only_page.ask("GET", "/api/version", headers=own).status == 200
    path = tmp_path / "s.sock"
    by_socket = serve("--socket", str(path), folder=tmp_path / "3")
    assert by_socket.address == f"unix:{path}" and os.stat(path).st_mode & 0o777 == 0o600
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /api/version HTTP/1.0\r\n\r\n")
        assert client.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
    assert by_socket.end() == (0, "") and not path.exists()
    port = only_api.base.split(":")[2].rstrip("/")
    for options, words in (
        (["--port", port, "--sessions", str(tmp_path / "other")], "cannot listen"),
        (["--port", "x"], "--port wants a number"),
        (["--nope"], "does not know"),
        (["--bind", "0.0.0.0", "--token", ""], "without a token"),
        (["--sessions", "/proc/nowhere"], "cannot make"),
        (["--no-web-ui", "--no-rest-api"], "nothing is left"),
        (["extra"], "takes no 'extra'"),
        (["--socket", str(tmp_path / "none/x.sock"), "--sessions", str(tmp_path / "other")],
         "No such file or directory\n  choose another path"),
    ):
        done = clarinet("serve", *options)
        assert done.code in (1, 2) and words in done.err, (options, done)


def test_slow_clients_do_not_stop_it(serve):
    server = serve()
    host, port = server.base.split("/")[2].split(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(100)]
    for number, client in enumerate(slow):
        client.sendall(b"GET /api/version HTTP/1.1\r\nHo"[: number % 20 + 1])
    for _ in range(20):
        assert server.ask("GET", "/api/version").status == 200
    failures = []

    def hammer():
        for _ in range(20):
            if server.ask("GET", "/api/processes").status != 200:
                failures.append(1)

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for client in slow:
        client.close()
    assert server.end() == (0, "")


# ---- watching -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name, words", [
    ("dotnet-trace-10.0.nettrace", b"Garbage collections"),
    ("leaky-10.0.gcdump", b"LeakyCache.Entry"),
    ("worker.pb", b"main.hash"),
])
def test_what_other_tools_made_is_taken(serve, name, words):
    server = serve()
    with gzip.open(ROOT / "tests/unit/data" / f"{name}.gz") as file:
        answer = server.ask("POST", f"/api/sessions/upload?name={name}", file.read())
    assert answer.status == 201 and answer.json["name"] == name, answer
    report = f"/api/sessions/{answer.json['id']}/report"
    assert words in server.ask("GET", f"{report}?format=md").body
    assert server.ask("GET", f"{report}?format=html").status == 200
    assert server.end()[0] == 0


class Receiver:
    """Takes what is pushed, as Pyroscope and a collector do: (path, query, content type, body). The
    collector never comes to the end of its answer: nobody who ends the server waits for that."""

    def __init__(self):
        taken = self.taken = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                path, _, query = self.path.partition("?")
                body = self.rfile.read(int(self.headers["Content-Length"]))
                taken.append((path, urllib.parse.parse_qs(query), self.headers, body))
                # a session without a profile must not keep the next one's from being pushed
                if path == "/v1/metrics" and {"/ingest", "/v1development/profiles"} <= {
                        item[0] for item in list(taken)}:
                    self.answer_for_ever()
                    return
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def answer_for_ever(self):
                try:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
                    while True:
                        self.wfile.write(b"x")
                        time.sleep(0.2)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_for(self, path, accepts=lambda body: True):
        until = time.monotonic() + PATIENCE
        while True:
            found = [item for item in list(self.taken) if item[0] == path and accepts(item[3])]
            if found:
                return found[0]
            assert time.monotonic() < until, self.taken
            time.sleep(0.1)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver():
    it = Receiver()
    yield it
    it.close()


def wait_for_tags(server, tags):
    until = time.monotonic() + PATIENCE
    while True:
        found = [s for s in server.ask("GET", "/api/sessions").json if s["tags"] == tags]
        if found:
            return found
        assert time.monotonic() < until, server.ask("GET", "/api/sessions").json
        time.sleep(0.2)


def test_watching_keeps_a_history_and_pushes(newest_runtime, sample_command, start_program, serve,
                                             receiver, tmp_path):
    """A session at once and one when requests fail; both are pushed and can be decoded there."""
    patient = start_program(sample_command("WebShop"))
    url = patient.wait_for(r"^listening on (http://127\.0\.0\.1:\d+)$").group(1)
    over = threading.Event()

    def fail():
        while not over.wait(0.02):
            try:
                urllib.request.urlopen(url + "/fail", timeout=PATIENCE).read()
            except (urllib.error.HTTPError, OSError):
                pass

    server = serve("--watch", str(patient.pid), "--every", "1h", "--for", "1s", "--trigger",
                   "errors=3/30s", "--push-pprof", receiver.url, "--push-otlp", receiver.url, "--push-otlp-profiles", receiver.url)
    client = threading.Thread(target=fail)
    client.start()
    try:
        first = wait_for_tags(server, ["watch"])
        assert len(first) == 1 and first[0]["processId"] == patient.pid
        assert first[0]["duration"] == 1
        wait_for_tags(server, ["trigger", "errors"])
        _, query, headers, body = receiver.wait_for("/ingest")
        _, _, told, metrics = receiver.wait_for("/v1/metrics")
        # one second on a crowded machine may have no sample: its profile is empty, the next is not
        _, _, typed, signal_body = receiver.wait_for(
            "/v1development/profiles", lambda pushed: sum(decode_otlp_profile(pushed)[1].values()))
    finally:
        over.set()
        client.join()
    assert query["name"] == ["WebShop"] and query["format"] == ["pprof"]
    assert int(query["until"][0]) - int(query["from"][0]) in range(0, 60)
    message = email.message_from_bytes(
        b"Content-Type: " + headers["Content-Type"].encode() + b"\r\n\r\n" + body)
    (part,) = message.get_payload()
    assert part.get_param("name", header="Content-Disposition") == "profile"
    file = tmp_path / "pushed.pprof"
    file.write_bytes(part.get_payload(decode=True))
    profile = decode_pprof(file)
    assert profile["sample_type"] and "cpu" in profile["string_table"]
    assert typed["Content-Type"] == "application/x-protobuf"
    attributes, stacks = decode_otlp_profile(signal_body)
    assert attributes["service.name"] == "WebShop" and attributes["process.pid"] == patient.pid
    assert sum(stacks.values()) > 0
    assert told["Content-Type"] == "application/json"
    (resource,) = json.loads(metrics)["resourceMetrics"]
    assert {"key": "service.name", "value": {"stringValue": "WebShop"}} in resource["resource"][
        "attributes"]
    named = {m["name"]: m["gauge"]["dataPoints"] for m in resource["scopeMetrics"][0]["metrics"]}
    assert {"clarinet.cpu", "clarinet.threads", "clarinet.findings"} <= named.keys()
    assert [p["attributes"][0]["value"]["stringValue"] for p in named["clarinet.findings"]] == [
        "critical", "warning", "info"]
    counted = server.ask("GET", "/metrics").body.decode()
    assert 'clarinet_watch_sessions{reason="schedule"} 1\n' in counted
    assert re.search(r'clarinet_watch_sessions{reason="trigger"} [1-9]', counted), counted
    assert server.end()[0] == 0


def test_processor_time_triggers_a_checkup(sample, serve, newest_runtime):
    """Only the trigger begins sessions here: what is there was begun by it."""
    with sample("Busy") as patient:
        server = serve("--watch", str(patient.pid), "--every", "0", "--for", "1s", "--trigger",
                       "cpu=0.1/1s")
        first = wait_for_tags(server, ["trigger", "cpu"])[0]
        assert first["processId"] == patient.pid
        assert server.wait_for(first["id"], "done")["recording"]
        assert {tuple(s["tags"]) for s in server.ask("GET", "/api/sessions").json} == {
            ("trigger", "cpu")}
        counted = server.ask("GET", "/metrics").body.decode()
        assert re.search(r'clarinet_watch_sessions{reason="trigger"} [1-9]', counted), counted
        assert 'clarinet_watch_sessions{reason="schedule"} 0\n' in counted, counted
    assert server.end() == (0, "")


def test_memory_that_grows_triggers_a_checkup(sample, serve, newest_runtime):
    """Only the trigger begins sessions here. 12 MB a second are kept, and 32 MB are asked for."""
    with sample("LeakyCache", "--leak", 4000) as patient:
        server = serve("--watch", str(patient.pid), "--every", "0", "--for", "1s", "--trigger",
                       "memory=10/10m")
        first = wait_for_tags(server, ["trigger", "memory"])[0]
        assert first["processId"] == patient.pid
        assert server.wait_for(first["id"], "done")["recording"]
        assert {tuple(s["tags"]) for s in server.ask("GET", "/api/sessions").json} == {
            ("trigger", "memory")}
    assert server.end() == (0, "")


def test_watching_wants_sense(clarinet):
    for options, words in [(("--every", "1m"), "nobody is watched"),
                           (("--watch", "x", "--every", "10s", "--for", "10s"), "--every must be"),
                           (("--watch", "x", "--trigger", "moon"), "--trigger does not understand"),
                           (("--watch", "x", "--push-otlp", "https://x"), "https is not supported")]:
        done = clarinet("serve", *options)
        assert done.code == 2 or "https" in words and done.code != 0, done
        assert words in done.err, done
