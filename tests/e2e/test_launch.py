"""clarinet launch: programs under profiler libraries, good ones and bad ones."""
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import PATIENCE, ROOT, environment

CLSID = "{11111111-2222-3333-4444-555555555555}"

# Writes a line into the file PROOF when it is initialized, so that the test can see it was there.
PROFILER = """
#include <clarinet/clarinet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static HRESULT on_start(void *context, const clr_info *info)
{
    const char *proof = getenv("PROOF");
    FILE *out = proof == NULL ? NULL : fopen(proof, "a");

    (void)context;
    (void)info;
    if (out != NULL) {
        fprintf(out, "%d\\n", (int)getpid());
        fclose(out);
    }
    return INITIALIZE_RESULT;
}
static const clr_profiler_callbacks callbacks = {.initialize = on_start};
CLR_PROFILER("{11111111-2222-3333-4444-555555555555}", callbacks, NULL)
"""


@pytest.fixture(scope="session")
def profilers(tmp_path_factory):
    """{"good": library, "refusing" and "crashing": ones whose Initialize does}, made with the SDK."""
    folder = tmp_path_factory.mktemp("profilers")
    (folder / "profiler.c").write_text(PROFILER)
    base = [f for f in ROOT.glob("src/base/*.c") if not f.stem.endswith("_windows")]
    sources = [*ROOT.glob("src/clr/*.c"), *ROOT.glob("src/clr/*.S"), *base]
    made = {}
    for name, result in (("good", "S_OK"), ("refusing", "E_FAIL"),
                         ("crashing", "(__builtin_trap(), S_OK)")):
        made[name] = folder / f"lib{name}.so"
        subprocess.run(
            ["gcc", "-w", "-shared", "-fPIC", "-D_GNU_SOURCE", f"-DINITIALIZE_RESULT={result}",
             f"-I{ROOT}/include", f"-I{ROOT}/src", folder / "profiler.c", *sources,
             "-o", made[name]],
            check=True,
        )
    return made


@pytest.fixture
def launch(clarinet, tmp_path):
    """launch(library, command, …) -> (Result, pids the profiler was initialized in)."""
    proof = tmp_path / "proof"

    def run(library, command, *options, clsid=CLSID, env=None, **more):
        proof.unlink(missing_ok=True)
        clean = {name: "" for name in os.environ if name not in environment(None)}
        done = clarinet(
            "launch", "--profiler", library, "--clsid", clsid, "--env", f"PROOF={proof}", *options,
            "--", *command, env={**clean, **environment(env)}, **more,
        )
        return done, proof.read_text().split() if proof.exists() else []

    return run


# ---- profilers that load ----------------------------------------------------------------------------


def test_program_runs_under_the_profiler(runtime, profilers, launch, sample_command):
    plain = subprocess.run(
        sample_command("Healthy", "--rounds", 3), capture_output=True, text=True,
        env=environment(None), stdin=subprocess.DEVNULL,
    )
    done, seen = launch(profilers["good"], sample_command("Healthy", "--rounds", 3))
    assert done.code == plain.returncode == 0, done
    assert len(seen) == 1, done
    assert done.out == plain.stdout and done.err == plain.stderr == "", done


def test_hello_is_the_default(runtime, clarinet, sample_command):
    done = clarinet("launch", "--", *sample_command("Healthy", "--rounds", 1))
    assert done.code == 0, done
    lines = done.err.splitlines()
    assert f"runtime {runtime.version}" in lines, done
    assert re.match(r"hello: \d+ modules loaded, \d+ methods compiled", lines[-1]), done


def test_old_runtime_can_be_launched(old_runtime, profilers, launch, sample_command):
    command = sample_command("OldTimer", "--seconds", 1, runtime=old_runtime)
    done, seen = launch(profilers["good"], command)
    assert done.code == 0 and len(seen) == 1, done
    assert "without the profiler" not in done.err, done


def test_relative_library_and_variables(newest_runtime, profilers, launch, compile_c, tmp_path):
    shutil.copy(profilers["good"], tmp_path / "mine.so")
    done, _ = launch("mine.so", ["sh", "-c", "echo $COLOUR; echo $CORECLR_PROFILER"],
                     "--env", "COLOUR=a=b")
    assert done.out.splitlines() == ["a=b", CLSID]
    assert "CORECLR_PROFILER" not in os.environ


