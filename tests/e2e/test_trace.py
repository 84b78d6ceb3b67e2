"""clarinet trace: exact counts on live programs, nothing left behind, nothing changed."""
import errno
import json
import os
import re
import select
import signal
import subprocess
import time
import urllib.request

import pytest

from conftest import PATIENCE, ROOT
from recording_reader import Recording

ROUNDS = 1000
# Calls per round of the sample Traceable (see its Round), and how many of them fail.
EXPECTED = {
    "Traceable.Shapes.Add(int, int)": (2, 0),
    "Traceable.Shapes.ThrowAndCatch(int)": (1, 0),
    "Traceable.Shapes.Throw(int)": (1, 1),
    "Traceable.Shapes.Generic<T>(T)": (2, 0),
    "Traceable.Shapes.First(Span<int>)": (1, 0),
    "Traceable.Shapes.Sum(ReadOnlySpan<int>)": (1, 0),
    "Traceable.Shapes.Recurse(int)": (10, 0),
    "Traceable.Shapes.Large(long)": (1, 0),
    "Traceable.Shapes.Many(int)": (1, 0),
    "Traceable.Shapes.LaterAsync(int)": (1, 0),
    "Traceable.Box<T>..ctor(T)": (5, 0),
    "Traceable.Box<T>.Get()": (5, 0),
}
# Async methods: calls, steps and failures per round.
ASYNC = {
    "Traceable.Shapes.LaterAsync(int)": (1, 1, 0),
    "Traceable.Shapes.YieldAsync<T>(T)": (1, 3, 0),
    "Traceable.Shapes.FailAsync(int)": (1, 2, 1),
}


def tell(patient, line):
    patient.process.stdin.write(line + "\n")
    patient.process.stdin.flush()


def rounds(patient, count=ROUNDS):
    """Does that many rounds and returns the checksum."""
    number = getattr(patient, "asked", 0) + 1
    patient.asked = number
    tell(patient, f"go {count} {number}")
    return patient.wait_for(rf"^done {number} {count} (\d+)$").group(1)


def wait_until_probed(clarinet_process):
    """Until the verb says that it counts: it has asked the runtime for the methods."""
    said = b""
    end = time.monotonic() + PATIENCE
    descriptor = clarinet_process.stderr.fileno()
    while b"clarinet: tracing" not in said:
        ready = select.select([descriptor], [], [], max(0, end - time.monotonic()))[0]
        more = os.read(descriptor, 4096) if ready else b""
        assert more, (said, clarinet_process.poll())
        said += more


def traced(process, timeout=PATIENCE):
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == 0, (out, err)
    rows = json.loads(out)
    rows = rows["methods"] if isinstance(rows, dict) else rows
    return {row["method"] + ("" if row["kind"] == "method" else " " + row["kind"]): row
            for row in rows}


def test_counts_are_exact(sample, clarinet, runtime):
    with sample("Traceable") as patient:
        before = rounds(patient, 500)
        process = clarinet.start("trace", "--json", patient.pid, "Traceable.Shapes", "Traceable.Box")
        wait_until_probed(process)
        sum_while_traced = rounds(patient)
        tell(patient, "trace")
        trace = patient.wait_for(r"^   at .*").group(0)
        process.send_signal(signal.SIGINT)
        rows = traced(process)
        after = rounds(patient, 500)
    assert patient.process.returncode == 0, patient
    for method, (calls, failures) in EXPECTED.items():
        row = rows[method]
        extra = 1 if method.endswith(".Throw(int)") else 0  # the one of "trace"
        assert row["calls"] == calls * ROUNDS + extra, row
        assert row["exceptions"] == failures * ROUNDS + extra, row
        assert row["state"] == "probed", row
        assert 0 <= row["min_ns"] <= row["p50_ns"] <= row["p99_ns"] <= row["max_ns"], row
        assert row["self_ns"] <= row["total_ns"], row
    for method, (calls, steps, failures) in ASYNC.items():
        name = method.partition("(")[0]
        row = next(row for key, row in rows.items() if key.startswith(name) and "steps" in key)
        whole = rows[method + " async"]
        assert whole["calls"] == whole["completions"] == calls * ROUNDS, whole
        assert whole["exceptions"] == failures * ROUNDS and whole["active"] == 0, whole
        assert 0 < whole["min_ns"] <= whole["p50_ns"] <= whole["p99_ns"] <= whole["max_ns"], whole
        assert rows[method]["calls"] == calls * ROUNDS, rows[method]
        assert row["calls"] == steps * ROUNDS, row
        assert row["completions"] == calls * ROUNDS, row
        assert row["exceptions"] == failures * ROUNDS, row
    assert before == after and sum_while_traced != "0"
    lines = re.findall(r"Program\.cs:line (\d+)", trace)
    source = (ROOT / "samples" / "Traceable" / "Program.cs").read_text().splitlines()
    assert [source[int(n) - 1].strip()[:5] for n in lines] == ["throw", "Throw"], trace


