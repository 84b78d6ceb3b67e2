"""clarinet checkup on real programs: each sick sample has its finding and no other, healthy ones
have none, and the target does not notice."""
import json
import re
import subprocess
import threading
import urllib.request

import pytest

from conftest import PATIENCE
from test_report import page_data


def checkup(clarinet, target, *options, seconds=2):
    done = clarinet("checkup", "-d", f"{seconds}s", "-o", "out.html", "--json", *options, target)
    assert done.code in (0, 3), done
    return done.json


def checkup_of_work(clarinet, target, *options, seconds=2):
    """Looks until the program had 0.4 s of processor time: short of processors 2 s give it less than
    the 20 samples that the finding asks for."""
    for long in (seconds, 5, 20):
        result = checkup(clarinet, target, *options, seconds=long)
        if result["vitals"]["cpu"]["value"] * result["duration_s"] >= 0.4:
            break
    return result


def ids(result):
    return [finding["id"] for finding in result["findings"]]


def criticals(result):
    return [f for f in result["findings"] if f["severity"] == "critical"]


# A machine that is short of processors makes pauses long; nothing else may be found by mistake.
LOAD = {"long-pauses", "slow-suspension"}

SICK = [
    ("Deadlock", (), "deadlock", "Deadlock.Bank.Move"),
    ("Second", ("--disease", "deadlock"), "deadlock", "Second.Waiting.Eat"),
    ("LockQueue", (), "lock-contention", "LockQueue.Till.Serve"),
    ("Starved", (), "thread-pool-starvation", "Starved.Orders.Blocking"),
    ("HotLoop", ("--work", "boxes"), "cpu-hot-path", "HotLoop.Work.AddBoxed"),
    ("HotLoop", ("--work", "copies"), "cpu-hot-path", "HotLoop.Work.AddCopied"),
    ("HotLoop", ("--work", "text"), "cpu-hot-path", "HotLoop.Work.WriteList"),
    ("Second", ("--disease", "hot-linq-inlined"), "cpu-hot-path", "Second.Hot.CountOrders"),
    ("ExceptionStorm", (), "exception-storm", "ExceptionStorm.Places"),
    ("GcPressure", (), "gc-pressure", "GcPressure"),
]

CAUSES = {("boxes",): "boxing int", ("copies",): "copy the struct HotLoop.Order (256 bytes)",
          ("text",): "putting strings together", ("hot-linq-inlined",): "LINQ itself"}
# Boxes and texts are collected: 4 % of the time, twice as much where processors are short.
BESIDES = {("boxes",): {"gc-pressure"}, ("text",): {"gc-pressure"}}


@pytest.mark.parametrize("name, options, finding, place", SICK)
def test_a_sick_program_has_its_finding(runtime, sample, clarinet, name, options, finding, place):
    with sample(name, *options) as patient:
        look = checkup_of_work if finding == "cpu-hot-path" else checkup
        result = look(clarinet, patient.pid)
        assert result["target"]["pid"] == patient.pid
        assert result["target"]["name"] == name
        assert result["target"]["runtime_version"] == runtime.version
    found = [f for f in result["findings"] if f["id"] == finding]
    assert found, result
    assert place in json.dumps(found[0]["evidence"]), found
    assert re.search(r"\d", found[0]["statement"])
    assert found[0]["advice"] and found[0]["doc"] == f"docs/findings/{finding}.md"
    assert CAUSES.get(options[-1:], "") in found[0]["statement"], found
    assert set(ids(result)) <= {finding, *LOAD, *BESIDES.get(options[-1:], ())}, result


