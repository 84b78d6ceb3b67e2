"""libclarinet_instrument.so on real runtimes, with a managed test agent that writes down each call.

The program Shapes has every shape of method; its output, exit code and stack traces must be the same
with and without us, and each call of a method that can carry the template is reported once.
"""
import json
import os
import re
import subprocess

import pytest

from conftest import BUILD, PATIENCE, ROOT
from instrumentation import FRAMEWORK_CLSID, extension, same

FACTORY = "NewRelic.Agent.Core.Tracer.Factories.DefaultTracerFactory"
REFUSED = {
    "Awkward.Vararg()",
    # special names, P/Invoke, ordinary structs, `this` of a value type, sequential layout, by-ref result
    "Awkward.add_Happened(System.Action)", "Awkward.remove_Happened(System.Action)", "Awkward.get_Item(System.Int32)",
    "Awkward.op_Addition(Shapes.Awkward,Shapes.Awkward)", "Awkward.Native()", "Window.Length()", "AutoLayout.Sum()",
    "SequentialClass.Left()", "SequentialClass..ctor()", "Point.ToString()", "Outer+Value.Call(System.Int32)",
    "Returns.ByRef(System.Int32[])", "Derived..cctor()", "Derived.get_Value()", "Derived.set_Value(System.Int32)",
}
ABSTRACT = {"IGreeter.Explicit()", "IProducer`1.Produce()", "IConsumer`1.Consume(!0)"}  # the agent says nothing of these
LINE = re.compile(r"^\[(Trace|Debug|Info |Warn |Error)\] \d{4}-\d\d-\d\d \d\d:\d\d:\d\d .*$")


@pytest.fixture
def shapes_home(instrument_home, newest_runtime):
    home = instrument_home
    done = home.run_bare(newest_runtime, "Shapes", "--extension", home.folder / "extensions/shapes.xml")
    assert done.returncode == 0
    return home


def calls_of(name):
    """Every call of the program as it must be reported: the eleven arguments, result or exception. Sorted: a
    continuation on a pool thread and the return of its caller have no order."""
    return (ROOT / f"tests/instrumentation/{name}.calls").read_text().splitlines()


def reported(home):
    """What was reported, in the words of the .calls files: closures of F# are named after their line."""
    return sorted(re.sub(r"\b\w+@\d+(-\d+)?\b", "closure", line).replace(FACTORY, "F") for line in home.reported())


@pytest.mark.parametrize("form", ["cached", "reference"])
def test_every_shape_runs_as_before_and_is_reported(shapes_home, runtime, form):
    bare = shapes_home.run_bare(runtime, "Shapes")
    done = shapes_home.run(runtime, "Shapes", CLARINET_TEMPLATE=form)
    same(done, bare)
    assert reported(shapes_home) == calls_of("Shapes")
    refused = [line.split(" is left alone: ") for line in shapes_home.log() if " is left alone: " in line]
    assert {line[0].split("]Shapes.")[1] for line in refused} == REFUSED
    assert all(LINE.match(line) for line in shapes_home.log())
    warnings = [line.split("Awkward.")[1] for line in shapes_home.log() if line.startswith("[Warn ]") and "Awkward." in line]
    assert warnings == ["FunctionPointer((System.Int32)(System.Int32),System.Int32): parameter 1 is a pointer and is passed as null"]
    (named,) = [line.split("] ", 1)[1][20:] for line in shapes_home.log() if "Shapes.Flow.Small(" in line]
    assert named == (f"Instrumenting method: (Module: {shapes_home.programs}/Shapes/Shapes.dll, AppDomain: clrhost)"
                     "[Shapes]Shapes.Flow.Small(System.Int32)")


