"""Event log, dumped bodies and their comparison; what explain and check say of a home folder."""
import json
import re

import pytest

from instrumentation import extension

POINTS = extension(("Shapes", "Shapes.Flow", "Small", "CallsSmall"), ("Shapes", "Shapes.Parameters", "Over"))
KEYS = ["timestamp_micros", "event_type", "function_id", "module_id", "method_name", "assembly_name", "parameters"]


@pytest.fixture
def home(instrument_home):
    instrument_home.extension("points.xml", POINTS)
    return instrument_home


def events_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_event_log_and_bodies_of_a_run(home, runtime, clarinet):
    log, folder = home.folder / "events.jsonl", home.folder / "bodies"
    done = home.run(runtime, "Shapes", CLARINET_EVENT_LOG=log, NEW_RELIC_PROFILER_DUMP_IL="1",
                    NEWRELIC_VALIDATION_OUTPUT=folder)
    assert (done.returncode, done.stderr) == (7, "")
    events = events_of(log)
    assert all(list(event) == KEYS for event in events)
    first = events[0]
    assert (first["event_type"], first["assembly_name"]) == ("ModuleLoadFinished", "System.Private.CoreLib")
    assert (first["function_id"], first["method_name"]) == (None, None)
    compiled = [event for event in events if event["event_type"] == "JITCompilationStarted"]
    (main,) = [event for event in compiled if event["method_name"] == "Shapes.Program.<Main>(System.String[])"]
    assert main["function_id"] and main["module_id"]
    assert main["parameters"]["is_safe_to_block"] in ("true", "false")
    asked = [event["method_name"] for event in events if event["event_type"] == "GetReJITParameters"]
    over = [f"Shapes.Parameters.Over({types})" for types in
            ("System.Int32", "System.Int32,System.Int32", "System.Int64", "System.String")]
    assert sorted(asked) == sorted(["Shapes.Flow.CallsSmall(System.Int32)", "Shapes.Flow.Small(System.Int32)", *over])

    names = sorted(path.name for path in folder.iterdir())
    methods = {re.sub(r"\.(original|clarinet-instrumented)\.(bin|txt)$", "", name) for name in names}
    assert len(names) == 4 * 6 and len(methods) == 6  # overloads apart, each before and after, bytes and text
    (name,) = [method for method in methods if method.startswith("Shapes.Flow.Small-")]
    assert (folder / f"{name}.original.bin").read_bytes() == bytes.fromhex("120217582a")
    text = (folder / f"{name}.clarinet-instrumented.txt").read_text()
    assert text.startswith("[Shapes]Shapes.Flow.Small(System.Int32)\nfat header, flags 0x18, max stack ")
    assert "System.Action<object, System.Exception>::Invoke" in text
    assert text.splitlines()[-1].startswith("0")

    assert clarinet("instrument", "compare", log, log).code == 0
    assert clarinet("instrument", "compare", folder, folder, "--json").json["score"] == 1


def test_two_runs_make_the_same_bodies_and_other_forms_part(home, newest_runtime, clarinet):
    def dump(name, **env):
        folder = home.folder / name
        home.run(newest_runtime, "Shapes", NEW_RELIC_PROFILER_DUMP_IL="1", NEWRELIC_VALIDATION_OUTPUT=folder, **env)
        return folder

    first, second, other = dump("a"), dump("b"), dump("c", CLARINET_TEMPLATE="reference")
    equal = clarinet("instrument", "compare", first, second, "--json")
    assert equal.code == 0
    assert (equal.json["score"], equal.json["critical"]) == (1, 0)
    assert equal.json["first"] == equal.json["second"] > 300
    assert {difference["kind"] for difference in equal.json["differences"]} == {"detail"}  # ids and addresses
    changed = min(second.glob("Shapes.Flow.Small-*.clarinet-instrumented.bin"))
    whole = changed.read_bytes()
    changed.write_bytes(whole[:20] + bytes([whole[20] ^ 1]) + whole[21:])  # the text beside it is as it was
    held = clarinet("instrument", "compare", first, second)
    assert held.code == 1 and "extra (critical)  other bytes than its text says  in Shapes.Flow.Small-" in held.out, held
    changed.write_bytes(whole)
    for path in second.glob("*.txt"):
        path.unlink()
    assert clarinet("instrument", "compare", first, second).code == 0  # by the bytes alone
    for rest, why in [(whole[:3], "the method body is cut off"), (b"", "the method")]:
        changed.write_bytes(rest)
        cut = clarinet("instrument", "compare", first, second)
        assert cut.code == 2 and f"clarinet: {changed}: {why}" in cut.err, cut
    parts = clarinet("instrument", "compare", first, other, "--top", "3")
    assert parts.code == 1
    assert "they part at " in parts.out and " critical, " in parts.out and "… and " in parts.out
    assert re.search(r"^  \d+ critical in Shapes\.Flow\.Small-\w+\.instrumented\.bin$", parts.out, re.M), parts