# What does not differ between runtimes is tried on one. A slow machine makes fewer objects.
SICK_ONCE = [
    ("HotLoop", ("--work", "count"), "cpu-hot-path", "HotLoop.Work.CountPrimes", 2),
    ("HotLoop", ("--work", "regex"), "cpu-hot-path", "HotLoop.Work.CheckMail", 2),
    ("Zombies", (), "zombie-threads", "Zombies.Jobs.Work", 4),
    ("FinalizerJam", (), "finalizer-backlog", "FinalizerJam.Session.SayGoodbye", 2),
    ("Allocator", (), "large-object-churn", "Allocator.Maker.MakeLarge", 2),
    ("Recompiler", (), "jit-storm", "DiscountRule", 2),
    ("SlowToStop", ("--hold", 600, "--rate", 2), "slow-suspension", "SlowToStop.Stopper", 6),
    ("LeakyCache", ("--leak", 800), "leak-growth", "", 5),
]
HEALTHY_ONCE = [
    ("HotLoop", ("--work", "plain")),
    ("Zombies", ("--healthy", 1)),
    ("FinalizerJam", ("--dispose", 1)),
    ("Allocator", ("--thrifty", 1)),
    ("Recompiler", ("--cached", 1)),
    ("SlowToStop", ("--polite", 1, "--rate", 1)),
    ("LeakyCache", ("--leak", 800, "--limit", 20000)),
]


@pytest.mark.parametrize("name, options, finding, place, seconds", SICK_ONCE)
def test_a_sick_program_has_its_finding_alone(newest_runtime, sample, clarinet, tmp_path, name,
                                              options, finding, place, seconds):
    limits = tmp_path / "limits"
    limits.write_text("large-object-churn.mb-per-second = 5\njit-storm.per-second = 4\n"
                      "leak-growth.collections = 2\nleak-growth.mb = 1\n"
                      "leak-growth.percent = 2\n")
    with sample(name, *options) as patient:
        look = checkup_of_work if name == "HotLoop" else checkup
        result = look(clarinet, patient.pid, "--thresholds", limits, seconds=seconds)
    found = [f for f in result["findings"] if f["id"] == finding]
    assert found, result
    assert place in json.dumps(found[0]["evidence"]), found
    assert found[0]["advice"] and found[0]["doc"] == f"docs/findings/{finding}.md"
    assert set(ids(result)) <= {finding, *LOAD}, result
    assert result["vitals"]["allocation"]["mark"] == "ok"


@pytest.mark.parametrize("name, options", HEALTHY_ONCE)
def test_its_healthy_twin_has_none(newest_runtime, sample, clarinet, name, options):
    with sample(name, *options) as patient:
        result = checkup(clarinet, patient.pid)
    assert set(ids(result)) <= LOAD, result


@pytest.mark.parametrize("what, finding, place", [
    ("strings", "duplicated-strings", "Keeper.Order.City"),
    ("lists", "collection-waste", "System.Collections.Generic.List<Keeper.Line>"),
    ("tasks", "stuck-tasks", "Keeper.Program.AskAsync"),
])
def test_a_snapshot_of_the_heap_has_its_finding_alone(newest_runtime, sample, clarinet, tmp_path,
                                                      what, finding, place):
    with sample("Keeper", "--what", what) as patient:
        result = checkup(clarinet, patient.pid, "--heap", seconds=1)
    found = [f for f in result["findings"] if f["id"] == finding]
    assert found and found[0]["place"] == place, result
    assert place in json.dumps(found[0]["evidence"]), found
    assert found[0]["pid"] == patient.pid
    assert found[0]["advice"] and found[0]["doc"] == f"docs/findings/{finding}.md"
    assert set(ids(result)) <= {finding, *LOAD}, result
    again = clarinet("checkup", "--json", result["heap"]).json
    assert [f["statement"] for f in again["findings"] if f["id"] == finding] == [found[0]["statement"]]
    with sample("Keeper", "--what", what, "--thrifty", 1) as patient:
        result = checkup(clarinet, patient.pid, "--heap", seconds=1)
    assert set(ids(result)) <= LOAD, result


