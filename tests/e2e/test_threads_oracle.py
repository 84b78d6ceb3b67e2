"""clarinet threads against ClrMD, which reads the same process from outside with the runtime's own
data access library: ids of threads, which are background threads, owners of monitors."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "oracles"))
from build import oracle  # noqa: E402


def test_clrmd_agrees_on_ids_and_owners(clarinet, sample, runtime):
    command = oracle("clrmd")
    with sample("Stuck") as patient:
        done = clarinet("threads", patient.pid, "--json")
        assert done.code == 0, done
        asked = subprocess.run([*command, str(patient.pid), "--threads"], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, timeout=120)
        assert asked.returncode == 0, asked
        assert patient.finish() == 0
    theirs = json.loads(asked.stdout)
    ours = {thread["name"]: thread for thread in done.json["threads"]}
    managed = {thread["os"]: thread["managed"] for thread in theirs["threads"]}
    for name in ("payer", "auditor", "clerk", "listener", "sleeper", "follower"):
        assert managed[ours[name]["os_id"]] == ours[name]["managed_id"], name
    background = {thread["os"]: thread["background"] for thread in theirs["threads"]}
    told = {t["os_id"]: t["background"] for t in ours.values() if "background" in t}
    assert len(told) > 8 and set(told.values()) == {False, True}
    assert all(background[os_id] == value for os_id, value in told.items() if os_id in background)
    owners = {monitor["address"]: monitor["owner"] for monitor in theirs["monitors"]}
    for name in ("payer", "auditor", "clerk"):
        wait = ours[name]["waiting_for"]
        assert owners[int(wait["address"], 16)] == wait["owner_os_id"], name
