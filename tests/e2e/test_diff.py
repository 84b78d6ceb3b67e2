"""`clarinet diff` of two recordings whose only difference is known: Price takes twice as long."""
import json
import re
import subprocess

import pytest

from conftest import PATIENCE

PRICE = "Shop.Orders.Price<System.Decimal>"


@pytest.fixture
def pair(clarinet_program, tmp_path):
    program = clarinet_program.parent / "tests" / "make_recording"
    paths = []
    for kind in ("small", "worse"):
        paths.append(tmp_path / f"{kind}.clarinet")
        subprocess.run([program, paths[-1], kind], check=True, timeout=PATIENCE)
    return paths


def test_json_ranks_what_got_slower_first(clarinet, pair):
    report = clarinet("diff", *pair, "-f", "json", "--process", "4711").json
    assert report["scale"] == pytest.approx(1.4)
    assert (report["before"]["total"], report["after"]["total"]) == (100000000, 140000000)
    assert report["before"]["lost"] == 4
    first = report["methods"][0]
    assert first["name"] == PRICE
    assert (first["self_before"], first["self_after"]) == (40000000, 80000000)
    assert first["self_change"] == pytest.approx(24000000)
    assert report["methods"][-1]["name"] == "Shop.Orders.Place"
    assert report["methods"][-1]["self_change"] == pytest.approx(-12000000)


def test_absolute_compares_weights_as_they_are(clarinet, pair):
    report = clarinet("diff", *pair, "-f", "json", "--process", "4711", "--absolute").json
    changes = {m["name"]: m["self_change"] for m in report["methods"]}
    assert report["scale"] == 1
    assert changes.pop(PRICE) == 40000000
    assert set(changes.values()) == {0}


def test_markdown_names_the_slower_method(clarinet, pair):
    done = clarinet("diff", *pair, "--process", "4711")
    slower = done.out.split("## Slower by self")[1].split("##")[0]
    assert PRICE in slower and "+17.1" in slower and "Main" not in slower
    assert "| lost | 4 | 4 |" in done.out
    assert "| profile | cpu | cpu |" in done.out


def test_a_recording_against_itself_has_no_change(clarinet, pair):
    done = clarinet("diff", pair[0], pair[0])
    assert done.code == 0
    assert done.out.count("None.") == 4


def test_collapsed_has_both_weights(clarinet, pair):
    done = clarinet("diff", *pair, "-f", "collapsed", "--process", "4711")
    parts = [line.rsplit(" ", 2) for line in done.out.splitlines()]
    lines = {stack: (before, after) for stack, before, after in parts}
    assert lines[f"Shop.Program.Main;Shop.Orders.Place;{PRICE}"] == ("40000", "80000")
    assert lines["Shop.Program.Main;Shop.Orders.Place"] == ("20000", "20000")


def test_html_has_the_tree_of_both(clarinet, pair, tmp_path):
    out = tmp_path / "diff.html"
    assert clarinet("diff", *pair, "--process", "4711", "-o", out).code == 0
    text = out.read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    assert data["kind"] == "diff"
    assert data["diff"]["after"]["total"] == 140000 and data["diff"]["scale"] == pytest.approx(1.4)
    process = data["processes"][0]
    table = process["tables"][0]
    names = [process["strings"][process["frames"]["name"][process["stacks"]["frame"][node]]]
             for node in table["columns"]["stack"]]
    assert table["columns"]["before"][names.index(PRICE)] == 40000
    assert table["columns"]["after"][names.index(PRICE)] == 80000
    assert sum(table["columns"]["after"]) == 140000
    assert [(entry["profiler"], entry["count"]) for entry in process["loss"]] == [
        ("before", 4), ("after", 4)]
    assert process["cost"]["agent_cpu"] == 3000


@pytest.mark.parametrize("args, words", [
    ([], "needs two recordings"),
    (["{a}"], "needs two recordings"),
    (["{a}", "{a}", "{a}"], "takes two recordings"),
    (["{a}", "{a}", "-f", "pprof"], "formats: md, json, html, collapsed"),
])
def test_mistakes(clarinet, pair, args, words):
    done = clarinet("diff", *[a.replace("{a}", str(pair[0])) for a in args])
    assert done.code == 2 and words in done.err


def test_profiles_that_are_not_there_are_named(clarinet, pair):
    done = clarinet("diff", *pair, "-p", "heap")
    assert done.code == 1 and "it has: cpu, wall, exceptions" in done.err


def test_a_thread_that_neither_has_is_refused(clarinet, pair):
    done = clarinet("diff", *pair, "--thread", "nobody")
    assert done.code == 1 and "no thread in the recording has the OS id or name" in done.err


def test_what_both_have_is_compared(clarinet, pair, tmp_path):
    cpu = tmp_path / "cpu.pb.gz"
    wall = tmp_path / "wall.pb.gz"
    assert clarinet("report", pair[0], "-p", "cpu", "-f", "pprof", "-o", cpu).code == 0
    assert clarinet("report", pair[0], "-p", "wall", "-f", "pprof", "-o", wall).code == 0
    assert clarinet("diff", *pair, "-f", "json").json["profiler"] == "cpu"
    assert clarinet("diff", pair[0], wall, "-f", "json").json["profiler"] == "wall"
    done = clarinet("diff", cpu, wall)
    assert done.code == 2 and "no profile in common" in done.err


def number(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def part(field, content):
    return number(field << 3 | 2) + number(len(content)) + content


def pprof_of(weights):
    """A profile in pprof's format: a function and a sample for each weight, in nanoseconds."""
    names = ["", "delay", "nanoseconds", *weights]
    out = part(1, b"\x08\x01\x10\x02")
    for i, name in enumerate(weights, 1):
        itself = b"\x08" + number(i)
        out += part(2, part(1, number(i)) + part(2, number(weights[name])))
        out += part(4, itself + part(4, itself))
        out += part(5, itself + b"\x10" + number(i + 2))
    return out + b"".join(part(6, name.encode()) for name in names)


def test_weights_below_a_microsecond_are_not_lost(clarinet, tmp_path):
    file = tmp_path / "small.pb"
    file.write_bytes(pprof_of({**{f"Small{i}": 400 for i in range(1000)}, "Big": 400_000}))
    lines = clarinet("report", file, "-f", "collapsed").out.splitlines()
    weights = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines}
    assert sum(weights.values()) == 800 and weights["Big"] in (400, 401)
    page = tmp_path / "small.html"
    assert clarinet("report", file, "-o", page).code == 0
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)[1])
    table = data["processes"][0]["tables"][0]
    assert sum(table["columns"][table["weight"]]) == pytest.approx(800)
    done = clarinet("diff", file, file, "-f", "collapsed")
    sides = [[int(line.rsplit(" ", 2)[side]) for line in done.out.splitlines()] for side in (1, 2)]
    assert [sum(side) for side in sides] == [800, 800]


@pytest.mark.parametrize("through", ["pipe", "file"])
def test_standard_input_may_be_of_any_kind(clarinet, tmp_path, through):
    file = tmp_path / "any.pb"
    file.write_bytes(pprof_of({"Only": 5_000_000}))
    command = [clarinet.program, "report", "-", "-f", "collapsed"]
    with file.open("rb") as given:
        if through == "pipe":
            done = subprocess.run(command, input=given.read(), capture_output=True, timeout=PATIENCE)
        else:
            done = subprocess.run(command, stdin=given, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, b"Only 5000\n"), done
