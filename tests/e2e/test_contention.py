"""The profiler contention: waits for locks of known hold times, against what the program measures."""
import re
import subprocess

from conftest import PATIENCE

ENTER = "TwoLocks.Pair<T>.Enter"


def process_of(clarinet, file="out.clarinet"):
    done = clarinet("report", file, "-f", "json")
    assert done.code == 0, done
    return done.json["processes"][0]


def waits(clarinet, file="out.clarinet"):
    tables = process_of(clarinet, file)["tables"]
    return [table for table in tables if table["name"] == "waits"][0]


def by_type(table):
    return {row["type"]: row for row in table["types"]}


def measured(output, name):
    """(waits, ns) as the waiting thread measured them itself."""
    found = re.search(rf"{name} waits (\d+) ns (\d+)", output)
    return int(found.group(1)), int(found.group(2))


def check_lock(table, output, name, hold_ms):
    """Every wait of this lock is there, as long as the waiter says, and as the lock was held."""
    count, ns = measured(output, name)
    row = by_type(table)[f"TwoLocks.{name.capitalize()}"]
    assert row["count"] == count and row["kind"] == "monitor", row
    # The owner begins its sleep when the waiter stands before the lock; the waiter's own time also
    # has what it spun before it stood there, which is long on a busy machine.
    assert 0.99 * count * hold_ms * 1e6 < row["waited_ns"] <= 1.02 * ns, (row, ns)


def check_holders(table, method):
    """What the owner did meanwhile."""
    for name in ("ledger", "stock"):
        stacks = [[frame["name"] for frame in row["stack"]] for row in table["holding"]
                  if (row["name"], row["type"]) == (name + "-owner", "TwoLocks." + name.capitalize())]
        assert any("TwoLocks.Pair<T>." + method in stack for stack in stacks), table["holding"]


def test_two_locks_of_known_hold_times(runtime, sample_command, clarinet):
    # long enough for the threads' names to be read while they live
    command = sample_command("TwoLocks", "--rounds", 40, "--stock", 10, "--count", 1)
    done = clarinet("record", "-p", "contention", "-o", "out.clarinet", "--", *command)
    assert done.code == 0 and "all well" in done.out, done
    table = waits(clarinet)
    check_lock(table, done.out, "ledger", 20)
    check_lock(table, done.out, "stock", 10)
    assert table["total"] == int(re.search(r"contended (\d+)", done.out).group(1))
    owners = {row["type"]: row["name"] for row in table["owners"]}
    assert owners["TwoLocks.Ledger"] == "ledger-owner" and owners["TwoLocks.Stock"] == "stock-owner"
    for place in table["places"]:
        frames = [frame for frame in place["stack"] if frame["name"] == ENTER]
        if place["type"].startswith("TwoLocks."):
            assert len(frames) == 1 and frames[0]["line"] > 0, place
    losses = [row for row in process_of(clarinet)["loss"] if "of a holder" not in row["reason"]]
    assert not losses, losses
    check_holders(table, "Hold")


def test_the_program_says_the_same_with_and_without(runtime, sample_command, clarinet):
    command = sample_command("TwoLocks", "--rounds", 3)
    alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    done = clarinet("record", "-p", "contention", "-o", "out.clarinet", "--", *command)
    assert (done.code, done.out) == (alone.returncode, alone.stdout) == (0, "ready\nall well\n")


def test_a_running_process_is_recorded(runtime, sample, clarinet):
    with sample("TwoLocks", "--count", 1, "--ledger", 50, "--stock", 50) as patient:
        done = clarinet("record", "-p", "contention,wall", "-d", "1s", "-o", "out.clarinet",
                        patient.pid)
        assert done.code == 0, done
        assert patient.is_running
    assert patient.process.returncode == 0, patient
    table = waits(clarinet)
    rows = by_type(table)
    check_holders(table, "KeepWaiting")
    assert "### What the holders did" in clarinet("report", "out.clarinet", "-f", "md").out
    for name in ("ledger", "stock"):
        assert 0 < rows[f"TwoLocks.{name.capitalize()}"]["count"] <= measured(patient.stdout, name)[0]


def test_a_wait_that_is_not_over_is_shown(runtime, sample, clarinet):
    with sample("TwoLocks", "--ledger", 600, "--stock", 600) as patient:
        done = clarinet("record", "-p", "contention", "-d", "1500ms", "-o", "out.clarinet",
                        patient.pid)
        assert done.code == 0, done
    table = waits(clarinet)
    assert 0 <= table["open"] <= 2
    assert table["waited_ns"] <= 2 * table["watched_ns"] * 1.5
    assert set(by_type(table)) >= {"TwoLocks.Ledger", "TwoLocks.Stock"}


def test_beyond_the_rate_all_are_counted_and_types_are_right(runtime, sample_command, clarinet):
    # young lock objects and a thread that collects all the time: they move
    command = sample_command("TwoLocks", "--storm", 6, "--gc", 1, "--seconds", 3, "--count", 1)
    done = clarinet("record", "-p", "contention", "--set", "contention.stacks=1", "-o",
                    "out.clarinet", "--", *command)
    assert done.code == 0, done
    table = waits(clarinet)
    assert table["total"] == int(re.search(r"contended (\d+)", done.out).group(1)), table
    assert table["without_stack"] > 0
    known = re.compile(r"TwoLocks\.Till|System\.\S+")
    assert all(known.fullmatch(name) for name in by_type(table)), table["types"]
    assert by_type(table)["TwoLocks.Till"]["count"] > 0.9 * table["total"]