def test_a_small_heap_is_looked_at_without_being_asked(runtime, sample, clarinet, tmp_path):
    """The look is left out where the machine is too busy for it, so it is tried a few times. It
    leaves no file: what it saw is told, and in the page."""
    with sample("LeakyCache") as patient:
        for _ in range(10):
            result = checkup(clarinet, patient.pid, seconds=2)
            if "heap_types" in result or runtime.version.startswith("8."):
                break
        assert ("heap_types" in result) == (not runtime.version.startswith("8.")), result
        if "heap_types" in result:
            types = {row["type"]: row["objects"] for row in result["heap_types"]}
            assert types["LeakyCache.Entry"] == 20000
            page = page_data((tmp_path / "out.html").read_text())
            (heap,) = [process["heap"] for process in page["processes"]]
            loaded = page["processes"][0]["info"]["assemblies"].splitlines()
            names = [path.rpartition("/")[2] for path in loaded]
            assert {"LeakyCache.dll", "System.Private.CoreLib.dll"} <= set(names), names
            assert len(loaded) == len(set(loaded)), loaded
            assert heap["quick"] and not heap["collected"], heap
            assert {row["type"]: row["count"] for row in heap["types"]}["LeakyCache.Entry"] == 20000
        assert "heap" not in result and not list(tmp_path.glob("*-heap*"))
        result = checkup(clarinet, patient.pid, "--no-heap", seconds=1)
        assert "heap" not in result and "heap_types" not in result
    assert set(ids(result)) <= LOAD, result


def test_memory_that_grows_is_told_by_type_with_its_path(runtime, sample, clarinet, tmp_path):
    """20,000 entries are there and 8,000 a second come. On 8.0 the looks are taken when asked for."""
    limits = tmp_path / "limits"
    limits.write_text("leak-growth.collections = 2\nleak-growth.mb = 1\nleak-growth.percent = 2\n")
    asked = ("--heap",) if runtime.version.startswith("8.") else ()
    with sample("LeakyCache", "--leak", 400) as patient:
        for _ in range(5):  # unasked, it is left out where the machine is too busy for it
            result = checkup(clarinet, patient.pid, "--thresholds", limits, *asked, seconds=5)
            found = [f for f in result["findings"] if f["id"] == "leak-growth"]
            assert found, result
            if any("what grew" in line for line in found[0]["evidence"]):
                break
    at = [i for i, line in enumerate(found[0]["evidence"]) if "what grew" in line]
    assert at, result
    grown = found[0]["evidence"][at[0] + 1:]
    types = [line.split(": ")[0] for line in grown]
    assert types[0] == "byte[]" and "LeakyCache.Entry" in types, grown
    assert not {"LeakyCache.Label", "LeakyCache.Dropped"} & set(types), grown
    for line in grown:
        assert re.search(r": \d+\.\d MB more a minute", line), grown
        assert "held by static field LeakyCache.Store.Entries -> " in line, grown
    assert "LeakyCache.Entry.Body -> byte[]" in grown[0], grown
    assert "What grows most is byte[]" in found[0]["statement"], found
    assert result["heap_types"][0]["type"] == "byte[]"
    assert ("heap" in result) == bool(asked)


def test_what_is_recorded_in_any_case_is_named(clarinet):
    done = clarinet("checkup", "--also", "http,cpu", "1")
    assert done.code == 2 and "records cpu in any case" in done.err, done
    done = clarinet("checkup", "--also", "heap", "1")
    assert done.code == 2 and "--heap" in done.err, done
    done = clarinet("checkup", "--heap", "--", "true")
    assert done.code == 2 and "a process that runs" in done.err, done
    for verb in ["checkup"], ["record", "-p", "cpu"]:
        done = clarinet(*verb, "1", "-d", "1s", "2")
        assert done.code == 2 and "more than one target: 1 and 2" in done.err, done
        done = clarinet(*verb, "1", "--", "true", "-d")
        assert done.code == 2 and "more than one target: 1 and a command" in done.err, done


def test_a_deadlock_names_both_threads(runtime, sample, clarinet):
    with sample("Deadlock") as patient:
        found = checkup(clarinet, patient.pid)["findings"][0]
    assert found["severity"] == "critical"
    text = json.dumps(found)
    assert "pay-1" in text and "pay-2" in text and "Deadlock.Account" in text
    assert "1 more thread waits behind them" in found["statement"]


HEALTHY = [
    ("Healthy", ()),
    ("Idle", ()),
    ("Deadlock", ("--order", "same")),
    ("LockQueue", ("--locks", "own")),
    ("Starved", ("--wait", "await")),
]