def test_the_variables_of_validation_and_their_default_folder(home, newest_runtime, clarinet):
    home.run(newest_runtime, "Shapes", NEWRELIC_VALIDATION_ENABLED="")
    (log,) = (home.folder / "validation_output").iterdir()  # in the current folder
    assert re.fullmatch(r"events\.\d+\.jsonl", log.name)
    assert len(events_of(log)) > 100
    first = log.read_text()
    again = home.run(newest_runtime, "Shapes", CLARINET_EVENT_LOG=log)  # taken: as by a parent
    assert again.returncode == 7
    assert log.read_text() == first
    (other,) = log.parent.glob(log.name + ".*")
    assert len(events_of(other)) > 100
    assert any(line.endswith(f"The event log is {other}") for line in home.log())
    compared = clarinet("instrument", "compare", log, other)
    assert f"beside {log} there is 1 log of other processes" in compared.err, compared
    done = home.run(newest_runtime, "Shapes", CLARINET_EVENT_LOG="/proc/none/events")
    assert done.returncode == 7
    assert any("The event log /proc/none/events." in line and line.endswith(" can't be written") for line in home.log())


def test_where_two_event_logs_part(clarinet, tmp_path):
    def write(name, *methods, array=False, safe="true"):
        events = [{"timestamp_micros": number, "event_type": "JITCompilationStarted", "function_id": id(method),
                   "module_id": 1, "method_name": method, "assembly_name": "A",
                   "parameters": {"is_safe_to_block": safe}} for number, method in enumerate(methods)]
        path = tmp_path / name
        path.write_text(json.dumps(events) if array else "".join(json.dumps(event) + "\n" for event in events))
        return path

    first = write("a", "M.a()", "M.b()", "M.c()", "M.d()")
    assert clarinet("instrument", "compare", first, write("b", "M.a()", "M.b()", "M.c()", "M.d()", array=True)).code == 0
    moved = clarinet("instrument", "compare", first, write("c", "M.b()", "M.a()", "M.c()", "M.d()"), "--json")
    assert (moved.code, moved.json["acceptable"], moved.json["score"]) == (0, 1, 1)
    detail = clarinet("instrument", "compare", first, write("d", "M.a()", "M.b()", "M.c()", "M.d()", safe="false"), "--json")
    assert (detail.code, detail.json["acceptable"]) == (0, 4)
    assert detail.json["differences"][0]["first_value"] == '{"is_safe_to_block":"true"}'
    lost = clarinet("instrument", "compare", first, write("e", "M.a()", "M.c()", "M.d()"), "--json")
    assert (lost.code, lost.json["critical"], lost.json["score"]) == (1, 1, 0.75)
    assert lost.json["differences"] == [{"first_index": 1, "second_index": 1, "kind": "missing", "critical": True,
                                         "text": "JITCompilationStarted [A]M.b()",
                                         "first_value": '{"is_safe_to_block":"true"}'}]
    marked = tmp_path / "marked"
    for text in [first.read_text(), (tmp_path / "b").read_text()]:
        marked.write_text(text, encoding="utf-8-sig")  # with a byte order mark
        assert clarinet("instrument", "compare", first, marked).code == 0
    cut = tmp_path / "cut"
    cut.write_text(first.read_text()[:-30])  # as after a crash
    assert "missing (critical)  JITCompilationStarted [A]M.d()" in clarinet("instrument", "compare", first, cut).out
    assert "  1 critical in A\n" in clarinet("instrument", "compare", first, cut).out
    nothing = tmp_path / "nothing"
    nothing.touch()
    assert "has no events" in clarinet("instrument", "compare", first, nothing).err
    broken = tmp_path / "broken"
    broken.write_text("{}\nnonsense\n{}\n")
    refused = clarinet("instrument", "compare", first, broken)
    assert refused.code == 2 and "line 2 is not an event" in refused.err
    assert clarinet("instrument", "compare", first).code == 2
    assert clarinet("instrument", "compare", first, tmp_path).code == 2


