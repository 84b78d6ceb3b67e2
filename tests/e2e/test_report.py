"""`clarinet report` over recordings of known content (tests/support/recordings.h), every format."""
import collections
import gzip
import json
import re
import resource
import subprocess
from pathlib import Path

import pytest

from conftest import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
EVIL = 'Shop.Evil</script><img src=x onerror=alert(1)>;`|"\\.Run'
PRICE = "Shop.Orders.Price<System.Decimal>"
API = {  # microseconds of cpu by stack of Shop.Api
    ("Shop.Program.Main", "Shop.Orders.Place", PRICE): 40000,
    ("Shop.Program.Main", "Shop.Orders.Place"): 20000,
    ("Shop.Program.Main", "Shop.Orders.Place", "Shop.Orders.Place"): 10000,
    ("Shop.Program.Main", EVIL): 20000,
    ("Shop.Program.Main", "Shop.Orders.Place", "[libcoreclr.so]", "WKS::gc_heap::mark"): 10000,
}


@pytest.fixture
def make_recording(clarinet_program, tmp_path):
    def make(name, *args):
        path = tmp_path / f"{name}.clarinet"
        program = clarinet_program.parent / "tests" / "make_recording"
        subprocess.run([program, path, *map(str, args)], check=True, timeout=PATIENCE)
        return path

    return make


@pytest.fixture
def small(make_recording):
    return make_recording("small", "small")


def collapsed_lines(text):
    lines = collections.Counter()
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        lines[tuple(stack.split(";"))] += int(weight)
    return lines


def page_data(text):
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert len(found) == 1
    assert "<" not in found[0]
    return json.loads(found[0])


# ---- pprof --------------------------------------------------------------------------------------


def parse_text_proto(text):
    """protoc's text output as nested dicts of lists."""
    root = {}
    stack = [root]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            stack.pop()
        elif line.endswith("{"):
            child = {}
            stack[-1].setdefault(line[:-1].strip(), []).append(child)
            stack.append(child)
        else:
            key, value = line.split(": ", 1)
            if value.startswith('"'):
                raw = value[1:-1].encode("latin-1").decode("unicode_escape")
                value = raw.encode("latin-1").decode("utf-8", "replace")
            elif value in ("true", "false"):
                value = value == "true"
            else:
                value = int(value)
            stack[-1].setdefault(key, []).append(value)
    assert stack == [root]
    return root


