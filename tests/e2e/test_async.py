"""Continuations of async methods under their logical callers.

The sample Awaits has two kinds of requests on the same async methods, many at once. What burns in it
tells which kind it is for, so every stack can be held against the truth.
"""
import json

from recording_reader import Recording

KINDS = {"Awaits.Program.BurnForOrders": "Orders", "Awaits.Program.BurnForPrices": "Prices"}
FEW = 60


def burning(recording):
    """(kind, names of the stack's frames) of each sample that burns."""
    for sample in recording.samples("cpu"):
        names = [frame.name for frame in sample.stack]
        for name, kind in KINDS.items():
            if name in names:
                yield kind, names


def record(clarinet, patient, path, *options):
    """Samples that burn; several recordings if the machine is so busy that the program hardly runs."""
    found = []
    for _ in range(12):
        done = clarinet("record", "-p", "cpu", "--set", "cpu.interval=4ms", *options, "-d", "3s", "-o",
                        path, patient.pid)
        assert done.code == 0, done
        found += burning(Recording.load(path))
        if len(found) >= FEW * 3:
            break
    return found


def continuations(clarinet, path):
    [table] = [t for t in json.loads(clarinet("report", path, "-f", "json").out)["processes"][0]["tables"]
               if t["name"] == "samples"]
    return table["continuations"]


def test_continuations_stand_under_their_callers(runtime, sample, clarinet, tmp_path):
    path = tmp_path / "awaits.clarinet"
    with sample("Awaits") as patient:
        found = record(clarinet, patient, path)
    placed = [(kind, names) for kind, names in found if "(async)" in names]
    assert len(placed) > FEW, f"{len(placed)} of {len(found)}"
    wrong = 0
    for kind, names in placed:
        callers = names[names.index("(async)") + 1:]
        handlers = {name for name in callers if name.startswith("Awaits.Program.Handle")}
        # Beyond the first iterators of a recording is "(truncated)": who reads them is learned then.
        if handlers or callers[0] != "(truncated)":
            wrong += handlers != {"Awaits.Program.Handle" + kind}
        assert not any("StateMachineBox<" in name for name in callers), callers
    # A box of an earlier step that is still on the stack may be taken for the right one; one in a
    # thousand was seen.
    assert wrong <= len(placed) // 20, f"{wrong} of {len(placed)}"
    # Who reads an async iterator, or awaits a pooled method, stands elsewhere than in a task.
    for inner, outer in (("Rows", "Pages"), ("Pages", "Sum"), ("Pooled", "Handle")):
        below = [names[names.index("(async)") + 1:] for _, names in placed
                 if any(name.startswith("Awaits.Program." + inner) for name in names)]
        with_caller = [callers for callers in below
                       if any(name.startswith("Awaits.Program." + outer) for name in callers)]
        # The first of each kind teach how the others are read: of a short recording that is a part.
        assert below and len(with_caller) > len(below) / 2, (inner, len(below), len(with_caller))
    known = continuations(clarinet, path)
    assert 0 < known["known_callers"] <= known["samples"], known
    assert "stands below (async), under the methods that await it" in known["note"]
    assert known["note"] in clarinet("report", path, "-f", "md").out


def test_callers_can_be_switched_off(runtime, sample, clarinet, tmp_path):
    path = tmp_path / "awaits.clarinet"
    with sample("Awaits") as patient:
        found = record(clarinet, patient, path, "--set", "cpu.async=off")
    assert found and not any("(async)" in names for _, names in found)
    told = continuations(clarinet, path)
    assert told["known_callers"] == 0 and told["samples"] > 0, told
    assert "who awaits it is not known" in told["note"]


def test_chains_are_read_while_faults_are_thrown(runtime, sample, clarinet, tmp_path):
    """The handler's own faults and the runtime's SIGSEGV handler share an alternate stack."""
    path = tmp_path / "storm.clarinet"
    with sample("Awaits", "--nulls", 1) as patient:
        done = clarinet("record", "-p", "cpu,wall", "--set", "cpu.interval=1ms", "--set",
                        "cpu.clock=monotonic", "--set", "wall.interval=1ms", "-d", "3s", "-o", path,
                        patient.pid)
        assert done.code == 0, done
    assert patient.process.returncode == 0
    assert any(True for _ in Recording.load(path).samples("cpu"))