def test_a_second_session_starts_at_zero(sample, clarinet, runtime):
    with sample("Traceable") as patient:
        for _ in range(2):
            process = clarinet.start("trace", "--json", patient.pid, "Traceable.Shapes::Add")
            wait_until_probed(process)
            rounds(patient)
            process.send_signal(signal.SIGINT)
            rows = traced(process)
            assert rows["Traceable.Shapes.Add(int, int)"]["calls"] == 2 * ROUNDS, rows
            rounds(patient, 77)
    assert patient.process.returncode == 0, patient


def test_a_profile_after_a_trace_has_the_right_names(sample, clarinet):
    """The agent stays where a method was traced, and forgets what it has named."""
    with sample("CpuShares", "--threads", 2) as patient:
        process = clarinet.start("trace", "--json", patient.pid, "CpuShares.Program::Slice")
        wait_until_probed(process)
        for file in ("during", "after"):
            done = clarinet("record", "-p", "cpu", "-d", "1s", "-o", file, patient.pid)
            assert done.code == 0, done
            if process is not None:
                process.send_signal(signal.SIGINT)
                assert traced(process)["CpuShares.Program.Slice(int, string, int)"]["calls"] > 0
                process = None
    assert patient.process.returncode == 0, patient
    for file in ("during", "after"):
        stacks = clarinet("report", file, "-f", "collapsed").out.splitlines()
        assert any("CpuShares.Program.Run;" in line and "CpuShares.Program.Fifty" in line
                   for line in stacks), stacks


def test_a_killed_tool_leaves_nothing_behind(sample, clarinet, runtime):
    with sample("Traceable") as patient:
        process = clarinet.start("trace", "--json", patient.pid, "Traceable.Shapes")
        wait_until_probed(process)
        rounds(patient)
        process.kill()
        process.wait()
        time.sleep(1)
        rounds(patient, 77)
        # another session is let in, and only its own calls count
        process = clarinet.start("trace", patient.pid, "Traceable.Shapes::Recurse", "--json")  # options anywhere
        wait_until_probed(process)
        rounds(patient)
        process.send_signal(signal.SIGINT)
        assert traced(process)["Traceable.Shapes.Recurse(int)"]["calls"] == 10 * ROUNDS
    assert patient.process.returncode == 0, patient


def test_from_the_start(sample_command, clarinet, runtime, tmp_path):
    out = tmp_path / "trace.json"
    done = clarinet("trace", f"--json={out}", "Countable.Work::*", "Countable.Widget::.ctor", "--",
                    *sample_command("Countable"))
    assert done.code == 7, done
    assert done.out.startswith("ready\nsum "), done
    rows = {row["method"]: row["calls"] for row in json.loads(out.read_text())}
    assert rows["Countable.Work.Tick(int)"] == 5000, rows
    assert rows["Countable.Work.Generic<T>(T)"] == 150, rows
    assert rows["Countable.Work.Catch(Action)"] == 42, rows
    assert rows["Countable.Widget..ctor(int)"] == 1000, rows


def test_precompiled_framework_methods(sample, clarinet, runtime):
    with sample("Traceable") as patient:
        process = clarinet.start("trace", "--json", patient.pid,
                                 "[System.Private.CoreLib]System.Collections.Generic.List::Add")
        wait_until_probed(process)
        rounds(patient)
        process.send_signal(signal.SIGINT)
        rows = traced(process)
    assert rows["System.Collections.Generic.List<T>.Add(T)"]["calls"] >= 3 * ROUNDS, rows
    assert patient.process.returncode == 0, patient


def test_dry_run_changes_nothing(sample, clarinet, newest_runtime):
    with sample("Traceable") as patient:
        done = clarinet("trace", "--dry-run", patient.pid, "Traceable.Shapes::*Throw*",
                        "!*::ThrowAndCatch")
        assert done.code == 0, done
        assert "Traceable.Shapes.Throw(int)" in done.out, done
        assert "ThrowAndCatch" not in done.out, done
        assert "1 method meant; nothing was changed" in done.out, done
        assert "no call was seen" not in done.err, done
        done = clarinet("trace", "-d", "1s", patient.pid, "Traceable.Shapes::Throw")
        assert done.code == 0 and "1 method meant, 0 called" in done.out, done
        assert "no call was seen" in done.err, done
        done = clarinet("trace", "--dry-run", patient.pid, "Traceable.INamed::get_Name")
        assert done.code == 1 and "it has no CIL" in done.err, done
        assert "no loaded method" not in done.err, done
        done = clarinet("trace", "--dry-run", patient.pid, "Traceable.Shapes.Generic<T>", "Traceable.Box<T>::*",
                        "--json")
        assert done.code == 0, done
        assert {row["method"].split("(")[0] for row in done.json} >= {"Traceable.Shapes.Generic<T>",
                                                                     "Traceable.Box<T>..ctor"}, done
    assert patient.process.returncode == 0, patient


