"""clarinet heap: exact counts, what keeps objects alive, nothing changed in the program."""
import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

import recording_reader

from conftest import PATIENCE, size_of, wait_until

ENTRIES = 20000


def types(result):
    assert result.code == 0, result
    return {row["type"]: row for row in result.json["types"]}


def step(steps, name):
    """The step of paths with this type."""
    found = [one for one in steps if one["type"] == name]
    assert len(found) == 1, (name, steps)
    return found[0]


def test_counts_are_exact(sample, clarinet, runtime, tmp_path):
    file = tmp_path / "leak.clarinet"
    with sample("LeakyCache", "--entries", ENTRIES) as patient:
        found = types(clarinet("heap", "--json", "-o", file, patient.pid))
        again = types(clarinet("heap", "--json", patient.pid))
    assert patient.process.returncode == 0, patient
    total = sum(range(ENTRIES)) + 100 * ENTRIES
    assert patient.stdout == f"entries {ENTRIES}\nready\nsum {total}\n"
    assert patient.stderr == ""
    for rows in found, again:
        assert rows["LeakyCache.Entry"]["count"] == ENTRIES
        assert rows["LeakyCache.Entry"]["bytes"] == ENTRIES * 32
        # each keeps its body of 100 bytes: 24 + 100
        assert rows["LeakyCache.Entry"]["retained"] == ENTRIES * (32 + 124)
        assert rows["LeakyCache.Label"]["count"] == ENTRIES // 10
        assert rows["LeakyCache.Label"]["retained"] == ENTRIES // 10 * 24
        assert "LeakyCache.Dropped" not in rows
        held = rows["System.Collections.Generic.List<LeakyCache.Entry>"]
        assert held["count"] == 1
        assert held["retained"] >= ENTRIES * (32 + 124 + 8)


def test_the_path_names_the_static_field(sample, clarinet, runtime, tmp_path):
    file = tmp_path / "leak.clarinet"
    with sample("LeakyCache", "--entries", ENTRIES) as patient:
        assert clarinet("heap", "-o", file, patient.pid).code == 0
    done = clarinet("heap", file, "--json", "--type", "LeakyCache.Entry", "--paths")
    assert done.code == 0, done
    root = step(done.json["paths"], "System.Collections.Generic.List<LeakyCache.Entry>")
    assert root["root"] == "static field LeakyCache.Store.Entries", root
    assert root["objects"] == ENTRIES
    array = step(root["next"], "LeakyCache.Entry[]")
    assert step(array["next"], "LeakyCache.Entry")["objects"] == ENTRIES
    text = clarinet("heap", file)
    assert text.code == 0 and "static field LeakyCache.Store.Entries" in text.out, text
    ways = clarinet("heap", file, "--json", "--type", "LeakyCache.Entry", "--paths", "--depth", 2,
                    "--least-objects", ENTRIES).json["paths"]
    assert [one["next"][0]["next"] for one in ways] == [[]], ways
    assert clarinet("heap", file, "--json", "--type", "LeakyCache.Entry", "--paths",
                    "--least-bytes", ENTRIES * 33).json["paths"] == []
    ways = clarinet("heap", file, "--type", "LeakyCache.Entry", "--paths").out
    assert f"{ENTRIES} {ENTRIES * 32 / 1000:.0f} KB static field LeakyCache.Store.Entries" in " ".join(
        ways.split()), ways
    ways = clarinet("heap", file, "--type", "LeakyCache.Entry", "--paths", "--least-objects", ENTRIES + 1)
    assert "1 way leads to fewer objects or bytes than asked for" in ways.out, ways
    groups = {row["namespace"]: row for row in
              clarinet("heap", file, "--json", "--group", "namespace").json["groups"]}
    # entries, labels and their arrays
    assert groups["LeakyCache"]["count"] >= ENTRIES + ENTRIES // 10 + 2, groups["LeakyCache"]
    assert groups["LeakyCache"]["retained"] >= ENTRIES * (32 + 124 + 8), groups["LeakyCache"]
    for two in ["--group", "namespace"], ["--paths", "--objects"]:
        refused = clarinet("heap", file, "--type", "LeakyCache.Entry", *two)
        assert refused.code == 2 and "take one" in refused.err, refused
    text = clarinet("heap", file, "--group", "assembly")
    assert "System.Private.CoreLib" in text.out and "LeakyCache" in text.out, text
    report = clarinet("report", file, "-f", "md")
    assert report.code == 0 and "## Heap" in report.out, report
    assert "static field LeakyCache.Store.Entries" in report.out, report
    data = clarinet("report", file, "-f", "json").json
    table = [t for t in data["processes"][0]["tables"] if t["name"] == "heap_types"][0]
    assert {row["type"]: row["count"] for row in table["types"]}["LeakyCache.Entry"] == ENTRIES


def test_healthy_holds_nothing_of_its_own(sample, clarinet, newest_runtime):
    with sample("Healthy", "--threads", 2) as patient:
        done = clarinet("heap", "--json", patient.pid)
    assert done.code == 0, done
    assert done.json["unknown_references"] == 0, done
    assert done.json["bytes"] < 4 << 20
    assert done.json["waste"] == [], done.json["waste"]


def test_a_web_service_keeps_serving(web_service, clarinet):
    for _ in range(3):
        done = clarinet("heap", "--json", web_service.pid)
        rows = types(done)
        assert done.json["unknown_references"] == 0
        assert rows["string"]["count"] > 500
        assert any("Kestrel" in name for name in rows)
        with urllib.request.urlopen(web_service.url + "/health", timeout=PATIENCE) as answer:
            assert answer.read() == b"ok"
    assert web_service.finish() == 0, web_service