def test_check_leaves_alone_what_the_agent_leaves_alone(shapes_home, clarinet):
    """Held against the same list as the agent's log; and names that say something else than they seem to."""
    home = shapes_home
    assembly = home.programs / "Shapes/Shapes.dll"
    home.extension("more.xml", extension(
        ("Shapes", "Shapes.Awkward", "Item"), ("Shapes.dll", "Shapes.Flow", "Small"), ("*", "Shapes.Flow", "Small")))
    checked = clarinet("instrument", "check", home.folder, "--assembly", assembly)
    assert checked.code == 1
    left = re.findall(r" 1 LEFT ALONE: Shapes\.(.*?): ", checked.out)
    assert set(left) == REFUSED | ABSTRACT, checked.out
    assert re.search(r"::Native .* 1 LEFT ALONE: .*: it has no body: its code is native \(P/Invoke\)$", checked.out, re.M)
    assert re.search(r"::Item .* NEVER MATCHES in this assembly: properties are not instrumented$", checked.out, re.M)
    assert re.search(r"^\[Shapes\.dll\].* NEVER MATCHES: the name of a file, not of an assembly$", checked.out, re.M)
    assert "Shapes.dll is the name of a file; the assembly's name is Shapes" in checked.out
    assert "NEVER MATCHES" in clarinet("instrument", "check", home.folder).out


def test_who_cannot_be_told_is_named_once(instrument_home, newest_runtime, clarinet):
    home = instrument_home
    shim = home.programs / "SecondShim/SecondShim.dll"
    point = {"assembly": "Newest", "class": "*", "method": "Ordinary"}
    said = {"NoMethod": "has no public method GetFinishTracerDelegate", "NotPublic": "has no public method",
            "Twice": "has 2 public methods", "NotStatic": "is not public static Action<object, Exception>",
            "WrongNumber": "is not public static", "WrongResult": "is not public static", "Missing": "has no class Second.Missing"}
    for name in said:
        home.extension(f"{name}.json", json.dumps({"shim": str(shim), "shimType": f"Second.{name}", "points": [point]}))
    (home.folder / "NewRelic.Agent.Core.dll").write_bytes(b"not a library")
    home.extension("agent.xml", extension(("Newest", "*", "Ordinary")))
    same(home.run(newest_runtime, "Newest"), home.run_bare(newest_runtime, "Newest"))
    errors = [line for line in home.log() if line.startswith("[Error]")]
    assert all("Nobody hears of the calls that are for it" in line for line in errors), errors
    for name, reason in said.items():
        (line,) = [line for line in errors if f"Second.{name} " in line or line.split(". Nobody")[0].endswith(f"Second.{name}")]
        assert reason in line
    (line,) = [line for line in errors if "NewRelic.Agent.Core.dll can't be used: it is not a .NET assembly" in line]
    assert len(errors) == 8
    checked = clarinet("instrument", "check", home.folder)
    assert checked.code == 1 and checked.out.count("can't be used: ") == 8, checked.out
    for name in said:
        (home.folder / f"extensions/{name}.json").unlink()
    home.extension("wider.json", json.dumps({"shim": str(shim), "shimType": "Second.Wider", "points": [point]}))
    (home.folder / "NewRelic.Agent.Core.dll").write_bytes(shim.read_bytes())
    other = clarinet("instrument", "check", home.folder)
    assert other.out.count("can't be used: ") == 1
    assert "NewRelic.Agent.Core.dll can't be used: it has no class NewRelic.Agent.Core.AgentShim." in other.out


def test_a_pipe_is_no_managed_agent(instrument_home, newest_runtime, clarinet):
    """To load it would wait for ever: the next place counts."""
    home = instrument_home
    home.extension("agent.xml", extension(("Newest", "*", "Ordinary")))
    agent = home.folder / "NewRelic.Agent.Core.dll"
    (home.folder / "netcore").mkdir()
    agent.rename(home.folder / "netcore/NewRelic.Agent.Core.dll")
    os.mkfifo(agent)
    same(home.run(newest_runtime, "Newest"), home.run_bare(newest_runtime, "Newest"))
    assert len(home.reported()) == 2
    assert clarinet("instrument", "check", home.folder).code == 0
    (home.folder / "netcore/NewRelic.Agent.Core.dll").unlink()
    checked = clarinet("instrument", "check", home.folder)
    assert checked.code == 1 and "NewRelic.Agent.Core.dll" in checked.out


def test_what_a_shim_needs_and_nobody_has_is_in_the_log(instrument_home, newest_runtime, clarinet):
    home = instrument_home
    agent = home.folder / "NewRelic.Agent.Core.dll"
    agent.write_bytes(agent.read_bytes().replace(b"\0System.Linq\0", b"\0Custom.Linq\0"))
    home.extension("agent.xml", extension(("Newest", "*", "Ordinary")))
    same(home.run(newest_runtime, "Newest"), home.run_bare(newest_runtime, "Newest"))
    assert home.reported() == []
    says = f"{agent} needs Custom.Linq.dll, which is not beside it: unless the program has it, calls are lost"
    assert [line for line in home.log() if line.startswith("[Warn ]") and line.endswith(says)] != []
    assert says in clarinet("instrument", "check", home.folder).out


