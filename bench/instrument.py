"""The instrumentation agent: cost of a call, of a start, of an excluded process, of many points.

Every figure is processor time (user and system), runs interleaved in random order. The empty profiler
is one of a few lines, built here with the SDK, that sets the same event mask and does nothing. Words
choose: `calls`, `starts`, `excluded`, `modules` and `spans` are groups of rows, a version (8.0) is a
runtime; without any of a kind all are made.
"""
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, chosen_runtimes

BUILD = Path(os.environ.get("CLARINET_BUILD", ROOT / "build"))
AGENT = BUILD / "libclarinet_instrument.so"
GROUPS = {"calls", "starts", "excluded", "modules", "spans"}
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
CALLS = {"bare": 50_000_000, "cached": 5_000_000, "reference": 100_000, "spans": 300_000}
CLSID = "{36032161-FFC0-4B61-B559-F6C5D41BAE5A}"
EMPTY_CLSID = "{5C4E1D0A-7B52-4C0E-8E64-2A7C1F0B9D11}"
EMPTY = """
#include "clarinet/clarinet.h"
static HRESULT on_start(void *context, const clr_info *info)
{
    (void)context;
    return clr_info_set_event_mask2(info, 0xB0040224u, 0x8);
}
static const clr_profiler_callbacks callbacks = {.initialize = on_start};
CLR_PROFILER("%s", callbacks, NULL)
""" % EMPTY_CLSID
POINT = """<extension><instrumentation><tracerFactory><match assemblyName="Shapes"
className="Shapes.Parameters"><exactMethodMatcher methodName="One"/></match></tracerFactory>
</instrumentation></extension>"""


def build_programs():
    out = BUILD / "instrumentation"
    for name in ["TestAgent/TestAgent.csproj", "Shapes/Shapes.csproj"]:
        subprocess.run(
            ["dotnet", "build", "-nologo", "-v", "q", f"-p:ClarinetOutput={out}/",
             str(ROOT / "tests/instrumentation" / name)],
            check=True, stdout=subprocess.DEVNULL,
        )
    return out


def build_empty(folder):
    source = folder / "empty.c"
    source.write_text(EMPTY)
    library = folder / "libempty.so"
    subprocess.run(
        ["cc", "-std=gnu11", "-O2", "-shared", "-fPIC", f"-I{ROOT}/include", "-o", library, source,
         BUILD / "libclarinet_sdk.a"], check=True,
    )
    return library


def make_home(folder, out, extension):
    home = folder / f"home-{len(list(folder.iterdir()))}"
    (home / "extensions").mkdir(parents=True)
    shutil.copy(out / "TestAgent/NewRelic.Agent.Core.dll", home)
    (home / "newrelic.config").write_text("<configuration><log level='error'/></configuration>")
    (home / "extensions/points.xml").write_text(extension)
    return home


def profiler(library, clsid, home=None, **more):
    variables = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": clsid,
                 "CORECLR_PROFILER_PATH": str(library), "CLARINET_TEST_AGENT_MODE": "empty", **more}
    if home:
        variables["CORECLR_NEW_RELIC_HOME"] = str(home)
    return variables


