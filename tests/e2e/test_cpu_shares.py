"""Shares of processor time against the truth of the program's own CPU clocks.

The bar is 2 percentage points at 10,000 samples, which the long step sampling_truth takes. Here are
fewer, so chance is given its room: five standard errors of the share at the number of samples there
are (one in two million would be further off).
"""
import json
import math
from collections import Counter

import pytest

from recording_reader import Recording
from sampling_truth import burned, truth_of


def check_note(clarinet, path, mode, samples):
    """How much ran in continuations, and where that stands: in every report, and only where there are some."""
    [table] = [t for t in json.loads(clarinet("report", path, "-f", "json").out)["processes"][0]["tables"]
               if t["name"] == "samples"]
    if mode == "async" and samples >= 10:
        assert table["continuations"]["samples"] > samples / 2, table["continuations"]
    assert mode == "async" or "continuations" not in table
    note = table.get("continuations", {}).get("note", "ran in continuations of async methods")
    for form in ("md", "html"):
        text = clarinet("report", path, "-f", form).out
        data = text.split('id="data">', 1)[1].split("</script>")[0] if form == "html" else text
        assert (note in data) == ("continuations" in table), form


@pytest.mark.parametrize("mode,threads", [("plain", 1), ("plain", 2), ("async", 1), ("libc", 1)])
def test_shares(runtime, sample, clarinet, tmp_path, mode, threads):
    path = tmp_path / "shares.clarinet"
    weights, count, rounds = Counter(), 0, 0
    with sample("CpuShares", "--mode", mode, "--threads", threads) as patient:
        # One recording is enough, unless the machine is so busy that the program hardly runs.
        while count < 100 and rounds < 12:
            done = clarinet("record", "-p", "cpu", "--set", "cpu.interval=4ms", "-d", "8s", "-o",
                            path, patient.pid)
            assert done.code == 0, done
            more, samples = burned(Recording.load(path))
            weights.update(more)
            count, rounds = count + samples, rounds + 1
    check_note(clarinet, path, mode, samples)
    truth = truth_of(patient.lines)
    assert len(truth) == 5 and count > 50, "too few samples to tell"
    for name, share in truth.items():
        found = 100 * weights[name] / sum(weights.values())
        chance = 500 * math.sqrt(share / 100 * (1 - share / 100) / count)
        room = max(2.0, chance)
        assert abs(found - share) <= room, f"{name}: {weights} of {count}, truth {truth}"
