"""clarinet threads on real processes: deadlocks that were there before anyone looked, and none where
there is none."""
import json
import signal
import subprocess

from conftest import PATIENCE, size_of, wait_until


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


def test_looks_at_the_same_time_are_all_from_inside(clarinet, sample, runtime, tmp_path):
    with sample("Stuck") as patient:
        kept = tmp_path / "kept.clarinet"
        recording = clarinet.start("record", "-p", "threads,cpu", "-o", kept, patient.pid)
        wait_until(lambda: size_of(kept) > 0 and
                   clarinet("threads", kept, "--json").code == 0)  # it has had its own look
        started = [clarinet.start(verb, patient.pid, "--json", *more)
                   for verb, *more in (["threads"], ["tasks"], ["threads", "-d", "300ms"], ["tasks"], ["threads"])]
        answers = []
        for process in started:
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
            answers.append(json.loads(out))
        recording.send_signal(signal.SIGINT)
        assert recording.wait(PATIENCE) == 0
        answers.append(clarinet("threads", kept, "--json").json)
        for answer in answers:
            if "threads" in answer:
                assert answer["looked_from"] == "inside" and answer["suspension_us"] > 0, answer
                assert cycles(answer) == [["auditor", "payer"]], answer
        assert len([answer for answer in answers if "threads" in answer]) == 4
        assert clarinet("report", kept, "-f", "json").json["damaged_chunks"] == 0
        assert patient.finish() == 0


def cycles(answer, key="deadlocks"):
    """The names of each cycle's threads, sorted."""
    names = {thread["os_id"]: thread["name"] for thread in answer["threads"]}
    return sorted(sorted(names[os_id] for os_id in cycle) for cycle in answer[key])


def test_every_kind_of_knot_is_found_and_nothing_else(clarinet, sample, runtime):
    with sample("Knots") as patient:
        done = clarinet("threads", patient.pid, "--json")
        assert done.code == 0, done
        answer = done.json
        threads = by_name(answer)
        expected = [
            ["body", "body-waiter"],
            ["constructor", "constructor-helper"],
            ["lock-left", "lock-right"],
            ["old-left", "old-right"],
            ["old-reader", "old-writer"],
            ["reader", "upgrader"],
            ["ring-first", "ring-second", "ring-third"],
            ["writer-orders", "writer-stock"],
        ]
        if runtime.name == "8.0":  # it has no System.Threading.Lock
            expected.remove(["lock-left", "lock-right"])
        assert cycles(answer) == expected, done
        assert cycles(answer, "suspected_deadlocks") == [
            ["banker", "cashier"], ["mutex-left", "mutex-right"], ["vault-in", "vault-out"]], done
        assert threads["vault-in"]["waiting_for"]["field"] == "Knots.Vault.inner"
        assert threads["cashier"]["waiting_for"]["field"] == "Knots.Semaphores.Safe"
        assert threads["cashier"]["waiting_for"]["suspected_owner_os_id"] == threads["banker"]["os_id"]

        def waits(name):
            wait = threads[name]["waiting_for"]
            owners = [n for n, t in threads.items() if t["os_id"] == wait["owner_os_id"]]
            return wait["kind"], wait["type"], owners

        rwlock = "System.Threading.ReaderWriterLockSlim"
        assert waits("upgrader") == ("reader-writer lock", rwlock, ["reader"])
        assert waits("writer-stock") == ("reader-writer lock", rwlock, ["writer-orders"])
        assert waits("old-left") == ("reader-writer lock", "System.Threading.ReaderWriterLock", ["old-right"])
        assert waits("old-reader")[::2] == ("reader-writer lock", ["old-writer"])
        assert waits("ring-first") == ("reader-writer lock", rwlock, ["ring-second"])
        assert waits("ring-second")[::2] == ("thread", ["ring-third"])
        assert waits("constructor-helper") == ("static constructor", "Knots.Settings", ["constructor"])
        assert waits("body-waiter")[::2] == ("task", ["body"])
        assert waits("cashier") == ("semaphore", "System.Threading.SemaphoreSlim", [])
        porter = threads["porter"]["waiting_for"]
        assert porter["field"] == "Knots.Semaphores.Door" and "suspected_owner_os_id" not in porter
        assert porter["owner_os_id"] is None and "waited_ms" not in porter, porter  # not known
        assert waits("mutex-left") == ("mutex", "System.Threading.Mutex", [])
        if runtime.name != "8.0":
            assert waits("lock-left") == ("lock", "System.Threading.Lock", ["lock-right"])
        (chain,) = answer["async_deadlocks"]
        assert chain["os_id"] == threads["window"]["os_id"] and chain["needs"] == "blocked thread"
        steps = chain["tasks"]
        assert [s["method"] for s in steps] == ["Knots.Windows.LoadAsync", "Knots.Windows.FetchAsync", ""]
        assert [s["done"] for s in steps] == [False, False, True]
        assert "libcoreclr.so" in {frame["module"] for frame in threads["reader"]["frames"]}
        roles = {thread["name"]: thread["role"] for thread in answer["threads"]}
        assert roles[".NET Finalizer"] == "finalizer" and roles["reader"] == "thread"
        assert [t["role"] for t in answer["threads"] if t["os_id"] == patient.pid] == ["main"]
        native = threads[".NET SynchManag"]
        assert native["managed_id"] == 0 and native["frames"] and native["role"] == "runtime"
        assert all(t["managed_id"] > 0 for t in threads.values() if t["name"].startswith("ring"))
        assert patient.finish() == 0
    assert "all tied: True" in patient.lines