def run(command, env):
    """(processor seconds, output)"""
    process = subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode not in (0, 7):
        sys.exit(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, out


def measure(cases, take, rounds=ROUNDS):
    samples = {name: [] for name in cases}
    for _ in range(rounds):
        for name in random.sample(list(cases), len(cases)):
            samples[name].append(take(*cases[name]))
    return {name: statistics.median(values) for name, values in samples.items()}


def many_points(count, assemblies):
    rows = "".join(
        f"<match assemblyName='{assemblies[i % len(assemblies)]}' className='Some.Type{i}'>"
        f"<exactMethodMatcher methodName='Method{i}'/></match>" for i in range(count)
    )
    return f"<extension><instrumentation><tracerFactory>{rows}</tracerFactory></instrumentation></extension>"


def frameworks(dotnet, version):
    """The folders of the runtime's two frameworks: about 300 assemblies to load."""
    return [dotnet.parent / "shared" / name / version for name in ("Microsoft.NETCore.App", "Microsoft.AspNetCore.App")]


def library_row(library):
    needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    count = needed.count("(NEEDED)")
    print(f"| all | library, stripped | | {library.stat().st_size / 1000:.0f} KB, needs {count} libraries | | under 1 MB, libc only |")


def spans_row(version, program, folder):
    """`instrument run`: a span to a file for each call; the program's processor time with the agent's thread in it.
    Calls that come too fast are dropped, which is cheaper: their share is told. 8.0 tells processor time in steps of
    10 ms, so there must be enough calls."""
    points = folder / "points.xml"
    points.write_text(POINT)
    told = []

    def take(command):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        told.append(done.stderr)
        return float(done.stdout)

    tool = [BUILD / "clarinet", "instrument", "run", "--otlp", os.devnull, "--points", points, "--"]
    found = measure({"bare": ([*program, "--calls", str(CALLS["bare"])],),
                     "spans": ([*tool, *program, "--calls", str(CALLS["spans"])],)}, take)
    lines = [line.split() for text in told for line in text.splitlines()]
    kept = sum(int(words[1]) for words in lines if "spans" in words)
    lost = sum(int(words[1]) for words in lines if "calls" in words)
    print(f"| {version} | call, span to a file ({lost / (kept + lost):.0%} dropped) | {found['bare']:.1f} ns "
          f"| {found['spans']:.1f} ns | {found['spans'] - found['bare']:.1f} ns | at most 300 ns |")


def call_rows(version, program, homes):
    calls = {form: [*program, "--calls", str(count)] for form, count in CALLS.items()}
    cached = profiler(AGENT, CLSID, homes["one"])
    found = measure(
        {"bare": (calls["bare"], {}), "cached": (calls["cached"], cached),
         "cached, light mask": (calls["cached"], {**cached, "CLARINET_MASK": "light"}),
         "reference": (calls["reference"], {**cached, "CLARINET_TEMPLATE": "reference"})},
        lambda command, env: float(run(command, env)[1]),
    )
    for form, bar in (("cached", "at most 400 ns"), ("cached, light mask", "at most 400 ns"),
                      ("reference", "at most 1.05 times 3,400 to 5,200 ns")):
        print(f"| {version} | call, {form} | {found['bare']:.1f} ns | {found[form]:.1f} ns "
              f"| {found[form] - found['bare']:.1f} ns | {bar} |")


def milliseconds(command, env):
    return run(command, env)[0] * 1000


def start_rows(version, program, homes):
    start = [*program, "--calls", "1"]
    cached = profiler(AGENT, CLSID, homes["one"])
    found = measure(
        {"bare": (start, {}), "empty": (start, profiler(homes["empty"], EMPTY_CLSID)),
         "agent loaded": (start, cached), "many points": (start, profiler(AGENT, CLSID, homes["many"])),
         "few points": (start, profiler(AGENT, CLSID, homes["few"])),
         "light": (start, {**cached, "CLARINET_MASK": "light"})},
        milliseconds,
    )
    for other, base, bar in (("few points", "empty", "at most 10 %"), ("many points", "few points", "under 50 ms"),
                             ("agent loaded", "empty", ""), ("light", "bare", ""), ("light", "agent loaded", "side by side")):
        start_row(version, found, other, base, bar)


def excluded_rows(version, program, homes):
    """The difference is smaller than starts scatter: more rounds, and a second bare start tells what is left of that."""
    start = [*program, "--calls", "1"]
    found = measure({"bare": (start, {}), "bare again": (start, {}),
                     "excluded": (start, profiler(AGENT, CLSID, homes["excluded"])),
                     "excluded, 10,000 points": (start, profiler(AGENT, CLSID, homes["excluded many"]))},
                    milliseconds, 8 * ROUNDS)
    start_row(version, found, "excluded", "bare", "at most 3 ms")
    start_row(version, found, "excluded, 10,000 points", "bare", "")
    start_row(version, found, "bare again", "bare", "scatter")


def start_row(version, found, other, base, bar):
    print(f"| {version} | start, {other} over {base} | {found[base]:.1f} ms | {found[other]:.1f} ms "
          f"| {found[other] - found[base]:+.1f} ms ({found[other] / found[base] - 1:+.1%}) | {bar} |")


def module_rows(version, program, loaded, folder, out):
    """Points for assemblies that are really loaded: each of them is looked at."""
    assemblies = [path.stem for part in loaded for path in part.glob("*.dll")]
    load = [*program, "--load", *loaded]
    few, many = (make_home(folder, out, many_points(count, assemblies)) for count in (10, 10_000))
    found = measure({"300 modules, 10 points": (load, profiler(AGENT, CLSID, few)),
                     "300 modules, 10,000 points": (load, profiler(AGENT, CLSID, many))}, milliseconds)
    start_row(version, found, "300 modules, 10,000 points", "300 modules, 10 points", "under 50 ms")


def make_homes(folder, out):
    names = [f"Assembly{i}" for i in range(300)]
    homes = {"one": make_home(folder, out, POINT), "few": make_home(folder, out, many_points(10, names)),
             "many": make_home(folder, out, many_points(10_000, names)), "excluded": make_home(folder, out, POINT),
             "excluded many": make_home(folder, out, many_points(10_000, names))}
    for name in ("excluded", "excluded many"):
        (homes[name] / "newrelic.config").write_text(
            "<configuration><log level='error'/><instrumentation><applications>"
            "<application name='dotnet' include='false'/></applications></instrumentation></configuration>"
        )
    return {**homes, "empty": build_empty(folder)}


def main():
    words = set(sys.argv[1:])
    groups = words & GROUPS or GROUPS
    chosen = chosen_runtimes(others=GROUPS)
    out = build_programs()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        homes = make_homes(folder, out)
        print(f"load average {os.getloadavg()[0]:.1f}, {ROUNDS} rounds, medians of processor time\n")
        print("| runtime | figure | bare | with us | difference | bar |\n|---|---|---:|---:|---:|---|")
        if not words:
            library_row(AGENT)
        for version, dotnet in chosen:
            program = [dotnet, "exec", "--fx-version", version, out / "Shapes/Shapes.dll"]
            if "spans" in groups:
                spans_row(version, program, folder)
            if "calls" in groups:
                call_rows(version, program, homes)
            if "starts" in groups:
                start_rows(version, program, homes)
            if "excluded" in groups:
                excluded_rows(version, program, homes)
            if "modules" in groups:
                module_rows(version, program, frameworks(dotnet, version), folder, out)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