def test_every_shape_of_fsharp_runs_as_before_and_is_reported(instrument_home, runtime):
    home = instrument_home
    assert home.run_bare(runtime, "ShapesFs", "--extension", home.folder / "extensions/shapes.xml").returncode == 0
    same(home.run(runtime, "ShapesFs"), home.run_bare(runtime, "ShapesFs"))
    assert reported(home) == calls_of("ShapesFs")


@pytest.mark.parametrize("mode", ["record", "finish-throw"])
@pytest.mark.parametrize("calls, method, thrown", [
    ("1500", "Fall", "System.InvalidOperationException: at the bottom"),
    ("1000 mixed", "Mixed", None),
])
def test_an_exception_that_leaves_many_calls_does_not_overflow_the_stack(
        instrument_home, runtime, calls, method, thrown, mode):
    """Each of the calls is told once; the program sees what it sees without us, at this depth and at a small one."""
    home = instrument_home
    home.extension("deep.xml", extension(("Deep", "Deep.Calls", method)))
    bare = home.run_bare(runtime, "Deep", *calls.split())
    done = home.run(runtime, "Deep", *calls.split(), CLARINET_TEST_AGENT_MODE=mode)
    same(done, bare)
    assert bare.returncode == 5
    told = [line.split()[0] for line in home.reported()]
    depth = int(calls.split()[0])
    assert told == ["enter"] * (depth + 1) + ["throw"] * (depth + 1) + ["enter"] * 31 + ["throw"] * 31
    if thrown is not None:
        assert {line.split(" | ")[1] for line in home.reported() if line.startswith("throw")} == {thrown}


def test_an_exception_that_ends_the_program_is_told_by_each_call(instrument_home, runtime):
    home = instrument_home
    home.extension("deep.xml", extension(("Deep", "Deep.Calls", "Fall")))
    done = home.run(runtime, "Deep", "30", "unhandled")
    same(done, home.run_bare(runtime, "Deep", "30", "unhandled"))
    assert done.returncode == -6 and "at the bottom" in done.stderr
    assert [line.split()[0] for line in home.reported()] == ["enter"] * 31 + ["throw"] * 31


@pytest.mark.parametrize("corner, calls", [
    ("small 128 10", 11), ("small 256 50", 51), ("small 512 100", 101), ("dive 256", None), ("finalizer", 12),
    ("static", 1), ("async", 22), ("filter", 3), ("nested", 4), ("interrupt", 1),
])
def test_exceptions_in_corners(instrument_home, runtime, corner, calls):
    """Small stacks and such that are nearly used up, the finalizer's thread, filters that throw: nothing changes, and
    each call is told once with its end."""
    home = instrument_home
    home.extension("corners.json",
                   '{"points": [{"assembly": "Corners", "class": "Corners.Calls", "method": "*"}]}')
    bare = home.run_bare(runtime, "Corners", *corner.split())
    same(home.run(runtime, "Corners", *corner.split()), bare)
    assert bare.returncode == 5
    told = [line.split()[0] for line in home.reported()]
    entered = told.count("enter")
    assert entered == calls or calls is None and entered > 100
    assert told.count("leave") == (21 if corner == "async" else 0)  # those give their tasks
    assert told.count("throw") == entered - told.count("leave")