def test_more_methods_than_memory_lists_what_is_called(sample, clarinet, newest_runtime, tmp_path):
    """With 22 MB, most of which the counters take: what is called comes before what is not."""
    with sample("Traceable", env={"CLARINET_MEMORY": "22M"}) as patient:
        for _ in range(2):  # the second one finds memory that the first one has used
            recording = tmp_path / "all.clarinet"
            process = clarinet.start("trace", "--json", "-o", recording, patient.pid,
                                     "[System.Private.CoreLib]System.*", "Traceable.Shapes::*")
            wait_until_probed(process)
            rounds(patient, 10)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, (out, err)
            called = [row for row in json.loads(out) if row["calls"] != 0]
            assert any(row["method"].startswith("Traceable.Shapes.Add(") for row in called), (called, err)
            assert all(row["state"] for row in called), called
            assert re.search(r"not listed: not called, and memory is short: \d+", err), err
            recording.unlink()
    assert patient.process.returncode == 0, patient


def test_what_cannot_be_is_said(sample, clarinet, newest_runtime):
    """A value that no method has, and a method that nobody can recompile."""
    with sample("Traceable") as patient:
        tell(patient, "emit")
        patient.wait_for("^emitted 42$")
        process = clarinet.start("trace", "--json", "--when", "zzz > 3 || n > 100", "--args=n,qqq.Name",
                                 patient.pid, "Traceable.Shapes::Recurse", "Traceable.Shapes::Throw", "Emitted::Twice")
        wait_until_probed(process)
        rounds(patient, 1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
    err = err if isinstance(err, str) else err.decode()
    assert set(re.findall("no traced method that was called has '(.*?)'", err)) == {"zzz", "qqq.Name"}, err
    states = {row["method"]: row["state"] for row in json.loads(out)["methods"]}
    assert states["Emitted.Twice(int)"] == "left alone: made at run time (Reflection.Emit)", states
    assert patient.process.returncode == 0, patient


def see_requests_at_the_other_end(web_service, clarinet, advice):
    """What the advice says shows every request, also of handlers that were inlined."""
    method, values = re.search(r"(Microsoft\.AspNetCore\.\S+::Invoke) (--args=\S+)", advice).groups()
    process = clarinet.start("trace", web_service.pid, method, values, "--on", "entry", "--json")
    wait_until_probed(process)
    for _ in range(20):
        with urllib.request.urlopen(f"{web_service.url}/health") as answer:
            assert answer.read() == b"ok"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (out, err)
    found = json.loads(out)
    assert [row["calls"] for row in found["methods"] if row["kind"] == "method"] == [20], found
    assert len(found["calls"]) == 20, found["calls"]
    # the first may come before its class is known, which is shown as ?
    assert all(call["values"].endswith('Path="/health"') for call in found["calls"][10:]), found


def test_web_service(web_service, clarinet):
    process = clarinet.start("trace", "--json", web_service.pid, "WebShop.Shop::*",
                             "Microsoft.AspNetCore.Routing.*::Invoke*")
    wait_until_probed(process)
    for n in range(50):
        with urllib.request.urlopen(f"{web_service.url}/sort?n={n}") as answer:
            assert answer.status == 200
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (out, err)
    rows = {row["method"]: row for row in json.loads(out) if row["kind"] == "method"}
    sort = [row for name, row in rows.items() if name.startswith("WebShop.Shop.Sort(")]
    assert sort and sort[0]["calls"] == 50, rows
    routing = [row for name, row in rows.items() if "EndpointMiddleware.Invoke(" in name]
    assert routing and routing[0]["calls"] == 50, routing
    # small handlers may sit inlined in what ASP.NET Core compiled before: named, with a way out
    warning = err.decode() if isinstance(err, bytes) else err
    named = re.search(r"are not counted: (.*)$", warning, re.M).group(1).split(", ")
    assert "WebShop.Shop.Find" in named and "WebShop.Shop.Sort" not in named, warning
    see_requests_at_the_other_end(web_service, clarinet, warning)
    with urllib.request.urlopen(f"{web_service.url}/health") as answer:
        assert answer.read() == b"ok"


def test_dotnet_build(dotnet_build_project, clarinet, tmp_path):
    out = tmp_path / "trace.json"
    done = clarinet("trace", f"--json={out}", "Microsoft.Build.BackEnd.TaskExecutionHost::Execute*",
                    "Microsoft.Build.Evaluation.Project*::*", "--", *dotnet_build_project.build,
                    env=dotnet_build_project.env, cwd=dotnet_build_project.folder, timeout=300)
    assert done.code == 0, done
    rows = {row["method"]: row for row in json.loads(out.read_text())}
    assert sum(row["calls"] for row in rows.values()) > 1000, rows
    ran = subprocess.run(dotnet_build_project.run, capture_output=True, text=True,
                         env={**os.environ, **dotnet_build_project.env})
    assert ran.returncode == 0 and "built" in ran.stdout, ran


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "nothing to trace"),
        (["1234"], "no method is named"),
        (["1234", "!A::B"], "no pattern says"),
        (["1234", "[A"], "has no ]"),
        (["--nonsense", "1234", "A::B"], "does not know the option"),
        (["A::B", "--"], "no command"),
        (["-d", "0", "1234", "A::B"], "a duration of 0"),
    ],
)
def test_wrong_usage(clarinet, arguments, words):
    done = clarinet("trace", *arguments)
    assert done.code == 2 and words in done.err, done


