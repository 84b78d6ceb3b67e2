"""Fifty rounds of attach, record, detach on each runtime; tests/long/attach_rounds does more."""
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(1800)  # a minute where nobody else is at work
def test_fifty_rounds(runtimes_folder, samples_folder, clarinet_program, tmp_path):
    environment = {
        **os.environ, "CLARINET_ROOT": str(ROOT), "CLARINET_LONG_STATE": str(tmp_path),
        "CLARINET_LONG_ROUNDS": "50", "CLARINET_LONG_SLICE": "170",
    }
    text = ""
    for _ in range(12):
        done = subprocess.run(
            [ROOT / "tests/long/attach_rounds"], env=environment, capture_output=True, text=True
        )
        text += done.stdout + done.stderr
        if done.returncode != 75:
            break
    assert done.returncode == 0, text
    result = (tmp_path / "result.md").read_text()
    assert result.count("| 50 |") == 3, result
