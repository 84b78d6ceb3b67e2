"""The profiler gc: collections counted, timed and explained, against what the program itself says."""
import re
import signal
import subprocess

import pytest

from conftest import PATIENCE, size_of, wait_until


def collections(clarinet, file="out.clarinet"):
    done = clarinet("report", file, "-f", "json")
    assert done.code == 0, done
    process = done.json["processes"][0]
    return [table for table in process["tables"] if table["name"] == "collections"][0]


def by_caller(table):
    """How many collections each method asked for: the frame below GC.Collect."""
    found = {}
    for place in table["induced_by"]:
        names = [frame["name"] for frame in place["stack"]]
        assert names[0] == "System.GC.Collect", place
        found[names[1]] = found.get(names[1], 0) + place["count"]
    return found


def test_induced_collections_are_counted_with_their_callers(runtime, sample_command, clarinet):
    command = sample_command("GcPressure", "--rounds", 25, "--rate", 0)
    alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    done = clarinet("record", "-p", "gc", "-o", "out.clarinet", "--", *command)
    assert done.code == alone.returncode == 0, done
    assert done.out == alone.stdout
    table = collections(clarinet)
    assert table["induced"] == 50, table
    assert by_caller(table) == {
        "GcPressure.Forcer.CollectYoung": 25,
        "GcPressure.Forcer.CollectAll": 25,
    }
    induced = [row for row in table["reasons"] if row["reason"] == "induced"][0]
    assert induced["count"] == 50
    generations = {row["generation"]: row["count"] for row in table["generations"]}
    assert generations[2] >= 25 and generations[0] >= 25
    assert sum(generations.values()) == table["total"] == table["pause"]["count"]
    lines = {
        (frame["name"], frame.get("line", 0))
        for place in table["induced_by"] for frame in place["stack"]
    }
    assert all(line > 0 for name, line in lines if name.startswith("GcPressure.")), lines


