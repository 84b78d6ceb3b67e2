"""clarinet tasks on real processes: chains of awaits with their lines, what they wait for, what can
never be completed, what is stuck, and a starved thread pool with the place that blocks it."""
import pathlib
import re

from test_report import page_data

SOURCE = pathlib.Path(__file__).parents[2] / "samples" / "Pending" / "Program.cs"


def marked_lines():
    """Line of each await by the remark behind it."""
    found = {}
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        remark = re.search(r"await .*// (.+)$", line)
        if remark:
            found[remark.group(1)] = number
    return found


def chain_of(chain):
    """What it waits for, then each method with its line, the innermost first."""
    return (chain["waiting_for"]["kind"], *((f["method"].split(".")[-1], f["line"]) for f in chain["frames"]))


def expected_chains(lines):
    answer = ("AnswerAsync", lines["waits for an answer"])
    load = [("QueryAsync", lines["queries"]), ("LoadAsync", lines["loads"])]
    both = [("WhenAll", 0), ("BothAsync", lines["waits for both"])]
    timer = ("HandleAsync", lines["handles a timer"])
    return {
        ("timer", *load, timer, "nobody"): 9,
        ("timer", *load, timer, "blocked thread"): 1,
        ("timer", *load, timer, ("ContinueWith", 0), "nobody"): 1,
        ("promise", answer, ("HandleAsync", lines["handles an answer"]), "nobody"): 10,
        ("promise", answer, ("HandleAsync", lines["handles without a context"]), "nobody"): 10,
        ("promise", ("LostAsync", lines["lost"]), "nobody"): 3,
        ("semaphore", ("EnterAsync", lines["waits at the gate"]), "nobody"): 4,
        ("socket", ("ReceiveAsync", lines["receives"]), "nobody"): 1,
        ("socket", ("ReadStreamAsync", lines["reads a stream"]), "nobody"): 1,
        ("channel", ("TakeOrderAsync", lines["takes an order"]), "nobody"): 1,
        ("channel", ("TakeOrderAsTaskAsync", lines["takes an order as a task"]), "nobody"): 1,
        ("timer", ("DeepAsync", lines["at the bottom"]), ("DeepAsync", lines["goes deeper"]), "nobody"): 1,
        ("cycle", ("CatAsync", lines["the cat waits"]), ("DogAsync", lines["the dog waits"]),
         ("WatchAsync", lines["watches"]), "nobody"): 1,
        ("timer", ("TickAsync", lines["waits for a tick"]), "nobody"): 1,
        ("promise", answer, *both, "nobody"): 1,
        ("timer", *load, *both, "nobody"): 1,
        ("timer", ("ItemsAsync", lines["makes items"]), ("ReadItemsAsync", lines["reads items"]), "nobody"): 1,
        ("promise", answer, ("PooledAsync", lines["pooled"]),
         ("PooledCallerAsync", lines["calls a pooled method"]), "nobody"): 1,
        ("delegate", ("Task", 0), "nobody"): 1,
        ("timer", ("OneAsync", lines["is one of each"]), ("lambda<TSource>", 0), ("Task", 0),
         ("EachAsync", lines["waits for each"]), "nobody"): 2,
    }


