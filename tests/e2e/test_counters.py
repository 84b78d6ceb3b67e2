"""The profiler counters and the verb of that name: values of the runtime, in every format, for a
program that collects garbage all the time and one that does not."""
import csv
import io
import json
import re
import signal
import threading
import time
import urllib.error
import urllib.request

import pytest

from conftest import PATIENCE, size_of, wait_until
from test_requests import connection


def by_name(rows):
    return {row["name"]: row for row in rows if row["provider"] == "System.Runtime"}


def recorded(clarinet):
    done = clarinet("report", "out.clarinet", "-f", "json")
    assert done.code == 0, done
    tables = done.json["processes"][0]["tables"]
    return by_name([table for table in tables if table["name"] == "counters"][0]["counters"])


def test_counters_in_a_recording(runtime, sample, clarinet):
    with sample("GcPressure", "--rate", 20) as patient:
        done = clarinet("record", "-p", "counters", "--set", "counters.interval=250ms", "-d", "3s",
                        "-o", "out.clarinet", patient.pid)
        assert done.code == 0, done
        assert patient.is_running
    assert patient.process.returncode == 0, patient
    asked = int(re.search(r"asked young (\d+)", patient.stdout).group(1))
    rows = recorded(clarinet)
    full = rows["gen-2-gc-count"]
    assert full["kind"] == "increase" and 0 < full["sum"] <= asked, (full, asked)
    assert rows["working-set"]["kind"] == "level" and rows["working-set"]["unit"] == "MB"
    assert rows["working-set"]["least"] > 1
    assert rows["alloc-rate"]["sum"] > 1e6
    words = clarinet("report", "out.clarinet", "-f", "md").out
    assert "## Counters" in words and "`Working Set`" in words, words


def test_a_program_is_counted_from_its_start(runtime, sample_command, clarinet):
    command = sample_command("Idle", "--seconds", 3)
    done = clarinet("record", "-p", "counters", "--set", "counters.interval=250ms", "-o",
                    "out.clarinet", "--", *command)
    assert done.code == 0, done
    rows = recorded(clarinet)
    assert rows["gen-2-gc-count"]["sum"] == 0 and rows["exception-count"]["sum"] == 0, rows


@pytest.mark.parametrize("way", ["agent", "port"])
def test_the_verb_writes_json_csv_and_prometheus(newest_runtime, sample, clarinet, way):
    common = ("--interval", "250ms", "-d", "2s")
    with sample("GcPressure", "--rate", 20) as patient:
        as_json, as_csv, as_prometheus, as_lines = [
            clarinet("counters", *common, *how, patient.pid, env={"CLARINET_WAY": way})
            for how in (["--json"], ["-f", "csv"], ["-f", "prometheus"], ["-o", "kept.clarinet"])]
        assert patient.is_running
    for done in (as_json, as_csv, as_prometheus, as_lines):
        assert done.code == 0, done
        assert ("through the diagnostics port" in done.err) == (way == "port"), done
    full = by_name(as_json.json["counters"])["gen-2-gc-count"]
    assert sum(value["value"] for value in full["values"]) > 0, full
    assert all(value["interval_ns"] > 0 for value in full["values"])
    rows = list(csv.DictReader(io.StringIO(as_csv.out)))
    assert {row["kind"] for row in rows if row["counter"] == "gen-2-gc-count"} == {"increase"}
    assert {row["unit"] for row in rows if row["counter"] == "working-set"} == {"MB"}
    text = as_prometheus.out
    assert "# TYPE dotnet_system_runtime_working_set gauge\n" in text, text
    assert re.search(r"^dotnet_system_runtime_working_set [\d.]+$", text, re.M), text
    assert "# TYPE dotnet_system_runtime_gen_2_gc_count_total counter\n" in text, text
    assert re.search(r"^dotnet_system_runtime_gen_2_gc_count_total [1-9]\d*$", text, re.M), text
    assert re.search(r"^[\d.]+ s  System\.Runtime  Working Set  [\d.]+ MB$", as_lines.out, re.M)
    assert "## Counters" in clarinet("report", "kept.clarinet", "-f", "md").out


