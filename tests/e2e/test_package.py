"""What is installed works: cmake --install, the .deb, the .tar.gz on a machine with only libc."""
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from conftest import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
# What every Debian machine has; nothing else is put into the bare root below.
LIBC = ["ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
        "librt.so.1", "libresolv.so.2", "libgcc_s.so.1"]


@pytest.fixture(scope="session")
def packages():
    """The paths of the .deb and the .tar.gz, made now."""
    done = subprocess.run(
        [ROOT / "dev", "package"], stdout=subprocess.PIPE, text=True, check=True,
        stdin=subprocess.DEVNULL,
    )
    paths = [ROOT / line for line in done.stdout.split()]
    newest = {path.suffix: path for path in sorted(paths, key=lambda path: path.stat().st_mtime)}
    return newest[".deb"], newest[".gz"]


@pytest.fixture
def bare_root(tmp_path):
    """A folder to chroot into, with libc and nothing else."""
    root = tmp_path / "root"
    for folder in ("lib64", "proc", "tmp"):
        (root / folder).mkdir(parents=True)
    for name in LIBC:
        for place in ("/lib/x86_64-linux-gnu", "/lib64"):
            if os.path.exists(f"{place}/{name}"):
                shutil.copy(f"{place}/{name}", root / "lib64" / name)
    os.symlink("lib64", root / "lib")
    return root


def enter(root, *command):
    """Runs a command inside the root, as root or in a user namespace of our own."""
    # The loader finds $ORIGIN through this link; mounting a real /proc would need more rights.
    link = root / "proc/self/exe"
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(command[0])
    prefix = ["/usr/sbin/chroot"]
    if os.geteuid() != 0:
        prefix = ["unshare", "-r", *prefix]
    done = subprocess.run(
        [*prefix, str(root), *command], capture_output=True, text=True, env={"NO_COLOR": "1"}
    )
    return done.returncode, done.stdout, done.stderr


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(clarinet VERSION (\S+)", text).group(1)


def expected_files(program):
    """What every way of installing must bring, relative to the prefix."""
    overview = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    verbs = [line.split()[0] for line in overview.stdout.splitlines() if line.startswith("  ")]
    files = {"bin/clarinet", "share/man/man1/clarinet.1", "share/doc/clarinet/copyright",
             "share/doc/clarinet/README.md", "share/bash-completion/completions/clarinet",
             "share/zsh/vendor-completions/_clarinet",
             "share/fish/vendor_completions.d/clarinet.fish"}
    files |= {f"share/man/man1/clarinet-{verb}.1" for verb in verbs}
    for library in ("libclarinet.so", "libclarinet_instrument.so"):
        if (program.parent / library).exists():
            files.add(f"lib/clarinet/{library}")
    return files


def test_the_archive_runs_where_there_is_only_libc(packages, bare_root, clarinet_program):
    with tarfile.open(packages[1]) as archive:
        names = archive.getnames()
        archive.extractall(bare_root)
    top = names[0].split("/")[0]
    assert top.startswith(f"clarinet-{version()}-linux-")
    assert {f"{top}/{name}" for name in expected_files(clarinet_program)} <= set(names)
    code, out, err = enter(bare_root, f"/{top}/bin/clarinet", "version")
    assert (code, out, err) == (0, f"clarinet {version()}\n", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_archive_records_where_there_is_only_libc(packages, bare_root, newest_runtime,
                                                      samples_folder):
    """A machine with libc, a runtime (which needs libstdc++) and the archive, nothing else."""
    with tarfile.open(packages[1]) as archive:
        program = f"/{archive.getnames()[0].split('/')[0]}/bin/clarinet"
        archive.extractall(bare_root)
    shutil.copy("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", bare_root / "lib64")
    for place in ("runtimes", "samples"):
        (bare_root / place).mkdir()
    sample = ["/runtimes/dotnet", "exec", "--fx-version", newest_runtime.version,
              "/samples/ExceptionStorm/ExceptionStorm.dll", "--rounds", "10", "--rate", "100"]
    script = (f"cd '{bare_root}' && mount -t proc proc proc && "
              f"mount --bind '{newest_runtime.folder}' runtimes && "
              f"mount --bind '{samples_folder}' samples && "
              f"exec /usr/sbin/chroot . {program} record -p cpu,exceptions -o /tmp/o.clarinet -- "
              + " ".join(sample))
    done = subprocess.run(["unshare", "-mpf", "sh", "-c", script], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    assert done.returncode == 0 and "recorded" in done.stderr, done
    code, out, err = enter(bare_root, program, "report", "/tmp/o.clarinet", "-f", "md")
    assert code == 0 and "System.InvalidOperationException" in out, (out, err)


def test_the_deb_names_what_it_needs(packages, bare_root, clarinet_program):
    control = subprocess.run(
        ["dpkg-deb", "-f", packages[0]], capture_output=True, text=True, check=True
    ).stdout
    assert "Package: clarinet\n" in control
    assert f"Version: {version()}\n" in control
    depends = re.search(r"^Depends: (.*)$", control, re.MULTILINE).group(1)
    for name in ("libc6", "libjansson4"):
        assert re.search(rf"\b{name}\b", depends), control
    assert "libc6-dev" not in depends
    subprocess.run(["dpkg-deb", "-x", packages[0], bare_root], check=True)
    for name in expected_files(clarinet_program):
        assert (bare_root / "usr" / name).exists(), name
    assert not (bare_root / "usr/lib/clarinet/bundled").exists()
    # Without the packages it names, it does not start; with their libraries it does.
    assert enter(bare_root, "/usr/bin/clarinet", "version")[0] != 0
    linked = subprocess.run(
        ["ldd", bare_root / "usr/bin/clarinet"], capture_output=True, text=True, check=True
    ).stdout
    for path in re.findall(r"=> (/\S+)", linked):
        shutil.copy(path, bare_root / "lib64")
    assert enter(bare_root, "/usr/bin/clarinet", "version")[:2] == (0, f"clarinet {version()}\n")


def test_installing_into_a_prefix(packages, tmp_path, clarinet_program):
    prefix = tmp_path / "prefix"
    subprocess.run(
        ["cmake", "--install", ROOT / "build", "--prefix", prefix, "--strip"], check=True,
        stdout=subprocess.DEVNULL,
    )
    for name in expected_files(clarinet_program):
        assert (prefix / name).exists(), name
    assert not (prefix / "lib/clarinet/bundled").exists()
    done = subprocess.run([prefix / "bin/clarinet", "version"], capture_output=True, text=True)
    assert done.stdout == f"clarinet {version()}\n"


def test_man_pages_are_sound(packages):
    pages = sorted((ROOT / "build/pages/man").glob("*.1"))
    assert len(pages) >= 3
    for page in pages:
        done = subprocess.run(
            ["groff", "-k", "-man", "-ww", "-Tutf8", page], capture_output=True, text=True
        )
        assert done.returncode == 0 and done.stderr == "", (page.name, done.stderr)
        assert "NAME" in re.sub(r".\x08", "", done.stdout)