def test_every_wait_is_chained_down_to_what_it_waits_for(clarinet, sample, runtime):
    with sample("Pending") as patient:
        for _ in range(3):  # objects that a collection moved between the looks are not known again
            done = clarinet("tasks", patient.pid, "--json", "-d", "200ms")
            assert done.code == 0, done
            answer = done.json
            deep = [c for c in answer["chains"] if c["count"] == 9]
            if deep and deep[0]["stuck"] == 9:
                break
        found = {(*chain_of(c), c["awaited_by"]): c for c in answer["chains"]}
        for chain, count in expected_chains(marked_lines()).items():
            assert chain in found, (chain, sorted(map(str, found)))
            assert found[chain]["count"] == count, (chain, found[chain])
            assert found[chain]["stuck"] == count, (chain, found[chain])
            lost = count if "LostAsync" in str(chain) else 0
            assert found[chain]["never_completed"] == lost, (chain, found[chain])
        assert sum(c["tasks"] for c in answer["chains"]) == answer["incomplete"], answer
        assert answer["chains_left_out"] == 0 and answer["rings"] == 1, answer
        ring = [c for c in answer["chains"] if c["waiting_for"]["kind"] == "cycle"]
        assert len(ring) == 1 and ring[0]["ring"] == 2 and ring[0]["tasks"] == 3, ring
        fold = [f for c in answer["chains"] for f in c["frames"] if "times" in f]
        assert [(f["method"].split(".")[-1], f["times"]) for f in fold] == [("DeepAsync", 50)], fold
        assert deep[0]["waiting_for"]["due_ms"] == 3 * 3600 * 1000
        assert deep[0]["waiting_for"]["age_ms"] > 0
        assert deep[0]["frames"][0]["file"].endswith("Program.cs")
        pool = answer["thread_pool"]
        assert pool["starved"] is False and pool["minimum"] > 0 and pool["existing"] >= pool["working"]
        grown = pool["existing"] - pool["existing_before"]
        assert abs(pool["added_per_second"] - grown / 0.2) < 0.01, pool
        words = clarinet("tasks", patient.pid, "--filter", "*LostAsync")
        assert "NEVER TO BE COMPLETED: 3 waits" in words.out, words
        assert "3 x waiting for a TaskCompletionSource; 3 of them that nothing can complete any more" in words.out
        assert "HandleAsync" not in words.out
        words = clarinet("tasks", patient.pid, "--filter", "cycle")
        assert "DEADLOCK: async methods await each other, for ever, in 1 ring of tasks" in words.out, words
        assert "    (which Pending.Program.CatAsync above awaits: a ring)" in words.out, words
        assert patient.finish() == 0


def test_a_starved_pool_is_named_with_the_place_that_blocks(clarinet, sample, runtime):
    with sample("Starved") as patient:
        for _ in range(5):  # a worker may be caught between two items
            done = clarinet("tasks", patient.pid, "--json")
            assert done.code == 0, done
            pool = done.json["thread_pool"]
            if pool["starved"] and pool["queued"] > 0:
                break
        assert pool["starved"], pool
        assert pool["queued"] > 0, pool
        assert pool["blocked"] <= pool["workers"], pool
        assert pool["blocking"][0]["method"] == "Starved.Orders.Blocking", pool
        assert pool["blocking"][0]["state"] == "waiting for a task", pool
        assert pool["blocking"][0]["file"].endswith("Program.cs") and pool["blocking"][0]["line"] > 0
        threads = clarinet("threads", patient.pid, "--json")
        assert threads.code == 0, threads
        assert threads.json["thread_pool"]["blocking"][0]["method"] == "Starved.Orders.Blocking", threads
        assert patient.finish() == 0


def test_a_recording_is_shown_again_and_others_are_refused(clarinet, sample, newest_runtime, tmp_path):
    with sample("Pending", "--calls", "3", runtime=newest_runtime) as patient:
        kept = tmp_path / "tasks.clarinet"
        live = clarinet("tasks", patient.pid, "-o", kept, "--json")
        assert live.code == 0, live
        plain = tmp_path / "heap.clarinet"
        assert clarinet("heap", patient.pid, "-o", plain, "--json").code == 0
        assert patient.finish() == 0
    again = clarinet("tasks", kept, "--json")
    assert again.json["chains"] == live.json["chains"]
    page = page_data(clarinet("report", kept, "-f", "html").out)["processes"][0]["tasks"]
    assert page["chains"] == live.json["chains"] and page["rings"] == live.json["rings"], page
    assert page["incomplete"] == live.json["incomplete"] and not page["quick"], page
    assert clarinet("heap", kept).code == 0
    refused = clarinet("tasks", plain)
    assert refused.code == 1 and "no values of tasks" in refused.err, refused
    assert clarinet("tasks").code == 2
    gone = clarinet("tasks", patient.pid)
    assert gone.code == 1 and f"there is no process {patient.pid}" in gone.err, gone
    assert clarinet("tasks", "1", "--top", "0").code == 2