def test_dotnet_build(dotnet_build_project, start_program, clarinet):
    """A build takes few seconds, and may be over before the first look at enough objects."""
    found = None
    deadline = time.monotonic() + PATIENCE
    while found is None and time.monotonic() < deadline:
        build = start_program(dotnet_build_project.build, dotnet_build_project.env, ready=None)
        while found is None and build.is_running:
            done = clarinet("heap", "--json", build.pid)
            if done.code == 0 and done.json["objects"] > 20000:
                found = done.json
        assert build.wait() == 0, build
    assert found is not None, build
    assert found["unknown_references"] == 0


def test_a_killed_tool_does_no_harm(sample, clarinet, runtime, tmp_path):
    """Before the walk, at its first records and in the middle of it; the next snapshot is whole."""
    with sample("LeakyCache", "--entries", 400000) as patient:
        for size in 1, 4096, 1 << 19:
            file = tmp_path / f"{size}.clarinet"
            process = clarinet.start("heap", "-o", file, patient.pid)
            wait_until(lambda: process.poll() is not None or size_of(file) >= size)
            process.kill()
            process.communicate(timeout=PATIENCE)
        rows = types(clarinet("heap", "--json", "--top", "3", patient.pid))
        assert rows["LeakyCache.Entry"]["count"] == 400000
    assert patient.process.returncode == 0 and patient.stderr == "", patient


def test_a_tool_killed_in_a_quick_look(sample, clarinet, runtime, tmp_path):
    """In the middle of the walk: nothing of it is seen in the program, and the next look works."""
    if runtime.name == "8.0":
        pytest.skip("8.0 has no quick look")
    file = tmp_path / "killed.clarinet"
    with sample("LeakyCache", "--entries", 400000) as patient:
        process = clarinet.start("heap", "--quick", "-o", file, patient.pid)
        wait_until(lambda: process.poll() is not None or size_of(file) > 4096)
        process.kill()
        process.communicate(timeout=PATIENCE)
        rows = types(clarinet("heap", "--quick", "--json", "--top", "3", patient.pid))
        assert rows["LeakyCache.Entry"]["count"] == 400000
    assert patient.process.returncode == 0 and patient.stderr == "", patient
    total = sum(range(400000)) + 100 * 400000
    assert patient.stdout == f"entries 400000\nready\nsum {total}\n", patient


def test_a_stopped_tool_costs_the_snapshot_only(sample, clarinet, newest_runtime, tmp_path):
    """A tool that does not read: the program waits for it a few seconds at most."""
    with sample("LeakyCache", "--entries", 2000000) as patient:
        file = tmp_path / "stopped.clarinet"
        process = clarinet.start("heap", "-o", file, patient.pid)
        while process.poll() is None and not (file.exists() and file.stat().st_size > 4096):
            time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)
        assert patient.finish(timeout=PATIENCE) == 0, patient
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=PATIENCE)


def sockets_of(pid):
    found = set()
    for one in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.add(os.readlink(one))
        except OSError:
            pass  # closed meanwhile
    return {name for name in found if name.startswith("socket:")}


def private_memory(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(size) << 10 for size in re.findall(r"RssAnon:\s+(\d+)", status))


def stop_in_the_walk(tool, patient):
    """Stops the tool while it takes in records, until the agent in the program has given up on it.
    False: it had all of them."""
    while tool.poll() is None and private_memory(tool.pid) < 4 << 20:
        time.sleep(0.001)
    tool.send_signal(signal.SIGSTOP)
    before = sockets_of(patient.pid)
    for _ in range(200):
        if not before <= sockets_of(patient.pid):
            break
        time.sleep(0.05)
    tool.send_signal(signal.SIGCONT)
    return tool.wait(timeout=PATIENCE) != 0


def test_a_stopped_tool_does_not_blame_the_program(sample, clarinet, newest_runtime):
    with sample("LeakyCache", "--entries", 2000000) as patient:
        for _ in range(5):
            tool = clarinet.start("heap", patient.pid, stdout=subprocess.DEVNULL)
            if stop_in_the_walk(tool, patient):
                break
        said = tool.stderr.read()
        assert tool.returncode == 1 and "this command stood still for" in said, said
        assert "is recorded" not in said, said


def test_ctrl_c_lets_the_program_go_on(sample, clarinet, newest_runtime, tmp_path):
    """In the middle of a walk, with and without a collection."""
    with sample("LeakyCache", "--entries", 500000) as patient:
        for number, option in enumerate(([], ["--quick"])):
            file = tmp_path / f"{number}.clarinet"
            process = clarinet.start("heap", *option, "-o", file, patient.pid)
            wait_until(lambda: process.poll() is not None or size_of(file) > 4096)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE)
            # whole, or given up with a word about it
            assert process.returncode in (0, 1), process.returncode
            assert "there is no heap snapshot" not in str(said), said
        rows = types(clarinet("heap", "--json", "--top", "3", patient.pid))
        assert rows["LeakyCache.Entry"]["count"] == 500000
    assert patient.process.returncode == 0, patient