def test_every_method_can_carry_a_probe(sample_command, clarinet, runtime, tmp_path):
    out = tmp_path / "trace.json"
    done = clarinet("trace", f"--json={out}", "*", "--", *sample_command("Countable"),
                    env={"CLARINET_MEMORY": "400M"})
    plain = subprocess.run(sample_command("Countable"), capture_output=True, text=True)
    assert (done.code, done.out) == (plain.returncode, plain.stdout), done
    rows = json.loads(out.read_text())
    states = [row["state"] for row in rows]
    assert states.count("probed") > 500, states.count("probed")
    assert sum(row["calls"] for row in rows) > 10_000
    left_alone = {state for state in states if state.startswith("left alone")}
    assert not any("IL_" in state or "refused" in state for state in left_alone), left_alone


def test_values_of_single_calls(sample, clarinet, runtime):
    with sample("Traceable") as patient:
        process = clarinet.start("trace", "--json", "--args", "--rate", "10000", patient.pid,
                                 "Traceable.Shapes::Values", "Traceable.Shapes::Throw",
                                 "Traceable.Shapes::First", "Traceable.Sequences::Take")
        wait_until_probed(process)
        checksum = rounds(patient, 20)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
        assert rounds(patient, 20) == checksum
    assert patient.process.returncode == 0, patient
    calls = json.loads(out)["calls"]
    values = [call["values"] for call in calls if call["method"].endswith(".Values")]
    assert values == [
        f'id={n}, name="name {n}", flag=true, real=2.5, '
        "guid=00000000-0000-0000-0000-000000000000, when=2024-02-29 13:05:09, nothing=null, "
        'thing={…}, byRef=0, password=***, day=Friday → "got ' + f'{n}{len(f"name {n}")}True2.5-04Friday"'
        for n in range(20)
    ], values
    failed = [call for call in calls if call["method"].endswith(".Throw")]
    assert [call["values"] for call in failed] == [f"n={n}" for n in range(20)], failed
    assert all(call["failed"] and call["duration_ns"] > 0 for call in failed), failed
    times = [call["time_ns"] for call in calls]
    assert times == sorted(times) or len(set(call["thread"] for call in calls)) > 1
    firsts = [call["values"] for call in calls if call["method"].endswith(".First")]
    assert firsts == ["numbers=[3: 0, 0, 0] → 0"] * 20, firsts
    taken = [call["values"] for call in calls if call["method"].endswith(".Take")]
    assert taken == [
        f'text="a text {n}", numbers=[3: {n}, 2, -3], bytes=[15: 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, …], part="3456", '
        f'none=null, password=***, boxed=[1: 1.5], letters="ab", guids=[1: …], empty="" → '
        f'[12: {len(f"a text {n}")}, {n}, 15, 4, 0, 4, 1, 2, 1, 0, …]' for n in range(20)], taken


