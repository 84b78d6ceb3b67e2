"""The checks of ./dev find what they look for."""
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, **options
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "room, line, complaint",
    [
        ("agent", '#include "base/buffer.h"', None),
        ("agent", '#include "analysis/tree.h"', "agent may not use analysis"),
        ("cli", '#include "agent/session.h"', "cli may not use agent"),
        ("base", '#include "clr/result.h"', "base may not use clr"),
        ("nobody", "", "has no row"),
        ("report", 'void f(void) { printf("x"); }', "only src/cli may call printf"),
        ("report", 'void f(void) { fprintf(stderr, "x"); }', "only src/cli may call fprintf"),
        ("report", "void f(void) { fprintf(out, 1); _exit(1); }", None),
        ("cli", 'void f(void) { printf("x"); }', None),
    ],
)
def test_layers(tmp_path, room, line, complaint):
    folder = tmp_path / "src" / room
    folder.mkdir(parents=True)
    (folder / "file.c").write_text(line + "\n")
    code, text = run(sys.executable, TOOLS / "check-layers.py", tmp_path)
    assert code == (1 if complaint else 0), text
    if complaint:
        assert complaint in text


ENTRY_POINTS = """
__attribute__((visibility("default"))) int DllGetClassObject(void) { return 0; }
__attribute__((visibility("default"))) int DllCanUnloadNow(void) { return 0; }
"""
NEUTRAL = ["-shared", "-fPIC", "-fvisibility=hidden", "-nostdlib", "-Wl,-z,undefs"]


@pytest.mark.parametrize(
    "source, flags, complaint",
    [
        (ENTRY_POINTS, NEUTRAL, None),
        (ENTRY_POINTS, NEUTRAL + ["-Wl,--no-as-needed", "-lc"], "(NEEDED)"),
        (ENTRY_POINTS + 'int puts(const char *); __attribute__((visibility("default"))) '
         'int third(void) { return puts(""); }', NEUTRAL, "exports third"),
        (ENTRY_POINTS + 'int puts(const char *); __attribute__((constructor)) '
         'void first(void) { puts(""); }', NEUTRAL, "imports puts"),
        (ENTRY_POINTS.replace("DllCanUnloadNow", "other"), NEUTRAL, "does not export DllCanUn"),
        (ENTRY_POINTS, NEUTRAL + ["-Wl,-z,execstack"], "executable stack"),
        (ENTRY_POINTS + "__attribute__((used)) static const char big[500000] = {1};", NEUTRAL,
         "the limit is"),
    ],
    ids=["good", "needed", "exports", "imports", "missing", "stack", "size"],
)
def test_agent_check(tmp_path, source, flags, complaint):
    (tmp_path / "library.c").write_text(source)
    subprocess.run(
        ["gcc", *flags, "-o", tmp_path / "libclarinet.so", tmp_path / "library.c"], check=True
    )
    code, text = run(sys.executable, TOOLS / "check-agent.py", tmp_path, "libclarinet.so")
    assert code == (1 if complaint else 0), text
    if complaint:
        assert complaint in text


CTEST = """<testsuite>
<testcase name="good" status="run"><system-out>[       OK ] one
[       OK ] two
[  PASSED  ] 2 test(s).</system-out></testcase>
<testcase name="bad" status="fail"><failure/><system-out>[       OK ] one
[  FAILED  ] two
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] two</system-out></testcase>
<testcase name="crash" status="fail"><failure/><system-out>[       OK ] one</system-out></testcase>
<testcase name="plain" status="run"><system-out>fine</system-out></testcase>
</testsuite>"""
PYTEST = """<testsuites><testsuite><testcase name="a"/><testcase name="b"><failure/></testcase>
<testcase name="c"><error/></testcase><testcase name="d"><skipped/></testcase></testsuite>
</testsuites>"""


@pytest.mark.parametrize(
    "kind, text, expected",
    [("ctest", CTEST, "5 2"), ("junit", PYTEST, "1 2"), ("junit", "<broken", "0 1")],
    ids=["ctest", "pytest", "broken"],
)
def test_counting(tmp_path, kind, text, expected):
    report = tmp_path / "report.xml"
    report.write_text(text)
    done = subprocess.run(
        [sys.executable, TOOLS / "count-tests.py", kind, report], capture_output=True, text=True
    )
    assert done.stdout.strip() == expected


