"""What the managed agent can ask of libclarinet_instrument.so while a program runs: reload, live points,
attributes, the API, stacks. The program Live does as a managed agent would, on every runtime.
"""
import json
import platform
import re
import subprocess
import sys

import pytest

from conftest import ROOT
from instrumentation import LIBRARY, LiveProgram, extension

SMALL = ("Live", "Live.Work", "Small")
LARGE = ("Live", "Live.Work", "Large")
SAME = ("Live", "Live.Work+Nested", "Same")
CALLS_SMALL = ["Live.Work.Small(System.Int32)"] * 2
OK, NOTHING_DONE = "0x00000000", "0x00000001"


@pytest.mark.parametrize("mask", ["reference", "light"])
def test_a_reload_takes_up_changes_also_where_the_callee_was_inlined(instrument_home, runtime, mask):
    home = instrument_home
    home.extension("a.xml", extension(LARGE))
    with LiveProgram(home, runtime, CLARINET_MASK=mask) as live:
        assert live.entered("call") == ["Live.Work.Large(System.Int32)"]  # Small is inlined now
        home.extension("b.xml", extension(SMALL, SAME))
        assert live.ask("InstrumentationRefresh") == OK
        assert live.entered("call") == [*CALLS_SMALL, "Live.Work.Large(System.Int32)",
                                        "Live.Work+Nested.Same(!!0)", "Live.Work+Nested.Same(!!0)"]
        home.extension("a.xml", extension())
        home.extension("b.xml", extension(SMALL))
        assert live.ask("InstrumentationRefresh") == OK
        assert live.entered("call") == CALLS_SMALL
        home.extension("b.xml", extension())
        assert live.ask("InstrumentationRefresh") == OK
        assert live.entered("call") == []
        home.extension("a.xml", extension(LARGE))
        assert live.ask("InstrumentationRefresh") == OK
        assert live.ask("fail") == "negative"
        assert home.reported()[-1].startswith("throw [Live]Live.Work.Large(System.Int32) | System.ArgumentException")


def test_a_set_with_its_own_shim_comes_and_goes(instrument_home, newest_runtime):
    home = instrument_home
    second = home.calls.with_name(home.calls.name + ".second")
    shim = home.programs / "SecondShim/SecondShim.dll"
    large = {"assembly": "Live", "class": "Live.Work", "method": "Large"}

    def told():
        lines = second.read_text().splitlines() if second.exists() else []
        return sum(line.startswith("enter [Live]Live.Work.Large(") for line in lines)

    with LiveProgram(home, newest_runtime) as live:
        assert live.entered("call") == []
        for name in ("b.json", "a.json"):  # another name: another place among the files, the same shim
            home.extension(name, json.dumps({"shim": str(shim), "shimType": "Second.AgentShim", "points": [large]}))
        home.extension("c.xml", extension(LARGE))
        assert live.ask("InstrumentationRefresh") == OK
        assert live.entered("call") == ["Live.Work.Large(System.Int32)"]
        assert told() == 1
        home.extension("c.xml", extension())
        assert live.ask("InstrumentationRefresh") == OK
        assert live.entered("call") == []
        assert told() == 2
        home.extension("a.json", json.dumps({"points": []}))
        home.extension("b.json", json.dumps({"points": []}))
        assert live.ask("InstrumentationRefresh") == OK
        assert live.entered("call") == []
        assert told() == 2


@pytest.mark.parametrize("mask", ["reference", "light"])
def test_what_can_be_unloaded_is_instrumented_and_wrong_ids_have_no_names(instrument_home, runtime, mask):
    """The runtime takes requests for code that can be unloaded and forgets them: it is rewritten when it is loaded."""
    home = instrument_home
    home.extension("a.xml", extension(LARGE))
    with LiveProgram(home, runtime, CLARINET_MASK=mask) as live:
        assert live.ask("names", 1, 4096, 2**63, 2**64 - 8) == " ".join(
            f"UnknownClass.UnknownMethod({number})" for number in (1, 4096, 2**63, 2**64 - 8))
        for words in (["collectible"], ["collectible", "bytes"]):
            assert live.entered(*words) == ["Live.Work.Large(System.Int32)"]
        home.extension("a.xml", extension(SMALL))
        assert live.ask("InstrumentationRefresh") == OK
        for words in (["collectible"], ["collectible", "bytes"], ["call"]):
            assert live.entered(*words) == CALLS_SMALL
    assert not [line for line in home.log() if line.startswith("[Error]") and "get_Property" not in line]


