"""The SDK as an author meets it: installed, found by pkg-config or CMake, built with plain cc, and
run on every runtime against a program that does everything a known number of times."""
import os
import re
import shlex
import subprocess

import pytest

from conftest import BUILD, PATIENCE, ROOT, environment

CLSIDS = {"hello": "0001", "exceptions": "0002", "allocations": "0003", "calls": "0004",
          "rewrite": "0005", "probe": "00FF"}


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout


class Sdk:
    def __init__(self, prefix, folder):
        self.prefix = prefix
        self.folder = folder
        pc = next(prefix.rglob("clarinet-sdk.pc"))
        self.env = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
        self.examples = prefix / "share/clarinet/examples"

    def flags(self, *options):
        return shlex.split(run(["pkg-config", *options, "clarinet-sdk"], env=self.env))

    def build(self, source, compiler="cc"):
        library = self.folder / f"lib{source.stem}-{compiler}.so"
        run([compiler, "-std=c11", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror",
             "-Wl,-z,defs", str(source), "-o", str(library), *self.flags("--cflags", "--libs")],
            env=self.env)
        return library


@pytest.fixture(scope="session")
def sdk(tmp_path_factory):
    """The SDK, installed into a folder of its own."""
    folder = tmp_path_factory.mktemp("sdk")
    run(["cmake", "--install", str(BUILD), "--prefix", str(folder / "prefix")])
    return Sdk(folder / "prefix", folder)


@pytest.fixture(scope="session")
def libraries(sdk):
    """Every example and the test's own profiler, built with cc and pkg-config only."""
    sources = [sdk.examples / name / f"{name}.c" for name in CLSIDS if name != "probe"]
    return {s.stem: sdk.build(s) for s in [*sources, ROOT / "tests/e2e/sdk/probe.c"]}