def test_long_steps_resume(tmp_path):
    """A step that says "more" is called again and keeps its folder; a failed one is counted."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "docs").mkdir()
    steps = tmp_path / "tests" / "long"
    steps.mkdir(parents=True)
    runner = tmp_path / "tools" / "run-long.py"
    runner.write_text((TOOLS / "run-long.py").read_text())
    counting = steps / "counting"
    counting.write_text(
        '#!/bin/sh\ncd "$CLARINET_LONG_STATE"\necho x >> calls\n'
        '[ "$(wc -l < calls)" -eq 3 ] || exit 75\necho "three calls" > result.md\n'
    )
    broken = steps / "broken"
    broken.write_text("#!/bin/sh\nexit 5\n")
    for step in (counting, broken):
        step.chmod(0o755)
    page = tmp_path / "docs" / "long-run.md"
    page.write_text("# Long runs\n\n## broken\n\npassed, elsewhere\n\n## gone\n\npassed\n")
    code, text = run(sys.executable, runner, "--once", "counting")
    assert "passed, elsewhere" in page.read_text() and "gone" not in page.read_text()
    assert code == 0 and text.endswith("0 passed, 0 failed\n"), text
    code, text = run(sys.executable, runner)
    assert code == 1 and text.endswith("1 passed, 1 failed\n"), text
    assert "three calls" in page.read_text() and "failed: exit code 5" in page.read_text()
    assert "elsewhere" not in page.read_text()
    assert len((tmp_path / "build/long/counting/calls").read_text().split()) == 3


@pytest.fixture
def without_dotnet(tmp_path):
    """An environment whose PATH has everything but dotnet."""
    folder = tmp_path / "path"
    folder.mkdir()
    for place in ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for program in Path(place).glob("*") if Path(place).is_dir() else []:
            if program.name != "dotnet" and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return {**os.environ, "PATH": str(folder)}


@pytest.mark.parametrize("verb", ["samples", "runtimes", "demo", "bench"])
def test_dev_says_when_dotnet_is_absent(without_dotnet, verb):
    code, text = run(TOOLS.parent / "dev", verb, env=without_dotnet, stdin=subprocess.DEVNULL)
    assert code == 1
    assert ".NET is not installed" in text
    assert "https://dot.net/download" in text


BENCHES = sorted(p.stem for p in (TOOLS.parent / "bench").glob("*.py") if p.stem not in ("common", "report"))


@pytest.mark.parametrize("name", BENCHES)
@pytest.mark.parametrize("way", ["argument", "environment"])
def test_a_benchmark_refuses_a_runtime_that_there_is_not(name, way):
    """Without a runtime nothing is measured, and every bar would be reached."""
    words = ["10.0", "1"] if way == "argument" else []
    env = {**os.environ, "BENCH_VERSIONS": "10.0,1" if way == "environment" else ""}
    code, text = run(sys.executable, "-B", TOOLS.parent / "bench" / f"{name}.py", *words, env=env)
    assert code == 2, text
    assert text.startswith(f"{name}.py: there is no runtime 1"), text
    assert "; there are 8.0" in text


def test_a_benchmark_takes_the_beginning_of_a_version(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS.parent / "bench"))
    common = importlib.import_module("common")
    found = [version for version, _ in common.runtimes()]
    monkeypatch.delenv("BENCH_VERSIONS", raising=False)
    for words, wanted in ([["10.0"], found[-1:]], [["8", "9.0.22"], found[:2]], [["all"], found],
                          [["open", "9"], found[1:2]], [[], found]):
        monkeypatch.setattr(sys, "argv", ["bench.py", *words])
        assert [version for version, _ in common.chosen_runtimes(["open"])] == wanted, words
    monkeypatch.setattr(sys, "argv", ["bench.py"])
    assert [version for version, _ in common.chosen_runtimes(default="newest")] == found[-1:]


def test_dev_knows_its_verbs():
    code, text = run(TOOLS.parent / "dev", "--help")
    assert code == 0
    for verb in ("build", "demo", "test", "bench", "format", "lint", "runtimes", "samples"):
        assert f"\n  {verb} " in text
        assert (TOOLS / "dev" / f"{verb}.sh").exists()
    assert run(TOOLS.parent / "dev")[0] == 2
    assert run(TOOLS.parent / "dev", "frobnicate")[0] == 2
    assert run(TOOLS.parent / "dev", "test", "nothing")[0] == 1