def test_a_by_ref_like_type_is_known_by_its_own_assembly_and_not_boxed_before_that_is_loaded(instrument_home, runtime):
    """The program has an ordinary type of the same name; boxing the other one would break the program."""
    home = instrument_home
    home.extension("a.xml", extension(("TwinUser", "TwinUser.Use", "Run", "Give", "Take")))
    with LiveProgram(home, runtime) as live:
        for words in (["twins"], ["twins", "collectible"]):
            before = len(home.reported())
            assert live.ask(*words) == "9 1 0"
            told = [line for line in home.reported()[before:] if "Take" in line or "Give" in line]
            assert [line.split()[0] for line in told] == ["enter", "leave"] * 2
            assert "args=4 " in told[0] and told[1].endswith("| null")
            assert "args=null, 5 " in told[2] and told[3].endswith("| 9")
        stays = "can be unloaded: what is loaded of it stays as it is, the new points count when it is loaded again"
        log = home.log()
        assert sum("[TwinUser]" in line and stays in line for line in log) == 1
        home.extension("a.xml", extension(LARGE))  # the points of what is loaded are gone: told as well
        before = len(home.reported())
        assert live.ask("twins", "collectible") == "9 1 0"
        assert sum("enter [TwinUser]" in line for line in home.reported()[before:]) == 3
        assert any("[TwinUser]" in line and stays in line for line in home.log()[len(log):])
    log = home.log()
    assert not [line for line in log if line.startswith("[Error]") and "get_Property" not in line]


def test_an_invalid_file_changes_nothing(instrument_home, newest_runtime):
    home = instrument_home
    home.configure("<configuration><log level='finest'/></configuration>")
    home.extension("a.xml", extension(LARGE))
    with LiveProgram(home, newest_runtime, NEW_RELIC_DISABLE_APPDOMAIN_CACHING="1") as live:
        live.ask("call")  # it has read its files
        home.extension("a.xml", extension())
        home.extension("b.xml", "<extension")
        assert live.ask("InstrumentationRefresh") == NOTHING_DONE
        assert live.entered("call") == ["Live.Work.Large(System.Int32)"]
        home.extension("b.xml", extension(SMALL))
        assert live.ask("InstrumentationRefresh") == OK
        assert live.entered("call") == CALLS_SMALL
    log = home.log()
    assert log[0].startswith("[Info ] ") and log[0].endswith(" Logger initialized.")
    assert log[1].startswith("[Trace] ") and log[1].endswith(" New Relic .NET CoreCLR Agent")
    assert any("The use of AppDomain for method information caching is disabled" in line for line in log)
    assert sum(line.endswith("Enter: InstrumentationRefresh") for line in log) == 2
    assert sum(" Leave: InstrumentationRefresh" in line for line in log) == 2


def test_reloading_the_configuration_brings_its_ignore_list_and_level(instrument_home, runtime):
    home = instrument_home
    home.extension("a.xml", extension(LARGE, SMALL))
    with LiveProgram(home, runtime) as live:
        assert len(live.entered("call")) == 3
        home.configure("<configuration><log level='debug'/><instrumentation><rules>"
                       "<ignore assemblyName='live' className='live.work'/></rules></instrumentation></configuration>")
        assert live.ask("ReloadConfiguration") == OK
        assert live.entered("call") == []
        home.configure("<configuration/>")
        assert live.ask("ReloadConfiguration") == OK
        assert len(live.entered("call")) == 3
        home.configure("<broken")
        assert live.ask("ReloadConfiguration") == "0x80004005"
        assert len(live.entered("call")) == 3
    levels = [line.split("set: ")[1] for line in home.log() if "<-- New logging level set: " in line]
    assert levels == ["Debug", "Info "]


def test_live_points_come_and_go_and_win_over_a_file_of_their_name(instrument_home, runtime, tmp_path):
    home = instrument_home
    home.extension("a.xml", extension(LARGE))
    small, none = tmp_path / "small.txt", tmp_path / "none.txt"
    small.write_text(extension(SMALL))
    none.write_text(extension())
    with LiveProgram(home, runtime) as live:
        assert live.ask("ApplyCustomInstrumentation") == OK  # nothing collected, nothing to do
        assert live.ask("add", "live.xml", small) == OK
        assert live.entered("call") == ["Live.Work.Large(System.Int32)"]  # collected only
        assert live.ask("ApplyCustomInstrumentation") == OK
        assert live.entered("call") == [*CALLS_SMALL, "Live.Work.Large(System.Int32)"]
        assert live.ask("add", "a.xml", none) == OK
        assert live.ask("ApplyCustomInstrumentation") == OK  # replaces the live set and the file a.xml
        assert live.entered("call") == []
        assert live.ask("ApplyCustomInstrumentation") == OK
        assert live.entered("call") == ["Live.Work.Large(System.Int32)"]


def test_reloads_under_threads_that_call(instrument_home, runtime):
    home = instrument_home
    home.extension("a.xml", extension(SMALL, LARGE, SAME))
    with LiveProgram(home, runtime, CLARINET_TEST_AGENT_MODE="empty") as live:
        assert live.ask("storm", 10) == "10 reloads, calls True"