def test_aggressive_collections_are_asked_for_too(runtime, sample_command, clarinet):
    command = sample_command("GcPressure", "--rounds", 4, "--rate", 0, "--aggressive", 1)
    done = clarinet("record", "-p", "gc", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    table = collections(clarinet)
    assert table["induced"] == 12, table
    assert by_caller(table)["GcPressure.Forcer.CollectAggressively"] == 4
    reasons = {row["reason"]: row["count"] for row in table["reasons"]}
    assert reasons["induced, aggressive"] == 4 and "other" not in reasons, reasons


def test_count_and_pauses_agree_with_the_runtime(runtime, sample_command, clarinet):
    command = sample_command("GcPressure", "--rounds", 100, "--rate", 0, "--count", 1)
    shares = []
    # What we count begins a moment before what the runtime counts, and ends a moment after it. A
    # thread that loses its processor in such a moment adds to ours only: the smallest counts.
    while len(shares) < 5 and (not shares or shares[-1] >= 1.4):
        done = clarinet("record", "-p", "gc", "-o", "out.clarinet", "--", *command)
        assert done.code == 0, done
        said = re.search(r"runtime says collections (\d+) paused (\d+)", done.out)
        table = collections(clarinet)
        assert table["total"] == int(said.group(1)), (table, done)
        shares.append(table["pause"]["sum_ns"] / 1000 / int(said.group(2)))
        assert shares[-1] > 0.7, shares
    assert min(shares) < 1.4, shares
    spread = table["pause"]
    assert 0 < spread["p50_ns"] <= spread["p90_ns"] <= spread["p99_ns"] <= spread["longest_ns"]
    assert spread["longest_ns"] <= spread["sum_ns"]
    assert table["heap_last"]["gen2"] > 0


@pytest.mark.parametrize("server", ["0", "1"], ids=["workstation", "server"])
def test_no_gc_regions_are_collections_of_nothing(runtime, sample_command, clarinet, server):
    """The runtime counts a collection when a region begins, also when it has the room already."""
    command = sample_command("GcPressure", "--rounds", 8, "--rate", 0, "--regions", 1, "--count", 1)
    env = {"DOTNET_gcServer": server, "DOTNET_EnableEventPipe": "1",
           "DOTNET_EventPipeOutputPath": "{pid}.nettrace",
           "DOTNET_EventPipeConfig": "Microsoft-Windows-DotNETRuntime:0x1:4"}
    done = clarinet("record", "-p", "gc", "-o", "out.clarinet", "--", *command, env=env)
    assert done.code == 0, done
    said = int(re.search(r"runtime says collections (\d+)", done.out).group(1))
    (stream,) = clarinet.folder.glob("*.nettrace")
    for file in "out.clarinet", stream:
        table = collections(clarinet, file)
        assert table["total"] == said >= 3 * 8, (table, done)
        kinds = {row["kind"]: row for row in table["generations"]}
        nothing = kinds["counted only (no-GC region)"]
        assert (nothing["generation"], nothing["count"]) == (2, 8)
        assert 0 < nothing["pause_ns"] < table["pause"]["sum_ns"]
        assert table["induced"] == 24
        assert table["heap_last"]["gen2"] > 0
    beginners = [place for place in collections(clarinet)["induced_by"]
                 if any(f["name"] == "GcPressure.Forcer.BeginRegion" for f in place["stack"])]
    assert sum(place["count"] for place in beginners) == 8, beginners


def test_a_running_process_is_recorded(runtime, sample, clarinet):
    with sample("GcPressure", "--rate", 20) as patient:
        done = clarinet("record", "-p", "gc", "-d", "1s", "-o", "out.clarinet", patient.pid)
        assert done.code == 0, done
        assert patient.is_running
    assert patient.process.returncode == 0, patient
    asked = re.search(r"asked young (\d+) all (\d+)", patient.stdout)
    callers = by_caller(collections(clarinet))
    assert set(callers) == {"GcPressure.Forcer.CollectYoung", "GcPressure.Forcer.CollectAll"}
    assert all(0 < count <= int(asked.group(1)) for count in callers.values())


def test_the_moments_in_which_others_begin_and_end_are_told(newest_runtime, sample, clarinet):
    """One session of events serves all recordings of a process; it is replaced for each."""
    with sample("GcPressure", "--rate", 20) as patient:
        tool = clarinet.start("record", "-p", "gc", "-o", "long.clarinet", patient.pid)
        wait_until(lambda: size_of(clarinet.folder / "long.clarinet") > 600)
        for profiler in ("jit", "cpu"):
            done = clarinet("record", "-p", profiler, "-d", "300ms", "-o", f"{profiler}.clarinet",
                            patient.pid)
            assert done.code == 0, done
        tool.send_signal(signal.SIGINT)
        assert tool.wait(timeout=PATIENCE) == 0
    losses = {name: {loss["reason"]: loss["count"] for loss in clarinet(
        "report", f"{name}.clarinet", "-f", "json").json["processes"][0]["loss"]}
        for name in ("long", "jit", "cpu")}
    moment = "moment without events: another recording began or ended"
    assert losses["long"].get(moment) == 2, losses
    assert moment not in losses["jit"] and moment not in losses["cpu"], losses


def test_words_name_who_asked(newest_runtime, sample_command, clarinet):
    command = sample_command("GcPressure", "--rounds", 3, "--rate", 0)
    assert clarinet("record", "-p", "gc", "-o", "out.clarinet", "--", *command).code == 0
    words = clarinet("report", "out.clarinet", "-f", "md").out
    assert "## Garbage collections" in words
    assert "6 collections were asked for (GC.Collect)." in words
    assert re.search(r"GcPressure\.Forcer\.CollectAll  Program\.cs:\d+", words)


def test_a_healthy_program_asks_for_nothing(runtime, sample_command, clarinet):
    command = sample_command("Healthy", "--rounds", 300, "--rate", 0)
    alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    done = clarinet("record", "-p", "gc", "-o", "out.clarinet", "--", *command,
                    env={"DOTNET_GCgen0size": "0x100000"})  # so that there are collections
    assert done.code == 0 and done.out == alone.stdout, done
    table = collections(clarinet)
    assert table["induced"] == 0 and table["induced_by"] == []
    assert table["total"] > 0  # it allocates
    assert "Asked for by the program" not in clarinet("report", "out.clarinet", "-f", "md").out


def test_allocated_bytes_and_fragmentation(runtime, sample_command, clarinet):
    """A round allocates 1,000 blocks of 1,024 bytes between two collections. Holes stay between
    objects that cannot move."""
    command = sample_command("GcPressure", "--rounds", 40, "--rate", 0)
    assert clarinet("record", "-p", "gc", "-o", "out.clarinet", "--", *command).code == 0
    compact = collections(clarinet)
    assert 39 * 1024000 * 0.9 < compact["allocated_bytes"] < 40 * 1024000 * 1.5, compact
    assert compact["allocated_bytes_per_second"] > 0
    command = sample_command("GcPressure", "--rounds", 40, "--rate", 0, "--holes", 20000)
    assert clarinet("record", "-p", "gc", "-o", "holes.clarinet", "--", *command).code == 0
    holed = collections(clarinet, "holes.clarinet")
    assert holed["fragmentation"]["free_bytes"] > 20000 * 1024 * 0.8, holed
    assert compact["fragmentation"]["free_bytes"] < 20000 * 1024 * 0.2, compact
    words = clarinet("report", "holes.clarinet", "-f", "md").out
    assert "free room between objects (fragmentation)" in words and "were allocated" in words
