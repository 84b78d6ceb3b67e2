#!/usr/bin/env python3
"""Runs the long steps of tests/long/ until all are done, and writes docs/long-run.md.

usage: run-long.py [--fresh] [--once] [STEP…]

A step is an executable tests/long/STEP. It is called with CLARINET_LONG_STATE naming a folder that
is its own and is kept between calls, and works for at most eight minutes at a time. It exits with
0 when all is done, 75 when there is more to do (it is called again, now or by the next run), and
anything else when it failed. What it has found so far it writes to result.md in its folder: a few
lines of Markdown with the numbers.

--fresh forgets what the named steps did; --once calls each step once and leaves the rest for later.
The state is kept in build/long/STEP. Ends with 'N passed, N failed'.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
STEPS = ROOT / "tests" / "long"
STATE = ROOT / "build" / "long"
PAGE = ROOT / "docs" / "long-run.md"
MORE = 75
LIMIT = 8 * 60


def commit():
    done = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    )
    return done.stdout.strip() or "unknown"


def call(step, folder):
    """One call of a step: "passed", "more" or "failed: why"."""
    environment = {**os.environ, "CLARINET_LONG_STATE": str(folder), "CLARINET_ROOT": str(ROOT)}
    process = subprocess.Popen(
        [str(step)], env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        code = process.wait(LIMIT + 60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return "failed: did not come back within its time"
    return {0: "passed", MORE: "more"}.get(code, f"failed: exit code {code}")


def run(step, once):
    folder = STATE / step.name
    status_file = folder / "status"
    folder.mkdir(parents=True, exist_ok=True)
    status = status_file.read_text().strip() if status_file.exists() else "more"
    if status == "passed":
        print(f"==> {step.name}: done before (--fresh does it again)", flush=True)
        return status
    while True:
        print(f"==> {step.name}", flush=True)
        started = time.monotonic()
        status = call(step, folder)
        print(f"==> {step.name}: {status}, {time.monotonic() - started:.0f} s", flush=True)
        status_file.write_text(status + "\n")
        (folder / "commit").write_text(commit() + "\n")
        if status != "more" or once:
            return status


def known_parts():
    """What the page says so far, by step: a step that ran elsewhere keeps its part."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    parts = text.split("\n## ")[1:]
    return {part.split("\n", 1)[0]: "## " + part.strip() + "\n" for part in parts}


def write_page(steps):
    parts = known_parts()
    for step in steps:
        folder = STATE / step.name
        if not (folder / "status").exists():
            continue
        result = folder / "result.md"
        status = (folder / "status").read_text().strip()
        status = "not finished" if status == "more" else status
        parts[step.name] = (
            f"## {step.name}\n\n{status}, at commit {(folder / 'commit').read_text().strip()}\n\n"
            + (result.read_text().strip() + "\n" if result.exists() else "no numbers yet\n")
        )
    head = "# Long runs\n\nWritten by `./dev test --long`; each part by its step in `tests/long/`.\n"
    names = {step.name for step in steps}
    if parts:
        kept = [parts[name] for name in sorted(parts) if name in names]
        PAGE.write_text("\n".join([head, *kept]), encoding="utf-8")


def main():
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if set(options) - {"--fresh", "--once"}:
        print(__doc__, file=sys.stderr)
        return 2
    steps = sorted(p for p in STEPS.glob("*") if p.is_file() and os.access(p, os.X_OK))
    chosen = [step for step in steps if not names or step.name in names]
    if not chosen or (names and len(chosen) != len(set(names))):
        print(f"the steps are: {' '.join(step.name for step in steps) or 'none'}", file=sys.stderr)
        return 2
    if "--fresh" in options:
        for step in chosen:
            shutil.rmtree(STATE / step.name, ignore_errors=True)
    results = [run(step, "--once" in options) for step in chosen]
    write_page(steps)
    failed = sum(status.startswith("failed") for status in results)
    waiting = sum(status == "more" for status in results)
    if waiting:
        print(f"{waiting} not finished: run it again to go on")
    print(f"{sum(status == 'passed' for status in results)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
