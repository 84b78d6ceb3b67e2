"""Recording without the agent, through the event stream of the diagnostics port. The tests of the
laws (noexec folders) and of old runtimes have the cases where the tool takes this way by itself."""
import resource
import signal

from conftest import PATIENCE, size_of, wait_until
from recording_reader import Recording
from test_requests import by_name, connection

PORT = {"CLARINET_WAY": "port"}


def tables_of(clarinet):
    done = clarinet("report", "out.clarinet", "-f", "json")
    assert done.code == 0, done
    process = done.json["processes"][0]
    return process, {table["name"]: table for table in process["tables"]}


def rows_of(path, profiler, name):
    recording = Recording.load(path)
    table = [t for t in recording.tables.values() if (t["profiler"], t["name"]) == (profiler, name)]
    columns = [column[1] for column in table[0]["columns"]]
    return [dict(zip(columns, row)) for row in recording.rows.get((profiler, name), [])]


def test_requests_and_exceptions_are_told(web_service, clarinet):
    tool = clarinet.start("record", "-p", "http,exceptions,counters,jit,cpu", "--set",
                          "counters.interval=200ms", "--set", "jit.inlining=true", "-o", "out.clarinet", web_service.pid,
                          env=PORT)
    with connection(web_service.url) as get:
        # written when the stream has begun
        wait_until(lambda: size_of(clarinet.folder / "out.clarinet") > 16)
        for product in range(1, 8):
            assert get(f"/products/{product}")[0] == 200
        assert [get("/products/100000")[0] for _ in range(3)] == [404] * 3
        assert get("/throw", n=11) == (200, "11")
        assert get("/call", url=web_service.url + "/health", n=4) == (200, "4")
        assert get("/wait", ms=600)[0] == 200  # at least two intervals of the counters
        assert get("/health")[0] == 200  # by now what was asked before is over
    tool.send_signal(signal.SIGINT)
    out, err = tool.communicate(timeout=180)
    assert tool.returncode == 0 and "through the diagnostics port" in err, err
    assert "they need the agent: jit.inlining, cpu\n" in err, err
    assert web_service.finish() == 0, web_service
    process, tables = tables_of(clarinet)
    assert process["info"]["attach"] == "port", process["info"]
    assert {row["name"]: row["state"] for row in process["profilers"]} == {
        "http": "stopped", "exceptions": "stopped", "counters": "stopped", "jit": "stopped",
        "cpu": "failed"}
    served = by_name(tables["requests"]["served"]["requests"])
    products = served["GET /products/{id}"]
    assert (products["duration"]["count"], products["refused"], products["failed"]) == (10, 3, 0)
    assert served["GET /throw"]["duration"]["count"] == 1
    made = by_name(tables["requests"]["made"]["hosts"])
    assert made[web_service.url]["duration"]["count"] == 4
    thrown = {row["type"]: row["count"] for row in tables["exceptions"]["types"]}
    assert thrown["WebShop.OutOfStockException"] == 11, thrown
    place = [row for row in tables["exceptions"]["places"]
             if row["type"] == "WebShop.OutOfStockException"][0]
    top = place["stack"][0]
    assert top["name"].startswith("WebShop.Shop.Buy") and top["line"] > 0, place
    assert tables["counters"]["counters"], tables["counters"]
    assert tables["compilations"]["rows"] > 0


def test_a_command_is_refused(clarinet):
    done = clarinet("record", "-p", "gc", "--", "true", env=PORT)
    assert done.code == 2 and "CLARINET_WAY=port works on a running process" in done.err, done


def test_meters_of_a_command_are_refused(clarinet):
    done = clarinet("record", "-p", "counters", "--set", "counters.meters=System.Runtime", "--",
                    "true")
    assert done.code == 1 and "meters are read of running processes only" in done.err, done


def test_collections_and_waits_are_told(runtime, sample, clarinet):
    with sample("GcPressure", "--rate", 50) as patient:
        done = clarinet("record", "-p", "gc,pauses,allocations,contention", "-d", "2s", "-o",
                        "out.clarinet", patient.pid, env=PORT)
        assert done.code == 0, done
    assert patient.process.returncode == 0, patient
    process, tables = tables_of(clarinet)
    path = clarinet.folder / "out.clarinet"
    rows = rows_of(path, "gc", "collections")
    numbers = [row["number"] for row in rows]
    assert numbers == list(range(numbers[0], numbers[0] + len(rows))), numbers
    gc = tables["collections"]
    assert gc["induced"] > 1 and gc["allocated_bytes"] > 0, gc
    asked = [frame for place in gc["induced_by"] for frame in place["stack"]]
    assert any(f["name"] == "GcPressure.Forcer.CollectAll" and f["line"] > 0 for f in asked), asked
    pauses = rows_of(path, "pauses", "pauses")
    assert sum(row["pause"] for row in rows) <= sum(row["weight"] for row in pauses)
    types = {row["type"]: row["bytes"] for row in tables["allocations"]["types"]}
    assert types["byte[]"] > sum(types.values()) / 2, types


def test_a_wait_that_is_not_over_is_shown(runtime, sample, clarinet):
    # two threads that nearly always wait, for less than is recorded
    with sample("TwoLocks", "--ledger", 700, "--stock", 700) as patient:
        done = clarinet("record", "-p", "contention", "-d", "2s", "-o", "out.clarinet", patient.pid,
                        env=PORT)
        assert done.code == 0, done
    waits = tables_of(clarinet)[1]["waits"]
    assert 1 <= waits["open"] <= 2, waits
    assert waits["waited_ns"] <= 2 * waits["watched_ns"], waits


def test_a_full_disk_is_said_truly(newest_runtime, sample, clarinet):
    """Files may have 16 KB here: the stream needs more and is given up, the recording holds what
    fits, and no more is claimed."""
    with sample("GcPressure", "--rate", 50) as patient:
        tool = clarinet.start(
            "record", "-p", "gc,jit,allocations", "-d", "1s", "-o", "out.clarinet", patient.pid,
            env=PORT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)))
        _out, err = tool.communicate(timeout=PATIENCE)
    size = size_of(clarinet.folder / "out.clarinet")
    assert tool.returncode == 1 and f"cannot write to out.clarinet after {size} bytes" in err, err
    assert " KB of them are in the file" in err, err
    assert 2048 < size <= 16384 and not (clarinet.folder / "out.clarinet.nettrace").exists()
    assert clarinet("report", "out.clarinet", "-f", "json").code == 0


def test_a_killed_tool_leaves_the_events(newest_runtime, sample, clarinet):
    with sample("GcPressure", "--rate", 50) as patient:
        tool = clarinet.start("record", "-p", "gc,allocations", "-o", "out.clarinet", patient.pid,
                              env=PORT)
        stream = clarinet.folder / "out.clarinet.nettrace"
        wait_until(lambda: size_of(stream) > 500_000)
        tool.kill()
        tool.wait()
    assert patient.process.returncode == 0, patient
    done = clarinet("report", stream, "-f", "json")
    assert done.code == 0 and "breaks off" in done.err, done
    tables = {table["name"]: table for table in done.json["processes"][0]["tables"]}
    assert tables["collections"]["total"] > 0, tables
    assert any(row["type"] == "byte[]" for row in tables["allocations"]["types"]), tables