def test_ctrl_c_through_the_port(sample, clarinet, newest_runtime, tmp_path):
    """While the events of the dump come: what has come of it is not taken for a snapshot."""
    port = {"CLARINET_WAY": "port"}
    with sample("LeakyCache", "--entries", 1500000) as patient:
        file = tmp_path / "x.clarinet"
        process = clarinet.start("heap", "-o", file, patient.pid, env=port)
        wait_until(lambda: process.poll() is not None or size_of(tmp_path / "x.clarinet.nettrace") > 4096)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1 and "stopped before the snapshot was taken; the process goes on" in said, said
        rows = types(clarinet("heap", "--json", "--top", "3", patient.pid, env=port))
        assert rows["LeakyCache.Entry"]["count"] == 1500000
    assert patient.process.returncode == 0, patient


def test_a_full_disk_is_said(sample, clarinet, newest_runtime):
    with sample("LeakyCache", "--entries", ENTRIES) as patient:
        done = clarinet("heap", "-o", "/dev/full", patient.pid)
    assert done.code == 1 and "clarinet:" in done.err, done
    assert patient.process.returncode == 0, patient


def test_a_program_that_ends_during_the_walk(sample, clarinet, newest_runtime, tmp_path):
    file = tmp_path / "ended.clarinet"
    with sample("LeakyCache", "--entries", 500000) as patient:
        process = clarinet.start("heap", "-o", file, patient.pid)
        wait_until(lambda: process.poll() is not None or size_of(file) > 4096)
        patient.process.kill()
        out, err = process.communicate(timeout=PATIENCE)
    if process.returncode != 0:
        assert process.returncode == 1, (out, err)
        assert f"{patient.pid} ended while the snapshot was taken" in err, (out, err)


def test_bad_input(clarinet, tmp_path):
    assert clarinet("heap").code == 2
    assert clarinet("heap", "diff", "a").code == 2
    assert clarinet("heap", "--by", "size", "1").code == 2
    assert clarinet("heap", "--paths", "1").code == 2
    assert clarinet("heap", "watch", "--every", "0", "1").code == 2
    missing = clarinet("heap", tmp_path / "missing.clarinet")
    assert missing.code == 1 and "there is no file" in missing.err, missing
    folder = clarinet("heap", tmp_path)
    assert folder.code == 2 and "is a folder" in folder.err, folder
    empty = tmp_path / "empty.clarinet"
    empty.write_bytes(b"nothing")
    done = clarinet("heap", empty)
    assert done.code == 1 and "clarinet:" in done.err, done
    for option in ["-o", tmp_path / "copy"], ["--quick"], ["--strings", "off"], ["--fields", "X"]:
        refused = clarinet("heap", empty, *option)
        assert refused.code == 2 and "belongs to taking a snapshot" in refused.err, refused


