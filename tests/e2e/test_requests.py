"""The profiler http: requests served by ASP.NET Core and made by HttpClient, against a server that
was asked a known number of times, some of them in vain, one of them not over at the end."""
import contextlib
import http.client
import http.server
import signal
import socket
import subprocess
import threading
import urllib.parse

import pytest

from conftest import size_of, wait_until
from recording_reader import Recording


class Keeper:
    """A server that takes requests and answers none until it is let go."""

    def __init__(self):
        self.asked = threading.Event()
        self.go = threading.Event()
        keeper = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                keeper.asked.set()
                keeper.go.wait(180)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.go.set()
        self.server.shutdown()
        self.server.server_close()


@contextlib.contextmanager
def connection(url):
    """One after the other on one connection: the next request is taken when the last is over."""
    line = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=180)

    def get(path, **query):
        line.request("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))
        answer = line.getresponse()
        return answer.status, answer.read().decode()

    try:
        yield get
    finally:
        line.close()


def ask(shop, path, url):
    with connection(shop) as get:
        get(path, url=url, n=1)


@pytest.fixture
def closed_port():
    """Kept, so that nobody else listens there: connections are refused."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


def has_begun(path):
    return size_of(path) > 16 and Recording.load(path).rows.get(("http", "requests"))


def requests(clarinet):
    done = clarinet("report", "out.clarinet", "-f", "json")
    assert done.code == 0, done
    return [table for table in done.json["processes"][0]["tables"] if table["name"] == "requests"][0]


def by_name(rows):
    return {row["name"]: row for row in rows}


def test_requests_served_and_made_are_counted(web_service, clarinet, closed_port):
    shop = web_service.url
    nobody = f"http://127.0.0.1:{closed_port}"
    keeper = Keeper()
    tool = clarinet.start("record", "-p", "http", "-o", "out.clarinet", web_service.pid)
    try:
        with connection(shop) as get:
            wait_until(lambda: get("/health")[0] == 200 and
                       has_begun(clarinet.folder / "out.clarinet"))
            for product in range(1, 21):
                assert get(f"/products/{product}")[0] == 200
            assert [get("/products/100000")[0] for _ in range(3)] == [404] * 3
            assert get("/fail")[0] == 500
            assert get("/wait", ms=200)[0] == 200
            assert get("/call", url=shop + "/products?page=2", n=6) == (200, "6")
            assert get("/call", url=nobody + "/stock/4711/now", n=2) == (200, "0")
            assert get("/health")[0] == 200  # by now what was asked before is over
        waiting = threading.Thread(target=ask, args=(shop, "/call", keeper.url + "/stock"),
                                   daemon=True)
        waiting.start()
        assert keeper.asked.wait(180)
        tool.send_signal(signal.SIGINT)
        assert tool.wait(180) == 0, tool.stderr.read()
    finally:
        keeper.close()
    waiting.join(180)
    assert web_service.finish() == 0, web_service
    table = requests(clarinet)
    served = by_name(table["served"]["requests"])
    products = served["GET /products/{id}"]
    assert (products["duration"]["count"], products["refused"], products["failed"]) == (23, 3, 0)
    wait = served["GET /wait"]["duration"]
    assert wait["count"] == 1 and 180e6 < wait["p50_ns"] == wait["longest_ns"] == wait["sum_ns"]
    assert served["GET /call"]["duration"]["count"] == 2 and served["GET /call"]["failed"] == 0
    assert served["GET /health"]["duration"]["count"] > 0 and served["GET /health"]["failed"] == 0
    hosts = by_name(table["made"]["hosts"])
    assert set(hosts) == {shop, nobody}, hosts
    assert hosts[shop]["duration"]["count"] == 6 and hosts[shop]["failed"] == 0
    assert hosts[nobody]["duration"]["count"] == 2 and hosts[nobody]["failed"] == 2
    assert set(by_name(table["made"]["requests"])) == {shop + "/products",
                                                       nobody + "/stock/{id}/now"}
    open_ones = {(row["kind"], row["name"], row["inside"]) for row in table["under_way"]
                 if row["name"] != "GET /health"}
    assert open_ones == {("served", "GET /call", ""),
                         ("made", keeper.url + "/stock", "GET /call")}, table["under_way"]
    words = clarinet("report", "out.clarinet", "-f", "md").out
    assert "## Requests served" in words and "## Requests made" in words
    assert "### Requests under way at the end" in words and "`GET /products/{id}`" in words, words
    assert served["GET /fail"]["failed"] == served["GET /fail"]["duration"]["count"] == 1


ROUTES = {
    "GET /shelves/{shelf}/{row}": ["/shelves/red/1", "/shelves/deep%20blue/2", "/shelves/7/7"],
    "GET /files/{name}.{kind}": ["/files/a.txt", "/files/b.c.pdf"],
    "GET /pages/{rest}": ["/pages/a", "/pages/a/b/c"],
    "GET /api/stock/{sku}": ["/api/stock/bolt", "/api/stock/%C3%A4", "/api/stock/nut"],
}


@pytest.mark.parametrize("way", ["agent", "port"])
def test_requests_are_told_by_route(web_service, clarinet, way):
    shop = web_service.url
    keeper = Keeper()
    tool = clarinet.start("record", "-p", "http", "-o", "out.clarinet", web_service.pid,
                          env={"CLARINET_WAY": way})
    file = clarinet.folder / ("out.clarinet" if way == "agent" else "out.clarinet.nettrace")
    try:
        with connection(shop) as get:
            wait_until(lambda: get("/wait", ms=1)[0] == 200 and
                       (has_begun(file) if way == "agent" else size_of(file) > 0))
            for paths in ROUTES.values():
                assert [get(path)[0] for path in paths] == [200] * len(paths)
            assert get("/ask/first", url=shop + "/health")[0] == 200
            assert get("/nowhere/bob")[0] == 404
            assert get("/wait", ms=1)[0] == 200  # by now what was asked before is over
        waiting = threading.Thread(target=ask, args=(shop, "/ask/second", keeper.url + "/stock"),
                                   daemon=True)
        waiting.start()
        assert keeper.asked.wait(180)
        tool.send_signal(signal.SIGINT)
        assert tool.wait(180) == 0, tool.stderr.read()
    finally:
        keeper.close()
    waiting.join(180)
    assert web_service.finish() == 0, web_service
    assert "recorded 0 records" not in tool.stderr.read()
    table = requests(clarinet)
    served = by_name(table["served"]["requests"])
    counts = {name: row["duration"]["count"] for name, row in served.items() if name != "GET /wait"}
    assert counts == {"GET /health": 1, "GET /ask/{name}": 1, "GET /nowhere/bob": 1,
                      **{name: len(paths) for name, paths in ROUTES.items()}}
    # by its route, as the first of them told it
    open_ones = {(row["kind"], row["name"], row["inside"]) for row in table["under_way"]
                 if row["name"] != "GET /wait"}
    assert open_ones == {("served", "GET /ask/{name}", ""),
                         ("made", keeper.url + "/stock", "GET /ask/{name}")}, table["under_way"]


def test_requests_are_counted_from_the_start(runtime, sample_command, clarinet):
    tool = clarinet.start("record", "-p", "http,counters", "-o", "out.clarinet", "--",
                          *sample_command("WebShop"), stdin=subprocess.PIPE)
    shop = tool.stdout.readline().split()[-1]
    with connection(shop) as get:
        for _ in range(10):
            assert get("/products")[0] == 200
    out, err = tool.communicate("", timeout=180)
    assert tool.returncode == 0 and out.endswith("closed\n"), (out, err)
    table = requests(clarinet)
    products = by_name(table["served"]["requests"])["GET /products"]
    assert products["duration"]["count"] == 10 and products["failed"] == products["refused"] == 0
    assert table["made"]["duration"]["count"] == 0 and table["under_way"] == []


def test_a_second_recording_of_an_agent_that_stays_has_its_own_names(web_service, clarinet):
    # A process that was traced keeps the agent; its names are forgotten when nobody records.
    done = clarinet("trace", "-d", "1s", web_service.pid, "System.IO.Stream::Dispose")
    assert done.code == 0, done
    for paths in (["/health", "/products"], ["/products/1", "/wait?ms=1", "/products", "/health"]):
        tool = clarinet.start("record", "-p", "http", "-o", "out.clarinet", web_service.pid)
        with connection(web_service.url) as get:
            wait_until(lambda: get(paths[0])[0] == 200 and has_begun(clarinet.folder / "out.clarinet"))
            for path in paths:
                assert get(path)[0] == 200
            assert get(paths[0])[0] == 200  # by now what was asked before is over
        tool.send_signal(signal.SIGINT)
        assert tool.wait(180) == 0, tool.stderr.read()
        served = set(by_name(requests(clarinet)["served"]["requests"]))
        assert served == {"GET " + path.partition("?")[0].replace("/1", "/{id}") for path in paths}
        (clarinet.folder / "out.clarinet").unlink()
    assert web_service.finish() == 0, web_service