@pytest.mark.parametrize("mask", ["reference", "light"])
def test_reloads_while_assemblies_come_and_go(instrument_home, runtime, mask):
    """The runtime lists modules that may be gone before they are asked for their names."""
    home = instrument_home
    home.extension("a.xml", extension(SMALL, LARGE, SAME))
    with LiveProgram(home, runtime, CLARINET_MASK=mask, CLARINET_TEST_AGENT_MODE="empty") as live:
        assert live.ask("churn", 20) == "all reloads True, wrong none"
    assert not [line for line in home.log() if line.startswith("[Error]") and "get_Property" not in line]


ATTRIBUTED = {
    "Live.Attributed.Other(System.Int32)": "0x500000",
    "Live.Attributed.Web(System.String)": "0x300000",
    "Live.Attributed.NotWeb()": "0x500000",
    "Live.Attributed.Small(System.Int32)": "0x100000",
    "Live.Attributed.Async(System.Int32)": "0x900000",
    "Live.Attributed.WithPoint(System.Int32)": "0x107400",  # the point's bits and the attribute's
    "Live.Attributed+Inner.Name()": "0x100000",
}


@pytest.mark.parametrize("mask", ["reference", "light"])
def test_attributes_ask_for_instrumentation_without_any_point(instrument_home, runtime, mask):
    home = instrument_home
    home.extension("a.xml", "<extension><instrumentation><tracerFactory name='Own' metricName='m'>"
                   "<match assemblyName='Live' className='Live.Attributed'>"
                   "<exactMethodMatcher methodName='WithPoint'/></match></tracerFactory></instrumentation></extension>")
    with LiveProgram(home, runtime, CLARINET_MASK=mask) as live:
        assert live.ask("attributes") == "2 w! 3 3 6 9 5 8 inner"
        enters = [line for line in home.reported() if line.startswith("enter ")]
        live.ask("attributes")
        assert sum(line.startswith("enter ") for line in home.reported()) == 2 * len(enters)
    rows = [line[len("enter [Live]"):].split(" | ") for line in enters]
    assert {row[0]: row[2] for row in rows} == ATTRIBUTED
    assert len(rows) == len(ATTRIBUTED)
    assert [row[1] for row in rows if row[2] == "0x107400"] == ["Own"]
    assert {row[1].split(".")[-1] for row in rows if row[2] != "0x107400"} == {"DefaultTracerFactory"}
    assert any("get_Property() is left alone" in line for line in home.log())


API = ("header from the agent, 8, 2, agent joins b True 7, own zero, own division, own 5, own text, own long, "
       "own agent")
OWN_API = "own header, 2, 1, own join, own zero, own division, own 5, own text, own long, own agent"


def test_the_api_asks_the_agent_and_falls_back_to_itself(instrument_home, runtime):
    with LiveProgram(instrument_home, runtime) as live:
        assert live.ask("api") == "agent got metric cost = 1.5"
        assert [live.ask("call") for _ in range(4)] == ["own finally"] * 3 + [API]


def test_the_api_without_an_agent_is_as_it_was_written(instrument_home, newest_runtime):
    home = instrument_home
    with LiveProgram(home, newest_runtime) as live:
        live.ask("call")  # it has started
        (home.folder / "NewRelic.Agent.Core.dll").unlink()  # gone before anybody loads it
        assert live.ask("api") == "own metric cost"
        assert [live.ask("call") for _ in range(4)] == ["own finally"] * 3 + [OWN_API]


def test_exports_answer_before_there_is_a_profiler():
    code = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
hex32 = lambda value: format(value & 0xffffffff, "08x")
out, count = ctypes.c_void_p(1), ctypes.c_int(1)
print(*[hex32(getattr(library, name)()) for name in
        ("InstrumentationRefresh", "ReloadConfiguration", "ApplyCustomInstrumentation", "DllCanUnloadNow")])
print(hex32(library.AddCustomInstrumentation(b"name", b"<extension/>")))
print(hex32(library.RequestProfile(ctypes.byref(out), ctypes.byref(count))), out.value, count.value)
print(hex32(library.RequestFunctionNames((ctypes.c_size_t * 1)(5), 1, ctypes.byref(out))))
print(hex32(library.RequestProfile(None, None)), library.GetCurrentExecutionEngineThreadId())
library.GetProfilerVersion.restype = library.GetProfilerPlatform.restype = ctypes.c_char_p
print(library.GetProfilerVersion().decode(), library.GetProfilerPlatform().decode())
library.ReleaseProfile()
library.ShutdownThreadProfiler()
"""
    done = subprocess.run([sys.executable, "-c", code, LIBRARY], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    version = re.search(r"project\(clarinet VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    processor = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    assert done.stdout.splitlines() == ["80004005 80004005 80004005 00000000", "80004005", "8000ffff None 0",
                                        "8000ffff", "80070057 0", f"{version} linux-{processor}"]


@pytest.mark.parametrize("mask", ["reference", "light"])
def test_stacks_and_names_of_all_threads_on_request(instrument_home, runtime, mask):
    with LiveProgram(instrument_home, runtime, CLARINET_MASK=mask) as live:
        assert live.ask("sample") == ("Live.Sampled.Parked and callers, busy True, second 0x80004005, error none, "
                                      "own True, again 0 True")