@pytest.mark.parametrize("way", ["agent", "port"])
def test_prometheus_can_scrape(newest_runtime, sample, clarinet, way):
    with sample("GcPressure", "--rate", 20) as patient:
        tool = clarinet.start("counters", "--listen", 0, "--interval", "250ms", patient.pid,
                              env={"CLARINET_WAY": way})
        assert "waiting for the first values" in tool.stderr.readline()
        assert way == "agent" or "through the diagnostics port" in tool.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+/metrics", tool.stderr.readline()).group(0)
        deadline = time.monotonic() + PATIENCE
        text = urllib.request.urlopen(url, timeout=PATIENCE).read().decode()
        assert re.search(r"^dotnet_\w+ \d", text, re.M), text  # it said so when it had values
        while "working_set " not in text and time.monotonic() < deadline:
            text = urllib.request.urlopen(url, timeout=PATIENCE).read().decode()
            time.sleep(0.2)
        assert "\ndotnet_system_runtime_working_set " in text, text
        for wrong, code in ((urllib.request.Request(url.replace("/metrics", "/etc")), 404),
                            (urllib.request.Request(url, headers={"Host": "evil.example"}), 403),
                            (urllib.request.Request(url, data=b"x"), 405)):
            try:
                urllib.request.urlopen(wrong, timeout=PATIENCE)
                raise AssertionError(f"{code} was expected")
            except urllib.error.HTTPError as refused:
                assert refused.code == code
        tool.send_signal(signal.SIGINT)
        assert tool.wait(PATIENCE) == 0
        assert patient.is_running


def test_bad_requests_say_what_to_do(clarinet):
    for arguments, words in ((("counters",), "needs one process"),
                             (("counters", "-f", "xml", "1"), "no format 'xml'"),
                             (("counters", "--listen", "x", "1"), "needs a port"),
                             (("counters", "--interval", "1ns", "1"), "interval"),
                             (("record", "-p", "counters", "--set",
                               "counters.sources=" + ",".join(["a"] * 33), "--", "true"),
                              "names 33 event sources"),
                             (("record", "-p", "counters", "--set", "counters.sources=" + "a" * 128,
                               "--", "true"), "no event source has a name as long")):
        done = clarinet(*arguments)
        assert done.code == 2 and words in done.err, done


def test_too_short_a_look_says_so(sample, clarinet):
    with sample("Idle") as patient:
        done = clarinet("counters", "--interval", "1h", "-d", "100ms", patient.pid)
    assert (done.code, done.out) == (0, "") and "no value came" in done.err, done


class Lines:
    """The values that a running `counters -f csv` prints, added up by series."""

    def __init__(self, stream):
        self.sums, self.last = {}, {}
        self.thread = threading.Thread(target=self.read, args=(stream,), daemon=True)
        self.thread.start()

    def read(self, stream):
        for row in csv.DictReader(stream):
            key = row["counter"], row["tags"]
            self.sums[key] = self.sums.get(key, 0) + float(row["value"])
            self.last[key] = row


def test_meters_of_libraries_and_of_the_program(runtime, web_service, clarinet):
    with connection(web_service.url) as get:
        assert get("/products/1")[0] == 200  # its meters are made by now
    tool = clarinet.start("counters", "--meters",
                          "Shop,Microsoft.AspNetCore.Hosting,System.Runtime,No.Such", "--interval",
                          "250ms", "-f", "csv", "-o", "out.clarinet", web_service.pid)
    lines = Lines(tool.stdout)
    wait_until(lambda: ("shop.offered", "") in lines.last)  # from now on everything is counted
    with connection(web_service.url) as get:
        for product in range(1, 8):
            assert get(f"/products/{product}")[0] == 200
        assert [get("/products/100000")[0] for _ in range(3)] == [404] * 3
        assert get("/sort", n=1000)[0] == 200
        assert get("/wait", ms=1)[0] == 200
    wait_until(lambda: lines.sums.get(("shop.lookups", "found=True")) == 7)
    wait_until(lambda: lines.sums.get(("shop.lookups", "found=False")) == 3)
    wait_until(lambda: lines.sums.get(("shop.sorted.count", "")) == 1)
    wait_until(lambda: lines.sums.get(("shop.sorted.sum", "")) == 1000)
    wait_until(lambda: ("shop.waiting", "") in lines.last)

    def is_served(status, count):
        return sum(value for (name, tags), value in lines.sums.items()
                   if name == "http.server.request.duration.count"
                   and "http.route=/products/{id:int}" in tags
                   and f"http.response.status_code={status}" in tags) == count

    wait_until(lambda: is_served(200, 7) and is_served(404, 3))
    wait_until(lambda: any(row["provider"] == "System.Runtime" and row["unit"] == "MB"
                           for row in list(lines.last.values())))  # counters are there beside them
    pool = "dotnet.thread_pool.thread.count", ""  # a meter of 9.0 and later
    wait_until(lambda: runtime.name == "8.0" or pool in lines.last)
    tool.send_signal(signal.SIGINT)
    lines.thread.join(180)
    assert tool.wait(180) == 0
    told = tool.stderr.read()
    assert "the meter 'No.Such' told no value" in told and "'Shop'" not in told, told
    assert web_service.finish() == 0, web_service
    assert runtime.name == "8.0" or lines.last[pool]["kind"] == "level", lines.last[pool]
    offered = lines.last[("shop.offered", "")]
    assert (offered["provider"], offered["kind"], offered["unit"]) == ("Shop", "level", "{product}")
    assert float(offered["value"]) == 100
    assert lines.last[("shop.lookups", "found=True")]["kind"] == "increase"
    assert lines.last[("shop.sorted", "quantile=0.5")]["kind"] == "level"
    done = clarinet("report", "out.clarinet", "-f", "md")
    assert "## Meters" in done.out and "`shop.lookups {found=True}`" in done.out, done