def test_dates_and_times_as_people_read_them(sample, clarinet, runtime):
    with sample("Traceable") as patient:
        process = clarinet.start("trace", "--args", "--when", "day >= '2024-02' && day < '2024-03' && time == '13:05:09' "
                                 "&& when > '2024-02-29 23'", patient.pid,
                                 "Traceable.Shapes::Times")
        wait_until_probed(process)
        rounds(patient, 1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
        nothing = clarinet.start("trace", "--args", patient.pid, "Traceable.Shapes::Now", "Traceable.Shapes::Odds")
        wait_until_probed(nothing)
        rounds(patient, 1)
        nothing.send_signal(signal.SIGINT)
        bare, err = nothing.communicate(timeout=PATIENCE)
    assert ("Times: day=2024-02-29, time=13:05:09, when=2024-02-29 23:05:09 -05:30, wait=1.25 s, far=1.02:03:04, "
            "both={Day=0001-01-01, When=2024-03-01 00:30:00 +02:00}, boxed=07:00:00 → 69\n") in out, (out, err)
    assert "Traceable.Shapes.Now\n" in bare, (bare, err)  # no colon without values
    assert ('Odds: words=[2: …], one=Read, two=IgnoreCase | Singleline, none=64, cut="' + 99 * "a" + '…", empty=[0]'
            in bare), bare


def test_many_and_long_arguments(sample, clarinet, runtime):
    """All of twenty; of an async call, whose arguments are kept until its end, what fits."""
    with sample("Traceable") as patient:
        answer = single_calls(patient, clarinet, "--args", "--when", "t == 19 || last == 4", patient.pid,
                              "Traceable.Crammed::T*y", "Traceable.Crammed::*Async", rounds_done=2)
    values = {}
    for call in answer["calls"]:
        values.setdefault(call["method"].split("(")[0], []).append(call["values"])
    ints = ", ".join(f"{chr(ord('a') + n)}={n}" for n in range(18))
    assert values == {
        "Traceable.Crammed.Twenty": [ints + ', s="18", t=19 → 38'] * 2,
        "Traceable.Crammed.TextsAsync": [f'number={n}, a="{100 * "a"}…", b="{100 * "b"}…", c=?, last=4, gate={{…}} → {n + 364}'
                                         for n in range(2)]}, answer


def test_slow_calls_only(sample, clarinet, newest_runtime):
    with sample("Traceable") as patient:
        process = clarinet.start("trace", "--json", "--slower-than", "1h", patient.pid,
                                 "Traceable.Shapes::Values")
        wait_until_probed(process)
        rounds(patient, 20)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
    answer = json.loads(out)
    assert answer["calls"] == [] and answer["methods"][0]["calls"] == 20, answer


def single_calls(patient, clarinet, *arguments, rounds_done=6):
    """Traces with these arguments while the patient does some rounds; the JSON answer."""
    process = clarinet.start("trace", "--json", "--rate", "10000", *arguments)
    wait_until_probed(process)
    checksum = rounds(patient, rounds_done)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (out, err)
    assert rounds(patient, rounds_done) == checksum
    return json.loads(out)


PLACE = "Traceable.Shop::Place"


def test_chosen_fields_and_condition(sample, clarinet, runtime):
    paths = ("id,customer.Name,customer.City,customer.Home.Street,customer.Age,"
             "customer.Friend.Name,customer.Token,day,shop.Open,price,nothing.There,result")
    with sample("Traceable") as patient:
        answer = single_calls(patient, clarinet, f"--args={paths}", "--when",
                              'arg0 > 1 && customer.Name != "name 4"', "--redact", "street",
                              patient.pid, PLACE)
    assert patient.process.returncode == 0, patient
    days = {2: "Tuesday", 3: "Wednesday", 5: "Friday"}
    assert [call["values"] for call in answer["calls"]] == [
        f'id={n}, customer.Name="name {n}", customer.City="Rome", customer.Home.Street=***, '
        f"customer.Age={n}, customer.Friend.Name=" + ('"friend"' if n % 2 else "null") +
        f", customer.Token=***, day={days[n]}, shop.Open=true, price=12.50, result={30 + 2 * n}"
        for n in (2, 3, 5)
    ], answer
    assert answer["methods"][0]["calls"] == 6, answer  # all are counted


@pytest.mark.parametrize(
    "method, condition",
    [
        (PLACE, "price == 12.50 && price > 12.4 && price < 12.6 && customer.Discount == 0.1 && "
                "customer.Grade == 'é' && customer.Grade > 200 && id < 18446744073709551615"),
        ("Traceable.Shapes::Values", "when > '2024-02-29' && when < '2024-03' && when == '2024-02-29 13:05:09' "
                                     "&& guid == '00000000-0000-0000-0000-000000000000' && day == 5"),
    ],
)
def test_conditions_on_every_kind_of_value(sample, clarinet, runtime, method, condition):
    """They hold: a term that cannot hold would just show nothing."""
    with sample("Traceable") as patient:
        answer = single_calls(patient, clarinet, "--when", condition, patient.pid, method, rounds_done=2)
    assert patient.process.returncode == 0, patient
    assert len(answer["calls"]) == 2, answer


def test_a_field_that_no_object_has_is_named(sample, clarinet, newest_runtime):
    with sample("Traceable") as patient:
        process = clarinet.start("trace", "--args=named.Name,named.Nmae,thing.Nowhere,named.Tag", patient.pid,
                                 "Traceable.Wide::Mixed")
        wait_until_probed(process)
        rounds(patient, 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and 'named.Name="pet 0"' in out, (out, err)
    # a name that some of the objects have is none of them
    assert re.findall(r"no traced method that was called has '(.*)'", err) == ["named.Nmae", "thing.Nowhere"], err


WIDE = "Traceable.Wide::Mixed"


def test_values_by_the_types_of_objects(sample, clarinet, runtime):
    """Interfaces, object, type parameters, generic classes, arrays, Nullable and structs."""
    paths = ("named.Name,named.Tag,named.Age,thing,typed,typed.Street,some,home,home.Street,"
             "people.Length,people.0.Name,people.0.City,box.value,day")
    with sample("Traceable") as patient:
        chosen = single_calls(patient, clarinet, f"--args={paths}", patient.pid, WIDE, rounds_done=2)
        plain = single_calls(patient, clarinet, "--args", patient.pid, WIDE, rounds_done=1)
        lines = single_calls(patient, clarinet, "--log", WIDE + " {named.Name} {typed} {day} {some}",
                             patient.pid, rounds_done=1)
        met = single_calls(patient, clarinet, "--args=named.Tag", "--when", "named.Tag == 1",
                           patient.pid, WIDE, rounds_done=3)
    assert patient.process.returncode == 0, patient
    assert [call["values"] for call in chosen["calls"]] == [line for n in range(2) for line in (
        f'named.Name="pet {n}", named.Tag={n}, thing={n}, typed={n}, some={n}, '
        f'home={{Number={n}, Street="Road"}}, home.Street="Road", people.Length=1, '
        f'people.0.Name="first {n}", people.0.City="Rome", box.value={n}, day=null',
        f'named.Name="person {n}", named.Age=0, thing="text", typed="word", some=null, '
        'home={Number=0, Street=null}, home.Street=null, people.Length=0, people.0.Name=null, '
        'people.0.City=null, box.value="in", day=Monday',
        'named.Name="cat", named.Tag="tabby", thing=Sunday, typed={Number=7, Street="Lane"}, '
        'typed.Street="Lane", some=5, home={Number=1, Street=null}, home.Street=null, '
        'people.Length=null, people.0.Name=null, people.0.City=null, '
        'box.value={Number=0, Street=null}, day=Friday')], chosen
    assert plain["calls"][2]["values"].startswith(
        'named={…}, thing=Sunday, typed={Number=7, Street="Lane"}, some=5, '
        'home={Number=1, Street=null}, people=null, box={…}, day=Friday → '), plain
    assert [call["log"] for call in lines["calls"]] == [
        "pet 0 0 null 0", "person 0 word Monday null",
        'cat {Number=7, Street="Lane"} Friday 5'], lines
    assert [call["values"] for call in met["calls"]] == ["named.Tag=1"], met


def test_values_of_a_type_whose_name_another_assembly_has_too(clarinet, runtime, instrumentation_programs, start_program):
    """The program itself has a Twin.Order with other fields, and is loaded first."""
    patient = start_program(runtime.command(instrumentation_programs / "Live/Live.dll"), ready=None)
    tell(patient, "orders")
    patient.wait_for("^7 2.5$")
    process = clarinet.start("trace", "--json", "--args", patient.pid, "TwinUser.Use::Charge")
    wait_until_probed(process)
    tell(patient, "orders")
    tell(patient, "end")
    patient.wait_for("^unknown end$")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (out, err)
    assert [call["values"] for call in json.loads(out)["calls"]] == ['order={Number=7, Customer="Ada"} → 7'], out


def test_code_that_can_be_unloaded_is_left_alone(clarinet, runtime, instrumentation_programs, tmp_path):
    """Assemblies come and go while the tracer names what it met: none of their ids may be used again."""
    command = runtime.command(instrumentation_programs / "Live/Live.dll")
    words = "\n".join(["call", "collectible", "collectible bytes"] * 4) + "\n"
    alone = subprocess.run(command, input=words, capture_output=True, text=True, timeout=PATIENCE)
    for way in (["trace", "Live.Work::*", "-o", tmp_path / "out.clarinet"],
                ["instrument", "run", "--otlp", tmp_path / "spans.json", "--points", points_file(tmp_path)]):
        done = clarinet.start(*way, "--", *command, stdin=subprocess.PIPE)
        out, err = done.communicate(words, timeout=PATIENCE)
        assert done.returncode == alone.returncode, (out, err)
        assert alone.stdout in out, (out, err)
        assert "unloaded" in out + err, (out, err)


def points_file(folder):
    file = folder / "points.json"
    file.write_text(json.dumps({"points": [
        {"assembly": "Live", "class": "Live.Work", "method": ["Call", "Large"]}]}))
    return file


def test_rate_of_single_calls(sample, clarinet, newest_runtime, tmp_path):
    """Beyond the rate calls are counted, and told as not shown; none is lost in silence."""
    recording = tmp_path / "rate.clarinet"
    with sample("Traceable") as patient:
        process = clarinet.start("trace", "--json", "--args", "--rate", "10", "-o", recording,
                                 patient.pid, "Traceable.Shapes::Add")
        wait_until_probed(process)
        rounds(patient, 2000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
    answer = json.loads(out)
    shown = len(answer["calls"])
    assert f"beyond the rate: {4000 - shown}" in str(err), err
    beyond = [count for (_profiler, reason), count in Recording.load(recording).losses.items()
              if "beyond the rate" in reason]
    assert answer["methods"][0]["calls"] == 4000, answer["methods"]
    assert 0 < shown < 2000 and beyond == [4000 - shown], (shown, beyond)


def test_log_lines(sample, clarinet, runtime):
    with sample("Traceable") as patient:
        process = clarinet.start(
            "trace", "--log",
            "Traceable.Shop::Check got {customer.Name} {this.Open} {nothing.There} {customer.Token}",
            patient.pid)
        wait_until_probed(process)
        rounds(patient, 3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
    assert patient.process.returncode == 0, patient
    lines = [line.split("  ")[-1] for line in out.splitlines() if " got " in line]
    assert lines == [f"Traceable.Shop.Check got name {n} true ? ***" for n in range(3)], out
    assert "Traceable.Shop.Check" not in patient.stdout, patient


def test_moments(sample, clarinet, newest_runtime):
    methods = ("Traceable.Shop::TryBoth", "Traceable.Shop::Fail")
    with sample("Traceable") as patient:
        failed = single_calls(patient, clarinet, "--on", "exception", patient.pid, *methods)
        both = single_calls(patient, clarinet, "--on", "entry,exit", patient.pid, *methods,
                            rounds_done=1)
        at_exit = single_calls(patient, clarinet, "--log",
                               "Traceable.Shop::Price of {price} is {result}, {exception}",
                               patient.pid, rounds_done=1)
    types = ["System.ArgumentException", "System.FormatException"]
    assert [(call["method"], call["exception"]) for call in failed["calls"]] == [
        ("Traceable.Shop.Fail", types[n % 2]) for n in range(6)], failed
    assert [(call["method"], "entry" in call) for call in both["calls"]] == [
        ("Traceable.Shop.TryBoth", True), ("Traceable.Shop.Fail", True),
        ("Traceable.Shop.Fail", False), ("Traceable.Shop.TryBoth", False)], both
    assert [call["log"] for call in at_exit["calls"]] == ["of 12.50 is 12, none"] * 2, at_exit


def test_call_tree_and_types_of_exceptions(sample, clarinet, runtime):
    with sample("Traceable") as patient:
        process = clarinet.start("trace", "--json", "--tree", patient.pid, "Traceable.Shop",
                                 "Traceable.Shapes::Recurse")
        wait_until_probed(process)
        rounds(patient)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
    answer = json.loads(out)
    nodes = answer["tree"]

    def path(node):
        above = "" if node["parent"] is None else path(nodes[node["parent"]]) + "/"
        return above + node["method"].rpartition(".")[2]

    assert {path(node): node["calls"] for node in nodes} == {
        "Place": ROUNDS, "Place/Check": ROUNDS, "Place/Check/Price": ROUNDS, "Place/Price": ROUNDS,
        "TryBoth": ROUNDS, "TryBoth/Fail": ROUNDS, "ctor": ROUNDS, "Recurse": 10 * ROUNDS,
    }, nodes
    fail = next(row for row in answer["methods"] if ".Fail(" in row["method"])
    assert fail["exception_types"] == {"System.ArgumentException": ROUNDS / 2,
                                       "System.FormatException": ROUNDS / 2}, fail


def test_spans_and_chrome(sample, clarinet, newest_runtime, tmp_path):
    recording = tmp_path / "trace.clarinet"
    with sample("Traceable") as patient:
        single_calls(patient, clarinet, "--args", "--tree", "-o", recording, patient.pid,
                     "Traceable.Shop", rounds_done=2)
    spans = [span for resource in clarinet("report", recording, "-f", "otlp").json["resourceSpans"]
             for scope in resource["scopeSpans"] for span in scope["spans"]]
    names = {span["spanId"]: span["name"].rpartition(".")[2] for span in spans}
    assert len(names) == len(spans) == 14, spans
    pairs = sorted((span["name"].rpartition(".")[2], names.get(span.get("parentSpanId"), ""))
                   for span in spans)
    assert pairs == sorted([("Check", "Place"), ("Fail", "TryBoth"), ("Place", ""),
                            ("Price", "Check"), ("Price", "Place"), ("TryBoth", ""),
                            ("ctor", "")] * 2), pairs
    by_id = {span["spanId"]: span for span in spans}
    for span in spans:
        assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and len(span["spanId"]) == 16, span
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), span
        parent = by_id.get(span.get("parentSpanId"))
        assert parent is None or parent["traceId"] == span["traceId"], span
        assert (span["status"].get("code") == 2) == span["name"].endswith("Fail"), span
    chrome = clarinet("report", recording, "-f", "chrome").json["traceEvents"]
    assert [e["ph"] for e in chrome].count("X") == 14, chrome
    assert {e["name"] for e in chrome if e["ph"] == "M"} == {"process_name", "thread_name"}, chrome
    words = clarinet("report", recording, "-f", "md").out
    assert "## Traced methods" in words and "Traceable.Shop.Place" in words, words
    assert "### Who called whom" in words and "· " in words, words
    table = next(t for p in clarinet("report", recording, "-f", "json").json["processes"]
                 for t in p["tables"] if t["name"] == "trace_calls")
    rows = {row["method"].rpartition(".")[2]: row for row in table["methods"]}
    assert rows["Price"]["calls"] == 4 and rows["Fail"]["exceptions"] == 2, table
    assert rows["Price"]["min_ns"] <= rows["Price"]["p50_ns"] <= rows["Price"]["max_ns"], table
    nodes = [(n["method"].rpartition(".")[2], n["calls"]) for n in table["tree"]]
    assert ("Place", 2) in nodes and nodes.count(("Price", 2)) == 2, table
    fails = [e for e in chrome if e["name"].endswith(".Fail")]
    assert [e["args"]["exception"] for e in fails] == ["System.ArgumentException",
                                                       "System.FormatException"], fails


def read_terminal(ours):
    """What came within 0.2 s; None when the other side has closed (Linux answers EIO then)."""
    if not select.select([ours], [], [], 0.2)[0]:
        return b""
    try:
        return os.read(ours, 65536)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return None


def test_live_table_on_a_terminal(sample, clarinet_program, newest_runtime):
    ours, theirs = os.openpty()
    with sample("Traceable") as patient:
        process = subprocess.Popen(
            [clarinet_program, "trace", str(patient.pid), "Traceable.Shop::Place"], stdin=theirs,
            stdout=theirs, stderr=subprocess.PIPE)
        os.close(theirs)
        shown = b""
        while b"Traceable.Shop.Place" not in shown:  # before the end: nobody stops it
            rounds(patient, 1)
            shown += read_terminal(ours) or b""
            assert process.poll() is None, shown
        process.send_signal(signal.SIGINT)
        while (more := read_terminal(ours)) is not None:
            shown += more
        assert process.wait(PATIENCE) == 0, process.stderr.read()
    os.close(ours)
    assert b"\x1b[H" in shown and b"method meant" in shown, shown


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--when", "id >", "1234", "A::B"], "the condition is wrong"),
        (["--on", "monday", "1234", "A::B"], "--on does not know 'monday'"),
        (["--log", "A::B", "1234"], "--log needs a method and a text"),
        (["--log", "A::B got {id", "1234"], "has no } at its end: 'got {id'"),
        (["--rate", "x", "1234", "A::B"], "--rate: "),
        (["--json=a.file", "-o", "a.file", "1234", "A::B"], "name the same file"),
    ],
)
def test_wrong_wishes(clarinet, arguments, words):
    done = clarinet("trace", *arguments)
    assert done.code == 2 and words in done.err, done


def test_cancellation_token_is_no_secret(sample, clarinet, runtime):
    with sample("Traceable") as patient:
        process = clarinet.start("trace", "--args", patient.pid, "System.IO.File::WriteAllTextAsync")
        wait_until_probed(process)
        tell(patient, "odd")
        patient.wait_for("^odd ")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert "cancellationToken={_source=" in out and "cancellationToken=***" not in out, (out, err)


def test_program_that_is_killed_is_not_said_to_have_called_nothing(sample, clarinet, runtime):
    with sample("Traceable") as patient:
        process = clarinet.start("trace", patient.pid, "Traceable.Shapes::Add")
        wait_until_probed(process)
        rounds(patient, 3)
        time.sleep(1.5)
        patient.process.kill()
        out, err = process.communicate(timeout=PATIENCE)
    assert "the program ended before its last counts came" in err and "no call was seen" not in err, (out, err)
    # its quantiles are those of the counts that came
    assert re.search(r"^ +6 +0( +[0-9.]+ [num]?s){5} +0 +\d+  Traceable.Shapes.Add", out, re.MULTILINE), (out, err)


def test_json_that_does_not_fit_is_an_error(sample, clarinet, newest_runtime):
    with sample("Traceable") as patient:
        done = clarinet("trace", "-d", "1s", "--json=/dev/full", patient.pid, "Traceable.Shapes::Add")
    assert done.code == 1 and "cannot write all of /dev/full" in done.err, done


def test_advice_for_a_command_that_is_no_dotnet_program_names_no_option_of_another_verb(clarinet):
    process = clarinet.start("trace", "Shop.*", "--", "/bin/true")
    out, err = process.communicate(timeout=PATIENCE)
    assert "is it a .NET program" in err and "--sdk" not in err, (out, err)
