"""clarinet top in a real terminal (tmux): its views, keys, size, and that it leaves nothing behind."""
import os
import shlex
import subprocess
import time

import pytest

from conftest import PATIENCE, wait_until
from test_agent_laws import is_recorded


class Terminal:
    """A tmux session of its own: keys go in, the picture comes out."""

    def __init__(self, folder, columns=80, rows=24):
        self.base = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        self.environment = {**os.environ, "TERM": "xterm-256color"}
        self.environment.pop("TMUX", None)
        self.tmux("new-session", "-d", "-s", "top", "-x", columns, "-y", rows, "sh")
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-t", "top", "-x", columns, "-y", rows)

    def tmux(self, *arguments):
        done = subprocess.run([*self.base, *map(str, arguments)], env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def type(self, *keys):
        self.tmux("send-keys", "-t", "top", *keys)

    def picture(self):
        return self.tmux("capture-pane", "-p", "-t", "top").splitlines()

    def wait_for(self, condition):
        """The first picture for which the condition holds."""
        deadline = time.monotonic() + PATIENCE
        while True:
            lines = self.picture()
            if condition(lines):
                return lines
            assert time.monotonic() < deadline, "\n".join(lines)
            time.sleep(0.1)

    def close(self):
        subprocess.run([*self.base, "kill-server"], env=self.environment, capture_output=True,
                       timeout=PATIENCE)


@pytest.fixture
def terminal(tmp_path):
    shown = Terminal(tmp_path)
    yield shown
    shown.close()


def has(*texts):
    return lambda lines: all(text in "\n".join(lines) for text in texts)


def test_the_live_view(runtime, sample, clarinet, terminal):
    with sample("ExceptionStorm", "--rate", 100) as patient:
        terminal.type(f"{shlex.quote(str(clarinet.program))} top {patient.pid}; echo left $?", "Enter")
        shown = terminal.wait_for(
            lambda lines: has(f"ExceptionStorm (pid {patient.pid})", "[1 methods]", "self")(lines)
            and any("ExceptionStorm." in line and "%" in line for line in lines))
        assert len(shown) == 24 and all(len(line) <= 80 for line in shown), shown
        assert shown[-1].startswith("q leave"), shown
        assert has(".NET " + runtime.version)(shown)
        terminal.wait_for(lambda lines: not any(
            text in line for line in lines[1:3] for text in ("cpu -", "gc heap -", "exceptions -")))
        # another view; paused, nothing moves but what keys say
        terminal.type("4")
        terminal.wait_for(has("[4 exceptions]", ">per s", " in ExceptionStorm."))
        terminal.type("p")
        shown = terminal.wait_for(has("p go on"))
        assert any("exceptions" in line and "exceptions -" not in line for line in shown[1:3])
        counted = [float(line.split()[0]) for line in shown[6:-1] if " in " in line]
        assert counted == sorted(counted, reverse=True) and counted[0] > 0, shown
        terminal.type("s", "s")
        terminal.wait_for(has(">exception"))
        # a filter, and without it
        terminal.type("/", "no such text")
        terminal.wait_for(has("filter: no such text_", "nothing that matches the filter"))
        terminal.type("Enter")
        terminal.wait_for(has("/ filter = no such text"))
        terminal.type("Escape")
        terminal.wait_for(has(" in ExceptionStorm."))
        # another size is drawn anew
        terminal.tmux("resize-window", "-t", "top", "-x", 100, "-y", 30)
        after = terminal.wait_for(lambda lines: len(lines) == 30 and lines[-1].startswith("q leave"))
        assert all(new.startswith(old) for old, new in zip(shown[1:3], after[1:3])), (shown, after)
        terminal.type("q")
        terminal.wait_for(has("left 0"))
        assert not has("[4 exceptions]")(terminal.picture())  # the screen is as it was
        assert patient.is_running
        wait_until(lambda: not is_recorded(patient.pid))


def test_it_says_when_the_program_has_ended(newest_runtime, sample, clarinet, terminal):
    with sample("Healthy") as patient:
        terminal.type(f"{shlex.quote(str(clarinet.program))} top {patient.pid}; echo left $?", "Enter")
        terminal.wait_for(lambda lines: any("Healthy" in line and "%" in line for line in lines))
        assert patient.finish() == 0
        terminal.wait_for(has(f"(pid {patient.pid}) has ended.", "left 0"))


def test_without_a_terminal_it_says_what_to_do(sample, clarinet):
    with sample("Idle", "--threads", 1) as patient:
        done = clarinet("top", patient.pid)
        assert done.code == 2 and "needs a terminal" in done.err and "counters" in done.err, done
    done = clarinet("top")
    assert done.code == 2 and "needs one process" in done.err, done
