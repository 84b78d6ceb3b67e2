"""Probes in methods of every shape: what a program does is the same with and without them.

Hand-made and random bodies come from tests/oracles/bodies, the shapes of the C# and F# compilers from
tests/instrumentation.
"""
import json
import re
import subprocess
import sys

import pytest

from conftest import PATIENCE, ROOT

sys.path.insert(0, str(ROOT / "tests" / "oracles"))
from build import oracle  # noqa: E402

SEED, RANDOM_METHODS, PATHS = 1, 100, 8
REFUSED = {
    "Tail": "the method has `tail.` calls",
    "Jump": "the method has `jmp`",
    "VariableArguments": "the method has variable arguments",
}


@pytest.fixture(scope="session")
def bodies():
    """Path of the program that makes and calls bodies."""
    return oracle("bodies")[1]


@pytest.fixture(scope="session")
def made(bodies, tmp_path_factory):
    """An assembly of hand-made and random bodies."""
    path = tmp_path_factory.mktemp("bodies") / "Made.dll"
    shapes = ROOT / "tests" / "oracles" / "bodies" / "shapes.il"
    subprocess.run(["dotnet", bodies, "make", path, shapes, str(SEED), str(RANDOM_METHODS)],
                   check=True, timeout=PATIENCE)
    return path


def untraced(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode >= 0, done
    return done


def without_lines(text):
    """The JIT gives random bodies lines of other statements, and others in code of another form."""
    return re.sub(r"^( +at Made\.Random\S*) .*?( \[|$)", r"\1\2", text, flags=re.M)


def rows_of(path):
    return {row["method"].partition("(")[0]: row for row in json.loads(path.read_text())
            if row["kind"] == "method"}


def test_made_bodies_do_the_same(clarinet, runtime, bodies, made, tmp_path):
    command = runtime.command(bodies, "call", made)
    plain = untraced(command)
    assert plain.returncode == 0 and plain.stdout.count("\n") > PATHS * RANDOM_METHODS, plain
    assert "InvalidProgram" not in plain.stdout, plain.stdout
    out = tmp_path / "trace.json"
    done = clarinet("trace", f"--json={out}", "[Made]*", "--", *command, timeout=PATIENCE)
    assert done.code == 0, done
    assert without_lines(done.out) == without_lines(plain.stdout)
    lines = [re.findall(r"Made\.Shapes\.\S+ line \d+", text) for text in (plain.stdout, done.out)]
    assert lines[0] == lines[1] and len(lines[0]) > 100
    rows = rows_of(out)
    called = {f"Made.{m}" for m in re.findall(r"^(\w+\.\w+) \d: ", plain.stdout, re.M)}
    for name in called:
        row = next(row for key, row in rows.items() if key == name or key == name + "<T>")
        reason = REFUSED.get(name.rpartition(".")[2])
        if reason is None:
            assert row["state"] == "probed" and row["calls"] >= PATHS, row
            assert row["active"] == 0, row
        else:
            assert row["state"] == f"left alone: {reason}", row
    for name in ("ManyReturns", "Recursive", "ThrowsDeep", "LeaveBackwards", "LoopToTheStart"):
        # ManyReturns is also called through a pointer and by `jmp`; n + 1 calls with n for recursion
        expected = {"ManyReturns": 3 * PATHS, "Recursive": 36, "ThrowsDeep": 36}.get(name, PATHS)
        assert rows[f"Made.Shapes.{name}"]["calls"] == expected, rows[f"Made.Shapes.{name}"]
    assert rows["Made.Shapes.ThrowsDeep"]["exceptions"] == 36
    assert rows["Made.Shapes.FaultThatPasses"]["exceptions"] == 1


def test_made_bodies_with_values_and_optimised(clarinet, newest_runtime, bodies, made, monkeypatch):
    monkeypatch.setenv("DOTNET_TieredCompilation", "0")
    command = newest_runtime.command(bodies, "call", made)
    plain = untraced(command)
    done = clarinet("trace", "--args", "--json=trace.json", "[Made]*", "--", *command, timeout=PATIENCE)
    assert (done.code, plain.returncode) == (0, 0), (plain, done)
    shape = re.compile(r"^( +at \S+) .*?( \[|$)", re.M)
    assert shape.sub(r"\1\2", done.out) == shape.sub(r"\1\2", plain.stdout)


@pytest.mark.parametrize("program, methods", [("Shapes", 90), ("ShapesFs", 30)])
def test_compiled_shapes_do_the_same(clarinet, runtime, instrumentation_programs, program, methods,
                                     tmp_path):
    command = runtime.command(instrumentation_programs / program / f"{program}.dll")
    plain = untraced(command)
    out = tmp_path / "trace.json"
    done = clarinet("trace", f"--json={out}", f"[{program}]*", "--", *command, timeout=PATIENCE)
    assert (done.code, done.out) == (plain.returncode, plain.stdout), (plain, done)
    assert ":line " in plain.stdout, plain
    states = [row["state"] for row in json.loads(out.read_text())]
    assert states.count("probed") >= methods, states
    others = {state for state in states if state not in ("probed", "waiting")}
    assert others <= {"left alone: the method has `tail.` calls"}, others
    assert others or program != "ShapesFs"  # the F# compiler makes tail calls