def test_check_lists_points_and_names_those_that_never_match(home, clarinet, instrumentation_programs):
    assembly = instrumentation_programs / "Shapes/Shapes.dll"
    good = clarinet("instrument", "check", home.folder, "--assembly", assembly)
    assert good.code == 0, good.out
    assert re.search(r"^\[Shapes\]Shapes\.Parameters::Over  0x00003400  .*points\.xml:1  4 methods$", good.out, re.M)
    assert "3 instrumentation points, 0 invalid files" in good.out
    gone = home.folder / "extensions/gone.xml"
    gone.symlink_to("nowhere")
    unread = clarinet("instrument", "check", home.folder, "--assembly", assembly)
    assert unread.code == 1 and f"{gone} can't be read" in unread.out, unread
    gone.unlink()
    home.extension("wrong.xml", extension(
        ("Shapes", "Shapes.Flow", "Missing"), ("Shapes", "Shapes.Nowhere", "Small"), ("Other", "A", "b"),
        "<match assemblyName='Shapes' className='Shapes.Outer+Inner'>"
        "<exactMethodMatcher methodName='Call' parameters='System.Int64'/></match>",
        "<match assemblyName='Shapes' className='Shapes.Flow' minVersion='9.0'>"
        "<exactMethodMatcher methodName='Loop'/></match>",
        "<match assemblyName='Shapes' className='Shapes.Parameters'>"
        "<exactMethodMatcher methodName='Nested' parameters='Inner,Value'/></match>",
    ))
    bad = clarinet("instrument", "check", home.folder, "--assembly", assembly)
    assert bad.code == 1
    never = [line.split("  ")[0] for line in bad.out.splitlines() if "NEVER MATCHES" in line]
    assert never == ["[Shapes]Shapes.Flow::Missing", "[Shapes]Shapes.Nowhere::Small",
                     "[Shapes]Shapes.Outer+Inner::Call(System.Int64)", "[Shapes]Shapes.Flow::Loop from 9.0.0.0"]
    assert re.search(r"^\[Shapes\]Shapes\.Parameters::Nested\(Inner,Value\) .*  1 method$", bad.out, re.M)
    home.extension("own.json", """{"points": [
        {"assembly": "Shapes", "class": "Shapes.Flow", "method": ["Small", "Missing"]}]}""")
    both = clarinet("instrument", "check", home.folder, "--assembly", assembly)
    assert re.search(r"^\[Shapes\]Shapes\.Flow::Missing  .*own\.json:2  NEVER MATCHES", both.out, re.M), both.out
    home.extension("broken.json", '{"points":\n [{"assembly": "Shapes", "clas": "A"}]}')
    home.extension("broken.xml", "<extension>\n<a")
    invalid = clarinet("instrument", "check", home.folder)
    assert invalid.code == 1
    assert "broken.xml is invalid and is skipped: line 2" in invalid.out
    assert "broken.json is invalid and is skipped: line 2, column 26: unknown key: clas" in invalid.out
    assert clarinet("instrument", "check", home.folder / "nowhere").code == 1


def test_explain_names_the_rule(home, clarinet):
    env = {"CORECLR_NEW_RELIC_HOME": str(home.folder)}
    no = clarinet("instrument", "explain", "--json", "--", "dotnet", "run", env=env)
    assert (no.code, no.json["instrument"], no.json["rule"]) == (0, False, "dotnet-command")
    home.configure("<configuration><instrumentation><applications><application name='sh' include='false'/>"
                   "</applications></instrumentation></configuration>")
    listed = clarinet("instrument", "explain", "--", "./sh", env=env)
    assert listed.out.startswith("would not be instrumented: ") and "(rule excluded)" in listed.out
    forced = clarinet("instrument", "explain", "--", "dotnet", "run", env={**env, "NEWRELIC_FORCE_PROFILING": "0"})
    assert "(rule forced)" in forced.out
