"""The profiler pauses: suspensions with reason and length, and the thread that was slow to stop."""
import subprocess

from conftest import PATIENCE, Runtime, known_runtimes


def pauses(clarinet, file="out.clarinet"):
    done = clarinet("report", file, "-f", "json")
    assert done.code == 0, done
    tables = done.json["processes"][0]["tables"]
    return [table for table in tables if table["name"] == "pauses"][0]


def check_stopper(table, least_count):
    """The runtime waited for the sample's thread. It stops at its first safe point: in the method
    that waited without telling, or on return to that method's caller."""
    slow = [row for row in table["slow_to_stop"] if row["name"] == "stopper"]
    assert sum(row["count"] for row in slow) >= least_count, table
    assert any(frame["name"].startswith("SlowToStop.Stopper.")
               for row in slow for frame in row["stack"]), table
    # 400 ms each, less what had passed when the collection was asked for
    assert max(row["longest_ns"] for row in slow) > 50e6, table


def test_a_thread_that_is_slow_to_stop_is_named(runtime, sample_command, clarinet):
    command = sample_command("SlowToStop", "--rounds", 4, "--hold", 400, "--rate", 50)
    alone = subprocess.run([*command, "--hold", "1"], capture_output=True, text=True, timeout=PATIENCE)
    done = clarinet("record", "-p", "pauses", "-o", "out.clarinet", "--", *command)
    assert (done.code, done.out) == (alone.returncode, alone.stdout), done
    table = pauses(clarinet)
    check_stopper(table, 3)  # of 4: another may want a processor, too, in the same moment
    collected = [row for row in table["reasons"] if row["reason"] == "garbage collection"][0]
    assert collected["count"] >= 5  # one before the first round
    assert table["pause"]["sum_ns"] >= table["suspending"]["sum_ns"] > 0
    assert "### Slow to stop" in clarinet("report", "out.clarinet", "-f", "md").out


def test_a_running_process_is_recorded(runtime, sample, clarinet):
    with sample("SlowToStop", "--hold", 300, "--rate", 50) as patient:
        done = clarinet("record", "-p", "pauses", "-d", "3s", "-o", "out.clarinet", patient.pid)
        assert done.code == 0, done
    assert patient.process.returncode == 0, patient
    check_stopper(pauses(clarinet), 1)


def test_the_place_where_it_stopped_is_told(runtime, sample_command, clarinet):
    # A signal stops it inside of the long code, or a helper of the runtime on its return; neither is
    # on the chain of frames.
    command = sample_command("SlowToStop", "--fill", 1, "--rounds", 60, "--hold", 20,
                             "--rate", 100)
    done = clarinet("record", "-p", "pauses", "--set", "pauses.slow=10us", "-o", "out.clarinet",
                    "--", *command)
    assert done.code == 0, done
    slow = [row for row in pauses(clarinet)["slow_to_stop"] if row["name"] == "stopper"]
    leaves = [row["stack"][0]["name"] if row["stack"] else "" for row in slow]
    assert any(leaf.startswith(("System.SpanHelpers.Fill", "SlowToStop.Stopper.FillFor"))
               for leaf in leaves), slow
    assert "" not in leaves, slow


def test_one_that_stops_by_waiting_is_named_with_its_slow_code(runtimes_folder, sample_command,
                                                               clarinet):
    # In .NET 8 memory is set by libc, and the thread passes no place to stop at until it sleeps: it
    # does not report itself, and does not run when all have stopped.
    old = Runtime("8.0", known_runtimes()["8.0"], runtimes_folder)
    command = sample_command("SlowToStop", "--set", 1, "--rounds", 6, "--hold", 400, "--rate", 50,
                             runtime=old)
    alone = subprocess.run([*command, "--hold", "1"], capture_output=True, text=True,
                           timeout=PATIENCE)
    done = clarinet("record", "-p", "pauses", "-o", "out.clarinet", "--", *command)
    assert (done.code, done.out) == (alone.returncode, alone.stdout), done
    slow = [row for row in pauses(clarinet)["slow_to_stop"] if row["name"] == "stopper"]
    told = [row["count"] for row in slow
            if any(frame["name"] == "SlowToStop.Stopper.SetMemory" for frame in row["stack"])]
    assert sum(told) >= 5, slow  # of 6: another may want a processor, too, in the same moment


def test_a_polite_program_keeps_nobody_waiting(runtime, sample_command, clarinet):
    # A thread that gets no processor is slow to stop too: what is held is longer than that.
    command = sample_command("SlowToStop", "--rounds", 1, "--polite", 1, "--hold", 2000)
    done = clarinet("record", "-p", "pauses", "--set", "pauses.slow=1500ms", "-o", "out.clarinet",
                    "--", *command)
    assert done.code == 0, done
    table = pauses(clarinet)
    assert table["pause"]["count"] >= 2 and table["slow_to_stop"] == [], table