@pytest.mark.parametrize("name, options", HEALTHY)
def test_a_healthy_program_has_no_finding(runtime, sample, clarinet, name, options):
    with sample(name, *options) as patient:
        result = checkup(clarinet, patient.pid)
    assert set(ids(result)) <= LOAD, result
    assert criticals(result) == []
    assert result["duration_s"] >= 1.5
    assert set(result["vitals"]) == {"cpu", "gc", "threads", "allocation", "exceptions", "locks"}
    assert result["vitals"]["exceptions"]["mark"] == "ok"
    assert 0 < result["overhead_percent"] < 100


def test_a_web_service_idle_and_busy(web_service, clarinet):
    assert criticals(checkup(clarinet, web_service.pid)) == []
    over = threading.Event()

    def load():
        while not over.is_set():
            for path in ("/products", "/products/7", "/sort?n=2000", "/wait?ms=5"):
                with urllib.request.urlopen(web_service.url + path, timeout=PATIENCE) as answer:
                    answer.read()

    clients = [threading.Thread(target=load) for _ in range(3)]
    for client in clients:
        client.start()
    try:
        assert criticals(checkup(clarinet, web_service.pid)) == []
    finally:
        over.set()
        for client in clients:
            client.join()


def test_slow_requests_are_found(newest_runtime, sample_command, start_program, clarinet, tmp_path):
    shop = start_program(sample_command("WebShop"))
    shop.url = shop.wait_for(r"^listening on (http://127\.0\.0\.1:\d+)$").group(1)
    limits = tmp_path / "limits"
    limits.write_text("http-slow.ms = 300\nhttp-slow.requests = 3\n")
    over = threading.Event()

    def load():
        while not over.is_set():
            with urllib.request.urlopen(shop.url + "/wait?ms=400", timeout=PATIENCE) as answer:
                answer.read()

    clients = [threading.Thread(target=load) for _ in range(4)]
    for client in clients:
        client.start()
    try:
        result = checkup(clarinet, shop.pid, "--also", "http", "--thresholds", limits, seconds=4)
    finally:
        over.set()
        for client in clients:
            client.join()
    found = [f for f in result["findings"] if f["id"] == "http-slow"]
    assert found and found[0]["place"] == "GET /wait", result
    assert "GET /wait: " in found[0]["evidence"][0], found
    assert set(ids(result)) <= {"http-slow", *LOAD}, result


def test_dotnet_build_has_no_critical_finding(dotnet_build_project, clarinet, tmp_path):
    project = dotnet_build_project
    done = clarinet("checkup", "-o", "out.html", "--json=out.json", "--", *project.build,
                    env=project.env, timeout=300)
    assert done.code == 0, done
    result = json.loads((tmp_path / "out.json").read_text())
    assert criticals(result) == []


def test_a_command_keeps_its_output_and_exit_code(newest_runtime, sample_command, clarinet, tmp_path):
    command = sample_command("ExceptionStorm", "--rounds", 100)
    bare = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    done = clarinet("checkup", "-o", "out.html", "--", *command)
    assert (done.code, done.out) == (bare.returncode, bare.stdout)
    assert "found in ExceptionStorm, pid" in done.err
    assert "Exception storm" in done.err
    assert (tmp_path / "out.html").stat().st_size > 10000
    assert (tmp_path / "out.clarinet").exists()


