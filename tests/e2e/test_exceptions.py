"""The profiler of exceptions: types, messages, stacks with lines, fates, and names that last."""
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import PATIENCE, wait_until
from exceptions_truth import counted, exceptions, report, rows_until_now, said

# Where the sample throws: method, and the words of the line that throws.
PLACES = {
    "System.InvalidOperationException": ("ThrowPlain", "throw new InvalidOperationException"),
    "System.FormatException": ("ThrowWhileHandling", "throw new FormatException"),
    "System.ApplicationException": ("ThrowWithInner", "throw new ApplicationException"),
    "System.ArgumentOutOfRangeException":
        ("ThrowWhileHandling", "throw new ArgumentOutOfRangeException"),
    "System.NullReferenceException": ("ReadLength", ".Length"),
    "System.NotSupportedException": ("ThrowInSecondThread", "throw new NotSupportedException"),
}


def test_stacks_name_the_throwing_line_and_the_catcher(runtime, sample_command, clarinet):
    command = sample_command("ExceptionStorm", "--rounds", 5, "--rate", 100)
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    table = exceptions(report(clarinet, "out.clarinet"))
    for name, (method, words) in PLACES.items():
        place = [p for p in table["places"] if p["type"] == name][0]
        leaf = place["stack"][0]
        assert leaf["name"] == f"ExceptionStorm.Places.{method}", place
        line = Path(leaf["file"]).read_text().splitlines()[leaf["line"] - 1]
        assert words in line, (leaf, line)
    plain = [p for p in table["places"] if p["type"] == "System.InvalidOperationException"][0]
    assert plain["caught_in"] == "ExceptionStorm.Places.CatchPlain"
    assert plain["message"] == "order 17 is closed"
    generic = [p for p in table["places"] if "RejectedException" in p["type"]][0]
    assert generic["type"] == "ExceptionStorm.RejectedException<ExceptionStorm.Order>"
    assert generic["message"] == 'zurückgewiesen: 数量 <0> & "5 €"'


def test_callers_have_the_line_that_the_compiler_knows(runtime, sample_command, clarinet):
    """Code that was replaced while it ran has lost statements from the runtime's map, and the
    runtime's walk takes a frame in a handler for one in the try block."""
    command = sample_command("Lines")
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    truth = re.findall(r"^called (\S+) (\d+)$", done.out, re.M)
    assert len(truth) == 12, done
    table = exceptions(report(clarinet, "out.clarinet"))
    callers = {p["message"]: p["stack"][1] for p in table["places"] if len(p["stack"]) > 1}
    for name, line in truth:
        assert callers[name]["name"] == f"Lines.Shapes.{name}", callers[name]
        assert callers[name]["line"] == int(line), callers[name]


def test_beyond_the_rate_all_are_counted(runtime, sample_command, clarinet):
    command = sample_command("ExceptionStorm", "--rounds", 3000, "--rate", 0)
    done = clarinet("record", "-p", "exceptions", "--set", "exceptions.stacks=5", "-o",
                    "out.clarinet", "--", *command)
    assert done.code == 0, done
    table = exceptions(report(clarinet, "out.clarinet"))
    assert counted(table) == said(done.out)
    assert table["rows"] < table["total"] / 4  # most are only counted


THROWN_BY_THE_RUNTIME = (  # their messages are the runtime's
    "System.TypeInitializationException", "System.Reflection.TargetInvocationException",
)


