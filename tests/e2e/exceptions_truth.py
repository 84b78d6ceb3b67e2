"""What ExceptionStorm says it threw, and what a recording says of it."""
import re
import signal
from collections import Counter

from conftest import PATIENCE, size_of, wait_until
from recording_reader import Recording


def report(clarinet, file):
    done = clarinet("report", file, "-f", "json")
    assert done.code == 0, done
    return done.json


def exceptions(data):
    """The exceptions table of the first process that has one."""
    for process in data["processes"]:
        for table in process["tables"]:
            if table["name"] == "exceptions":
                return table
    raise AssertionError("no exceptions in the recording")


def counted(table):
    return Counter({row["type"]: row["count"] for row in table["types"]})


def said(output):
    """What ExceptionStorm says it threw, by type as C# writes it; a rethrow is a throw too."""
    found = Counter()
    for line in output.splitlines():
        match = re.match(r"(\S+) thrown=(\d+) rethrown=(\d+)$", line)
        if match:
            name = re.sub(r"`1\[([^]]+)\]", r"<\1>", match.group(1))
            found[name] = int(match.group(2)) + int(match.group(3))
    return found


def record_some(clarinet, pid, file):
    """Records until there is an exception: how long that takes is the machine's affair."""
    tool = clarinet.start("record", "-p", "exceptions", "-o", file, pid)
    wait_until(lambda: tool.poll() is not None or rows_until_now(clarinet.folder / file))
    tool.send_signal(signal.SIGINT)
    _out, err = tool.communicate(timeout=PATIENCE)
    assert tool.returncode == 0, err
    assert exceptions(report(clarinet, file))["total"] > 0, err


def whole_rounds(output):
    """Whole rounds of ExceptionStorm's main thread, whose end was not cut off: 13 throws each."""
    found = said(output)
    rounds = found["System.InvalidOperationException"]
    assert rounds > 0 and found.pop("System.NotSupportedException") > 0, output
    assert sum(found.values()) == 13 * rounds, output
    return rounds


def rows_until_now(path):
    """Rows of exceptions in a recording that is still being written: (time in ns, …). Of those
    that were written again the last one."""
    if size_of(path) < 16:
        return []
    rows = Recording.load(path).rows.get(("exceptions", "exceptions"), [])
    return list({row[9] or -i: row for i, row in enumerate(rows, 1)}.values())  # its column `row`