def test_the_lock_of_newer_runtimes(runtime, sample_command, clarinet):
    command = sample_command("TwoLocks", "--rounds", 10, "--modern", 1, "--count", 1)
    done = clarinet("record", "-p", "contention", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    rows = by_type(waits(clarinet))
    count, ns = measured(done.out, "ledger")
    if runtime.name == "8.0":
        assert rows["TwoLocks.Ledger"]["count"] == count  # has no such type
        return
    assert not [place for place in waits(clarinet)["places"]
                if "EventSource" in place["stack"][0]["name"]]
    row = rows["System.Threading.Lock"]
    assert row["kind"] == "Lock" and row["count"] == count, row
    assert 0.99 * count * 20e6 < row["waited_ns"] <= 1.02 * ns, (row, ns)


def test_waits_for_handles_on_request(runtime, sample_command, clarinet):
    # two threads wait for an event, two in Monitor.Wait, two for a semaphore (a monitor inside)
    command = sample_command("Idle", "--threads", 8, "--seconds", 1)
    done = clarinet("record", "-p", "contention", "--set", "contention.waits=true", "-o",
                    "out.clarinet", "--", *command)
    assert done.code == 0 and "awake 8" in done.out, done
    places = waits(clarinet)["places"]
    if runtime.name == "8.0":
        assert {place["kind"] for place in places} <= {"monitor"}
        assert ".NET 9" in process_of(clarinet)["profilers"][0]["note"]
        return
    found = {}
    for place in places:
        for frame in place["stack"]:
            if frame["name"].startswith("Idle.Program.WaitFor") and place["kind"] != "monitor":
                key = place["kind"], frame["name"]
                found[key] = found.get(key, 0) + place["count"]
                assert place["waited_ns"] > 0
    assert found == {
        ("handle", "Idle.Program.WaitForEvent"): 2,
        ("Monitor.Wait", "Idle.Program.WaitForMonitor"): 2,
        ("Monitor.Wait", "Idle.Program.WaitForSemaphore"): 2,
    }, places


def test_a_wait_for_a_newer_lock_counts_once(runtime, sample_command, clarinet):
    command = sample_command("TwoLocks", "--rounds", 10, "--modern", 1, "--count", 1)
    done = clarinet("record", "-p", "contention", "--set", "contention.waits=true", "-o",
                    "out.clarinet", "--", *command)
    assert done.code == 0, done
    count, _ns = measured(done.out, "ledger")
    at_enter = [
        place for place in waits(clarinet)["places"]
        if any(frame["name"] == "TwoLocks.Pair<T>.Enter" for frame in place["stack"])
        and place["type"] != "TwoLocks.Stock"
    ]
    assert sum(place["count"] for place in at_enter) == count, at_enter


def test_waits_that_are_interrupted_are_over(runtime, sample_command, clarinet):
    # the runtime tells no end of them: counted, not timed, and not shown as if they lasted
    command = sample_command("TwoLocks", "--interrupt", 5, "--count", 1)
    done = clarinet("record", "-p", "contention", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    table = waits(clarinet)
    assert table["total"] == int(re.search(r"contended (\d+)", done.out).group(1)), table
    assert table["open"] == 0 and by_type(table)["TwoLocks.Ledger"]["count"] == 5, table
    losses = {row["reason"]: row["count"] for row in process_of(clarinet)["loss"]}
    assert losses["wait not timed: it was interrupted"] == 5, losses


def test_holders_that_have_ended_are_named(runtime, sample_command, clarinet):
    # each lives for 10 ms, less than what passes until its row is written
    command = sample_command("TwoLocks", "--fleeting", 40, "--ledger", 10, "--count", 1)
    done = clarinet("record", "-p", "contention", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    owners = [row for row in waits(clarinet)["owners"] if row["type"] == "TwoLocks.Ledger"]
    assert sum(row["count"] for row in owners) == 40, owners
    # before the runtime could be asked what its threads look like, 15 bytes of a name are known
    assert all(row["name"].startswith("fleeting-owner-") for row in owners), owners
    assert "fleeting-owner-of-the-ledger" in [row["name"] for row in owners], owners
    done = clarinet("report", "out.clarinet", "--thread", "fleeting-owner-of-the-ledger", "-f", "md")
    assert done.code == 0, done


def test_words_name_the_locks(newest_runtime, sample_command, clarinet):
    command = sample_command("TwoLocks", "--rounds", 30)
    assert clarinet("record", "-p", "contention", "--set", "contention.holders=false", "-o",
                    "out.clarinet", "--", *command).code == 0
    words = clarinet("report", "out.clarinet", "-f", "md").out
    assert "## Waits for locks" in words and "`TwoLocks.Ledger`" in words
    assert re.search(r"`ledger-owner \(\d+\)`", words)
    assert "What they did meanwhile is shown with `contention.holders=true`" in words
    assert "holders" not in [table["name"] for table in process_of(clarinet)["tables"]]


def test_a_healthy_program_waits_for_nobody(runtime, sample_command, clarinet):
    command = sample_command("Healthy", "--rounds", 50, "--rate", 50)
    alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    done = clarinet("record", "-p", "contention", "-o", "out.clarinet", "--", *command)
    assert done.code == 0 and done.out == alone.stdout, done
    # A new thread of the pool meets the one that starts it; how many there are and how long that
    # takes is the machine's affair.
    own = [place for place in waits(clarinet)["places"]
           if "Thread.SetThreadPoolWorkerThreadName" not in str(place["stack"][:1])]
    # its awaits may meet for a moment inside the library
    assert sum(place["count"] for place in own) <= 5, own
    assert not [place for place in own if "Healthy.Worker.Locked" in str(place["stack"])], own