def test_a_pool_that_waits_for_itself_is_an_async_deadlock(clarinet, sample, runtime):
    with sample("Knots", "--pool", "yes") as patient:
        done = clarinet("threads", patient.pid, "--json")
        assert done.code == 0, done
        chains = done.json["async_deadlocks"]
        assert [chain["needs"] for chain in chains] == ["thread pool"] * 4, done
        assert {chain["tasks"][-1]["method"] for chain in chains} == {"Knots.Pool.StepAsync"}
        assert done.json["deadlocks"] == [] and done.json["suspected_deadlocks"] == []
        assert patient.finish() == 0


def test_a_step_in_the_queue_of_the_blocked_thread_is_an_async_deadlock(clarinet, sample, runtime):
    pause = "PauseAsync"
    with sample("Posted") as patient:
        done = clarinet("threads", patient.pid, "--json")
        assert done.code == 0, done
        names = {thread["os_id"]: thread["name"] for thread in done.json["threads"]}
        chains = {names[chain["os_id"]]: chain for chain in done.json["async_deadlocks"]}
        assert {name: [step["method"].split(".")[-1] for step in chain["tasks"]] for name, chain in chains.items()} == {
            "yield": ["YieldAsync"],
            "stream": ["SumAsync", "ItemsAsync", pause],
            "item": ["TakeItemAsync"],
            "pooled": ["CallPooledAsync", "PooledAsync", pause],
            "pooled-task": ["", "PooledAsync", pause],
            "channel": ["ReadAsync"],
            "channel-task": [""],
            "continued": [""],
            "lambda": ["lambda", pause],
            "long": ["YieldAsync"],
            "exclusive": ["PlainAsync", pause],
            "exclusive-yield": ["YieldAsync"],
        }, done
        assert {chain["needs"] for chain in chains.values()} == {"blocked thread"}
        assert "Continuation" in chains["continued"]["tasks"][0]["type"]
        assert cycles(done.json) == [] and cycles(done.json, "suspected_deadlocks") == [["own"]], done
        assert patient.finish() == 0


def test_work_that_waits_for_a_timer_is_no_async_deadlock(clarinet, sample, runtime):
    with sample("Posted", "--healthy", "yes") as patient:
        for _ in range(3):
            answer = clarinet("threads", patient.pid, "--json").json
            blocked = [thread for thread in answer["threads"] if thread["state"] == "waiting for a task"]
            assert len(blocked) == 13, answer
            for key in ("deadlocks", "suspected_deadlocks", "async_deadlocks"):
                assert answer[key] == [], answer
        assert patient.finish() == 0


