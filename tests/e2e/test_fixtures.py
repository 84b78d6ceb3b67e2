"""The ground the other end-to-end tests stand on: runtimes, samples, the tool."""
import json
import subprocess
import urllib.error
import urllib.request

from conftest import PATIENCE

STORM_TYPES = {
    "ExceptionStorm.RejectedException`1[ExceptionStorm.Order]": (1, 0),
    "System.ApplicationException": (1, 0),
    "System.ArgumentException": (1, 1),
    "System.ArgumentOutOfRangeException": (1, 0),
    "System.Collections.Generic.KeyNotFoundException": (1, 0),
    "System.DivideByZeroException": (1, 0),
    "System.FormatException": (1, 0),
    "System.InvalidOperationException": (1, 0),
    "System.NotSupportedException": (1, 0),
    "System.NullReferenceException": (1, 0),
    "System.TimeoutException": (1, 2),
}


def test_a_sample_runs_on_the_runtime_it_was_given(runtime, sample):
    with sample("Healthy") as patient:
        with open(f"/proc/{patient.pid}/maps") as maps:
            assert f"/Microsoft.NETCore.App/{runtime.version}/libcoreclr.so" in maps.read()
    assert patient.process.returncode == 0
    assert patient.lines == ["ready", "every round gave 73a3d672a0729836"]


def test_the_storm_counts_what_it_throws(runtime, start_program, sample_command):
    patient = start_program(sample_command("ExceptionStorm", "--rounds", 7, "--rate", 0))
    assert patient.wait() == 0
    expected = [
        f"{name} thrown={7 * thrown} rethrown={7 * rethrown}"
        for name, (thrown, rethrown) in sorted(STORM_TYPES.items())
    ]
    assert patient.lines == ["ready", *expected]


def test_all_idle_threads_wake_up(sample):
    with sample("Idle", "--threads", 12) as patient:
        pass
    assert patient.lines == ["ready", "awake 12"]


def test_bursts_end(sample):
    with sample("Bursty", "--bursts", 2, "--period", 50, "--count", 1) as patient:
        pass
    assert patient.lines == ["ready", "bursts 2", "done"]


def test_the_old_runtime_runs_its_sample(old_runtime, sample):
    with sample("OldTimer", runtime=old_runtime) as patient:
        with open(f"/proc/{patient.pid}/maps") as maps:
            assert "/Microsoft.NETCore.App/3.1.3/" in maps.read()
    assert patient.lines == ["ready", "done"]


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


def test_the_shop_serves(web_service):
    assert get(web_service.url + "/health") == "ok"
    assert len(json.loads(get(web_service.url + "/products"))) == 100
    assert json.loads(get(web_service.url + "/products/3"))["price"] == 3.75
    assert get(web_service.url + "/sort?n=1000") == get(web_service.url + "/sort?n=1000")
    assert get(web_service.url + "/throw?n=5") == "5"
    for path, code in (("/products/4711", 404), ("/fail", 500)):
        try:
            get(web_service.url + path)
        except urllib.error.HTTPError as answer:
            assert answer.code == code
        else:
            raise AssertionError(path + " was served")
    assert web_service.finish() == 0
    assert web_service.lines[-1] == "closed"


def test_the_project_builds(dotnet_build_project, start_program):
    builder = start_program(dotnet_build_project.build, dotnet_build_project.env, ready=None)
    assert builder.wait(PATIENCE) == 0, builder
    outputs = list(dotnet_build_project.folder.glob("bin/**/tiny.dll"))
    assert outputs, builder
    done = subprocess.run(["dotnet", outputs[0]], capture_output=True, text=True, check=True)
    assert done.stdout == "built\n"


def test_the_tool_tells_its_version(clarinet):
    done = clarinet("version")
    assert done.code == 0
    assert done.out.startswith("clarinet ")
    assert done.err == ""


def test_an_unknown_verb_is_a_usage_error(clarinet):
    done = clarinet("frobnicate")
    assert done.code == 2
    assert done.out == ""
    assert "there is no verb 'frobnicate'" in done.err