def test_exit_code_is_passed_on(profilers, launch):
    done, _ = launch(profilers["good"], ["sh", "-c", "exit 42"])
    assert done.code == 42, done


def test_death_by_signal_is_passed_on(profilers, launch):
    done, _ = launch(profilers["good"], ["sh", "-c", "kill -TERM $$"])
    assert done.code == -signal.SIGTERM, done


def test_standard_input_is_the_programs(profilers, launch):
    done, _ = launch(profilers["good"], ["cat"], input="through\n")
    assert done.out == "through\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_program(profilers, clarinet, number):
    script = f"trap 'echo got it; exit 9' {number.name[3:]}; echo ready; while :; do sleep 0.1; done"
    running = clarinet.start(
        "launch", "--profiler", profilers["good"], "--clsid", CLSID, "--", "sh", "-c", script
    )
    assert running.stdout.readline() == "ready\n"
    running.send_signal(number)
    out, _ = running.communicate(timeout=PATIENCE)
    assert out == "got it\n" and running.returncode == 9


def test_ignored_signals_stay_ignored(profilers, clarinet):
    """As under nohup: what our caller ignores, the program ignores."""
    running = clarinet.start(
        "launch", "--profiler", profilers["good"], "--clsid", CLSID, "--", "sh", "-c",
        "kill -HUP $$; kill -HUP $PPID; echo alive",
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    out, _ = running.communicate(timeout=PATIENCE)
    assert out == "alive\n" and running.returncode == 0


def test_ps_shows_the_profiler(profilers, clarinet, start_program, sample_command):
    patient = start_program(
        [clarinet.program, "launch", "--profiler", profilers["good"], "--clsid", CLSID, "--",
         *sample_command("Idle")]
    )
    children = Path(f"/proc/{patient.pid}/task/{patient.pid}/children").read_text().split()
    rows = {row["pid"]: row for row in clarinet("ps", "--json").json}
    assert "libgood.so" in rows[int(children[0])]["profiler"]


# ---- the dotnet CLI is not the program ----------------------------------------------------------------


def test_dotnet_run_profiles_the_program_only(profilers, launch, dotnet_build_project):
    done, seen = launch(profilers["good"], dotnet_build_project.run, env=dotnet_build_project.env,
                        timeout=PATIENCE)
    assert done.code == 0 and done.out.splitlines()[-1] == "built", done
    assert len(seen) == 1, done
    assert done.err == "", done


TEST_PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFramework>net{major}.0</TargetFramework>
    <NuGetAudit>false</NuGetAudit>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Microsoft.NET.Test.Sdk" Version="17.14.1" />
    <PackageReference Include="xunit" Version="2.9.3" />
    <PackageReference Include="xunit.runner.visualstudio" Version="3.1.5" />
  </ItemGroup>
</Project>
"""
TEST_PROGRAM = """public class Tests
{
    [Xunit.Fact]
    public void TellsItsProcess()
    {
        System.IO.File.WriteAllText(
            System.Environment.GetEnvironmentVariable("PROOF") + ".host",
            System.Environment.ProcessId.ToString());
    }
}
"""


def test_dotnet_test_profiles_the_test_host_only(profilers, launch, dotnet_build_project, tmp_path):
    folder = tmp_path / "tests"
    folder.mkdir()
    version = subprocess.run(["dotnet", "--version"], capture_output=True, text=True, check=True)
    (folder / "tests.csproj").write_text(TEST_PROJECT.format(major=version.stdout.split(".")[0]))
    (folder / "Tests.cs").write_text(TEST_PROGRAM)
    done, seen = launch(profilers["good"], ["dotnet", "test", str(folder)],
                        env=dotnet_build_project.env, timeout=300)
    assert done.code == 0, done
    assert seen == [(tmp_path / "proof.host").read_text()], done


def test_dotnet_build_is_left_alone(profilers, launch, dotnet_build_project):
    done, seen = launch(profilers["good"], dotnet_build_project.build, env=dotnet_build_project.env,
                        timeout=PATIENCE)
    assert done.code == 0 and seen == [], done
    assert "only the .NET SDK's own tools ran" in done.err and "--sdk" in done.err
    done, seen = launch(profilers["good"], dotnet_build_project.build, "--sdk",
                        env=dotnet_build_project.env, timeout=PATIENCE)
    assert done.code == 0 and seen != [], done


# ---- profilers that do not load -------------------------------------------------------------------------


BAD = {
    "no entry point": ("int other;", "has no DllGetClassObject"),
    "missing symbol": (
        "int missing_one(void); int DllGetClassObject(void) { return missing_one(); }",
        "undefined symbol: missing_one",
    ),
    "crash": ("int DllGetClassObject(void) { __builtin_trap(); }", "crashed"),
}


@pytest.mark.parametrize("fault", list(BAD))
def test_bad_library_is_explained(compile_c, launch, fault):
    source, words = BAD[fault]
    done, _ = launch(compile_c(source, "-shared", "-fPIC"), ["echo", "started"])
    assert done.code == 1 and words in done.err, done
    assert done.out == "", "the program must not be started"


def test_other_architecture_is_explained(profilers, launch, tmp_path):
    """The machine field says it; a cross compiler is not needed for that."""
    data = bytearray(profilers["good"].read_bytes())
    other = 183 if data[18] == 62 else 62
    data[18:20] = other.to_bytes(2, "little")
    (tmp_path / "other.so").write_bytes(data)
    done, _ = launch("other.so", ["echo", "started"])
    assert done.code == 1 and re.search(r"is built for (arm64|x64), but the program", done.err), done
    assert done.out == ""


@pytest.mark.parametrize("prefix", [[], ["nice", "-n", "1"], ["env", "A=b"]], ids=len)
def test_the_architecture_is_that_of_the_program_that_is_meant(profilers, launch, tmp_path, prefix):
    data = bytearray(profilers["good"].read_bytes())
    data[18:20] = (183 if data[18] == 62 else 62).to_bytes(2, "little")
    program = tmp_path / "other-program"
    program.write_bytes(data)
    program.chmod(0o755)
    done, _ = launch(profilers["good"], [*prefix, str(program)])
    assert done.code == 1 and re.search(r"but the program runs on (arm64|x64)", done.err), done


def test_wrong_class_is_explained(profilers, launch):
    done, _ = launch(profilers["good"], ["echo", "started"],
                     clsid="{11111111-2222-3333-4444-555555555556}")
    assert done.code == 1 and "check the CLSID" in done.err, done
    done, _ = launch(profilers["good"], ["echo", "started"], clsid="hello")
    assert done.code == 2 and "is not a CLSID" in done.err, done
    assert done.out == ""


def test_missing_files_are_named(profilers, launch):
    done, _ = launch("/nonexistent.so", ["echo"])
    assert done.code == 1 and "/nonexistent.so cannot be found" in done.err
    done, _ = launch(profilers["good"], ["no-such-program"])
    assert done.code == 1 and "there is no program no-such-program" in done.err
    done, _ = launch(profilers["good"], ["/etc/passwd"])
    assert done.code == 1 and "/etc/passwd is no program that can be run" in done.err


def test_profiler_that_refuses_is_explained(runtime, profilers, launch, sample_command):
    """Only the runtime can find this out, and it says nothing: the gate does."""
    done, seen = launch(profilers["refusing"], sample_command("Healthy", "--rounds", 1))
    assert done.code == 0 and len(seen) == 1, done
    assert f"process {seen[0]} runs without the profiler" in done.err, done
    assert "its Initialize returned E_FAIL (0x80004005)" in done.err


def test_profiler_that_crashes_is_explained(runtime, profilers, launch, sample_command):
    done, seen = launch(profilers["crashing"], sample_command("Healthy", "--rounds", 1))
    assert done.code != 0 and len(seen) == 1, done
    assert f"process {seen[0]} ended while the profiler's Initialize ran" in done.err, done
    done, seen = launch(profilers["good"], sample_command("Healthy", "--rounds", 1))
    assert done.code == 0 and len(seen) == 1 and done.err == "", done


def test_a_cut_library_is_named(profilers, clarinet, tmp_path):
    library = tmp_path / "cut.so"
    library.write_bytes(profilers["good"].read_bytes()[:5000])
    done = clarinet("launch", "--profiler", library, "--clsid", CLSID, "--", "true")
    assert done.code == 1 and "cut off" in done.err and "copy it again" in done.err, done


def test_library_lost_after_the_check_is_explained(profilers, clarinet, sample_command, tmp_path):
    """It is there when clarinet looks, and gone when the runtime does."""
    library = tmp_path / "lost.so"
    shutil.copy(profilers["good"], library)
    command = " ".join(map(str, sample_command("Healthy", "--rounds", 1)))
    done = clarinet("launch", "--profiler", library, "--clsid", CLSID, "--", "sh", "-c",
                    f"rm {library}; exec {command}")
    assert done.code == 0, done
    assert "runs without the profiler" in done.err and "No such file" in done.err, done


def run_mounted(mount, *command):
    """Where `mount`, which ends in `exec "$@"`, has made the folders what they are."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    return subprocess.run(["unshare", "-m", "sh", "-c", mount, "sh", *map(str, command)],
                          capture_output=True, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL)


