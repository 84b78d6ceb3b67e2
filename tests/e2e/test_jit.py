"""The profiler jit: what the runtime compiles, against a program that makes a method N times."""
import subprocess

from conftest import PATIENCE


def tables(clarinet):
    done = clarinet("report", "out.clarinet", "-f", "json")
    assert done.code == 0, done
    return {table["name"]: table for table in done.json["processes"][0]["tables"]}


def compilations(clarinet):
    return tables(clarinet)["compilations"]


def of_method(rows, name):
    return [row for row in rows if row["method"] == name]


def test_a_method_made_again_and_again_is_counted(runtime, sample_command, clarinet):
    command = sample_command("Recompiler", "--rounds", 120, "--rate", 0)
    alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    done = clarinet("record", "-p", "jit", "-o", "out.clarinet", "--", *command)
    assert (done.code, done.out) == (alone.returncode, alone.stdout), done
    table = compilations(clarinet)
    made = of_method(table["methods"], "DiscountRule")[0]
    assert made["count"] == 120 and made["made_at_run_time"] and made["spent_ns"] > 0, made
    assert of_method(table["again"], "DiscountRule") == [made]
    main = of_method(table["methods"], "Recompiler.Program.Main")[0]
    assert main["count"] >= 1 and main["spent_ns"] > 0 and not main["made_at_run_time"], main
    assert table["total"] == sum(row["count"] for row in table["tiers"])
    assert table["spent_ns"] == sum(row["spent_ns"] for row in table["tiers"])
    assert table["spent_ns"] >= table["waited_ns"] >= table["first_second_ns"] > 0
    assert table["il_bytes"] > 0 and table["code_bytes"] > table["il_bytes"]
    assert {row["code"] for row in table["tiers"]} >= {"quick", "optimized at once"}
    words = clarinet("report", "out.clarinet", "-f", "md").out
    assert "### Compiled again and again" in words and "| 120 | `DiscountRule` |" in words, words


def test_expressions_made_anew_are_counted_together(runtime, sample_command, clarinet):
    # The library gives each one a number: Regex1_Scan, Regex2_Scan, …
    command = sample_command("Recompiler", "--rounds", 12, "--rate", 0, "--pattern", 1)
    done = clarinet("record", "-p", "jit", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    again = {row["method"]: row["count"] for row in compilations(clarinet)["again"]}
    assert again["Regex#_TryMatchAtCurrentPosition"] == 12, again
    assert not any(name.startswith("Regex1") for name in again), again


def test_a_running_process_is_recorded(runtime, sample, clarinet):
    with sample("Recompiler") as patient:
        done = clarinet("record", "-p", "jit", "-d", "1s", "-o", "out.clarinet", patient.pid)
        assert done.code == 0, done
        assert patient.is_running
    assert patient.process.returncode == 0, patient
    made = of_method(compilations(clarinet)["methods"], "DiscountRule")
    assert made and made[0]["count"] > 0


def test_a_method_made_once_is_compiled_once(runtime, sample_command, clarinet):
    command = sample_command("Recompiler", "--rounds", 120, "--rate", 0, "--cached", 1)
    done = clarinet("record", "-p", "jit", "-o", "out.clarinet", "--", *command)
    assert done.code == 0, done
    table = compilations(clarinet)
    assert of_method(table["methods"], "DiscountRule")[0]["count"] == 1
    assert of_method(table["again"], "DiscountRule") == []


def test_calls_that_were_not_inlined_are_told_on_request(runtime, sample_command, clarinet):
    command = sample_command("Allocator", "--rounds", 1)
    done = clarinet("record", "-p", "jit", "--set", "jit.inlining=true", "-o", "out.clarinet", "--",
                    *command, env={"DOTNET_TieredCompilation": "0"})
    assert done.code == 0, done
    table = tables(clarinet)["inlining"]
    assert table["total"] == sum(row["count"] for row in table["reasons"]) > 0, table
    made = of_method(table["methods"], "Allocator.Maker.MakeTickets")
    assert len(made) == 1 and "noinline" in made[0]["reason"], table["methods"][:20]
    assert made[0]["reason"] in [row["reason"] for row in table["reasons"]]
    words = clarinet("report", "out.clarinet", "-f", "md").out
    assert "## Not inlined" in words and "| `Allocator.Maker.MakeTickets` |" in words, words
    # nobody asked: nothing of it
    done = clarinet("record", "-p", "jit", "-o", "out.clarinet", "--", *command)
    assert done.code == 0 and "inlining" not in tables(clarinet), done