def test_deep_tail_calls_keep_their_stack(instrument_home, runtime, clarinet):
    """Every method is named. Those that come back to themselves by `tail.` calls, a million deep, are left alone."""
    home = instrument_home
    home.extension("all.xml", extension(("ShapesFs", "*", "*")))
    same(home.run(runtime, "ShapesFs"), home.run_bare(runtime, "ShapesFs"))
    left = [re.search(r"\]ShapesFs\.Program(.*?)\(.*\) is left alone: (.*)$", line).groups()
            for line in home.log() if line.startswith("[Warn ]") and " is left alone: " in line]
    names = {re.sub(r"@\d+(-\d+)?", "@", name) for name, _ in left}
    deep = {".even", ".odd", "+descend@.Invoke", ".zigzag", ".halve", "+zigzag@.Invoke", "+Walker.Walk", "+Walker.Step",
            "+Pairs`1.Left", "+Pairs`1.Right"}
    assert deep <= names
    assert {name for name in names - deep if not name.endswith("@.Invoke")} == set()  # of a function value nobody knows
    assert {why.split(",")[0] for _, why in left} == {"its `tail.` calls come back to it"}
    called = {line.split("(")[0] for line in home.reported() if line.startswith("enter ")}
    assert "enter [ShapesFs]ShapesFs.Program+Tails.Chain" in called and "enter [ShapesFs]ShapesFs.Program+Tails.Text" in called
    assert "enter [ShapesFs]ShapesFs.Program.descend" in called  # by itself it does not come back
    checked = clarinet("instrument", "check", home.folder, "--assembly", home.programs / "ShapesFs/ShapesFs.dll")
    (number, first) = re.search(r"; (\d+) of them for `tail.` calls that come back: the first is (.*)", checked.out).groups()
    assert int(number) >= len(set(left)) and first == "ShapesFs.Program.even(System.Int32)"  # not all were ever called
    home.extension("all.xml", extension(("ShapesFs", "ShapesFs.Program", "odd", "halve")))
    checked = clarinet("instrument", "check", home.folder, "--assembly", home.programs / "ShapesFs/ShapesFs.dll")
    assert re.search(r"::odd .* 1 LEFT ALONE: ShapesFs.Program.odd\(System.Int32\): its `tail.` calls come back to it", checked.out)
    assert re.search(r"::halve .* 1 method$", checked.out, re.M)  # named, and only function values may lead back to it


@pytest.mark.parametrize("form", ["cached", "reference"])
def test_two_sets_at_once_each_tell_their_own_shim(shapes_home, runtime, form):
    """Every shape is named by both sets, so each method carries the code twice."""
    home = shapes_home
    points = (home.folder / "extensions/shapes.xml").read_text()
    home.extension("second.xml", points.replace(
        "<extension", "<extension shim='../second/SecondShim.dll' shimType='Second.AgentShim'", 1))
    (home.folder / "second").mkdir()
    (home.folder / "second/SecondShim.dll").write_bytes((home.programs / "SecondShim/SecondShim.dll").read_bytes())
    same(home.run(runtime, "Shapes", CLARINET_TEMPLATE=form), home.run_bare(runtime, "Shapes"))
    assert reported(home) == calls_of("Shapes")
    home.calls = home.calls.with_name(home.calls.name + ".second")
    assert reported(home) == calls_of("Shapes")


def test_a_set_of_everything_in_json_beside_the_agents_own(instrument_home, newest_runtime, clarinet):
    """`*` leaves the set's own shim out, or it would ask itself for ever."""
    home = instrument_home
    shim = home.programs / "SecondShim/SecondShim.dll"
    home.extension("first.xml", extension(("Newest", "*", "Ordinary")))
    home.extension("second.json", json.dumps({"shim": str(shim), "shimType": "Second.AgentShim", "points": [
        {"assembly": "Newest", "class": "*", "method": "*"},
        {"assembly": "*", "class": "Second.AgentShim", "method": "*"}]}))
    same(home.run(newest_runtime, "Newest"), home.run_bare(newest_runtime, "Newest"))
    assert [line.split(" | ")[0] for line in home.reported() if line.startswith("enter ")] == [
        "enter [Newest]Newest.Shapes.Ordinary(!!0)"]
    second = home.calls.with_name(home.calls.name + ".second").read_text().splitlines()
    assert len([line for line in second if line.startswith("enter ")]) == 11
    home.extension("third.json", json.dumps({"shim": "gone.dll", "points": []}))
    checked = clarinet("instrument", "check", home.folder)
    assert "second.json:1  for SecondShim" in checked.out
    assert "extensions/gone.dll is missing: nobody hears of the calls that are for it" in checked.out


def test_type_parameters_that_may_be_ref_structs(instrument_home, newest_runtime):
    home = instrument_home
    home.extension("all.xml", extension(("Newest", "*", "*")))
    same(home.run(newest_runtime, "Newest"), home.run_bare(newest_runtime, "Newest"))
    enters = [line for line in home.reported() if line.startswith("enter ")]
    assert [line.split(" | ")[6] for line in enters if ".Take(" in line] == ["args=null, 1", "args=null, 2", "args=null, 3"]
    assert [line.split(" | ")[6] for line in enters if ".Ordinary(" in line] == ['args="text"']
    assert len(enters) == 11


