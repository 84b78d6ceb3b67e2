"""Fixtures of the end-to-end tests: real runtimes, real samples, the real tool.

tests/README.md shows how a test uses them. Everything started here is reaped here, whatever the
test does.
"""
import collections
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CLARINET_BUILD", ROOT / "build"))
# Who starts the tests in the background ignores Ctrl-C for them; their programs must not.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

PATIENCE = 180.0  # seconds until something that must happen counts as not happening


def wait_until(condition, timeout=PATIENCE):
    """Returns when the condition holds: how long that takes is the machine's affair."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def size_of(path):
    """Bytes of a file, which may not be there yet."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def state_of(pid):
    """The kernel's letter for the state of a process; X when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def has_ended(pid):
    """Also when nobody has asked for its exit code yet."""
    return state_of(pid) in "ZX"


def pytest_collection_modifyitems(items):
    """Large files first: two run at a time, and the last ones should be short."""
    sizes = collections.Counter(item.path for item in items)
    items.sort(key=lambda item: (-sizes[item.path], item.path))


# ---- the tool -----------------------------------------------------------------------------------


class Result:
    """What a command left behind: code, out, err (text)."""

    def __init__(self, command, code, out, err):
        self.command = command
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return (
            f"$ {' '.join(map(str, self.command))}\n"
            f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"
        )


@pytest.fixture(scope="session")
def clarinet_program():
    """Path of build/clarinet (CLARINET_BUILD names another build folder)."""
    program = BUILD / "clarinet"
    if not program.exists():
        pytest.fail(f"{program} is missing: run ./dev build", pytrace=False)
    return program


@pytest.fixture
def clarinet(clarinet_program, tmp_path):
    """clarinet(*args, env=None, input=None, cwd=None, timeout=PATIENCE) -> Result.

    Runs the tool in the test's own temporary folder, with no terminal. `clarinet.start(*args)`
    gives the running Popen instead (text pipes); it is killed at the end of the test if need be.
    """
    running = []

    def merged(env):
        return {**os.environ, **{k: str(v) for k, v in (env or {}).items()}}

    def run(*args, env=None, input=None, cwd=None, timeout=PATIENCE):
        command = [str(clarinet_program), *map(str, args)]
        done = subprocess.run(
            command,
            env=merged(env),
            input=input if input is not None else "",
            cwd=cwd or tmp_path,
            capture_output=True,
            timeout=timeout,
            text=True,
            errors="replace",
        )
        return Result(command, done.returncode, done.stdout, done.stderr)

    def start(*args, env=None, cwd=None, **options):
        settings = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            **options,
        }
        process = subprocess.Popen(
            [str(clarinet_program), *map(str, args)],
            env=merged(env),
            cwd=cwd or tmp_path,
            **settings,
        )
        running.append(process)
        return process

    run.start = start
    run.program = clarinet_program
    run.folder = tmp_path
    yield run
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


# ---- runtimes -----------------------------------------------------------------------------------


def known_runtimes():
    """{"8.0": "8.0.33", …} as tools/runtimes/versions says, without the one that is too old."""
    rows = [
        line.split()
        for line in (ROOT / "tools/runtimes/versions").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    return {name: version for name, version, web in rows if web == "aspnetcore"}


class Runtime:
    """One .NET runtime: name ("9.0"), version ("9.0.22"), dotnet (path of the host)."""

    def __init__(self, name, version, folder):
        self.name = name
        self.version = version
        self.folder = folder
        self.dotnet = folder / "dotnet"

    def command(self, program, *args):
        """The command line that runs a console program on exactly this runtime."""
        return [str(self.dotnet), "exec", "--fx-version", self.version, str(program), *map(str, args)]

    def web_command(self, program, folder, *args):
        """The same for an ASP.NET Core program; writes its runtimeconfig into `folder`."""
        config = Path(folder) / f"{Path(program).stem}-{self.version}.runtimeconfig.json"
        frameworks = ["Microsoft.NETCore.App", "Microsoft.AspNetCore.App"]
        options = {
            "rollForward": "Disable",
            "frameworks": [{"name": name, "version": self.version} for name in frameworks],
            "configProperties": {"System.Globalization.Invariant": True, "System.GC.Server": False},
        }
        config.write_text(json.dumps({"runtimeOptions": options}))
        return [
            str(self.dotnet), "exec", "--runtimeconfig", str(config), str(program), *map(str, args),
        ]

    def __repr__(self):
        return f".NET {self.version}"


@pytest.fixture(scope="session")
def runtimes_folder():
    """The folder that `./dev runtimes` makes and prints."""
    done = subprocess.run([ROOT / "dev", "runtimes"], stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session", params=list(known_runtimes()))
def runtime(request, runtimes_folder):
    """Each of the runtimes in turn: a test that asks for it runs on 8.0, 9.0 and 10.0."""
    return Runtime(request.param, known_runtimes()[request.param], runtimes_folder)


@pytest.fixture(scope="session")
def newest_runtime(runtimes_folder):
    """The newest runtime only, for tests where the runtime makes no difference."""
    name = list(known_runtimes())[-1]
    return Runtime(name, known_runtimes()[name], runtimes_folder)


@pytest.fixture(scope="session")
def old_runtime(runtimes_folder):
    """.NET Core 3.1, which is too old to be attached to. Only the sample OldTimer runs on it."""
    return Runtime("3.1", "3.1.3", runtimes_folder)


# ---- samples ------------------------------------------------------------------------------------


class Patient:
    """A running program: pid, lines (of stdout so far), wait_for(pattern), finish()."""

    def __init__(self, command, env, cwd):
        self.command = command
        self.lines = []
        self._changed = threading.Condition()
        self._closed = False
        self._errors = open(Path(cwd) / f"stderr-{time.monotonic_ns()}", "w+", errors="replace")
        self.process = subprocess.Popen(
            command, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, text=True, errors="replace",
        )
        self.pid = self.process.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def stdout(self):
        return "".join(line + "\n" for line in self.lines)

    @property
    def stderr(self):
        return Path(self._errors.name).read_text(errors="replace")

    @property
    def is_running(self):
        return self.process.poll() is None

    def wait_for(self, pattern, timeout=PATIENCE):
        """The match of the first line of stdout, past or to come, that matches the pattern."""
        deadline = time.monotonic() + timeout
        seen = 0
        with self._changed:
            while True:
                for line in self.lines[seen:]:
                    match = re.search(pattern, line)
                    if match:
                        return match
                seen = len(self.lines)
                left = deadline - time.monotonic()
                if self._closed or left <= 0:
                    raise AssertionError(f"no line like {pattern!r}\n{self}")
                self._changed.wait(left)

    def finish(self, timeout=PATIENCE):
        """Closes stdin, waits for the end and returns the exit code (negative: a signal's)."""
        if not self.process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        return self.wait(timeout)

    def wait(self, timeout=PATIENCE):
        """Waits for the end without asking for it; returns the exit code."""
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    def rss(self):
        """Resident memory in bytes."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) * 1024

    def cpu_seconds(self):
        """Processor time used so far, user and system."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def release(self):
        """Ends it by any means and removes what a killed runtime leaves in its temp folder."""
        try:
            self.finish(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.wait()
        self.process.stdout.close()
        self._errors.close()
        for folder in {"/tmp", os.environ.get("TMPDIR", "/tmp")}:
            for kind in ("dotnet-diagnostic", "clr-debug-pipe"):
                for path in glob.glob(f"{folder}/{kind}-{self.pid}-*"):
                    with contextlib.suppress(OSError):
                        os.unlink(path)

    def _read(self):
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __repr__(self):
        code = self.process.poll()
        return (
            f"$ {' '.join(map(str, self.command))}\npid {self.pid}, exit code {code}\n"
            f"--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"
        )


@pytest.fixture(scope="session")
def samples_folder():
    """build/samples, built when a source is newer."""
    subprocess.run([ROOT / "dev", "samples"], check=True)
    return ROOT / "build/samples"


def environment(env):
    """The environment of a target: ours, without anything that configures a profiler or the GC."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not re.match(r"(CORECLR|COR|DOTNET|COMPlus)_", name)
    }
    clean.update({"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"})
    clean.update({name: str(value) for name, value in (env or {}).items()})
    return clean


@pytest.fixture
def start_program(tmp_path):
    """start_program(command, env=None, ready="^ready$") -> Patient, reaped after the test."""
    patients = []

    def start(command, env=None, ready="^ready$", cwd=None):
        patient = Patient(list(map(str, command)), environment(env), cwd or tmp_path)
        patients.append(patient)
        if ready:
            patient.wait_for(ready)
        return patient

    yield start
    for patient in reversed(patients):
        patient.release()


@pytest.fixture
def sample_command(request, samples_folder, tmp_path):
    """sample_command(name, *args, runtime=None) -> the command line that runs a sample.

    The runtime is the test's `runtime` fixture, else the newest one.
    """

    def command(name, *args, runtime=None):
        if runtime is None:
            used = "runtime" if "runtime" in request.fixturenames else "newest_runtime"
            runtime = request.getfixturevalue(used)
        program = samples_folder / name / f"{name}.dll"
        assert program.exists(), f"there is no sample {name}"
        if "AspNetCore" in program.with_suffix(".runtimeconfig.json").read_text():
            return runtime.web_command(program, tmp_path, *args)
        return runtime.command(program, *args)

    return command


@pytest.fixture
def sample(sample_command, start_program):
    """sample(name, *args, env=None, runtime=None): a context with the running sample.

    with sample("Healthy", "--threads", 4) as patient: … patient.pid …
    Entered when the sample said "ready"; left by closing its stdin and reaping it. The Patient
    keeps its stdout and exit code (patient.process.returncode) after that.
    """

    @contextlib.contextmanager
    def run(name, *args, env=None, runtime=None, ready="^ready$"):
        patient = start_program(sample_command(name, *args, runtime=runtime), env, ready)
        try:
            yield patient
        finally:
            patient.release()

    return run


@pytest.fixture
def shelter(runtimes_folder, samples_folder):
    """shelter(command) -> (setup, command): for a target in a mount namespace that covers /tmp.

    `setup` is a line of shell that puts the runtimes and samples also under /media; the command
    is changed to use them there. So it works wherever the tree and the cache lie, /tmp included.
    """

    def move(command):
        places = {str(runtimes_folder): "/media/runtimes", str(samples_folder): "/media/samples"}
        setup = "mount -t tmpfs tmpfs /media && mkdir " + " ".join(places.values())
        for source, place in places.items():
            setup += f" && mount --bind '{source}' {place}"
            command = [str(part).replace(source, place) for part in command]
        return setup, command

    return move


@pytest.fixture
def web_service(runtime, sample_command, start_program):
    """The sample WebShop running on each runtime: a Patient with `url` (no slash at its end)."""
    patient = start_program(sample_command("WebShop"))
    patient.url = patient.wait_for(r"^listening on (http://127\.0\.0\.1:\d+)$").group(1)
    return patient


# ---- a project to build -------------------------------------------------------------------------

PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFramework>net{major}.0</TargetFramework>
    <OutputType>Exe</OutputType>
    <UseAppHost>false</UseAppHost>
    <NuGetAudit>false</NuGetAudit>
  </PropertyGroup>
</Project>
"""
PROGRAM = """public static class Program
{
    public static void Main() { System.Console.WriteLine("built"); }
}
"""


class Project:
    """folder, and the commands that build and run it (to be used as a target)."""

    def __init__(self, folder):
        self.folder = folder
        quiet = ["-nologo", "-v", "quiet"]
        self.build = ["dotnet", "build", *quiet, "--no-restore", "-nodeReuse:false", str(folder)]
        self.run = ["dotnet", "run", "--no-restore", "--project", str(folder)]
        self.env = {
            "DOTNET_CLI_USE_MSBUILD_SERVER": "0",
            "MSBUILDDISABLENODEREUSE": "1",
            "UseSharedCompilation": "false",
        }


@pytest.fixture
def dotnet_build_project(tmp_path):
    """A tiny C# project in a temporary folder, restored: `dotnet build` of it is a good target."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    version = subprocess.run(
        ["dotnet", "--version"], capture_output=True, text=True, check=True
    ).stdout
    (folder / "tiny.csproj").write_text(PROJECT.format(major=version.split(".")[0]))
    (folder / "Program.cs").write_text(PROGRAM)
    project = Project(folder)
    subprocess.run(
        ["dotnet", "restore", "-v", "quiet", str(folder)], env=environment(project.env), check=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )
    return project


# ---- a musl and a glibc host, tools ---------------------------------------------------------------


@pytest.fixture
def compile_c(tmp_path):
    """compile_c(source_text, *flags, compiler="gcc") -> path of the program."""

    def compile_program(text, *flags, compiler="gcc"):
        if shutil.which(compiler) is None:
            pytest.fail(f"{compiler} is missing: ./dev test installs it", pytrace=False)
        number = len(list(tmp_path.glob("program-*.c")))
        source = tmp_path / f"program-{number}.c"
        source.write_text(text)
        program = source.with_suffix("")
        subprocess.run([compiler, "-o", str(program), str(source), *flags], check=True)
        return program

    return compile_program


@pytest.fixture(scope="session")
def instrumentation_programs():
    """Folder of the managed test agent and the programs of tests/instrumentation, built once."""
    import instrumentation  # it uses this file

    return instrumentation.build_programs()


@pytest.fixture
def instrument_home(tmp_path, instrumentation_programs):
    """A home folder of the instrumentation agent, with the test agent in it and no points."""
    import instrumentation

    return instrumentation.Home(tmp_path, instrumentation_programs)