@pytest.mark.parametrize("way", ["agent", "port"])
def test_the_programs_own_event_counters(runtime, web_service, clarinet, way):
    """Each of the four kinds of EventCounters; sources named by attribute, constructor and type."""
    tool = clarinet.start("counters", "--sources", "No-Such", "--interval", "250ms", "--json",
                           "-o", "out.clarinet", web_service.pid,
                          env={"CLARINET_WAY": way})
    wait_until(lambda: size_of(clarinet.folder / "out.clarinet") > 16)
    with connection(web_service.url) as get:
        assert get("/wait", ms=600)[0] == 200  # the sources are on by now
        assert [get(f"/products/{product}")[0] for product in (1, 2, 100000)] == [200, 200, 404]
        assert get("/sort", n=1000)[0] == 200
        assert get("/wait", ms=1000)[0] == 200
    tool.send_signal(signal.SIGINT)
    out, err = tool.communicate(timeout=180)
    assert tool.returncode == 0 and web_service.finish() == 0, (err, web_service)
    assert "the source 'No-Such' told no value" in err and "Shop" not in err, err
    told = json.loads(out)["counters"]
    shop = {row["name"]: row for row in told if row["provider"] == "Shop-Counters"}
    values = {name: [value["value"] for value in row["values"]] for name, row in shop.items()}
    assert set(values) == {"sorted", "lookups", "offered", "asked"}, shop
    assert {name: row["kind"] for name, row in shop.items()} == {
        "sorted": "level", "lookups": "increase", "offered": "level", "asked": "increase"}
    assert (sum(values["lookups"]), sum(values["asked"])) == (3, 3), values
    assert set(values["offered"]) == {100} and set(values["sorted"]) == {0, 1000}, values
    assert (shop["sorted"]["title"], shop["sorted"]["unit"]) == ("Numbers sorted", "numbers")
    others = {row["name"]: row["provider"] for row in told}
    assert (others["left"], others["open"]) == ("Shop-Stock", "TillEvents"), others
    assert {"System.Net.Sockets", "System.Runtime"} <= set(others.values()), others


def test_own_sources_are_counted_from_the_start(runtime, sample_command, clarinet):
    command = sample_command("WebShop", "--seconds", 2)
    parameters = ("--set", "counters.interval=250ms", "-o", "out.clarinet", "--", *command)
    done = clarinet("record", "-p", "counters,http", *parameters)
    assert done.code == 0, done
    report = clarinet("report", "out.clarinet", "-f", "json")
    assert "Shop-Counters" in report.out and report.json["processes"][0]["loss"] == [], report
    done = clarinet("record", "-p", "counters", "--set", "counters.find=false", *parameters)
    assert done.code == 0, done
    told = clarinet("report", "out.clarinet", "-f", "json").out
    assert "working-set" in told and "Shop-Counters" not in told, told


def tell(patient, text):
    """The sample Ratios says so from now on."""
    patient.process.stdin.write(f"{text}\n")
    patient.process.stdin.flush()
    patient.wait_for(f"^told {text}$")


class Rows:
    """All values that a running `counters -f csv` prints, by provider and counter, as they stand."""

    def __init__(self, stream):
        self.values = {}
        self.thread = threading.Thread(target=self.read, args=(stream,), daemon=True)
        self.thread.start()

    def read(self, stream):
        for row in csv.DictReader(stream):
            self.values.setdefault((row["provider"], row["counter"]), []).append(row["value"])

    def wait_for_last(self, value):
        for gauge in (("Ratios", "ratio"), ("Ratio-Counters", "ratio")):
            wait_until(lambda: self.values.get(gauge, [""])[-1] == value)