def test_folders_that_do_not_do_are_named(clarinet):
    """The report goes where it can; only where code must be loaded from there is nothing left."""
    mount = ("mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp && "
             "mount -t tmpfs -o noexec none /dev/shm && TMPDIR=/no/such exec \"$@\"")

    done = run_mounted(mount, clarinet.program, "launch", "--", "true")
    assert done.returncode == 0 and "no .NET runtime asked" in done.stderr, done
    done = run_mounted(mount, clarinet.program, "record", "-p", "exceptions", "-o",
                       "/dev/shm/out.clarinet", "--", "true")
    assert done.returncode == 1, done
    for words in ("/no/such: No such file", "/tmp: Read-only", "/dev/shm is mounted noexec",
                  "export TMPDIR="):
        assert words in done.stderr, done


def test_a_full_folder_is_passed_over(clarinet, sample_command):
    mount = ("mount -t tmpfs -o size=64k none /mnt && head -c 1M /dev/zero >/mnt/full 2>/dev/null; "
             "TMPDIR=/mnt exec \"$@\"")

    command = ["--", *sample_command("Healthy", "--rounds", 1)]
    done = run_mounted(mount, clarinet.program, "launch", *command)
    assert done.returncode == 0 and "no .NET runtime asked" not in done.stderr, done
    done = run_mounted(mount, clarinet.program, "record", "-p", "exceptions", "-o", "/dev/null",
                       *command)
    assert done.returncode == 0 and "No space" not in done.stderr, done


