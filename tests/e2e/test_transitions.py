"""The profiler transitions: calls between managed and native code, against a program that makes
known numbers of them."""
import re
import shlex
import signal

ROUNDS = 10


def transitions(clarinet):
    done = clarinet("report", "out.clarinet", "-f", "json")
    assert done.code == 0, done
    tables = done.json["processes"][0]["tables"]
    table = [table for table in tables if table["name"] == "transitions"][0]
    return tuple({row["function"]: row for row in table[way]} for way in ("to_native", "to_managed"))


def test_every_crossing_is_counted(runtime, sample_command, clarinet):
    command = sample_command("Crossings", "--rounds", ROUNDS)
    done = clarinet("record", "-p", "transitions", "-o", "out.clarinet", "--", *command)
    compared = re.fullmatch(r"ready\ncompared (\d+)\n", done.out)
    assert done.code == 0 and compared, done
    native, managed = transitions(clarinet)
    for function, count in (("GetParent", 1000), ("GetParentQuietly", 1000), ("Sort", 1), ("Sleep", 1)):
        assert native["Crossings.Native." + function]["count"] == count * ROUNDS, function
    # the runtime has no function for them, and tells only of the first
    assert 0 < native["(through function pointers)"]["count"] <= 50 * ROUNDS, native
    # usleep never returns early
    assert native["Crossings.Native.Sleep"]["spent_ns"] >= ROUNDS * 5e6
    back = managed["Crossings.Native.Comparison.Invoke"]
    assert back["count"] == int(compared.group(1)) and back["spent_ns"] > 0, back
    words = clarinet("report", "out.clarinet", "-f", "md").out
    assert "## Managed and native code" in words and "| `Crossings.Native.Sort` |" in words, words


def test_a_program_in_managed_code_crosses_little(runtime, sample_command, clarinet):
    command = sample_command("Crossings", "--rounds", ROUNDS, "--managed", 1)
    done = clarinet("record", "-p", "transitions", "-o", "out.clarinet", "--", *command)
    assert (done.code, done.out) == (0, "ready\ncompared 0\n"), done
    native, managed = transitions(clarinet)
    assert not [name for name in [*native, *managed] if name.startswith("Crossings.")]


def test_a_running_process_is_refused(newest_runtime, sample_command, sample, clarinet):
    with sample("Crossings", "--rounds", 0) as patient:
        done = clarinet("record", "-p", "transitions", "-d", "1s", patient.pid)
        assert done.code == 1 and "only in a program that clarinet starts" in done.err, done
        assert "-- COMMAND" in done.err and patient.is_running, done


def test_a_tool_that_comes_too_late_says_so(newest_runtime, sample_command, clarinet):
    """The program stops the tool before it starts, and is over when the tool goes on."""
    program = shlex.join(sample_command("Crossings", "--rounds", 1))
    tool = clarinet.start("record", "-p", "transitions", "-o", "out.clarinet", "--", "sh", "-c",
                          f"kill -STOP $PPID; {program}; echo over $?; exit 7")
    lines = list(iter(tool.stdout.readline, "over 0\n"))
    tool.send_signal(signal.SIGCONT)
    out, err = tool.communicate(timeout=180)
    assert (tool.returncode, out) == (7, ""), err
    assert lines[0] == "ready\n" and lines[1].startswith("compared "), lines
    assert "went on before the recording could begin" in err and "Run it again" in err, err
    assert not (clarinet.folder / "out.clarinet").exists()
