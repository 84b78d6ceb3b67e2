"""clarinet threads on real processes: deadlocks that were there before anyone looked, and none where
there is none."""
import json
import signal
import subprocess


def by_name(answer):
    return {thread["name"]: thread for thread in answer["threads"]}


def test_a_deadlock_is_named_with_owners_types_and_lines(clarinet, sample, runtime):
    with sample("Stuck") as patient:
        done = clarinet("threads", patient.pid, "--json")
        assert done.code == 0, done
        answer = done.json
        threads = by_name(answer)
        payer, auditor, clerk = threads["payer"], threads["auditor"], threads["clerk"]
        assert [sorted(cycle) for cycle in answer["deadlocks"]] == [sorted([payer["os_id"], auditor["os_id"]])]
        assert payer["waiting_for"]["type"] == "Stuck.Ledger"
        assert payer["waiting_for"]["owner_os_id"] == auditor["os_id"]
        assert auditor["waiting_for"]["type"] == "Stuck.Account"
        assert auditor["waiting_for"]["owner_os_id"] == payer["os_id"]
        assert clerk["waiting_for"]["owner_os_id"] == payer["os_id"]
        assert threads["sleeper"]["state"] == "sleeping"
        assert threads["follower"]["state"] == "joining a thread"
        assert threads["listener"]["state"] == "in Monitor.Wait"
        (frame,) = [f for f in payer["frames"] if f["method"] == "Stuck.Program.Pay"]
        assert frame["file"].endswith("Program.cs") and frame["line"] > 0
        assert frame["module"] == "Stuck.dll"
        assert answer["suspension_us"] > 0
        words = clarinet("threads", patient.pid)
        assert words.out.startswith("DEADLOCK: 2 threads")
        assert "waits for a monitor of Stuck.Ledger" in words.out
        assert patient.finish() == 0
    assert "still stuck: True" in patient.lines


def test_a_crowd_is_no_deadlock_and_goes_on(clarinet, sample, runtime):
    with sample("Crowded") as patient:
        for _ in range(5):
            done = clarinet("threads", patient.pid, "--json")
            assert done.code == 0, done
            assert done.json["deadlocks"] == []
            assert len(done.json["threads"]) >= 8
        assert patient.finish() == 0
    assert "every round counted: True" in patient.lines


def test_fifty_sleepers_are_merged_and_filtered(clarinet, sample):
    with sample("Idle") as patient:
        done = clarinet("threads", patient.pid)
        assert done.code == 0, done
        assert "threads, thread" in done.out and " and others: " in done.out
        assert done.out.count("sleeper-") < 20
        flat = clarinet("threads", patient.pid, "--flat", "--filter", "sleeper-*")
        assert flat.out.count('"sleeper-') == 50
        patient.finish()


def test_dotnet_build_and_a_service_are_unharmed(clarinet, web_service):
    done = clarinet("threads", web_service.pid, "--json")
    assert done.code == 0, done
    assert done.json["deadlocks"] == []
    assert any("Kestrel" in f["method"] or "WebShop" in f["method"] or "Hosting" in f["method"]
               for t in done.json["threads"] for f in t["frames"]), done.json


def test_the_tool_killed_in_the_middle_leaves_the_program_alone(clarinet, sample, runtime):
    with sample("Crowded") as patient:
        for delay in (0.02, 0.08, 0.15):
            process = clarinet.start("threads", patient.pid)
            try:
                process.wait(timeout=delay)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
        assert clarinet("threads", patient.pid, "--json").code == 0
        assert patient.finish() == 0
    assert "every round counted: True" in patient.lines


def test_bad_targets_are_told_apart(clarinet):
    assert clarinet("threads").code == 2
    gone = clarinet("threads", "999999999")
    assert gone.code == 1 and "999999999" in gone.err
    assert clarinet("threads", "1", "--frobnicate").code == 2
