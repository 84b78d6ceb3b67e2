"""The profiler allocations: what was allocated by type and place, against a program whose
allocations are known."""
import subprocess

ROUNDS = 150
# of one round: bytes, objects
TICKETS = (20000 * 48, 20000)
BUFFERS = (1000 * 1024, 1000)
LARGE = (4 * 200024, 4)


def allocations(clarinet, file="out.clarinet"):
    done = clarinet("report", file, "-f", "json")
    assert done.code == 0, done
    tables = done.json["processes"][0]["tables"]
    return [table for table in tables if table["name"] == "allocations"][0]


def at_place(table, method):
    """Sum of the groups whose leaf is this method: bytes, objects, largest error."""
    found = [row for row in table["places"]
             if row["stack"] and row["stack"][0]["name"] == "Allocator.Maker." + method]
    assert found, table["places"][:5]
    assert all(row["stack"][0]["line"] > 0 for row in found), found
    variance = sum((row["error_percent"] * row["bytes"]) ** 2 for row in found)
    total = sum(row["bytes"] for row in found)
    return total, sum(row["objects"] for row in found), variance ** 0.5 / total


def check_estimate(table, method, truth, rounds):
    """The error that is stated is 1.96 standard deviations: three times that is next to never
    passed. Ticks are not random; there a bound for what was seen."""
    total, objects, error = at_place(table, method)
    allowed = 3 * error if table["sampling"] == "random" else 40
    assert abs(total / (truth[0] * rounds) - 1) * 100 < allowed, (method, total, error, table["all"])
    assert abs(objects / (truth[1] * rounds) - 1) * 100 < allowed, (method, objects, error)
    return error


def test_estimates_agree_with_what_was_allocated(runtime, sample_command, clarinet):
    command = sample_command("Allocator", "--rounds", ROUNDS)
    alone = subprocess.run([*command, "--rate", "0"], capture_output=True, text=True, timeout=60)
    done = clarinet("record", "-p", "allocations", "-o", "out.clarinet", "--", *command)
    assert (done.code, done.out) == (alone.returncode, alone.stdout), done
    table = allocations(clarinet)
    assert table["sampling"] == ("random" if runtime.name == "10.0" else "ticks")
    for method, truth in (("MakeTickets", TICKETS), ("MakeBuffers", BUFFERS)):
        error = check_estimate(table, method, truth, ROUNDS)
        assert 1 < error < 15, (method, error)
    # large objects one by one
    assert at_place(table, "MakeLarge") == (LARGE[0] * ROUNDS, LARGE[1] * ROUNDS, 0)
    types = {row["type"]: row for row in table["types"]}
    assert types["Allocator.Ticket"]["bytes"] == at_place(table, "MakeTickets")[0]
    assert types["byte[]"]["bytes"] >= LARGE[0] * ROUNDS
    words = clarinet("report", "out.clarinet", "-f", "md").out
    assert f"{LARGE[1] * ROUNDS} large objects" in words, words
    assert "`Allocator.Ticket`" in words and "Allocator.Maker.MakeTickets  Program.cs:" in words


def test_a_smaller_part_is_kept_without_bias(newest_runtime, sample_command, clarinet):
    command = sample_command("Allocator", "--rounds", ROUNDS)
    done = clarinet("record", "-p", "allocations", "--set", "allocations.rate=200",
                    "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    table = allocations(clarinet)
    for method, truth in (("MakeTickets", TICKETS), ("MakeBuffers", BUFFERS)):
        check_estimate(table, method, truth, ROUNDS)
    done = clarinet("report", "out.clarinet", "-f", "json").json["processes"][0]
    most = 200 * (done["duration_ns"] / 1e9 + 2)
    assert table["all"]["rows"] - table["large"]["rows"] < most, (table["all"], most)


def test_a_running_process_is_recorded(runtime, sample, clarinet):
    with sample("Allocator") as patient:
        done = clarinet("record", "-p", "allocations", "-d", "1s", "-o", "out.clarinet",
                        patient.pid)
        assert done.code == 0, done
        assert patient.is_running
    assert patient.process.returncode == 0, patient
    table = allocations(clarinet)
    assert at_place(table, "MakeTickets")[0] > 0 and at_place(table, "MakeLarge")[1] > 0


def test_a_thrifty_program_allocates_little(runtime, sample_command, clarinet):
    command = sample_command("Allocator", "--rounds", 20, "--thrifty", 1)
    done = clarinet("record", "-p", "allocations", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    table = allocations(clarinet)
    assert at_place(table, "MakeLarge")[:2] == LARGE
    assert table["all"]["bytes"] < 20e6, table["all"]