def test_a_cut_snapshot_is_said(sample, clarinet, newest_runtime, tmp_path):
    file = tmp_path / "whole.clarinet"
    with sample("LeakyCache", "--entries", ENTRIES) as patient:
        assert clarinet("heap", "-o", file, patient.pid).code == 0
    cut = tmp_path / "cut.clarinet"
    cut.write_bytes(file.read_bytes()[: os.path.getsize(file) // 2])
    done = clarinet("heap", cut)
    assert done.code == 1, done
    assert "heap snapshot" in done.err, done
    # behind the snapshot there are some more bytes: that they are missing is said too
    whole = file.read_bytes()
    for left in [*range(1, 8), *range(8, 400, 23)]:
        cut.write_bytes(whole[:-left])
        done = clarinet("heap", cut)
        assert "the recording breaks off" in done.err or "cut off" in done.err, (left, done)
    assert clarinet("heap", file).err == ""


def test_snapshots_leave_no_memory_behind(sample, clarinet, newest_runtime, tmp_path):
    """The runtime copies the references of the largest array, 8 MB here, at each snapshot."""
    def resident(pid):
        with open(f"/proc/{pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

    with sample("LeakyCache", "--entries", 1000000) as patient:
        left = []
        for _ in range(6):
            assert clarinet("heap", "--json", "--top", "1", patient.pid).code == 0
            left.append(resident(patient.pid))
    assert max(left[2:]) - left[1] < 6000, left


ITEMS = 500
LIST = "System.Collections.Generic.List<Hoarder."
# type, how many, and the way that keeps most of them: root, then (field, type) step by step
WAYS = [
    ("ListItem", ITEMS, "static field Hoarder.Store.List", ["_items", "[]"]),
    ("CacheItem", ITEMS, "static field Hoarder.Store.Cache", ["_entries", "[].value"]),
    ("Subscriber", ITEMS, "static field Hoarder.Store.Publisher",
     ["Changed", "_invocationList", "[]", "_target"]),
    ("ClosureItem", ITEMS, "static field Hoarder.Store.Closures",
     ["_items", "[]", "_target", "captured"]),
    ("PairItem", ITEMS, "static field Hoarder.Store.Pairs", ["[].First"]),
    ("Named", ITEMS, "static field Hoarder.Store.Names", ["_items", "[]"]),
    ("ThreadItem", ITEMS, "thread static Hoarder.Store.PerThread", ["_items", "[]"]),
    ("BoxedItem", ITEMS, "thread static Hoarder.Store.Pocket", ["Items", "_items", "[]"]),
    ("Blocked", ITEMS - 1, "finalizer queue", []),
]


def fields_of(step):
    """The fields along the way that most objects take."""
    fields = []
    while step["next"]:
        step = max(step["next"], key=lambda one: one["objects"])
        fields.append(step.get("field"))
    return fields


def check_waste(rows):
    """Everything that the sample keeps for nothing, by rule and type."""
    found = {(row["kind"], row["type"]): row for row in rows}
    lists = found["empty_collections", "System.Collections.Generic.List<Hoarder.SparseItem>"]
    assert (lists["count"], lists["used"], lists["room"]) == (20, 40, 20000), lists
    assert lists["bytes"] == 20 * 998 * 8, lists
    for name, used, least in (("List<int>", 40, 20000), ("Dictionary<long, long>", 20, 10000),
                              ("HashSet<int>", 20, 10000), ("Queue<double>", 20, 10000)):
        numbers = found["empty_collections", f"System.Collections.Generic.{name}"]
        assert numbers["used"] == used and numbers["room"] >= least, numbers
    # no array of these kinds has ever had a reference
    unused = found["empty_collections", "System.Collections.Generic.HashSet<Hoarder.SparseItem>"]
    assert unused["used"] == 0 and unused["room"] >= 10000, unused
    board = found["sparse_arrays", "Hoarder.SparseItem[,]"]
    assert (board["used"], board["room"], board["holder"]) == (0, 10000, "Hoarder.Store.Board"), board
    # these are full of values
    assert not [name for _, name in found if "Reading" in name or "Dictionary<int, string>" in name], found
    array = found["sparse_arrays", "Hoarder.SparseItem[]"]
    assert (array["count"], array["used"], array["room"]) == (1, 20, 10000), array
    assert array["holder"] == "Hoarder.Store.SparseArray", array
    boxes = found["boxed_values", "int"]
    assert (boxes["count"], boxes["bytes"], boxes["holder"]) == (ITEMS, ITEMS * 24, "object[]"), boxes
    assert boxes["owner"] == "Hoarder.Store.Boxes", boxes
    assert found["equal_arrays", "byte[]"]["count"] >= ITEMS - 1, found
    event = found["event_subscribers", "Hoarder.Subscriber"]
    assert (event["count"], event["holder"]) == (ITEMS, "Hoarder.Publisher.Changed"), event
    event = found["event_subscribers", "Hoarder.Listener"]
    assert (event["count"], event["holder"]) == (ITEMS, "Hoarder.Publisher.Announced"), event
    timers = [row for (kind, name), row in found.items() if kind == "timers" and "Hoarder." in name]
    assert [row["count"] for row in timers] == [ITEMS], timers
    for name in ("Hoarder.CanceledItem", "Hoarder.RegisteredItem"):
        assert found["cancellation_callbacks", name]["count"] == ITEMS, found
    undisposed = found["undisposed", "Hoarder.Undisposed"]
    assert (undisposed["count"], undisposed["disposed"]) == (ITEMS * 4 // 5, ITEMS // 5), undisposed
    assert found["undisposed", "Hoarder.Blocked"]["count"] >= ITEMS - 1, found
    assert found["large_object_holes", "(large object heap)"]["bytes"] > 0, found


def test_ways_have_field_names(sample, clarinet, runtime, tmp_path):
    file = tmp_path / "hoard.clarinet"
    with sample("Hoarder", "--items", ITEMS) as patient:
        assert clarinet("heap", "-o", file, patient.pid).code == 0
    assert patient.process.returncode == 0, patient
    for name, count, root, fields in WAYS:
        done = clarinet("heap", file, "--json", "--type", f"Hoarder.{name}", "--paths")
        assert done.code == 0, done
        way = max(done.json["paths"], key=lambda one: one["objects"])
        assert (way["root"], fields_of(way)) == (root, fields), (name, way)
        assert way["objects"] >= count, (name, way)
    generic = clarinet("heap", file, "--json", "--type", "Hoarder.GenericItem", "--paths").json["paths"][0]
    assert generic["root"] == "static field Hoarder.Registry<Hoarder.GenericItem>.Instance", generic
    assert fields_of(generic)[-3:] == ["Items", "_items", "[]"], generic
    # of inline arrays the element
    drawers = clarinet("heap", file, "--json", "--type", "Hoarder.DrawerItem", "--paths").json["paths"]
    assert {(way["root"], field["field"]) for way in drawers for field in way["next"]} == {
        ("static field Hoarder.Store.Rack", "Rows[2].Back"), ("static field Hoarder.Store.Rack", "Cells[3]"),
        ("static field Hoarder.Store.Racks", "[][1].Back")}, drawers
    pooled = clarinet("heap", file, "--json", "--type", "Hoarder.PooledItem", "--paths").json["paths"]
    assert {way["root"]: way["objects"] for way in pooled} == {
        "static field Hoarder.Pool<string>.Items": ITEMS,
        "static field Hoarder.Pool<System.DateTime>.Items": 2 * ITEMS,
        "static field Hoarder.Pool<System.Collections.Generic.Dictionary<int, string>>.Items": 3 * ITEMS,
    }, pooled
    made = clarinet("heap", file, "--json", "--type", "Hoarder.MadeItem", "--paths").json["paths"]
    assert {way["root"] for way in made} == {f"static field Made.Type{i}.Item" for i in range(8)}, made
    slots = clarinet("heap", file, "--json", "--type", "Hoarder.SlotItem", "--paths").json["paths"]
    # of generic classes
    named = {
        "thread static Hoarder.Slot<string>.Items": ITEMS,
        "thread static Hoarder.Slot<System.DateTime>.Items": 2 * ITEMS,
        "thread static Hoarder.Slot<Hoarder.SlotItem>.Kept": 3 * ITEMS,
        "thread static Hoarder.Slot<System.Guid>.Items": 4 * ITEMS,
    }
    assert {way["root"]: way["objects"] for way in slots if "thread static" in way["root"]} == named, slots
    assert sum(way["objects"] for way in slots) == 10 * ITEMS, slots
    held = {(row["root"], row["type"]) for row in clarinet("heap", file, "--json").json["holders"]}
    # of a struct in a static field, in the first snapshot of a process
    assert ("static field Hoarder.Store.Twin", "Hoarder.Pair") in held, held
    for field, type_ in ("Spare", "Hoarder.Pair"), ("Since", "System.DateTime"), ("Name", "string"):
        assert (f"static field Hoarder.Pool<string>.{field}", type_) in held, (field, held)
    chain = clarinet("heap", file, "--json", "--type", "Hoarder.Node", "--paths").json["paths"][0]
    assert (chain["root"], chain["repeated_by"]) == ("static field Hoarder.Store.Chain", "Next")
    values = clarinet("heap", file, "--json", "--type", "Hoarder.TableItem", "--paths").json["paths"]
    # the value of a conditional weak table is held by its key
    assert values[0]["root"] == "static field Hoarder.Store.Keys", values
    last = values[0]
    while last["next"]:
        last = last["next"][0]
    assert last["dependent"] and last["type"] == "Hoarder.TableItem", values
    assert "(dependent handle) -> Hoarder.TableItem" in clarinet(
        "heap", file, "--type", "Hoarder.TableItem", "--paths").out
    check_waste(clarinet("heap", file, "--json").json["waste"])
    text = clarinet("heap", file).out
    assert "event Hoarder.Publisher.Changed" in text, text
    assert "Kept for little or nothing" in clarinet("report", file, "-f", "md").out
    timers = clarinet("heap", file, "--json", "--type", "Hoarder.TimerItem", "--paths").json["paths"]
    assert fields_of(timers[0])[-3:] == ["_timerCallback", "_target", "ticking"], timers


def test_through_the_port(sample, clarinet, runtime, tmp_path):
    """Without the agent: the same objects, what they retain, ways with fields, and what is kept for nothing."""
    files = {way: tmp_path / f"{way}.clarinet" for way in ("port", "agent")}
    found, statics, waste = {}, {}, {}
    with sample("Hoarder", "--items", ITEMS) as patient:
        for way, file in files.items():
            done = clarinet("heap", "--json", "-o", file, patient.pid, env={"CLARINET_WAY": way})
            found[way] = types(done)
            statics[way] = {(row["root"], row["type"], row["count"], row["retained"])
                            for row in done.json["holders"] if row["root"].startswith("static field ")}
            assert ("through the diagnostics port" in done.err) == (way == "port"), done
            names = {row["value"]: row for row in done.json["duplicates"]}["the same name in every order"]
            assert names["count"] == ITEMS + 1 and names["holders"] == [
                {"holder": "Hoarder.Named.Name", "references": ITEMS}], names
            assert done.json["strings_not_compared"] == 0, done.json["strings_not_compared"]
            arrays = [row["count"] for row in done.json["waste"] if row["kind"] == "equal_arrays"]
            assert arrays and max(arrays) >= ITEMS - 1, arrays
            waste[way] = {tuple(row.get(key) for key in ("kind", "type", "holder")):
                          [row[key] for key in ("count", "bytes", "used", "room") if key in row]
                          for row in done.json["waste"]
                          if row["kind"] not in ("equal_arrays", "large_object_holes")}
        off = clarinet("heap", "--strings", "off", "--json", patient.pid, env={"CLARINET_WAY": "port"})
        assert off.code == 0 and off.json["duplicates"] == [] and "may not be read" not in off.err, off
        quick = clarinet("heap", "--quick", patient.pid, env={"CLARINET_WAY": "port"})
        assert quick.code == 2 and "needs the agent" in quick.err, quick
    assert patient.process.returncode == 0 and patient.stderr == "", patient
    ours = {name: [row[key] for key in ("count", "bytes", "retained", "largest")]
            for name, row in found["agent"].items()
            if name.startswith("Hoarder.")}
    assert len(ours) > 15 and any("Program.<>c" in name for name in ours), ours
    for name, row in ours.items():
        assert [found["port"][name][key] for key in ("count", "bytes", "retained", "largest")] == row, name
    assert {kind for kind, *_ in waste["agent"]} >= {
        "empty_collections", "sparse_arrays", "boxed_values", "event_subscribers", "timers", "cancellation_callbacks",
        "undisposed"}, waste
    assert waste["port"] == waste["agent"], waste
    held = {row for row in statics["agent"] if row[0].startswith("static field Hoarder.")}
    assert {root.rpartition(" ")[2] for root, *_ in held} > {
        f"Hoarder.{name}" for name in ("Attic.Shelf", "Cellar.Shelf", "Attic.Latest", "Cellar.Latest")}, held
    assert held <= statics["port"], held - statics["port"]
    known = {row[0] for row in statics["agent"]}
    bare = [root for root, *_ in statics["port"] if "." not in root]
    assert len(bare) * 20 < len(statics["port"]), bare
    wrong = [row for row in statics["port"] if "." in row[0] and row[0] not in known
             and not row[1].startswith("System.")]
    assert wrong == [], wrong
    for name, count, root, fields in WAYS:
        done = clarinet("heap", files["port"], "--json", "--type", f"Hoarder.{name}", "--paths")
        way = max(done.json["paths"], key=lambda one: one["objects"])
        assert way["objects"] >= count, (name, way)
        if runtime.version.startswith("8.") and root.startswith("thread static"):
            assert way["root"] == "strong handle", (name, way)
            assert fields_of(way)[-len(fields):] == fields, (name, way)
        else:
            assert way["root"] == root and fields_of(way) == fields, (name, way)
    for name, fields in ("TimerItem", ["_timerCallback", "_target", "ticking"]), ("TableItem", []):
        ways = clarinet("heap", files["port"], "--json", "--type", f"Hoarder.{name}", "--paths").json["paths"]
        assert fields_of(ways[0])[-3:] == fields or not fields, ways
    assert ways[0]["root"] == "static field Hoarder.Store.Keys", ways
    grown = clarinet("heap", "diff", files["agent"], files["port"], "--json")
    rows = {row["type"]: row["count"] for row in grown.json["types"]}
    assert not [name for name in rows if name in ours], rows
    # both ways tell the runtime's own number of a class
    assert grown.json["survived"] > 100, grown.json["survived"]


def test_inherited_fields_through_the_port(sample, clarinet, runtime, tmp_path):
    """Of classes in another assembly, whose fields have the numbers of others in this one."""
    told = {}
    with sample("Heirs") as patient:
        for way in "port", "agent":
            file = tmp_path / f"{way}.clarinet"
            done = clarinet("heap", "--fields", "Heirs.House,Heirs.Inn", "--json", "-o", file, patient.pid,
                            env={"CLARINET_WAY": way})
            rows = clarinet("heap", file, "--json", "--type", "Heirs.*", "--objects", "--top", "1000").json["instances"]
            told[way] = sorted((row["type"], sorted(row.get("values", {}).items()),
                                sorted((field["field"] or "", field["type"]) for field in row["fields"])) for row in rows)
            events = {row["holder"]: row["count"] for row in done.json["waste"] if row["kind"] == "event_subscribers"}
            assert events == {"Heirs.Door.Rung": 30, "Heirs.Door.Broken": 30}, (way, events)
    assert patient.process.returncode == 0 and "rooms 41 41 2" in patient.stdout, patient
    assert told["port"] == told["agent"], told
    inn = next(row for row in told["port"] if row[0] == "Heirs.Inn")
    assert inn[1] == [("Rooms", 41), ("Stars", 3)] and [name for name, _ in inn[2]] == ["Beds", "Deed", "Guest", "Owner"], inn


def test_values_through_the_port(sample, clarinet, runtime, tmp_path):
    """Of a type's own numbers; those inside of structs are not told."""
    port = {"CLARINET_WAY": "port"}
    file = tmp_path / "leak.clarinet"
    with sample("LeakyCache", "--entries", 300) as patient:
        done = clarinet("heap", "--fields", "LeakyCache.Entry, LeakyCache.Detail, LeakyCache.Shared<T>", "-o", file,
                        patient.pid, env=port)
    assert done.code == 0 and patient.process.returncode == 0, done
    rows = clarinet("heap", file, "--json", "--type", "LeakyCache.Entry", "--objects").json["instances"]
    assert sorted(row["values"]["Number"] for row in rows) == list(range(300)), rows
    for name, values in ("Detail", {"Other": 1, "Last": True}), ("Shared<int>", {"Own": 0, "Kind": 2, "Grade": 2, "Last": 8}):
        rows = clarinet("heap", file, "--json", "--type", f"LeakyCache.{name}", "--objects").json["instances"]
        assert values.items() <= rows[0]["values"].items(), rows
    others = clarinet("heap", file, "--json", "--type", "LeakyCache.Label", "--objects").json["instances"]
    assert others and not any("values" in row for row in others), others


def test_a_busy_program_through_the_port(sample, clarinet, runtime, tmp_path):
    """Objects that have changed or moved since the runtime told of them have fewer names, but no wrong ones."""
    known = {}
    with sample("Busy", "--threads", 2) as patient:
        for way in "agent", "port":
            file = tmp_path / f"{way}.clarinet"
            done = clarinet("heap", "--json", "-o", file, patient.pid, env={"CLARINET_WAY": way})
            assert done.code == 0, done
            rows = clarinet("heap", file, "--json", "--type", "System.*", "--objects", "--top", "1000000").json["instances"]
            known[way] = {}
            for row in rows:
                if "[" not in row["type"]:
                    names = known[way].setdefault(row["type"], set())
                    names.update(field["field"].partition(".")[0] for field in row["fields"] if field.get("field"))
    assert patient.process.returncode == 0, patient
    both = [name for name in known["port"] if known["port"][name] and known["agent"].get(name)]
    assert len(both) > 20, known
    # what is null in all objects of one snapshot may have a reference in the other
    wrong = {name: known["port"][name] - known["agent"][name] for name in both
             if not known["port"][name] & known["agent"][name]}
    assert wrong == {}, wrong


@pytest.mark.skipif(os.geteuid() != 0, reason="takes a right away, which only root has")
def test_through_the_port_without_the_right_to_read(sample, clarinet_program, newest_runtime):
    with sample("LeakyCache", "--entries", 10) as patient:
        done = subprocess.run(["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", str(clarinet_program),
                               "heap", "--json", "--top", "1000", str(patient.pid)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "CLARINET_WAY": "port"})
    assert done.returncode == 0 and "heap.strings (its memory may not be read)" in done.stderr, done
    assert "heap.field names (its memory may not be read)" in done.stderr, done
    found = json.loads(done.stdout)
    assert found["duplicates"] == [], found
    assert [row["count"] for row in found["types"] if row["type"] == "LeakyCache.Entry"] == [10], found


def test_one_object(sample, clarinet, newest_runtime, tmp_path):
    file = tmp_path / "hoard.clarinet"
    with sample("Hoarder", "--items", ITEMS) as patient:
        assert clarinet("heap", "-o", file, patient.pid).code == 0
    slots = recording_reader.Recording.load(file).rows["heap", "heap_statics"]
    done = clarinet("heap", file, "--json", "--object", hex(next(row[0] for row in slots if row[0])))
    # the array that keeps static fields, and what it holds
    assert done.code == 0 and done.json["type"] == "object[]", done
    assert done.json["generation"] == "pinned" and done.json["path"], done
    named = {one["address"] for one in done.json["holds"]
             if one["type"] == "System.Collections.Generic.List<Hoarder.Named>"}
    assert len(named) == 1, done
    held = clarinet("heap", file, "--json", "--object", named.pop())
    assert held.json["root"] == "static field Hoarder.Store.Names", held
    assert held.json["holds"][0]["field"] == "_items", held
    array = clarinet("heap", file, "--json", "--object", held.json["holds"][0]["address"]).json
    assert [one["field"] for one in array["holds"][:3]] == ["[0]", "[1]", "[2]"], array
    assert array["held_by"] == [{**held.json["holds"][0], "address": held.json["address"],
                                 "type": held.json["type"]}], array
    assert array["retained"] > array["bytes"], array
    text = clarinet("heap", file, "--object", held.json["address"])
    assert "kept alive by static field Hoarder.Store.Names" in text.out, text
    assert clarinet("heap", file, "--object", "0x10").code == 1
    assert clarinet("heap", file, "--object", "zero").code == 2
    assert clarinet("heap", "--object", "0x10", "1").code == 2


def test_the_objects_of_a_type(sample, clarinet, newest_runtime, tmp_path):
    file = tmp_path / "leak.clarinet"
    with sample("LeakyCache", "--entries", 100) as patient:
        done = clarinet("heap", "--json", "-o", file, patient.pid)
        without = clarinet("heap", "--no-threads", "--json", patient.pid)
    # whose stack keeps what: the main thread has the number of the process
    stacks = [row for row in done.json["holders"] if row["root"].startswith("stack of LeakyCache.Program.Main")]
    assert stacks and all((row["threads"], row["thread"]) == (1, patient.pid) for row in stacks), done.json["holders"]
    assert without.code == 0 and not any("threads" in row for row in without.json["holders"]), without
    text = clarinet("heap", file, "--top", 100).out
    assert f"stack of LeakyCache.Program.Main in thread {patient.pid}" in text, text
    assert "weak handles besides" in text and "keep nothing alive" in text, text
    rows = clarinet("heap", file, "--json", "--type", "LeakyCache.Entry", "--objects").json["instances"]
    assert len(rows) == 100 and len({row["address"] for row in rows}) == 100, rows
    for row in rows:
        assert (row["type"], row["bytes"], row["retained"]) == ("LeakyCache.Entry", 32, 156), row
        assert [field["type"] for field in row["fields"] if field["field"] == "Body"] == ["byte[]"], row
    text = clarinet("heap", file, "--type", "LeakyCache.Entry", "--objects", "--top", 3)
    assert rows[0]["address"] in text.out and "97 more objects" in text.out, text
    missing = clarinet("heap", file, "--type", "LeakyCache.Enrty")
    assert missing.code == 1 and "no type of the name 'LeakyCache.Enrty'" in missing.err, missing
    assert "near it are: LeakyCache.Entry" in missing.err, missing
    as_json = clarinet("heap", file, "--json", "--type", "LeakyCache.Enrty", "--objects")
    assert (as_json.code, as_json.out, as_json.err) == (1, "", missing.err), as_json
    assert clarinet("heap", file, "--objects").code == 2
    assert clarinet("heap", file, "--threads").code == 2
    assert clarinet("heap", file, "--no-threads").code == 2


def test_values_of_fields(sample, clarinet, runtime, tmp_path):
    file = tmp_path / "leak.clarinet"
    with sample("LeakyCache", "--entries", 300) as patient:
        done = clarinet("heap", "--fields", "LeakyCache.Entry, LeakyCache.Nothing<T>", "-o", file, patient.pid)
    assert done.code == 0 and "no object of the type LeakyCache.Nothing<T> is" in done.err, done
    rows = clarinet("heap", file, "--json", "--type", "LeakyCache.Entry", "--objects").json["instances"]
    assert sorted(row["values"]["Number"] for row in rows) == list(range(300)), rows
    one = clarinet("heap", file, "--json", "--object", rows[7]["address"]).json
    assert one["values"] == rows[7]["values"], one
    text = clarinet("heap", file, "--object", rows[7]["address"]).out
    assert f"values Number = {rows[7]['values']['Number']}\n" in text, text
    # no other type has any, and a snapshot that was not asked has none
    others = clarinet("heap", file, "--json", "--type", "LeakyCache.Label", "--objects").json["instances"]
    assert others and not any("values" in row for row in others), others
    assert clarinet("heap", file, "--fields", "X").code == 2


def test_values_of_structs_from_elsewhere(sample, clarinet, runtime):
    """Nullable, enumerations and structs of the framework."""
    with sample("LeakyCache", "--entries", 10) as patient:
        done = clarinet("heap", "--fields", "LeakyCache.Detail", "--type", "LeakyCache.Detail", "--objects", "--json",
                        patient.pid)
    assert done.code == 0, done
    assert done.json["instances"][0]["values"] == {
        "Nothing": None, "Seven": 7, "Day": 5, "Other": 1, "Half": 0.5, "Span._ticks": 42,
        "Pair.key": 3, "Pair.value": 4, "Last": True,
        "Packed.First": 1, "Packed.Long": -2, "Packed.Real": 0.25, "Packed.Short": 3}, done.json["instances"]


def test_types_of_fields_are_not_loaded(sample, clarinet, runtime):
    """The runtime crashes when it has to load a type on the agent's thread."""
    with sample("LeakyCache", "--entries", 10) as patient:
        for argument, more in ("string", {}), ("int", {"Own": 0, "Pair.First": 4}), (
                "(int, string)", {"Own.Item1": 0, "Pair.First.Item1": 3}):
            name = f"LeakyCache.Shared<{argument}>"
            done = clarinet("heap", "--fields", "LeakyCache.Shared<T>", "--type", name, "--objects", "--json", patient.pid)
            assert done.code == 0, (patient.process.poll(), done)
            values = done.json["instances"][0]["values"]
            # an enumeration of a generic class stays without a name
            assert values == {"Kind": 2, "Grade": 2, "Pair.Second": 5, "Last": 8,
                              "Other.Second": 6 if argument == "string" else 0, **more}, values
    assert patient.process.returncode == 0, patient


def test_values_have_a_limit(sample, clarinet, newest_runtime):
    with sample("LeakyCache", "--entries", 200000) as patient:
        done = clarinet("heap", "--fields", "LeakyCache.Entry", "--type", "LeakyCache.Entry", "--objects", "--json",
                        patient.pid)
    rows = done.json["instances"]
    # 32 bytes each, 4 MB in all
    kept = 4 * 1024 * 1024 // 32
    assert len(rows) == 200000 and sum("values" in row for row in rows) == kept
    assert f"{kept} of 200000 objects of the type LeakyCache.Entry have their values" in done.err, done.err


def test_equal_strings(sample, clarinet, runtime, tmp_path):
    file = tmp_path / "hoard.clarinet"
    with sample("Hoarder", "--items", ITEMS) as patient:
        done = clarinet("heap", "--json", "-o", file, patient.pid)
        off = clarinet("heap", "--json", "--strings", "off", "-o", tmp_path / "off.clarinet",
                       patient.pid)
    assert done.code == 0 and off.code == 0, (done, off)
    name = "the same name in every order"
    first = done.json["duplicates"][0]
    # the copies, and the literal they were made of
    assert (first["value"], first["length"], first["count"]) == (name, len(name), ITEMS + 1)
    assert first["wasted"] == ITEMS * (22 + 2 * len(name)), first
    assert first["holders"][0] == {"holder": "Hoarder.Named.Name", "references": ITEMS}, first
    assert name in clarinet("heap", file).out
    assert name in clarinet("report", file, "-f", "md").out
    # off: no text leaves the program, sizes do
    assert off.json["duplicates"] == []
    sizes = [{row["type"]: row["bytes"] for row in one.json["types"]}["string"]
             for one in (done, off)]
    assert sizes[1] >= ITEMS * (22 + 2 * len(name)), sizes
    assert name not in clarinet("heap", tmp_path / "off.clarinet").out


def test_generations(sample, clarinet, runtime):
    with sample("Hoarder", "--items", ITEMS) as patient:
        done = clarinet("heap", "--json", patient.pid)
    rows = types(done)
    parts = done.json["generations"]
    assert sum(parts.values()) == done.json["bytes"]
    assert rows["byte[]"]["generations"]["large"] == 20 * (24 + 100000)
    assert set(rows["Hoarder.ListItem"]["generations"]) <= {"gen1", "gen2"}
    assert sum(rows["Hoarder.ListItem"]["generations"].values()) == ITEMS * 24
    assert parts["frozen"] > 0 and parts["pinned"] > 0


def test_a_quick_look(sample, clarinet, runtime, tmp_path):
    file = tmp_path / "quick.clarinet"
    with sample("LeakyCache", "--entries", ENTRIES) as patient:
        done = clarinet("heap", "--quick", "--json", "-o", file, patient.pid)
    assert patient.process.returncode == 0 and patient.stderr == "", patient
    if runtime.name == "8.0":
        assert done.code == 1 and ".NET 9" in done.err, done
        return
    rows = types(done)
    assert done.json["quick"], done.json
    assert rows["LeakyCache.Entry"]["count"] == ENTRIES
    assert rows["LeakyCache.Entry"]["bytes"] == ENTRIES * 32
    assert "retained" not in rows["LeakyCache.Entry"]
    text = clarinet("heap", file)
    assert text.code == 0 and "dead ones" in text.out and "kept alive by" not in text.out, text
    assert "dead ones" in clarinet("report", file, "-f", "md").out
    ways = clarinet("heap", file, "--type", "LeakyCache.Entry", "--paths")
    assert ways.code == 1 and "--quick" in ways.err, ways


@pytest.mark.parametrize("server", ["0", "1"])
def test_quick_looks_while_collections_run(sample, clarinet, newest_runtime, server):
    """The runtime's walk must not meet a collection in the background. More of it: tests/long."""
    with sample("GcPressure", "--background", 2, env={"DOTNET_gcServer": server,
                                                      "DOTNET_GCHeapCount": "2"}) as patient:
        for _ in range(5):
            done = clarinet("heap", "--quick", "--json", patient.pid)
            assert done.code == 0 and done.json["objects"] > 1000, done
    assert patient.process.returncode == 0, patient
    assert "every object was whole: True" in patient.stdout, patient