def test_methods_that_the_runtime_makes_asynchronous_are_left_alone(instrument_home, newest_runtime, clarinet):
    home = instrument_home
    switch = {"DOTNET_RuntimeAsync": "1"}
    home.extension("all.xml", extension(("Newest", "Newest.Awaiting", "*")))
    bare = home.run_bare(newest_runtime, "Newest", **switch)
    assert "number !8" in bare.stdout, bare
    same(home.run(newest_runtime, "Newest", **switch), bare)
    assert [line.split(" | ")[0] for line in home.reported() if line.startswith("enter ")] == [
        "enter [Newest]Newest.Awaiting.Run()"]
    assert len([line for line in home.log() if "is left alone: the runtime makes it asynchronous" in line]) == 3
    spans = clarinet("instrument", "run", "--otlp", "spans.json", "--home", home.folder, "--",
                     *home.command(newest_runtime, "Newest"), env=switch)
    assert spans.code == bare.returncode and spans.out == bare.stdout, spans
    assert "1 span in spans.json" in spans.err and "3 methods are named and have no spans" in spans.err, spans
    assert "left alone: the runtime makes the method asynchronous" in spans.err, spans


def test_without_a_managed_agent_the_sets_with_a_shim_still_work(shapes_home, newest_runtime):
    home = shapes_home
    points = (home.folder / "extensions/shapes.xml").read_text()
    shim = home.programs / "SecondShim/SecondShim.dll"
    home.extension("shapes.xml", points.replace("<extension", f"<extension shim='{shim}' shimType='Second.AgentShim'", 1))
    (home.folder / "NewRelic.Agent.Core.dll").unlink()
    same(home.run(newest_runtime, "Shapes"), home.run_bare(newest_runtime, "Shapes"))
    first = home.calls
    home.calls = first.with_name(first.name + ".second")
    assert reported(home) == calls_of("Shapes")
    home.calls.unlink()
    home.calls = first
    home.extension("own.xml", extension(("Shapes", "Shapes.Flow", "Small")))  # somebody needs it now
    assert home.run(newest_runtime, "Shapes").returncode == 7
    assert not first.with_name(first.name + ".second").exists()
    assert any("[Error]" in line and "NewRelic.Agent.Core.dll is neither" in line for line in home.log())


def test_all_forms_report_the_same_calls(shapes_home, runtime):
    """Sorted: a continuation on a pool thread and the return of its caller have no order."""

    def calls(**options):
        shapes_home.run(runtime, "Shapes", **options)
        return sorted(shapes_home.reported())

    cached = calls()
    assert calls(CLARINET_TEMPLATE="reference") == cached
    assert calls(CLARINET_MASK="light") == cached
    assert calls(clsid=FRAMEWORK_CLSID) == cached


@pytest.mark.parametrize("mode", ["throw", "null", "finish-throw", "call"])
def test_an_agent_that_misbehaves_does_no_harm(shapes_home, runtime, mode):
    bare = shapes_home.run_bare(runtime, "Shapes")
    done = shapes_home.run(runtime, "Shapes", CLARINET_TEST_AGENT_MODE=mode)
    same(done, bare)
    assert len([line for line in shapes_home.reported() if line.startswith("enter ")]) > 100


def test_an_excluded_process_is_untouched_and_the_log_says_why(shapes_home, newest_runtime):
    shapes_home.configure("""<configuration><instrumentation><applications>
      <application name='dotnet' include='false'/></applications></instrumentation></configuration>""")
    same(shapes_home.run(newest_runtime, "Shapes"), shapes_home.run_bare(newest_runtime, "Shapes"))
    assert shapes_home.reported() == []
    log = shapes_home.log()
    assert log[0].endswith(" Logger initialized.")
    assert sum("(excluded)" in line for line in log) == 1
    assert "unloads" in log[-1]
    done = shapes_home.run(newest_runtime, "Shapes", NEW_RELIC_FORCE_PROFILING="0")
    assert done.returncode == 7 and len(shapes_home.reported()) > 100