@pytest.fixture
def countable(runtime, samples_folder, libraries, tmp_path):
    """countable(example, **env) -> (stdout, exit code, report lines)."""

    def start(example=None, **env):
        report = tmp_path / "report"
        if example:
            env = {
                "CORECLR_ENABLE_PROFILING": "1",
                "CORECLR_PROFILER": "{C1A21E70-%s-4C4C-8A11-6E6574434C52}" % CLSIDS[example],
                "CORECLR_PROFILER_PATH": libraries[example],
                "CLARINET_OUTPUT": report,
                **env,
            }
        done = subprocess.run(
            runtime.command(samples_folder / "Countable/Countable.dll"), env=environment(env),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        assert done.stderr == "", done.stderr
        lines = report.read_text().splitlines() if report.exists() else []
        return done.stdout, done.returncode, lines

    return start


@pytest.fixture
def unharmed(countable):
    """A run under an example; output and exit code must be those of a run without."""

    def start(example, **env):
        out, code, lines = countable(example, **env)
        assert (out, code) == countable()[:2]
        assert code == 7
        assert lines, "no report"
        return lines

    return start


def counts(lines):
    """{"5000 5000": …}: the text of each line by its leading numbers, as {text: numbers}."""
    found = {}
    for line in lines:
        match = re.match(r"\s*((?:\d+\s+)+)(.*)", line)
        if match:
            found.setdefault(match.group(2), []).append([int(n) for n in match.group(1).split()])
    return found


def test_hello(unharmed, runtime):
    lines = unharmed("hello")
    assert f"runtime {runtime.version}" in lines
    modules = [line for line in lines if line.startswith("module ")]
    last = re.fullmatch(r"hello: (\d+) modules loaded, (\d+) methods compiled \(0 failed\), "
                        r"(\d+\.\d+) s", lines[-1])
    assert last, lines[-1]
    assert int(last.group(1)) == len(modules)
    for name in ("Countable.dll", "System.Private.CoreLib.dll", "System.Console.dll"):
        assert any(line.endswith("/" + name) for line in modules), (name, modules)
    assert int(last.group(2)) > 20


def test_exceptions(unharmed):
    found = counts(unharmed("exceptions"))
    assert found == {
        "thrown System.InvalidOperationException": [[30]],
        "thrown Countable.KnownException<int>": [[12]],
        "caught in Countable.Work.Catch": [[42]],
    }


@pytest.mark.parametrize("example", ["exceptions", "allocations", "calls"])
def test_examples_name_what_is_unloaded_before_it_goes(example, sample_command, libraries, tmp_path):
    command = sample_command("Fates", "--parts", "gone", "--types", 10, "--throws", 3)
    env = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER_PATH": libraries[example],
           "CORECLR_PROFILER": "{C1A21E70-%s-4C4C-8A11-6E6574434C52}" % CLSIDS[example],
           "CLARINET_OUTPUT": tmp_path / "report", "CLARINET_TOP": "100000"}
    done = subprocess.run(command, env=environment(env), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and done.stderr == "", done
    found = counts((tmp_path / "report").read_text().splitlines())
    for i in range(10):
        name = f"Gone.Number{i}Exception"
        if example == "exceptions":
            assert found["thrown " + name] == [[3]], found
        elif example == "allocations":
            assert found[name][0][1] == 3, found
        else:
            assert found[name + ".Throw()"] == [[3, 0]], found


def test_allocations(unharmed):
    found = counts(unharmed("allocations", CLARINET_TOP=100000))
    assert found["Countable.Widget"] == [[24 * 1000, 1000]]
    assert found["Countable.Widget[]"] == [[40 * 250, 250]]
    assert found["Countable.KnownException<int>"][0][1] == 12
    assert found["System.InvalidOperationException"][0][1] == 30
    assert found["string"][0][1] > 0


def test_calls(unharmed):
    found = counts(unharmed("calls", CLARINET_FILTER="Countable.", CLARINET_TOP=1000))
    assert found["Countable.Work.Tick(int)"] == [[5000, 5000]]
    assert found["Countable.Work.Generic<int>(int)"] == [[100, 100]]
    assert found["Countable.Work.Generic<T>(T)"] == [[50, 50]]
    assert found["Countable.Widget..ctor(int)"] == [[1000, 1000]]
    assert found["Countable.Work.Catch(Action)"] == [[42, 42]]
    # Both lambdas throw: entered, never returned from.
    assert sorted(found["Countable.Program.Main.lambda()"]) == [[12, 0], [30, 0]]
    assert found["Countable.Program.Main(string[])"] == [[1, 1]]


def test_calls_totals(unharmed):
    """Unfiltered, thousands of methods of the runtime itself carry hooks."""
    found = counts(unharmed("calls", CLARINET_TOP=100000))
    assert len(found) > 300
    # A method is left as often as it was entered, but for those that threw or still run.
    uneven = [name for name, rows in found.items() if any(e < l for e, l in rows)]
    assert uneven == []


@pytest.mark.parametrize("method, found", [
    ("Work::Tick", {"Countable.Work.Tick(int)": [[5000]]}),
    ("Work::Generic", {"Countable.Work.Generic<T>(T)": [[150]]}),  # one body, both instantiations
    ("Work::Catch", {"Countable.Work.Catch(Action)": [[42]]}),     # has a try of its own
    ("Widget::.ctor", {"Countable.Widget..ctor(int)": [[1000]]}),  # small enough to be inlined
])
def test_rewrite(unharmed, method, found):
    assert counts(unharmed("rewrite", CLARINET_METHOD="Countable." + method)) == found


NAMES = """
Countable.Program.Main(string[])
Countable.Program.Main.lambda()
Countable.Work.Generic<int>(int)
Countable.Work.Generic<T>(T)
Countable.KnownException<int>..ctor(int)
Countable.Names.All()
Countable.Names.All.Local(int)
Countable.Names.All.lambda(int)
Countable.Names.All.lambda()
Countable.Names.Items(int)
Countable.Names.Items()
Countable.Names.Sum(ref byte, int[][], (int, bool))
Countable.Names.Marks(out string, in (int, bool), ref readonly int)
Countable.Work.Big(Guid, int, int, int, int, int, int, int, double)
Countable.Names.<>c..ctor()
type Countable.Box<T>
type Countable.Box<T>.Inner<U>
type Countable.Names.<Items>d__2
type Countable.Widget
found by name
environment names
dynamic Doubled(int)
""".strip().splitlines()


def test_names(unharmed, runtime):
    lines = unharmed("probe", PROBE="names")
    missing = [name for name in NAMES if name not in lines]
    assert missing == [], "\n".join(lines)
    assert any(re.fullmatch(r"Countable\.Box<T>\.Inner<(U|int)>\.Mix<bool>"
                            r"\(T, (U|int), bool, List<T>\[\], ref int, int\?\[,\]\)", line)
               for line in lines), "\n".join(lines)
    assert any(re.match(r"Countable\.Box<(T|int)>\.SlowAsync<(U|\(int, T2\))>\(", line)
               for line in lines), "\n".join(lines)
    newest = {"8.0": 14, "9.0": 15, "10.0": 15}[runtime.name]
    assert f"info version {newest}" in lines


def test_arguments(unharmed):
    assert unharmed("probe", PROBE="arguments") == [
        "enter Add 3 4000000000",
        "leave Add 4000000003",
        "enter Scale 2.5 4",
        "leave Scale 10",
        "enter Join 'left ' 'right'",
        "leave Join 'left right'",
        "enter Big 1..11 8",
    ]


def test_frames_make_shared_code_exact(unharmed):
    assert unharmed("probe", PROBE="frames") == [
        "Countable.Work.Generic<int>(int)",
        "Countable.Work.Generic<string>(string)",
        "Countable.Box<string>.Inner<int>.Mix<bool>"
        "(string, int, bool, List<string>[], ref int, int?[,])",
    ]


def test_eventpipe(unharmed):
    assert unharmed("probe", PROBE="eventpipe") == [
        "exceptions 42", "written 5", "received 5", "stop 0"]


def test_wrong_clsid_is_refused(countable):
    """Asked for another class, the library declines and the program runs on."""
    other = "{C1A21E70-0001-4C4C-8A11-000000000000}"
    out, code, lines = countable("hello", CORECLR_PROFILER=other)
    assert (out, code, lines) == countable()


def test_cmake_package(sdk, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(x C CXX)\n"
        "find_package(clarinet-sdk 0.1 REQUIRED)\n"
        f"add_library(hello MODULE {sdk.examples}/hello/hello.c)\n"
        "target_link_libraries(hello PRIVATE clarinet::sdk)\n"
        "foreach(name other linked)\n  add_library(${name} MODULE ${name}.cpp)\n"
        "  target_link_libraries(${name} PRIVATE clarinet::sdk)\nendforeach()\n")
    # The headers serve C++ too.
    (tmp_path / "other.cpp").write_text(
        "#include <clarinet/clarinet.h>\n"
        "static HRESULT start(void *, const clr_info *info)\n"
        "{ return clr_info_set_event_mask(info, COR_PRF_MONITOR_GC); }\n"
        "static clr_profiler_callbacks make()\n"
        "{ clr_profiler_callbacks c = {}; c.initialize = start; return c; }\n"
        "static const clr_profiler_callbacks callbacks = make();\n"
        "CLR_PROFILER(nullptr, callbacks, nullptr)\n")
    # As authors write it who know that the entry points must have C names.
    (tmp_path / "linked.cpp").write_text(
        "#include <clarinet/clarinet.h>\nstatic const clr_profiler_callbacks callbacks = {};\n"
        "extern \"C\" { CLR_PROFILER(nullptr, callbacks, nullptr) }\n")
    run(["cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={sdk.prefix}"], cwd=tmp_path)
    run(["cmake", "--build", "b"], cwd=tmp_path)
    for name in ("hello", "other", "linked"):
        exported = run(["nm", "-D", "--defined-only", str(tmp_path / f"b/lib{name}.so")])
        assert sorted(re.findall(r" T (\w+)", exported)) == ["DllCanUnloadNow", "DllGetClassObject"]


def test_library_is_clean(sdk):
    """Only clr_ names are global, and nothing but the C library is asked for."""
    listing = run(["nm", str(next(sdk.prefix.rglob("libclarinet_sdk.a")))])
    defined = re.findall(r" [TDBRVW] (\w+)", listing)
    assert defined and [n for n in defined if not n.startswith(("clr_", "CLR_"))] == []
    wanted = set(re.findall(r" U (\w+)", listing)) - {"_GLOBAL_OFFSET_TABLE_"}
    assert wanted <= {"free", "realloc", "memchr", "memcmp", "memcpy", "memmove", "memset", "strchr",
                      "strcmp", "strcspn", "strerror", "strlen", "strncmp", "strrchr", "strstr", "vsnprintf",
                      "snprintf"}


def test_ten_minutes(sdk, runtime, samples_folder, tmp_path):
    """The program in docs/sdk/README.md, typed off and run as the page says."""
    page = (ROOT / "docs/sdk/README.md").read_text()
    (tmp_path / "mine.c").write_text(re.search(r"```c\n(.*?)```", page, re.S).group(1))
    build = re.search(r"## 3. Build\n```\n(.*?)\n```", page, re.S).group(1)
    run(["bash", "-c", build], cwd=tmp_path, env=sdk.env)
    settings = dict(pair.split("=", 1) for pair in shlex.split(
        re.search(r"(CORECLR_ENABLE.*?) dotnet app.dll", page, re.S).group(1).replace("\\\n", " ")
        .replace("$PWD", str(tmp_path))))
    assert len(settings) == 3
    done = subprocess.run(
        runtime.command(samples_folder / "Countable/Countable.dll"), env=environment(settings),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 7, done
    thrown = done.stderr.splitlines()
    assert thrown.count("thrown: System.InvalidOperationException") == 30
    assert thrown.count("thrown: Countable.KnownException<int>") == 12


def test_examples_are_short(sdk):
    sources = list(sdk.examples.rglob("*.c"))
    assert len(sources) == 5
    for source in sources:
        assert len(source.read_text().splitlines()) < 150, source
        assert (ROOT / "docs/sdk" / f"{source.stem}.md").exists(), source
