"""Home folders of the instrumentation agent and runs of programs under it, for the test_instrument… files."""
import os
import subprocess
import threading

from conftest import BUILD, ROOT

CLSID = "{36032161-FFC0-4B61-B559-F6C5D41BAE5A}"
FRAMEWORK_CLSID = "{71DA0A04-7777-4EC6-9643-7D28B46A8A41}"
PATIENCE = 600  # seconds for a whole run, however loaded the machine is
LIBRARY = BUILD / "libclarinet_instrument.so"


def build_programs():
    """The test agent and the programs it watches; the folder they are in."""
    out = BUILD / "instrumentation"
    done = subprocess.run(
        ["dotnet", "build", "-nologo", "-v", "q", "-nodeReuse:false", f"-p:ClarinetOutput={out}/",
         str(ROOT / "tests/instrumentation/All.proj")],
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def extension(*matches):
    """An extension file: each match is (assembly, class, method, …) or a ready element."""
    rows = []
    for match in matches:
        if not isinstance(match, str):
            assembly, name, *methods = match
            inner = "".join(f"<exactMethodMatcher methodName='{method}'/>" for method in methods)
            match = f"<match assemblyName='{assembly}' className='{name}'>{inner}</match>"
        rows.append(f"<tracerFactory>{match}</tracerFactory>")
    return "<extension><instrumentation>" + "".join(rows) + "</instrumentation></extension>"


class Home:
    """A home folder of the instrumentation agent, and runs of programs under it."""

    def __init__(self, folder, programs):
        self.folder = folder
        self.programs = programs
        self.calls = folder / "calls.log"
        (folder / "extensions").mkdir()
        (folder / "NewRelic.Agent.Core.dll").write_bytes(
            (programs / "TestAgent/NewRelic.Agent.Core.dll").read_bytes()
        )
        self.configure("<configuration><log level='info'/></configuration>")

    def configure(self, text):
        (self.folder / "newrelic.config").write_text(text)

    def extension(self, name, text):
        (self.folder / "extensions" / name).write_text(text)

    def environment(self, clsid=CLSID, **env):
        self.calls.unlink(missing_ok=True)
        return {
            **os.environ,
            "CORECLR_ENABLE_PROFILING": "1",
            "CORECLR_PROFILER": clsid,
            "CORECLR_PROFILER_PATH": str(LIBRARY),
            "CORECLR_NEW_RELIC_HOME": str(self.folder),
            "CLARINET_TEST_AGENT_LOG": str(self.calls),
            **{name: str(value) for name, value in env.items()},
        }

    def command(self, runtime, program, *args):
        return runtime.command(self.programs / program / f"{program}.dll", *args)

    def run(self, runtime, program, *args, **env):
        return self._run(self.command(runtime, program, *args), self.environment(**env))

    def run_bare(self, runtime, program, *args, **env):
        return self._run(self.command(runtime, program, *args), {**os.environ, **env})

    def _run(self, command, env):
        return subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=PATIENCE, cwd=self.folder,
        )

    def reported(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def log(self):
        files = sorted((self.folder / "logs").glob("NewRelic.Profiler.*.log"), key=os.path.getmtime)
        return files[-1].read_text().splitlines() if files else []


class LiveProgram:
    """The program Live: a line in, a line out, so that files can be changed in between."""

    def __init__(self, home, runtime, **env):
        self.home = home
        self.process = subprocess.Popen(
            home.command(runtime, "Live"), env=home.environment(**env), cwd=home.folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self.limit = threading.Timer(PATIENCE, self.process.kill)  # or a hang would be for ever
        self.limit.start()

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def entered(self, *words):
        """What the agent was told while this command ran: names without the assembly."""
        before = len(self.home.reported())
        self.ask(*words)
        return [line[len("enter [Live]"):].split(" | ")[0] for line in self.home.reported()[before:]
                if line.startswith("enter ")]

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.process.stdin.close()
        rest = self.process.stderr.read()
        code = self.process.wait()
        self.limit.cancel()
        self.process.stdout.close()
        self.process.stderr.close()
        if problem[0] is None:
            assert (code, rest) == (3, "")


def same(a, b):
    assert a.stdout == b.stdout
    assert a.stderr == b.stderr
    assert a.returncode == b.returncode