def test_work_on_the_pool_that_needs_the_lock_of_who_waits_for_it_is_suspected(clarinet, sample, runtime):
    with sample("Knots", "--helpers", "yes") as patient:
        done = clarinet("threads", patient.pid, "--json")
        assert done.code == 0, done
        found = cycles(done.json, "suspected_deadlocks")
        assert sorted({name for cycle in found for name in cycle}) == [".NET TP Worker", "asker", "runner"], done
        assert len(found) == 2 and cycles(done.json) == [] and done.json["async_deadlocks"] == [], done
        assert patient.finish() == 0


def test_a_knot_that_opens_again_is_only_suspected(clarinet, sample, runtime):
    with sample("Knots", "--loose", "yes") as patient:
        def is_tied():
            answer = clarinet("threads", patient.pid, "--json").json
            assert cycles(answer) == [], answer
            methods = [chain["tasks"][0]["method"] for chain in answer["async_deadlocks"]]
            suspected = cycles(answer, "suspected_deadlocks")
            return (methods == ["Knots.Loose.SaveAsync"] and
                    any("till" in names for names in suspected) and
                    any({"slow-head", "slow-tail"} == set(names) for names in suspected))

        wait_until(is_tied)
        assert patient.finish() == 0


def test_a_checkup_is_silent_about_who_tries_again(clarinet, sample, newest_runtime, tmp_path):
    with sample("Knots", "--loose", "yes", runtime=newest_runtime) as patient:
        done = clarinet("checkup", patient.pid, "-d", "4s", "--json", "-o", tmp_path / "page.html")
        found = [f for f in done.json["findings"] if f["id"] == "deadlock"]
        assert "polite" not in str(found), found
        assert {f["severity"] for f in found} <= {"warning"}, found  # those who give up in an hour
        assert patient.finish() == 0


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
        none = clarinet("threads", patient.pid, "--filter", "nobody-*")
        assert none.code == 1 and "no thread matches nobody-*" in none.err, none
        assert "0 deadlocks" in none.out, none
        none = clarinet("threads", patient.pid, "--thread", "999999999", "--json")
        assert none.code == 1 and "there is no thread 999999999" in none.err, none
        assert none.json["threads"] == [], none
        patient.finish()


def test_looks_of_a_recording_and_pages(clarinet, sample, tmp_path):
    with sample("Stuck") as patient:
        file = tmp_path / "looks.clarinet"
        asked = ["-p", "threads", "--set", "threads.interval=50ms", "-d", "2s", "-o", file]
        done = clarinet("record", *asked, patient.pid)
        assert done.code == 0, done
        watching = clarinet.start("threads", patient.pid, "--watch=0.1", "--json")
        for _ in range(2):  # a second look is another line
            assert len(json.loads(watching.stdout.readline())["deadlocks"]) == 1
        watching.send_signal(signal.SIGINT)
        watching.stdout.read()
        assert watching.wait(timeout=PATIENCE) == 0
        patient.finish()
    looks = [json.loads(line) for line in clarinet("threads", file, "--watch", "--json").out.splitlines()]
    assert len(looks) >= 2
    assert all(len(look["deadlocks"]) == 1 for look in looks)
    page = clarinet("threads", file, "-f", "html").out
    assert page.startswith("<!doctype html>") and "Stuck.Ledger" in page and "<Main>" not in page
    assert clarinet("threads", file, "-f", "md").out.startswith("# Threads of Stuck")
    assert clarinet("threads", file, "-f", "nonsense").code == 2
    assert clarinet("threads", file, "--watch=x").code == 2


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
    odd = clarinet("tasks", "-f", "md", "1")
    assert odd.code == 2 and "the option -f" in odd.err