def test_native_program_is_told(profilers, launch):
    done, _ = launch(profilers["good"], ["true"])
    assert done.code == 0 and "no .NET runtime asked for the profiler" in done.err, done


@pytest.mark.parametrize("name", ["DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_Profiler"])
def test_disabled_profiling_is_told(profilers, launch, name):
    done, _ = launch(profilers["good"], ["echo", "started"], env={name: 0})
    assert done.code == 1 and f"{name}=0 keeps profilers out" in done.err and done.out == "", done
    done, _ = launch(profilers["good"], ["echo", "started"], "--env", f"{name}=1", env={name: 0})
    assert done.code == 0 and done.out == "started\n", done


@pytest.mark.parametrize(
    "arguments",
    [[], ["--"], ["--profiler", "x.so", "--", "true"], ["--clsid", CLSID, "true"],
     ["--env", "novalue", "--", "true"], ["--frobnicate", "--", "true"], ["--env"]],
)
def test_wrong_usage(clarinet, arguments):
    done = clarinet("launch", *arguments)
    assert done.code == 2 and done.err.startswith("clarinet: ") and done.out == "", done


def test_nothing_is_left_behind(profilers, clarinet, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    for command in (["true"], ["sh", "-c", "kill -9 $$"], ["no-such-program"]):
        clarinet("launch", "--profiler", profilers["good"], "--clsid", CLSID, "--", *command,
                 env={"TMPDIR": folder})
        assert list(folder.iterdir()) == []