@pytest.mark.parametrize("way", ["agent", "port"])
def test_what_is_no_number_is_told_as_such(runtime, sample, clarinet, way):
    told = {"2": "2", "NaN": "NaN", "7": "7", "Infinity": "+Inf", "-Infinity": "-Inf", "3": "3"}
    with sample("Ratios") as patient:
        tool = clarinet.start("counters", "--meters", "Ratios", "--interval", "250ms", "-f", "csv",
                              "-o", "out.clarinet", patient.pid, env={"CLARINET_WAY": way})
        rows = Rows(tool.stdout)
        rows.wait_for_last("0")
        for text, value in told.items():
            tell(patient, text)
            rows.wait_for_last(value)
        wait_until(lambda: "3" in rows.values["Ratios", "spent"])
        tool.send_signal(signal.SIGINT)
        rows.thread.join(180)
        assert tool.wait(180) == 0
    assert patient.process.returncode == 0, patient
    assert [value for value in rows.values["Ratios", "spent"] if value != "0"] == [*told.values()]
    assert {"NaN", "+Inf"} < set(rows.values["Ratio-Counters", "took"])
    assert "NaN" in rows.values["Ratio-Counters", "spent"]
    words = clarinet("report", "out.clarinet", "-f", "md").out
    assert re.search(r"^\| `Ratios` \| `ratio` \| 3 \| [\d.]+ \| 0 \| 7 \|", words, re.M), words
    assert re.search(r"^\d+ of \d+ values of `ratio` of `Ratios` are no numbers", words, re.M), words
    report = clarinet("report", "out.clarinet", "-f", "json").json["processes"][0]["tables"]
    spent, = [row for table in report if table["name"] == "meters"
              for row in table["counters"] if row["name"] == "spent"]
    assert (spent["no_numbers"], spent["sum"], spent["most"]) == (3, 12, 7), spent
    page = clarinet("report", "out.clarinet", "-f", "html").out
    assert all(f'"{value}"' in page for value in ("NaN", "Infinity", "-Infinity"))


@pytest.mark.parametrize("way", ["agent", "port"])
def test_a_gauge_that_fails_does_not_take_the_others_away(runtime, sample, clarinet, way):
    env = {"CLARINET_WAY": way}
    with sample("Ratios") as patient:
        patient.process.stdin.write("fail\n")
        patient.process.stdin.flush()
        patient.wait_for("^told")
        live = clarinet("counters", "--meters", "Ratios", "--interval", "500ms", "-d", "3s", "--json", patient.pid, env=env)
        done = clarinet("record", "-p", "counters", "--set", "counters.meters=Ratios", "-d", "3s", "-o", "x.clarinet",
                        patient.pid, env=env)
    assert patient.process.returncode == 0 and live.code == 0 and done.code == 0, (live, done)
    assert "its callback failed" in live.err and "no ratio" in live.err, live.err
    said = {(row["provider"], row["name"]): row["values"][-1]["value"] for row in live.json["counters"] if row["values"]}
    assert said["Ratios", "steady"] == 1 and ("Ratios", "ratio") not in said, said
    # all the digits
    assert said["Ratio-Counters", "ratio"] == 12345678901.5, said
    losses = clarinet("report", "x.clarinet", "-f", "md").out
    assert re.search(r"callback failed: .*no ratio", losses), losses


def test_a_total_outlives_what_is_no_number(newest_runtime, sample, clarinet):
    with sample("Ratios") as patient:
        tool = clarinet.start("counters", "--listen", 0, "--meters", "Ratios", "--interval",
                              "250ms", patient.pid)
        tool.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+/metrics", tool.stderr.readline()).group(0)

        def is_scraped(line):
            text = urllib.request.urlopen(url, timeout=PATIENCE).read().decode()
            return line in text.splitlines()

        wait_until(lambda: is_scraped("dotnet_ratios_ratio 0"))
        tell(patient, "2")
        wait_until(lambda: is_scraped("dotnet_ratios_spent_total 2"))
        tell(patient, "NaN")
        wait_until(lambda: is_scraped("dotnet_ratios_ratio NaN"))
        tell(patient, "3")
        wait_until(lambda: is_scraped("dotnet_ratios_spent_total 5"))
        tell(patient, "-Infinity")
        wait_until(lambda: is_scraped("dotnet_ratio_counters_ratio -Inf"))
        tool.send_signal(signal.SIGINT)
        _out, err = tool.communicate(timeout=PATIENCE)
        assert tool.returncode == 0, err
        assert err.count("Ratios: spent grew by NaN: totals are added up without such steps") == 1
        done = clarinet("counters", "--json", "--interval", "250ms", "-d", "2s", patient.pid)
    ratio, = [row for row in done.json["counters"] if row["provider"] == "Ratio-Counters"
              and row["name"] == "ratio"]
    assert {value["value"] for value in ratio["values"]} == {None}, ratio
