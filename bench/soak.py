"""Sampling at 1 ms beside everything rough at once, for 12 minutes on each runtime: the program must
not notice. Prints what it did and how it ended; the work is the step tests/long/sampling_soak.

CLARINET_LONG_STORM, _SOAK and _MADE are the seconds of its parts.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, chosen_runtimes

MORE = 75


def main():
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        settings = {
            **os.environ,
            "CLARINET_ROOT": str(ROOT),
            "CLARINET_LONG_STATE": folder,
            "CLARINET_LONG_RUNTIMES": " ".join(version for version, _ in chosen_runtimes()),
        }
        code = MORE
        while code == MORE:
            code = subprocess.run([ROOT / "tests/long/sampling_soak"], env=settings).returncode
        result = state / "result.md"
        print(result.read_text() if result.exists() else "nothing was run")
    print("no crash, no deadlock, no changed output" if code == 0 else "FAILED, see above")
    return code


if __name__ == "__main__":
    sys.exit(main())
