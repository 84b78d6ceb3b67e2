"""clarinet heap diff and watch: what grows, by type and by what keeps it alive."""
import signal

from conftest import PATIENCE, size_of, wait_until
from test_heap import step, types


def test_growth(sample, clarinet, newest_runtime, tmp_path):
    files = []
    for entries in 1000, 4000:
        with sample("LeakyCache", "--entries", entries) as patient:
            files.append(tmp_path / f"{entries}.clarinet")
            assert clarinet("heap", "-o", files[-1], patient.pid).code == 0
    rows = types(clarinet("heap", "diff", "--json", *files))
    assert rows["LeakyCache.Entry"]["count"] == 3000
    assert rows["LeakyCache.Entry"]["bytes"] == 3000 * 32
    assert rows["LeakyCache.Entry"]["count_after"] == 4000
    text = clarinet("heap", "diff", *files)
    assert text.code == 0 and "LeakyCache.Entry" in text.out, text
    only = clarinet("heap", "diff", "--json", "--type", "LeakyCache.*", "--paths", *files)
    assert {name for name in rows if name.startswith("LeakyCache.")} == set(types(only)), only
    assert "holders" not in only.json, only
    root = step(only.json["paths"], "System.Collections.Generic.List<LeakyCache.Entry>")
    assert root["root"] == "static field LeakyCache.Store.Entries", root
    text = clarinet("heap", "diff", "--type", "LeakyCache.Entry", "--paths", *files).out
    assert " LeakyCache.Entry\n" in text and "static field LeakyCache.Store.Entries" in text, text
    assert "string" not in text and "kept alive by" not in text, text
    counts = [row["count"] for row in
              clarinet("heap", "diff", "--json", "--by", "count", *files).json["types"]]
    assert counts == sorted(counts, reverse=True), counts
    missing = clarinet("heap", "diff", "--type", "LeakyCache.Enrty", *files)
    assert missing.code == 1 and "near it are: LeakyCache.Entry" in missing.err, missing
    for option in ["--objects", "--type", "*"], ["--group", "namespace"]:
        refused = clarinet("heap", "diff", *option, *files)
        assert refused.code == 2 and "compares several" in refused.err, refused
    back = types(clarinet("heap", "diff", "--json", *reversed(files)))
    assert back["LeakyCache.Entry"]["count"] == -3000


def test_what_grows_with_every_snapshot(sample, clarinet, newest_runtime, tmp_path):
    with sample("LeakyCache", "--entries", 1000, "--grow", 5000) as patient:
        done = clarinet("heap", "watch", "--every", "1s", "--count", "3", "--json", "-o",
                        tmp_path / "w.clarinet", patient.pid)
    assert patient.process.returncode == 0 and patient.stderr == "", patient
    assert done.code == 0 and len(done.json["snapshots"]) == 3, done
    leaks = {row["type"]: row for row in done.json["leaks"]}
    # what the first snapshot starts in the process is no part of it
    assert not any("System.Diagnostics" in row["path"] for row in done.json["leaks"]), done
    entry = leaks["LeakyCache.Entry"]
    assert entry["count"] >= 10000 and entry["bytes"] == entry["count"] * 32, entry
    assert entry["bytes_per_minute"] > 0, entry
    assert entry["path"].startswith("static field LeakyCache.Store.Entries -> "), entry
    assert entry["path"].endswith("._items -> LeakyCache.Entry[] -> LeakyCache.Entry"), entry
    holders = {row["holder"]: row for row in done.json["holders"]}
    held = holders["static field LeakyCache.Store.Entries -> "
                   "System.Collections.Generic.List<LeakyCache.Entry>"]
    assert held["retained"] >= 10000 * (32 + 124) and held["grows_every_time"], held
    # what is frozen (literals) survives and stays where it is
    assert 0 < done.json["survived"] <= done.json["snapshots"][0]["objects"], done
    for row in done.json["types"]:
        assert row["survived"] + row["new"] == row["count_after"], row
        assert row["survived"] + row["gone"] == row["count_after"] - row["count"], row
    # the files that were kept say the same, and two of them claim no leak
    files = [tmp_path / f"w-{i}.clarinet" for i in (1, 2, 3)]
    text = clarinet("heap", "diff", *files)
    assert "LeakyCache.Entry grows with every snapshot" in text.out, text
    assert "a minute" in text.out and "kept alive by static field" in text.out, text
    assert f"at least {done.json['survived']} objects survived" in text.out, text
    assert clarinet("heap", "diff", "--json", *files[:2]).json["leaks"] == []
    assert clarinet("heap", "watch", "--count", "1", patient.pid).code == 2


def test_nothing_grows_in_a_healthy_program(sample, clarinet, newest_runtime):
    with sample("Healthy", "--threads", 2) as patient:
        done = clarinet("heap", "watch", "--every", "100ms", "--count", "3", "--json", patient.pid)
    assert done.code == 0 and done.json["leaks"] == [], done


def test_quick_looks_call_nothing_a_leak(sample, clarinet, newest_runtime):
    """Garbage rises from look to look until a collection comes."""
    with sample("Allocator", "--rate", 50) as patient:
        watch = "heap", "watch", "--quick", "--every", "300ms", "--count", "3"
        text = clarinet(*watch, patient.pid)
        done = clarinet(*watch, "--json", patient.pid)
    assert text.code == 0 and "What grows is not judged: a quick look counts dead objects too." in text.out, text
    assert "grows with every snapshot:" not in text.out, text
    assert done.code == 0 and done.json["leaks"] == [], done


def test_what_was_taken_is_compared(sample, clarinet, newest_runtime, tmp_path):
    """Ctrl-C in the middle of a later snapshot, or a program that ends: the snapshots before it are
    compared."""
    for end in "Ctrl-C", "kill":
        with sample("LeakyCache", "--entries", 300000) as patient:
            process = clarinet.start("heap", "watch", "--every", "10ms", "--count", "20", "--json",
                                     "-o", tmp_path / f"{end}.clarinet", patient.pid)
            third = tmp_path / f"{end}-3.clarinet"
            wait_until(lambda: process.poll() is not None or size_of(third) > 4096)
            if end == "kill":
                patient.process.kill()
            else:
                process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == (1 if end == "kill" else 0), (end, out, err)
        assert out.count('"time_unix_ms"') >= 2 and '"survived"' in out, (end, out, err)
    with sample("LeakyCache", "--entries", 100) as patient:
        process = clarinet.start("heap", "watch", "--every", "1h", "--count", "2", patient.pid)
        assert "snapshot 1 of 2" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "nothing to compare" in err and out == "", (out, err)
