"""clarinet heap against ClrMD, which reads the same process from outside with the runtime's own
data access library: objects and bytes by type, roots by kind, retained sizes."""
import json
import pathlib
import subprocess
import sys
from collections import defaultdict

import pytest

import recording_reader

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "oracles"))
from build import oracle  # noqa: E402

ENTRIES = 20000
CHOSEN = ["System.Collections.Generic.List<LeakyCache.Entry>", "LeakyCache.Entry",
          "LeakyCache.Entry[]", "LeakyCache.Label[]", "LeakyCache.Motto"]
STRONG, PINNED, WEAK = 0, 1, 2


@pytest.fixture(scope="module")
def clrmd():
    command = oracle("clrmd")

    def ask(pid, *types):
        done = subprocess.run([*command, str(pid), *types], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    return ask


def roots_of(file):
    """{kind: [(flags, object, id)]} as docs/recording.md has them; the last attempt counts."""
    found, newest = defaultdict(list), 0
    for kind, _process, payload in recording_reader.chunks(file.read_bytes(), 16):
        if kind != 15:
            continue
        b = recording_reader.Bytes(payload)
        section, attempt = b.u(), b.u()
        if attempt != newest:
            found.clear()
            newest = attempt
        while section == 2 and b.left:
            root, flags, address, number = b.u(), b.u(), b.u(), b.u()
            found[root].append((flags, address, number))
            if root == 4:
                b.text()
    return found


def by_name(rows, names):
    """Rows of the oracle, by our type names; tables we did not meet are left out."""
    found = defaultdict(lambda: [0, 0])
    for table, (count, size) in rows.items():
        if int(table) in names:
            found[names[int(table)]][0] += count
            found[names[int(table)]][1] += size
    return found


def differences(ours, names, theirs):
    """Types of which we saw more than there is, or less than its roots reach. Between the two looks
    the runtime may make or drop an object of its own, so the caller looks again."""
    everything, live = by_name(theirs["all"], names), by_name(theirs["live"], names)
    wrong = {}
    for name in set(ours) | set(live):
        mine = ours.get(name, [0, 0])
        if not all(live[name][i] <= mine[i] <= everything[name][i] for i in (0, 1)):
            wrong[name] = (live[name], mine, everything[name])
    return wrong


def test_clrmd_agrees(sample, clarinet, runtime, clrmd, tmp_path):
    file = tmp_path / "leak.clarinet"
    wrong = None
    with sample("LeakyCache", "--entries", ENTRIES) as patient:
        for _ in range(6):
            done = clarinet("heap", "--json", "-o", file, patient.pid)
            assert done.code == 0, done
            theirs = clrmd(patient.pid, *CHOSEN)
            recording = recording_reader.Recording.load(file)
            names = {row[1]: recording.strings[row[3]]
                     for row in recording.rows["heap", "heap_types"]}
            ours = {row["type"]: [row["count"], row["bytes"]] for row in done.json["types"]}
            wrong = differences(ours, names, theirs)
            handles = roots_of(file)[2]
            kinds = {
                "handle Strong": [r[2] for r in handles if r[0] == STRONG],
                "handle Pinned": [r[2] for r in handles if r[0] == PINNED],
                "weak": [r[2] for r in handles if r[0] == WEAK],
            }
            counts = {row["kind"]: row["count"] for row in done.json["roots"]}
            assert (counts["strong handle"], counts["pinned handle"], counts["weak handle"]) == tuple(
                map(len, kinds.values())), (counts, kinds)
            theirs["roots"]["weak"] = sum(
                (theirs["roots"].get(f"handle {k}", []) for k in ("WeakShort", "WeakLong")), [])
            wrong |= {kind: (sorted(mine), sorted(theirs["roots"].get(kind, [])))
                      for kind, mine in kinds.items()
                      if sorted(mine) != sorted(theirs["roots"].get(kind, []))}
            stacks = {root[1] for root in roots_of(file)[0]}
            if not set(theirs["roots"]["stack"]) <= stacks:
                wrong["stack"] = (theirs["roots"]["stack"], stacks)
            if not wrong:
                break
    assert not wrong, wrong
    # what the program holds does not change: exactly the same, to the byte
    everything = by_name(theirs["all"], names)
    for name in ours:
        if "LeakyCache" in name:
            assert everything[name] == ours[name], name
    assert ours["LeakyCache.Entry"][0] == ENTRIES
    retained = {row["type"]: row["retained"] for row in done.json["types"]}
    assert {name: retained[name] for name in CHOSEN} == theirs["retained"]