def decode_otlp_profile(request):
    """A request of OTLP's signal for profiles: (resource attributes, {names from the root: ns})."""
    done = subprocess.run(
        ["protoc", f"--proto_path={ROOT / 'tests'}", "--decode=clarinet.tests.otlp.Request",
         "otlp_profile.proto"], input=request, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert not re.search(rb"^\s*\d+: ", done.stdout, re.M), "fields that the protocol does not have"
    root = parse_text_proto(done.stdout.decode("utf-8"))
    (tables,), (resource,) = root["dictionary"], root["resource_profiles"]
    texts = tables["string_table"]
    first = lambda message, key: message.get(key, [0])[0]  # noqa: E731
    for name in ("mapping", "location", "function", "link", "attribute", "stack"):
        assert tables[f"{name}_table"][0] == {}, name
    (profile,) = resource["scope_profiles"][0]["profiles"]
    assert texts[first(profile["sample_type"][0], "unit_strindex")] == "nanoseconds"
    assert "profile_id" in profile
    stacks = {}
    for sample in profile.get("samples", []):
        places = tables["stack_table"][first(sample, "stack_index")]["location_indices"]
        lines = [tables["location_table"][p]["lines"][0] for p in reversed(places)]
        names = tuple(
            texts[first(tables["function_table"][line["function_index"][0]], "name_strindex")]
            for line in lines)
        stacks[names] = stacks.get(names, 0) + sample["values"][0]
    attributes = {a["key"][0]: list(a["value"][0].values())[0][0]
                  for a in resource["resource"][0]["attributes"]}
    return attributes, stacks


def test_otlp_profile_decodes_with_protoc(clarinet, small, tmp_path):
    out = tmp_path / "out.otlp.pb"
    done = clarinet("report", small, "--process", "4711", "-f", "otlp-profile", "-o", out)
    assert done.code == 0 and "cpu lost 3: ring full" in done.err, done
    attributes, stacks = decode_otlp_profile(out.read_bytes())
    assert attributes["service.name"] == "Shop.Api" and attributes["process.pid"] == 4711
    assert stacks == {stack: weight * 1000 for stack, weight in API.items()}


def decode_pprof(path):
    done = subprocess.run(
        ["protoc", f"--proto_path={ROOT / 'tests'}", "--decode=clarinet.tests.Profile", "profile.proto"],
        input=gzip.decompress(path.read_bytes()),
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return parse_text_proto(done.stdout.decode("utf-8"))


def test_pprof_decodes_with_protoc(clarinet, small, tmp_path):
    out = tmp_path / "out.pb.gz"
    assert clarinet("report", small, "--process", "4711", "-o", out).code == 0
    profile = decode_pprof(out)
    texts = profile["string_table"]
    assert texts[0] == ""

    def text(message, key):
        return texts[message.get(key, [0])[0]]

    types = [(text(t, "type"), text(t, "unit")) for t in profile["sample_type"]]
    assert types == [("samples", "count"), ("cpu", "nanoseconds")]
    functions = {f["id"][0]: f for f in profile["function"]}
    locations = {location["id"][0]: location for location in profile["location"]}
    mappings = {m["id"][0]: m for m in profile["mapping"]}
    by_stack = collections.Counter()
    by_thread = collections.Counter()
    lines = set()
    for sample in profile["sample"]:
        frames = []
        for number in reversed(sample["location_id"]):
            line = locations[number]["line"][0]
            function = functions[line["function_id"][0]]
            frames.append(text(function, "name"))
            mapping = mappings[locations[number]["mapping_id"][0]]
            assert text(mapping, "filename").startswith("/")
            if "line" in line:
                lines.add((text(function, "filename"), line["line"][0]))
        labels = {text(la, "key"): text(la, "str") or la["num"][0] for la in sample["label"]}
        by_stack[tuple(frames)] += sample["value"][1] // 1000
        by_thread[labels["thread"], labels["thread_id"]] += sample["value"][0]
        assert labels["state"] == "running"
    assert by_stack == API
    assert by_thread == {("main", 100): 7, ("worker <1>", 101): 2, ("pool (102)", 102): 1}
    assert ("/src/Shop/Orders.cs", 12) in lines and ("/src/Shop/Program.cs", 3) in lines
    comments = [texts[c] for c in profile["comment"]]
    assert "lost by cpu: 3 (ring full)" in comments
    assert any(c.startswith("own cost: 1500 us") for c in comments)
    assert profile["period"] == [10000000]
    assert profile["time_nanos"] == [1790000000000000000]


def test_pprof_of_several_processes_tells_them_apart(clarinet, small, tmp_path):
    out = tmp_path / "out.pb.gz"
    assert clarinet("report", small, "-f", "pprof", "-o", out).code == 0
    profile = decode_pprof(out)
    texts = profile["string_table"]
    weights = collections.Counter()
    for sample in profile["sample"]:
        labels = {texts[la["key"][0]]: la for la in sample["label"]}
        weights[texts[labels["process"]["str"][0]]] += sample["value"][1]
    assert weights == {"Shop.Api (pid 4711)": 100000000, "Shop.Worker (pid 4712)": 50000000}
    ids = [f["id"][0] for f in profile["function"]]
    assert len(ids) == len(set(ids))


# ---- text formats -------------------------------------------------------------------------------


def test_collapsed_has_every_stack_and_escapes_semicolons(clarinet, small):
    done = clarinet("report", small, "-f", "collapsed", "--process", "Shop.Api")
    assert done.code == 0
    expected = {tuple(f.replace(";", ",") for f in stack): w for stack, w in API.items()}
    assert collapsed_lines(done.out) == expected
    assert "cpu lost 3: ring full" in done.err and "own cost" in done.err


@pytest.mark.parametrize("form", ["collapsed", "md", "html"])
def test_a_thread_that_is_not_there_is_an_error(clarinet, small, form, tmp_path):
    out = tmp_path / "kept"
    out.write_text("an earlier report")
    done = clarinet("report", small, "-f", form, "--thread", "nobody", "-o", out)
    assert done.code == 1 and "no thread in the recording" in done.err and "nobody" in done.err
    assert out.read_text() == "an earlier report"


def test_a_part_says_that_it_is_one(clarinet, small, tmp_path):
    part = ("--thread", "worker*", "--from", "40ms", "--state", "running")
    words = "thread worker*, from 40.0 ms to the end, state running"
    assert words in clarinet("report", small, "-f", "md", *part).out.replace("\\", "")
    assert clarinet("report", small, "-f", "json", *part).json["part"] == words
    assert page_data(clarinet("report", small, "-f", "html", *part).out)["part"] == words
    assert "part" not in clarinet("report", small, "-f", "json").json
    assert "A part of" not in clarinet("report", small, "-f", "md").out
    done = clarinet("report", small, "-f", "md", "--from", "100s")
    assert done.code == 1 and "nothing is left from 100 s on" in done.err


@pytest.mark.parametrize("part, thrown", [
    (("--from", "60ms"), {"Shop.OutOfStockException": 1}),
    (("--to", "60ms"), {"System.InvalidOperationException": 5}),
    (("--thread", "main"), {"System.InvalidOperationException": 5, "Shop.OutOfStockException": 1}),
    (("--thread", "worker*"), {}),
])
def test_events_follow_the_part(clarinet, small, part, thrown):
    done = clarinet("report", small, "-f", "json", "--process", "4711", *part)
    table = [table for table in done.json["processes"][0]["tables"]
             if table["name"] == "exceptions"][0]
    assert {row["type"]: row["count"] for row in table["types"]} == thrown
    assert table["total"] == sum(thrown.values()) and table["rows"] <= table["total"]
    words = clarinet("report", small, "-f", "md", "--process", "4711", *part).out
    assert f"{table['total']} thrown, of {len(thrown)} type" in words, words
    page = page_data(clarinet("report", small, "-f", "html", *part).out)
    assert [rows["rows"] for rows in page["processes"][0]["tables"]
            if rows["name"] == "exceptions"] == [table["rows"]]


def test_collapsed_with_threads_and_selection(clarinet, small):
    done = clarinet("report", small, "-f", "collapsed", "--process", "4711", "--threads")
    by_thread = collections.Counter()
    for stack, weight in collapsed_lines(done.out).items():
        by_thread[stack[0]] += weight
    assert by_thread == {"main (100)": 70000, "worker <1> (101)": 20000, "pool (102)": 10000}
    done = clarinet("report", small, "-f", "collapsed", "--process", "4711", "--thread", "worker*",
                    "--from", "40ms")
    assert sum(collapsed_lines(done.out).values()) == 10000
    done = clarinet("report", small, "-f", "collapsed", "-p", "wall", "--state", "lock")
    assert sum(collapsed_lines(done.out).values()) == 40000
    done = clarinet("report", small, "-f", "collapsed", "-p", "exceptions")
    assert sum(collapsed_lines(done.out).values()) == 6


def test_json_has_methods_lines_exceptions_losses_and_cost(clarinet, small):
    report = clarinet("report", small, "-f", "json").json
    api, worker = report["processes"]
    assert (api["pid"], worker["pid"]) == (4711, 4712)
    tables = {(t["profiler"], t["name"]): t for t in api["tables"]}
    cpu = tables["cpu", "samples"]
    assert (cpu["samples"], cpu["total"], cpu["unit"]) == (10, 100000000, "ns")
    methods = {m["name"]: (m["self"], m["total"]) for m in cpu["methods"]}
    assert methods["Shop.Orders.Place"] == (30000000, 80000000)
    assert methods[EVIL] == (20000000, 20000000)
    assert cpu["lines"][0]["file"] == "/src/Shop/Orders.cs" and cpu["lines"][0]["line"] == 20
    assert cpu["paths"][0]["frames"] == ["Shop.Program.Main", "Shop.Orders.Place", PRICE]
    assert tables["wall", "samples"]["states"] == {
        "running": 10000000, "lock": 40000000, "sleep": 50000000}
    thrown = tables["exceptions", "exceptions"]
    assert thrown["total"] == 6
    assert [(t["type"], t["count"]) for t in thrown["types"]] == [
        ("System.InvalidOperationException", 5), ("Shop.OutOfStockException", 1)]
    assert thrown["messages"][0]["message"] == "the order | was `already` placed\nand <paid>"
    assert thrown["places"][0]["caught_in"] == "Shop.Program.Main"
    assert [f["name"] for f in thrown["places"][0]["stack"]] == [
        PRICE, "Shop.Orders.Place", "Shop.Program.Main"]
    assert sum(thrown["rate"]["counts"]) == 6
    assert api["loss"] == [{"profiler": "cpu", "reason": "ring full", "count": 3},
                           {"profiler": "cpu", "reason": "walk ended early", "count": 1}]
    assert api["cost"]["agent_cpu_ns"] == 1500000
    assert api["cost"]["percent_of_one_cpu"] == 1.75


def test_markdown_tables_stay_whole_whatever_is_in_a_name(clarinet, small):
    text = clarinet("report", small, "-f", "md").out
    rows = [line for line in text.splitlines() if line.startswith("|")]
    evil = [row for row in rows if "Shop.Evil" in row]
    assert evil and all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in evil)
    outside = re.sub(r"(`+).*?\1", "", text)
    assert "<script" not in outside and "<img" not in outside and "<paid>" not in outside
    assert "| `cpu` | 3 | ring full |" in text
    assert "1.750 % of one processor" in text
    assert "Methods by self" in text and "Lines by self" in text and "Hottest paths" in text


def test_callers_and_callees_of_a_method(clarinet, small):
    report = clarinet("report", small, "-f", "json", "-p", "cpu", "--process", "4711", "--method",
                      "*.Place").json
    (around,) = report["processes"][0]["tables"][0]["around"]
    assert (around["self"], around["total"]) == (30000000, 80000000)
    assert [(c["name"], c["weight"]) for c in around["callers"]] == [
        ("Shop.Program.Main", 80000000)]
    assert {c["name"]: c["weight"] for c in around["callees"]} == {
        PRICE: 40000000, "Shop.Orders.Place": 10000000, "[libcoreclr.so]": 10000000}
    text = clarinet("report", small, "-p", "cpu", "--method", "*.Main").out
    assert "### Around `Shop.Program.Main`" in text and "`(outermost)` | 100 ms" in text
    assert "No method in this profile is called `X`" in clarinet(
        "report", small, "--method", "X").out


def test_speedscope_is_in_the_sampled_form(clarinet, small):
    report = clarinet("report", small, "-f", "speedscope", "--process", "4711").json
    frames = report["shared"]["frames"]
    totals = collections.Counter()
    for profile in report["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] == "nanoseconds"
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"])
        for stack, weight in zip(profile["samples"], profile["weights"]):
            totals[tuple(frames[i]["name"] for i in stack)] += weight // 1000
    assert totals == API
    assert {"name": "Shop.Orders.Place", "file": "/src/Shop/Orders.cs", "line": 12} in frames


# ---- html ---------------------------------------------------------------------------------------


def stack_names(process, node):
    names = []
    while node > 0:
        frame = process["stacks"]["frame"][node]
        names.append(process["strings"][process["frames"]["name"][frame]])
        assert process["stacks"]["parent"][node] < node
        node = process["stacks"]["parent"][node]
    return tuple(reversed(names))


def table_weights(process, table):
    weights = collections.Counter()
    for stack, weight in zip(table["columns"]["stack"], table["columns"][table["weight"]]):
        weights[stack_names(process, stack)] += weight
    return weights


def test_html_data_is_what_was_recorded(clarinet, small):
    done = clarinet("report", small, "-f", "html")
    assert done.code == 0
    data = page_data(done.out)
    assert (data["version"], data["kind"]) == (1, "recording")
    process = data["processes"][0]
    assert process["strings"][0] == ""
    tables = {(t["profiler"], t["name"]): t for t in process["tables"]}
    cpu = tables["cpu", "samples"]
    assert cpu["unit"] == "us" and cpu["rows"] == 10
    assert table_weights(process, cpu) == API
    threads = collections.Counter(process["threads"][i]["id"] for i in cpu["columns"]["thread"])
    assert threads == {100: 7, 101: 2, 102: 1}
    times = [sum(cpu["columns"]["time"][: i + 1]) for i in range(10)]
    assert times == [5000 + 10000 * i for i in range(10)]
    thrown = tables["exceptions", "exceptions"]
    assert [process["strings"][i] for i in thrown["columns"]["type"]].count(
        "System.InvalidOperationException") == 2
    assert process["loss"][0] == {"profiler": "cpu", "reason": "ring full", "count": 3}
    assert process["cost"]["agent_cpu"] == 1500
    assert "<script>alert" not in done.out and "<img src=x" not in done.out


def test_html_of_many_samples_adds_up_to_the_same(clarinet, make_recording):
    large = make_recording("large", 60000, 300, 4)
    process = page_data(clarinet("report", large, "-f", "html").out)["processes"][0]
    table = process["tables"][0]
    assert table["recorded"] == 60000 and table["bucket"] > 0
    assert sum(table["columns"]["samples"]) == 60000
    assert all(step >= 0 for step in table["columns"]["time"])
    assert sum(table["columns"]["time"]) <= process["duration"]
    lines = collapsed_lines(clarinet("report", large, "-f", "collapsed").out)
    assert table_weights(process, table) == lines


def test_source_text_is_taken_only_from_source_files(clarinet, small, tmp_path):
    source = tmp_path / "Hot.cs"
    source.write_text("".join(f"line {i}\n" for i in range(1, 40)))
    secret = tmp_path / "secret"
    secret.write_text("".join(f"hidden {i}\n" for i in range(1, 40)))
    (tmp_path / "Same.cs").symlink_to(source)
    (tmp_path / "Other.cs").symlink_to(secret)
    (tmp_path / "Again.cs").symlink_to(tmp_path / "Other.cs")
    raw = small.read_bytes()
    # The recording's paths are patched in place: same length, and the checks are made right again.
    for name, expected in ((str(source), True), ("/etc/passwd", False),
                           (str(tmp_path / "Same.cs"), True), (str(tmp_path / "Other.cs"), False),
                           (str(tmp_path / "Again.cs"), False)):
        patched = patch_string(raw, b"/src/Shop/Orders.cs", name.encode())
        path = tmp_path / "patched.clarinet"
        path.write_bytes(patched)
        process = page_data(clarinet("report", path, "-f", "html").out)["processes"][0]
        sources = [s for s in process["sources"] if process["strings"][s["file"]] == name]
        assert bool(sources) == expected
        for entry in sources:
            assert entry["lines"][0] == f"line {entry['first']}"
    path.write_bytes(patch_string(raw, b"/src/Shop/Orders.cs", str(source).encode()))
    data = page_data(clarinet("report", path, "-f", "html", "--no-source").out)
    assert data["processes"][0]["sources"] == []


def patch_string(raw, old, new):
    import struct
    import zlib

    out, at = raw[:16], 16
    while at < len(raw):
        kind, flags, process, length = struct.unpack_from("<HHII", raw, at)
        payload = raw[at + 16 : at + 16 + length]
        at += 16 + length
        if kind == 2:
            payload = payload.replace(bytes([len(old)]) + old, bytes([len(new)]) + new)
        head = struct.pack("<HHII", kind, flags, process, len(payload))
        out += head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload
    return out


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, code, words",
    [
        ([], 2, "needs a recording"),
        (["{small}", "-f", "xml"], 2, "formats: html"),
        (["{small}", "--from", "soon"], 2, "wants a time"),
        (["{small}", "--state", "happy"], 2, "states: running"),
        (["{small}", "--wrong", "x"], 2, "no option '--wrong'"),
        (["{small}", "--top", "0"], 2, "--top wants a number"),
        (["{small}", "--process", "17"], 1, "it has: Shop.Api (pid 4711), Shop.Worker (pid 4712)"),
        (["{small}", "-f", "collapsed", "-p", "heap"], 1, "it has: cpu, gc, wall, exceptions"),
        (["{small}", "-f", "json", "-p", "nope"], 1, "no profiler 'nope'\n  it has: cpu, gc"),
        (["{small}", "-f", "md", "-p", "nope"], 1, "no profiler 'nope'\n  it has: cpu, gc"),
        (["nowhere.clarinet"], 1, "nowhere.clarinet"),
        (["/proc/self/maps"], 1, "is not a recording"),
        (["{small}", "-o", "/nowhere/x.md"], 1, "cannot write /nowhere/x.md"),
        (["{small}", "-o", "/dev/full"], 1, "No space left"),
    ],
)
def test_mistakes_get_a_clear_message(clarinet, small, args, code, words):
    done = clarinet("report", *[a.replace("{small}", str(small)) for a in args])
    assert done.code == code, done
    assert words in done.err
    assert done.out == ""


def test_a_file_that_may_not_grow_is_told(clarinet, small, tmp_path):
    tool = clarinet.start("report", small, "-f", "html", "-o", tmp_path / "page.html",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    err = tool.communicate()[1]
    assert tool.returncode == 1 and "File too large" in err and "ulimit -f" in err, err


def test_advice_for_a_full_output_names_no_option(clarinet, small):
    with open("/dev/full", "w") as full:
        done = subprocess.run([clarinet.program, "report", small, "-f", "md"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and "No space left" in done.stderr and "-o" not in done.stderr, done


def test_a_cut_recording_is_reported_and_said_to_be_cut(clarinet, small, tmp_path):
    cut = tmp_path / "cut.clarinet"
    cut.write_bytes(small.read_bytes()[:-5])
    done = clarinet("report", cut, "-f", "md")
    assert done.code == 0
    assert "breaks off" in done.err and "**Cut off:** the recording breaks off" in done.out
    assert "Nothing was lost" not in done.out
    assert "Damaged" not in done.out
    assert "| ended | `cut off` |" in done.out
    assert page_data(clarinet("report", cut, "-f", "html").out)["cut"] != ""


def chunk_ends(raw):
    """Where each chunk of a recording ends: a file may be cut there and look whole."""
    at = 16
    while at < len(raw):
        at += 16 + int.from_bytes(raw[at + 8 : at + 12], "little")
        yield at


def test_a_recording_cut_between_chunks_is_said_to_be_cut(clarinet, small, tmp_path):
    raw = small.read_bytes()
    ends = list(chunk_ends(raw))
    assert ends[-1] == len(raw)
    cut = tmp_path / "cut.clarinet"
    cut.write_bytes(raw[: ends[-2]])
    done = clarinet("report", cut, "-f", "json")
    assert done.code == 0 and "have no end" in done.err, done
    assert "have no end" in done.json["cut"]
    cut.write_bytes(raw[:16])
    done = clarinet("report", cut)
    assert done.code == 1 and "there is no process in" in done.err, done


def test_a_recording_may_come_through_a_pipe(clarinet_program, small):
    done = subprocess.run([clarinet_program, "report", "-", "-f", "json"],
                          stdin=small.open("rb"), capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0
    assert json.loads(done.stdout)["processes"][0]["pid"] == 4711


@pytest.mark.parametrize("way", ["itself", "symlink", "hard link", "standard input"])
def test_the_recording_is_not_written_over(clarinet_program, small, tmp_path, way):
    whole = small.read_bytes()
    other = tmp_path / "other.json"
    if way == "symlink":
        other.symlink_to(small)
    elif way == "hard link":
        other.hardlink_to(small)
    else:
        other = small
    source = "-" if way == "standard input" else small
    for command in (["report", source, "-f", "json", "-o", other],
                    ["diff", small, small, "-f", "json", "-o", other]):
        with open(small, "rb") as given:
            done = subprocess.run([clarinet_program, *command], stdin=given, capture_output=True,
                                  text=True, timeout=PATIENCE)
        assert done.returncode == 2 and "would be lost" in done.stderr, done
        assert small.read_bytes() == whole
