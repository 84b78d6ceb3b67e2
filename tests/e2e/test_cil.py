"""CIL of real assemblies: read, written, checked and wrapped; Mono.Cecil must see the same."""
import re
import subprocess
import sys

import pytest

from conftest import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tests" / "oracles"))
from build import oracle  # noqa: E402

ASSEMBLIES = ["System.Private.CoreLib", "System.Text.Json", "System.Linq.Expressions",
              "System.Runtime", "Microsoft.VisualBasic.Core"]


def assemblies(runtime):
    folder = runtime.folder / "shared" / "Microsoft.NETCore.App" / runtime.version
    return [str(folder / f"{name}.dll") for name in ASSEMBLIES]


def scale(*args):
    return subprocess.run([str(BUILD / "tests" / "cil_scale"), *args], capture_output=True,
                          text=True, timeout=300)


def test_bodies_come_back_the_same_and_can_be_wrapped(runtime):
    done = scale("--wrap", *assemblies(runtime))
    assert done.returncode == 0, done.stderr
    assert " 0 failed" in done.stderr, done.stderr
    methods = int(done.stderr.split(" files, ")[1].split(" methods")[0])
    assert methods > 40_000, done.stderr
    assert f"{methods} wrapped, 0 not" in done.stderr, done.stderr


def test_cecil_sees_the_same(runtime):
    for path in assemblies(runtime):
        ours = scale("--digest", path).stdout
        theirs = subprocess.run([*oracle("cecil"), path], capture_output=True, text=True,
                                timeout=300, check=True).stdout
        assert ours.splitlines() == theirs.splitlines(), path


@pytest.fixture
def sample_dll(sample_command):
    return next(part for part in sample_command("Healthy") if part.endswith("Healthy.dll"))


def test_il_shows_names_and_lines(clarinet, sample_dll):
    done = clarinet("il", sample_dll, "Main")
    assert done.code == 0, done
    assert "call       " in done.out and "System.Console" in done.out, done
    assert ".cs:" in done.out, done
    listed = clarinet("il", sample_dll, "--list")
    assert "Main" in listed.out and "IL_0000" not in listed.out, listed
    checked = clarinet("il", sample_dll, "--check")
    assert checked.code == 0 and " 0 wrong" in checked.out, checked


def test_il_shows_before_and_after(clarinet, samples_folder):
    traceable = samples_folder / "Traceable" / "Traceable.dll"
    done = clarinet("il", traceable, "Traceable.Shapes::Add", "--probed")
    assert done.code == 0, done
    before, after = done.out.split("// with probes")
    assert " ret\n" in before and "calli" not in before, done
    assert "/* the method is entered */" in after and "fault {" in after, done
    assert after.count("calli ") == 3 and after.count(" ret\n") == 1, done
    lines = [re.findall(r"Program\.cs:(\d+)", text) for text in (before, after)]
    assert lines[0] and lines[0] == lines[1], done
    everything = clarinet("il", traceable, "--probed")
    assert everything.code == 0 and "cannot carry" not in everything.out, everything.out[-2000:]


@pytest.mark.parametrize("patterns, expected", [
    (["Traceable.Shapes::Re*"], ["Recurse"]),
    (["Traceable.Shapes.Add"], ["Add"]),  # in C# spelling
    (["Recurse"], ["Recurse"]),  # a method alone
    (["Traceable.Hot"], ["Measure", "Nobody", "Tiny"]),  # a type alone
    (["[Trace*]Traceable.Deep::Down"], ["Down"]),
    (["Traceable.Box::*"], [".ctor", "Get"]),  # without its `1
    (["Traceable.Box::*(T)"], [".ctor"]),
    (["Traceable.Shapes::*(int, int)"], ["Add"]),
    (["Traceable.Shapes::*(List<int>)"], ["Iterate"]),
    (["Traceable.Shapes::*(T)"], ["Generic", "YieldAsync"]),
    (["@AsyncStateMachine", "!*::*(int, *)", "!Traceable.Crowd"], ["FailAsync", "LaterAsync", "YieldAsync"]),
    (["Traceable.Shapes::*Async", "!@System.*.AsyncStateMachineAttribute"], None),
    (["Traceable.Deep::Down(int)"], None),
    (["[Other]Traceable.Deep::Down"], None),
])
def test_il_takes_the_patterns_of_trace(clarinet, samples_folder, patterns, expected):
    done = clarinet("il", samples_folder / "Traceable" / "Traceable.dll", "--list", *patterns)
    if expected is None:
        assert done.code == 1 and "no method that matches" in done.err, done
        return
    assert done.code == 0, done
    assert sorted(set(re.findall(r"::([^(]+)\(", done.out))) == expected, done


def test_il_says_what_is_wrong(clarinet, sample_dll, tmp_path):
    done = clarinet("il", sample_dll, "No.Such::Method")
    assert done.code == 1 and "no method that matches" in done.err, done
    (tmp_path / "text.dll").write_text("no assembly")
    done = clarinet("il", "text.dll")
    assert done.code == 1 and "text.dll: not a PE file" in done.err, done
    assert clarinet("il").code == 2
    assert clarinet("il", sample_dll, "Some::Method(int").code == 2
    assert clarinet("il", "--nothing", sample_dll).code == 2


def test_opcodes_header_is_made_from_its_table():
    done = subprocess.run(["/usr/bin/python3", str(ROOT / "tools/cil/make_opcodes.py"), "--check"])
    assert done.returncode == 0