def test_the_fate_of_odd_exceptions_is_known(runtime, sample_command, clarinet):
    command = sample_command("Fates", "--parts",
                             "filter,deep,slow,constructor,finally,reflection,leaving,dynamic")
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    places = exceptions(report(clarinet, "out.clarinet"))["places"]
    found = {p["message"]: (p["fate"], p.get("caught_in")) for p in places
             if p["type"] not in THROWN_BY_THE_RUNTIME}
    # 9.0 and later throw it again on the other side of the runtime's frames
    through = found.pop("through the runtime")
    assert found.pop("Attempted to divide by zero.") == ("caught", "Fates.Made.Run")
    assert through[0] in (("caught",) if runtime.name == "8.0" else ("caught", "runtime"))
    assert found == {
        "outside the filter": ("caught", "Fates.Program.CatchPastBusyFilter"),
        "inside the filter": ("caught", "Fates.Program.BusyFilter"),
        "far down": ("caught", "Fates.Program.CatchDeep"),
        "waits for its filter": ("caught", "Fates.Program.CatchPastSlowFilter"),
        "in a static constructor": ("runtime", None),
        "is lost": ("replaced", None),
        "takes its place": ("caught", "Fates.Ways.CatchOther"),
        "is lost too": ("replaced", None),
        "takes that place": ("caught", "Fates.Ways.CatchOtherInside"),
        "goes on": ("caught", "Fates.Ways.CatchAfterBusyBlock"),
        "stays in the block": ("caught", "Fates.Ways.CatchAfterBusyBlock"),
        "goes on as well": ("caught", "Fates.Ways.CatchAfterReplacingBlock"),
        "is lost in the block": ("replaced", None),
        "takes the place in the block": ("caught", "Fates.Ways.ReplaceInBlock"),
        "past a filter that fails": ("caught", "Fates.Program.CatchPastLeavingFilter"),
        "leaves a filter": ("runtime", None),
        "past filters in filters": ("caught", "Fates.Program.CatchPastNestedFilters"),
        **{f"leaves filter {inside}": ("runtime", None) for inside in range(4)},
        "from a made method": ("caught", "Fates.Made.Run"),
        "from a rule": ("runtime", None),  # by a method that has no metadata
    }, places
    leaves = {p["message"]: [frame["name"] for frame in p["stack"]] for p in places}
    assert leaves["from a made method"][:2] == ["ThrowRule", "Fates.Made.Run"]
    assert leaves["from a rule"][:3] == ["Fates.Made.Fail", "GuardRule", "Fates.Made.Run"]
    assert ["DivideRule", "Fates.Made.Run"] in [stack[:2] for stack in leaves.values()], leaves
    outer = [p for p in places if p["type"] == "System.TypeInitializationException"][0]
    assert outer["inner"] == [
        {"type": "System.ArithmeticException", "message": "in a static constructor"}
    ]


@pytest.mark.parametrize("part", ["unhandled", "unhandled-thread", "guarded", "guarded-thread"])
def test_an_exception_nobody_catches_is_in_the_recording(runtime, sample_command, clarinet, part):
    command = sample_command("Fates", "--parts", part)
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command)
    assert done.code == 128 + signal.SIGABRT, done
    assert "recorded 1 record in" in done.err, done
    (place,) = exceptions(report(clarinet, "out.clarinet"))["places"]
    assert place["type"] == "System.ApplicationException"
    assert place["message"] == "nobody takes this"
    assert place["fate"] == "uncaught"
    assert place["stack"][0]["name"] == "Fates.Program.ThrowUnhandled"
    assert place["inner"] == [
        {"type": "System.InvalidOperationException", "message": "because of this"},
        {"type": "System.FormatException", "message": "and that"},
    ]
    assert "**not caught**" in clarinet("report", "out.clarinet", "-f", "md").out


def test_what_was_replaced_is_known_when_the_program_crashes(runtime, sample_command, clarinet):
    command = sample_command("Fates", "--parts", "finally,replacing")
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command)
    assert done.code == 128 + signal.SIGABRT, done
    places = exceptions(report(clarinet, "out.clarinet"))["places"]
    assert {place["message"]: place["fate"] for place in places} == {
        "is lost": "replaced",
        "takes its place": "caught",
        "is lost too": "replaced",
        "takes that place": "caught",
        "goes on": "caught",
        "stays in the block": "caught",
        "goes on as well": "caught",
        "is lost in the block": "replaced",
        "takes the place in the block": "caught",
        "is lost at the end": "replaced",
        "nobody takes this": "uncaught",
    }


