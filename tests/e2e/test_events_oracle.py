"""Collections, pauses, exceptions and waits against TraceEvent, an independent reader of the
runtime's own events: one session's file read by both, and the agent's recording of the same time."""
import json
import pathlib
import signal
import subprocess
import sys

from conftest import PATIENCE, wait_until
from test_diagnostics_port import driver  # noqa: F401 (a fixture)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "oracles"))
from build import oracle  # noqa: E402

ROUNDS = 200  # one lost in a hundred is seen
KEYWORDS = 0x1 | 0x4000 | 0x8000  # collections, contention, exceptions
MICROSECOND = 1000


def tables_of(clarinet, file):
    """{name: table} of a recording, which may still be written."""
    done = clarinet("report", file, "-f", "json")
    if done.code != 0:
        return {}
    return {table["name"]: table for process in done.json["processes"]
            for table in process["tables"]}


def counted(rows, key, value):
    return sum(row["count"] for row in rows if row[key] == value)


def order(patient, what, rounds, number):
    patient.process.stdin.write(f"{what} {rounds} {number}\n")
    patient.process.stdin.flush()
    patient.wait_for(f"^done {what} {number}$")


def start_agent(clarinet, patient):
    """A recording of which something of every profiler has reached the file: all are at work."""
    tool = clarinet.start("record", "-p", "gc,pauses,exceptions,contention", "-o",
                          "agent.clarinet", patient.pid)
    tries = iter(range(100000))

    def all_at_work():
        order(patient, "warm", 1, next(tries))
        tables = tables_of(clarinet, "agent.clarinet")
        return (counted(tables.get("exceptions", {}).get("types", []), "type",
                        "Tally.WarmException") > 0
                and counted(tables.get("waits", {}).get("types", []), "type", "Tally.Warm") > 0
                and tables.get("collections", {}).get("total", 0) > 0)

    wait_until(all_at_work)
    return tool


def check_file(ours, theirs):
    """The same file: counts are equal, sums are the same to the microsecond."""
    assert theirs["lost"] == 0, theirs
    assert ours["collections"]["total"] == theirs["collections"] == theirs["started"]
    assert theirs["collections"] >= 2 * ROUNDS  # the runtime may have wished for some by itself
    assert abs(ours["collections"]["pause"]["sum_ns"] - theirs["pause_ns"]) < MICROSECOND
    assert ours["pauses"]["pause"]["count"] == theirs["stops"]
    assert abs(ours["pauses"]["pause"]["sum_ns"] - theirs["stopped_ns"]) < MICROSECOND
    assert {row["type"]: row["count"] for row in ours["exceptions"]["types"]} == theirs["thrown"]
    assert theirs["thrown"]["Tally.CountedException"] == ROUNDS
    assert ours["waits"]["total"] == theirs["waits"] >= ROUNDS
    assert abs(ours["waits"]["waited_ns"] - theirs["waited_ns"]) < MICROSECOND


def check_agent(agent, theirs):
    """What the program did between its two lines, as the agent counted it."""
    induced = sum(row["count"] for row in agent["collections"]["induced_by"]
                  if any(frame["name"] == "Tally.Counted.Round" for frame in row["stack"]))
    assert induced == 2 * ROUNDS, agent["collections"]["induced_by"]
    assert counted(agent["exceptions"]["types"], "type", "Tally.CountedException") == \
        theirs["thrown"]["Tally.CountedException"]
    assert counted(agent["waits"]["types"], "type", "Tally.Counted") == ROUNDS
    assert agent["pauses"]["pause"]["count"] >= theirs["stops"]


def test_figures_agree_with_traceevent(runtime, sample, clarinet, driver):  # noqa: F811
    with sample("Tally") as patient:
        tool = start_agent(clarinet, patient)
        listening = subprocess.Popen(
            [driver, str(patient.pid), "events", clarinet.folder / "port.nettrace", "0",
             str(KEYWORDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert listening.stdout.readline() == "started\n"
        order(patient, "go", ROUNDS, 0)
        listening.communicate(timeout=PATIENCE)  # closes its stdin: stop
        assert listening.returncode == 0
        tool.send_signal(signal.SIGINT)
        _out, err = tool.communicate(timeout=PATIENCE)
        assert tool.returncode == 0, err
    done = subprocess.run([*oracle("traceevent"), clarinet.folder / "port.nettrace"],
                          capture_output=True, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done
    theirs = json.loads(done.stdout)
    check_file(tables_of(clarinet, "port.nettrace"), theirs)
    check_agent(tables_of(clarinet, "agent.clarinet"), theirs)
