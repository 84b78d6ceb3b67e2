"""Shares of processor time against the truth of the program's own CPU clocks.

The bar is 2 percentage points at 10,000 samples; here fewer are taken, so chance is given its room:
four standard errors of the share at the number of samples there are.
"""
import math

import pytest

from recording_reader import Recording

NAMES = {"Fifty": "Fifty", "FiftyInLibc": "Fifty", "TwentyFive": "TwentyFive",
         "Fifteen": "Fifteen", "Seven": "Seven", "Three": "Three"}


def measured(recording):
    """({name: share}, samples) of the methods that burn."""
    weights = dict.fromkeys(set(NAMES.values()), 0)
    count = 0
    for sample in recording.samples("cpu"):
        for frame in sample.stack:
            name = NAMES.get(frame.name.rsplit(".", 1)[-1])
            if name and frame.kind == "managed":
                weights[name] += sample.weight
                count += 1
                break
    total = sum(weights.values())
    return {name: 100 * weight / total for name, weight in weights.items()}, count


@pytest.mark.parametrize("mode,threads", [("plain", 1), ("plain", 2), ("async", 1), ("libc", 1)])
def test_shares(runtime, sample, clarinet, tmp_path, mode, threads):
    path = tmp_path / "shares.clarinet"
    with sample("CpuShares", "--mode", mode, "--threads", threads) as patient:
        done = clarinet("record", "-p", "cpu", "--set", "cpu.interval=4ms", "-d", "8s", "-o", path,
                        patient.pid)
        assert done.code == 0, done
    truth = {line.split()[1]: float(line.split()[2]) for line in patient.lines
             if line.startswith("truth ")}
    shares, count = measured(Recording.load(path))
    assert count > 50, "too few samples to tell"
    for name, share in truth.items():
        chance = 400 * math.sqrt(share / 100 * (1 - share / 100) / count)
        room = max(2.0, chance)
        assert abs(shares[name] - share) <= room, f"{name}: {shares} of {count}, truth {truth}"