def test_a_lock_whose_owner_has_ended_is_called_abandoned(clarinet, sample, runtime):
    with sample("Stuck", "--orphan", "1") as patient:
        done = clarinet("threads", patient.pid, "--heap", "--json")
        assert done.code == 0, done
        answer = done.json
        heir = by_name(answer)["heir"]
        locks = {lock["type"]: lock for lock in answer["abandoned_locks"]}
        assert len(locks) == len(answer["abandoned_locks"]) == 2, locks
        assert all(lock["waiters"] == 1 for lock in locks.values()), locks
        # a reader-writer lock keeps a managed id, which nobody has any more
        assert locks["System.Threading.ReaderWriterLockSlim"]["owner_os_id"] is None, locks
        lock = locks["Stuck.Will"]
        assert lock["owner_os_id"] == heir["waiting_for"]["owner_os_id"] != 0
        assert lock["owner_os_id"] not in {thread["os_id"] for thread in answer["threads"]}
        assert answer["lock_convoys"] == []
        assert len(answer["deadlocks"]) == 1
        # and the fields that hold the locks, by the heap
        assert heir["waiting_for"]["field"] == "Stuck.Program.Inheritance"
        assert by_name(answer)["payer"]["waiting_for"]["field"] == "Stuck.Program.Book"
        stuck = zombies(answer)["stuck"]
        assert stuck["Stuck.Program.Inherit"]["cause"] == "the owner has ended"
        assert not stuck["Stuck.Program.Inherit"]["suspected"]
        assert stuck["Stuck.Program.Queue"]["cause"] == "deadlock"
        assert patient.finish() == 0


def zombies(answer):
    """{kind: {start method: group}} of the groups that have one."""
    kinds = {}
    for group in answer["zombies"]:
        kinds.setdefault(group["kind"], {})[group.get("start", "")] = group
    return kinds


def test_zombies_are_told_by_kind(clarinet, sample, runtime):
    with sample("Zombies", "--every", 50) as patient:
        done = clarinet("threads", "-d", "4s", "--heap", "--json", patient.pid)
        assert done.code == 0, done
        found = zombies(done.json)
        leak = found["leaking"]["Zombies.Jobs.Work"]
        assert list(found["leaking"]) == ["Zombies.Jobs.Work"] and leak["count"] > leak["before"], found
        assert leak["started_by"], leak
        for starter in leak["started_by"]:
            assert starter["count"] > 0 and starter["method"].startswith("Zombies.Program."), leak
            assert "Zombies.Program.Main" in [frame["method"] for frame in starter["frames"]], leak
        stuck = found["stuck"]["Zombies.Jobs.WaitForNobody"]
        assert stuck["count"] == 3 and stuck["suspected"] and stuck["cause"] == "nobody else refers to it"
        assert stuck["type"] == "System.Threading.ManualResetEventSlim"
        names = {thread["os_id"]: thread["name"] for thread in done.json["threads"]}
        assert sorted(names[os_id] for os_id in stuck["os_ids"]) == ["lost-0", "lost-1", "lost-2"]
        assert found["object"][""] == {"kind": "object", "count": 40, "held_by": "Zombies.Jobs.Kept"}
        assert set(found) == {"leaking", "stuck", "object"}, found
        assert done.json["looks"] >= 3 and done.json["observed_ms"] > 0
        assert patient.finish() == 0


def test_a_healthy_program_has_no_zombies(clarinet, sample, newest_runtime, tmp_path):
    file = tmp_path / "healthy.clarinet"
    with sample("Zombies", "--healthy", 1, runtime=newest_runtime) as patient:
        done = clarinet("threads", "-d", "4s", "--heap", "--json", "-o", file, patient.pid)
        assert done.code == 0, done
        assert done.json["zombies"] == [], done
        assert patient.finish() == 0
    again = clarinet("threads", file, "--json")
    assert again.code == 0 and again.json["zombies"] == []
    assert again.json["threads"] == done.json["threads"]
    assert "No zombies among" in clarinet("threads", file).out
    pool = done.json["thread_pool"]
    assert pool["added"] <= pool["workers"] and (pool["added_per_second"] > 0) == (pool["added"] > 0)
    assert (tmp_path / "healthy-heap.clarinet").exists()
    assert clarinet("threads", "-d", "1s", "--watch", "1").code == 2
    assert clarinet("threads", "-d", "0", "1").code == 2
