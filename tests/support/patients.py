"""Sick programs and what a checkup must say of them, for the long steps second_sick and
rules_matrix: each program is started, looked at with every rule at work (--heap, --also http), and
what was found is compared with what it has."""
import json
import os
import pathlib
import subprocess
import threading
import time
import urllib.request
from typing import NamedTuple

ROOT = pathlib.Path(os.environ["CLARINET_ROOT"])
STATE = pathlib.Path(os.environ["CLARINET_LONG_STATE"])
CLARINET = pathlib.Path(os.environ.get("CLARINET_BUILD", ROOT / "build")) / "clarinet"
SLICE = float(os.environ.get("CLARINET_LONG_SLICE", "330"))
MORE = 75
# Pauses are long where other programs have the processors; told apart in the result.
LOAD = {"long-pauses", "slow-suspension"}


class Case(NamedTuple):
    rule: str
    sample: str
    args: tuple = ()
    cause: str = ""  # words that the finding's statement must have
    besides: frozenset = frozenset()  # rules that its page says go with it
    seconds: int = 5
    settle: float = 1  # seconds before it is looked at
    env: dict = {}
    limits: str = ""
    path: str = ""  # that is asked for all the time


def runtimes():
    """The folder with `dotnet`, and the versions to try."""
    folder = subprocess.run([ROOT / "dev", "runtimes"], capture_output=True, text=True, check=True)
    rows = (line.split() for line in (ROOT / "tools/runtimes/versions").read_text().splitlines())
    return (pathlib.Path(folder.stdout.splitlines()[-1]),
            [row[1] for row in rows if len(row) == 3 and row[2] == "aspnetcore"])


def command(folder, version, case):
    program = ROOT / f"build/samples/{case.sample}/{case.sample}.dll"
    if "AspNetCore" not in program.with_suffix(".runtimeconfig.json").read_text():
        return [folder / "dotnet", "exec", "--fx-version", version, program, *case.args]
    config = STATE / f"{version}.runtimeconfig.json"
    names = ["Microsoft.NETCore.App", "Microsoft.AspNetCore.App"]
    config.write_text(json.dumps({"runtimeOptions": {
        "rollForward": "Disable",
        "frameworks": [{"name": name, "version": version} for name in names],
        "configProperties": {"System.Globalization.Invariant": True, "System.GC.Server": False},
    }}))
    return [folder / "dotnet", "exec", "--runtimeconfig", config, program, *case.args]


def ask(url, over):
    while not over.is_set():
        with urllib.request.urlopen(url, timeout=60) as answer:
            answer.read()


def wait_until_ready(program):
    """The address, of a web service."""
    url = ""
    for line in program.stdout:
        if line.startswith("listening on "):
            url = line.split()[-1]
        if line == "ready\n":
            return url
    raise AssertionError("the program ended before it was ready")


def look(folder, version, case):
    """The findings of one checkup."""
    limits = STATE / "limits"
    limits.write_text(case.limits)
    program = subprocess.Popen(command(folder, version, case), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env={**os.environ, **case.env})
    over = threading.Event()
    clients = []
    try:
        url = wait_until_ready(program)
        if case.path:
            clients = [threading.Thread(target=ask, args=(url + case.path, over)) for _ in range(4)]
        for client in clients:
            client.start()
        time.sleep(case.settle)
        done = subprocess.run(
            [CLARINET, "checkup", "-d", f"{case.seconds}s", "-o", STATE / "out.html", "--json",
             "--heap", "--also", "http", "--thresholds", limits, str(program.pid)],
            capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["findings"]
    finally:
        over.set()
        for client in clients:
            client.join()
        program.stdin.close()
        try:
            program.wait(20)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()


def judge(case, found):
    """(what was found, what is wrong)"""
    rules = {f["id"] for f in found}
    named = [f for f in found if f["id"] == case.rule and case.cause in f["statement"]]
    wrong = [] if named else [f"no {case.rule}" + (f" with '{case.cause}'" if case.cause else "")]
    busy = os.getloadavg()[0] > 1.5 * os.cpu_count()
    for rule in sorted(rules - {case.rule} - case.besides - (LOAD if busy else set())):
        wrong += [f"{rule}: " + f["statement"] for f in found if f["id"] == rule]
    return sorted(rules), wrong


def run(cases, title):
    """One call of a step: goes on where the last one was, the newest runtime first; the exit code."""
    folder, versions = runtimes()
    begin = time.monotonic()
    subprocess.run([ROOT / "dev", "samples"], check=True, stdout=subprocess.DEVNULL)
    file = STATE / "state.json"
    state = json.loads(file.read_text()) if file.exists() else {}
    for version in reversed(versions):
        for case in cases:
            key = " ".join([version, case.rule, case.sample, *map(str, case.args)])
            if key in state:
                continue
            if time.monotonic() - begin > SLICE:
                return MORE
            rules, wrong = judge(case, look(folder, version, case))
            state[key] = {"found": rules, "wrong": wrong, "load": round(os.getloadavg()[0], 1)}
            file.write_text(json.dumps(state, indent=1))
            print(key, rules, *wrong, sep="\n    " if wrong else " ", flush=True)
            write_result(cases, versions, state, title)
    return 1 if any(row["wrong"] for row in state.values()) else 0


def write_result(cases, versions, state, title):
    lines = [title, "", "| rule | program | " + " | ".join(versions) + " |",
             "|---|---|" + "---|" * len(versions)]
    for case in cases:
        cells = []
        for version in versions:
            row = state.get(" ".join([version, case.rule, case.sample, *map(str, case.args)]))
            others = [] if row is None else [rule for rule in row["found"] if rule != case.rule]
            cells.append("-" if row is None else "; ".join(
                (["found" + (", with " + ", ".join(others) if others else "")]
                 if case.rule in row["found"] else []) + row["wrong"]))
        lines.append(f"| {case.rule} | `{' '.join([case.sample, *map(str, case.args)])}`"
                     f"{' ' + ' '.join(f'{k}={v}' for k, v in case.env.items()) if case.env else ''}"
                     f" | {' | '.join(cells)} |")
    loads = [row["load"] for row in state.values()]
    lines += ["", f"Load of the machine meanwhile: {min(loads)} to {max(loads)}."]
    (STATE / "result.md").write_text("\n".join(lines) + "\n")