def test_fail_on_baseline_and_thresholds(newest_runtime, sample, clarinet, tmp_path):
    limits, pauses = tmp_path / "limits", tmp_path / "pauses"
    # A machine that is short of processors makes pauses long.
    pauses.write_text("long-pauses.ms = 1e6\nlong-pauses.critical-ms = 1e6\n"
                      "slow-suspension.ms = 1e6\n")
    limits.write_text("# quiet\nexception-storm.per-second = 1e6\n" + pauses.read_text())
    with sample("ExceptionStorm") as patient:
        first = clarinet("checkup", "-d", "1s", "-o", "a.html", "--fail-on", "warning",
                         "--thresholds", pauses, patient.pid)
        assert first.code == 3, first
        assert first.out.startswith("1 problem found in ExceptionStorm, pid "), first
        assert "a.html" in first.out
        again = clarinet("checkup", "-d", "1s", "-o", "b.html", "--fail-on", "info",
                         "--baseline", "a.clarinet", "--thresholds", pauses, patient.pid)
        assert again.code == 0, again
        assert again.out.startswith("no problem found"), again
        calm = clarinet("checkup", patient.pid, "-d", "1s", "-o", "c.html", "--fail-on", "info",
                        "--thresholds", limits)
        assert calm.code == 0, calm
    limits.write_text("exception-storm.per-hour = 3\n")
    wrong = clarinet("checkup", "--thresholds", limits, "1")
    assert wrong.code == 2 and "there is no threshold" in wrong.err
    # The findings are in every report of the recording, and first on the page.
    report = clarinet("report", "a.clarinet", "-f", "json").json
    assert ids(report)[0] == "exception-storm" and set(ids(report)) <= {"exception-storm", *LOAD}
    text = clarinet("report", "a.clarinet", "-f", "md").out
    assert text.startswith("# Findings\n\n## warning: Exception storm")
    page = (tmp_path / "a.html").read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page,
                                re.S).group(1))
    assert ids(data) == ["exception-storm"]


def test_facts_of_the_process_are_kept(newest_runtime, sample_command, start_program, clarinet):
    # the runtime has no server GC for one processor
    server = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2", "DOTNET_PROCESSOR_COUNT": "2",
              "ASPNETCORE_ApiKey": "hush"}
    patient = start_program(sample_command("Idle"), env=server)
    done = clarinet("checkup", "-d", "1s", "-o", "out.html", "--json", patient.pid)
    assert done.code == 0, done
    info = clarinet("report", "out.clarinet", "-f", "json").json["processes"][0]["info"]
    assert info["gc_mode"] == "server", info
    assert "DOTNET_gcServer=1\n" in info["environment"] + "\n"
    assert "ASPNETCORE_ApiKey=(not recorded)" in info["environment"]
    assert "hush" not in json.dumps(info)


def test_a_debug_build_is_told_apart_from_a_release_build(runtime, sample_command, clarinet,
                                                          tmp_path):
    found = {}
    for name in ("DebugBuild", "Shapes"):
        done = clarinet("checkup", "-o", f"{name}.html", f"--json={name}.json", "--",
                        *sample_command(name, "--work", "alloc,regex,json,linq,async", "--seconds", 1))
        assert done.code == 0, done
        findings = json.loads((tmp_path / f"{name}.json").read_text())["findings"]
        found[name] = [f for f in findings if f["id"] == "runtime-settings"]
    assert found["Shapes"] == [], found
    (debug,) = found["DebugBuild"]
    assert debug["severity"] == "warning" and debug["place"] == "debug", debug
    assert "compiled without optimization: it is a debug build" in debug["statement"], debug


def test_a_setting_of_several_processes_is_told_once(newest_runtime, sample_command, clarinet,
                                                     tmp_path):
    command = " ".join(map(str, sample_command("Healthy", "--rounds", 20)))
    done = clarinet("checkup", "-o", "out.html", "--json=out.json", "--", "sh", "-c",
                    f"{command} & {command} & wait", env={"DOTNET_TieredPGO": "0"})
    assert done.code == 0, done
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["target"]["processes"] == 2, result
    (found,) = [f for f in result["findings"] if f["id"] == "runtime-settings"]
    assert found["place"] == "TieredPGO" and "and 1 other)" in found["statement"], found


def test_wrong_usage_is_told(clarinet):
    for arguments in ((), ("--fail-on", "bad", "1"), ("-f", "html", "1"), ("--what", "1"),
                      ("1", "2"), ("-d", "0", "1")):
        done = clarinet("checkup", *arguments)
        assert done.code == 2, done
        assert done.err.startswith("clarinet: ")
    assert clarinet("checkup", "999999999").code == 1