def test_a_broken_configuration_cancels_and_says_where(shapes_home, newest_runtime):
    shapes_home.configure("<configuration>\n <log level=oops")
    same(shapes_home.run(newest_runtime, "Shapes"), shapes_home.run_bare(newest_runtime, "Shapes"))
    assert any("line 2, column 13" in line and "[Error]" in line for line in shapes_home.log())


def test_one_broken_extension_leaves_the_others(shapes_home, newest_runtime):
    shapes_home.extension("a-broken.xml", "<extension>\n<x")
    done = shapes_home.run(newest_runtime, "Shapes")
    assert done.returncode == 7 and len(shapes_home.reported()) > 100
    assert any("a-broken.xml is invalid" in line and "line 2" in line for line in shapes_home.log())


def test_an_unknown_class_id_is_refused(shapes_home, newest_runtime):
    bare = shapes_home.run_bare(newest_runtime, "Shapes")
    done = shapes_home.run(newest_runtime, "Shapes", clsid="{00000000-1111-2222-3333-444444444444}")
    same(done, bare)
    assert shapes_home.reported() == []


def test_console_logging_goes_to_stdout_only_when_asked(shapes_home, newest_runtime):
    done = shapes_home.run(newest_runtime, "Shapes", NEW_RELIC_LOG_CONSOLE="1")
    assert "] " in done.stdout and "Profiler initialized" in done.stdout
    assert shapes_home.log() == []


def test_a_log_that_is_switched_off_writes_nothing_anywhere(shapes_home, newest_runtime):
    done = shapes_home.run(newest_runtime, "Shapes", NEW_RELIC_LOG_ENABLED="0", NEW_RELIC_LOG_CONSOLE="1")
    same(done, shapes_home.run_bare(newest_runtime, "Shapes"))
    assert shapes_home.log() == [] and len(shapes_home.reported()) > 100


def test_a_log_folder_is_made_with_its_parents(shapes_home, newest_runtime):
    folder = shapes_home.folder / "a/b/größe"
    shapes_home.run(newest_runtime, "Shapes", NEWRELIC_PROFILER_LOG_DIRECTORY=folder,
                    NEWRELIC_PROFILER_DELAY_IN_SEC="1")
    (log,) = folder.iterdir()
    assert re.fullmatch(r"NewRelic\.Profiler\.\d+\.log", log.name)
    assert any("Waited 1 s for a debugger" in line for line in log.read_text().splitlines())


def test_an_unwritable_log_folder_is_survived(shapes_home, newest_runtime):
    done = shapes_home.run(newest_runtime, "Shapes", NEW_RELIC_LOG_DIRECTORY="/proc/none")
    assert done.returncode == 7 and len(shapes_home.reported()) > 100


def test_the_launch_script_runs_a_program_under_the_agent(shapes_home, newest_runtime):
    bare = shapes_home.run_bare(newest_runtime, "Shapes")
    command = newest_runtime.command(shapes_home.programs / "Shapes/Shapes.dll")
    script = ROOT / "scripts/clarinet-instrument.sh"
    library = BUILD / "libclarinet_instrument.so"
    done = subprocess.run(
        [script, "--home", shapes_home.folder, "--library", library, "--", *command],
        env={**os.environ, "CLARINET_TEST_AGENT_LOG": str(shapes_home.calls)},
        capture_output=True, text=True, timeout=PATIENCE, cwd=shapes_home.folder,
    )
    same(done, bare)
    assert len(shapes_home.reported()) > 100
    folder = shapes_home.folder / "installed"
    (folder / "links").mkdir(parents=True)
    (folder / "run.sh").write_bytes(script.read_bytes())
    (folder / "run.sh").chmod(0o755)
    (folder / "libclarinet_instrument.so").touch()
    (folder / "links/second").symlink_to("../run.sh")
    (folder / "links/first").symlink_to(folder / "links/second")
    shown = subprocess.run([folder / "links/first", "sh", "-c", "echo $CORECLR_PROFILER_PATH"],
                           capture_output=True, text=True, cwd="/")
    assert shown.stdout == f"{(folder / 'libclarinet_instrument.so').resolve()}\n", shown
    refused = subprocess.run([script, "--library", "/none", "--", "true"], capture_output=True, text=True)
    assert refused.returncode == 2 and "--library" in refused.stderr
