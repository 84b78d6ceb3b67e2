"""Shell completions: each shell accepts its script, and bash completes with it."""
import shutil
import subprocess

import pytest


@pytest.fixture
def complete(clarinet, tmp_path):
    """complete(*words): what bash offers for the last word."""
    script = tmp_path / "completion.bash"
    script.write_text(clarinet("completion", "bash").out)

    def run(*words):
        done = subprocess.run(
            [
                "bash", "-c",
                'source "$0"; PATH=$1:$PATH; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1));'
                ' _clarinet; printf "%s\\n" "${COMPREPLY[@]}"',
                str(script), str(clarinet.program.parent), "clarinet", *words,
            ],
            capture_output=True, text=True, check=True, cwd=tmp_path,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return run


def verbs(clarinet):
    lines = clarinet("--help").out.splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and line.strip()]


def test_bash_completes_verbs(clarinet, complete):
    assert complete("vers") == ["version"]
    assert set(verbs(clarinet)) <= set(complete(""))
    assert len(verbs(clarinet)) >= 2


def test_bash_completes_choices_and_options(complete):
    assert complete("completion", "z") == ["zsh"]
    assert complete("completion", "--") == ["--help"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_accepts_its_script(clarinet, tmp_path, shell):
    script = tmp_path / "script"
    script.write_text(clarinet("completion", shell).out)
    assert shutil.which(shell), f"{shell} is missing: ./dev test e2e installs it"
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_every_verb_is_in_every_script(clarinet):
    for shell in ("bash", "zsh", "fish"):
        text = clarinet("completion", shell).out
        for verb in verbs(clarinet):
            assert verb in text, (shell, verb)


@pytest.mark.parametrize("arguments", [[], ["tcsh"], ["bash", "zsh"]])
def test_an_unknown_shell_is_a_usage_error(clarinet, arguments):
    done = clarinet("completion", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert "bash|zsh|fish" in done.err


@pytest.mark.parametrize("words", [["ps"], ["ps", "--json"], ["ps", "--watch"], ["profilers"],
                                   ["profilers", "--json"], ["completion", "bash"], ["version"],
                                   ["--help"], ["record", "--help"]], ids=" ".join)
@pytest.mark.parametrize("early", [[], ["stdbuf", "-o0"]], ids=["at the end", "at once"])
def test_output_that_cannot_be_written_is_told(clarinet, words, early):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*early, clarinet.program, *words], stdout=full, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True)
    assert done.returncode == 1, done
    assert "cannot write all of the output" in done.stderr and "make room" in done.stderr, done