def test_methods_that_go_at_once_keep_their_names(runtime, sample_command, clarinet):
    """A method made at run time may get the place and the id of one that was collected."""
    command = sample_command("Fates", "--parts", "twice,remade,departed", "--types", 40)
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    places = exceptions(report(clarinet, "out.clarinet"))["places"]
    found = {place["message"]: place for place in places}
    for i in range(40):
        assert found[f"thrown by Rule{i}"]["stack"][0]["name"] == f"Rule{i}"
        place = found[f"thrown by Departed.Number{i}"]
        assert place["stack"][0]["name"] == f"Departed.Number{i}.Leave"
        assert place["caught_in"] == "Fates.Ends.CallInAssembly"
    assert {message: place["fate"] for message, place in found.items() if "three" in message} == {
        "first of three": "replaced", "second of three": "replaced", "third of three": "caught",
    }


@pytest.mark.parametrize("part, code, expected", [
    ("exit", 7, {"nobody takes this": "uncaught"}),
    ("nested", 0, {"outer of the nested": "replaced", "middle of the nested": "replaced",
                   "inner of the nested": "caught"}),
])
def test_one_that_nobody_catches_need_not_crash_the_program(runtime, sample_command, clarinet, part,
                                                            code, expected):
    """A handler may end it in order; a block on the way may throw one that is caught."""
    if part == "nested" and runtime.name == "8.0":  # it ends the program before such blocks run
        code, expected = 128 + signal.SIGABRT, {"outer of the nested": "uncaught"}
    command = sample_command("Fates", "--parts", part)
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command)
    assert done.code == code, done
    places = exceptions(report(clarinet, "out.clarinet"))["places"]
    assert {place["message"]: place["fate"] for place in places} == expected


@pytest.mark.parametrize("way", ["fail-fast", "overflow"])
def test_what_was_thrown_before_the_program_died_is_there(runtime, sample_command, clarinet, way):
    """None of them has come to its end, and the runtime tells nobody that it dies."""
    command = sample_command("Fates", "--parts", "open", "--by", way)
    tool = clarinet.start("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command,
                          stdin=subprocess.PIPE)
    wait_until(lambda: len(rows_until_now(clarinet.folder / "out.clarinet")) >= 39)
    _out, err = tool.communicate(timeout=PATIENCE)
    assert tool.returncode == 128 + signal.SIGABRT, err
    assert "recorded 39 records" in err, err
    table = exceptions(report(clarinet, "out.clarinet"))
    assert table["total"] == 39
    assert {place["fate"] for place in table["places"]} == {"unknown"}


def test_types_that_are_unloaded_keep_their_names(runtime, sample_command, clarinet):
    command = sample_command("Fates", "--parts", "gone", "--types", 60, "--throws", 130)
    done = clarinet("record", "-p", "exceptions", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    data = report(clarinet, "out.clarinet")
    # stacks may be lost when the agent's thread gets no time; names and counts may not
    table = exceptions(data)
    assert counted(table) == said(done.out), data["processes"][0]["loss"]
    thrown = [place for place in table["places"] if place["stack"]]
    assert thrown, table
    for place in thrown:
        names = [frame["name"] for frame in place["stack"]]
        assert names[:2] == [place["type"] + ".Throw", place["type"] + ".Catch"], place
        assert not place["caught_in"] or place["caught_in"] == names[1], place


def test_no_message_is_recorded_when_messages_are_off(newest_runtime, sample_command, clarinet):
    command = sample_command("ExceptionStorm", "--rounds", 3, "--rate", 100)
    clarinet("record", "-p", "exceptions", "--set", "exceptions.messages=false", "-o",
             "out.clarinet", "--", *command)
    assert b"order 17 is closed" not in unpacked("out.clarinet", clarinet)
    clarinet("record", "-p", "exceptions", "-o", "with.clarinet", "--", *command)
    assert b"order 17 is closed" in unpacked("with.clarinet", clarinet)


def unpacked(file, clarinet):
    return clarinet("report", file, "-f", "json").out.encode()
