"""Builds an oracle (tests/oracles/NAME/NAME.csproj) into build/oracles/NAME, once per change."""
import fcntl
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def oracle(name):
    """The command line that runs the oracle."""
    source = ROOT / "tests" / "oracles" / name
    folder = ROOT / "build" / "oracles" / name
    program = folder / "bin" / f"{name}.dll"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(path.stat().st_mtime for path in source.iterdir())
        if not program.exists() or program.stat().st_mtime < newest:
            subprocess.run(
                ["dotnet", "build", str(source / f"{name}.csproj"), "-c", "Release", "--nologo",
                 "-v", "q", "-o", str(folder / "bin"), "-nodeReuse:false",
                 f"-p:BaseIntermediateOutputPath={folder / 'obj'}/"],
                check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            )
            program.touch()
    return ["dotnet", str(program)]
