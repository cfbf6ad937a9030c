"""The wheel and the sdist as a user has them: built, checked, installed into an empty home, and run there."""

import hashlib
import json  # noqa: TID251 - what agents read
import os
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sessiond import __version__

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sysconfig.get_path("scripts"))


def _pythons() -> Iterator[str]:
    """Yield this Python, and those of other versions on this machine that sessiond runs on."""
    yield sys.executable
    for version in ("3.11", "3.12", "3.13", "3.14"):
        if sys.version_info[:2] == tuple(map(int, version.split("."))):
            continue
        found = subprocess.run(
            [ROOT / "scripts/install-pythons", "--find", version], capture_output=True, encoding="utf-8"
        )
        if found.returncode == 0:
            yield found.stdout.strip()


@dataclass(frozen=True)
class Packages:
    """The packages that were built from the tree."""

    folder: Path
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return _build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def pip(tmp_path_factory: pytest.TempPathFactory) -> list[str | Path]:
    """A pip that installs into environments that have none: to make one with pip takes seconds."""
    venv = tmp_path_factory.mktemp("pip") / "venv"
    _run([sys.executable, "-m", "venv", venv], {**os.environ})
    return [venv / "bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check"]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """An empty home, whose path no shell may split. Daemons that were started in it are stopped at the end."""
    folder = tmp_path / "Ada's  Größe"
    folder.mkdir()
    yield folder
    program = folder / "venv/bin/sessiond"
    if program.exists():
        subprocess.run([program, "stop"], env=_variables(folder), capture_output=True, timeout=60)


def test_an_index_would_accept_both(packages: Packages) -> None:
    ran = _run([BIN / "twine", "check", "--strict", packages.wheel, packages.sdist], {**os.environ})
    assert ran.stdout.count("PASSED") == 2


def test_the_same_tree_builds_the_same_bytes(packages: Packages, tmp_path: Path) -> None:
    again = _build(ROOT, tmp_path)
    assert (_digest(again.wheel), _digest(again.sdist)) == (_digest(packages.wheel), _digest(packages.sdist))


def test_the_sdist_builds_the_same_wheel(packages: Packages, tmp_path: Path) -> None:
    _run(["tar", "-xf", packages.sdist, "-C", tmp_path], {**os.environ})
    again = _build(tmp_path / f"sessiond-{__version__}", tmp_path / "dist")
    assert _digest(again.wheel) == _digest(packages.wheel)


def test_the_wheel_has_the_daemon_and_nothing_else(packages: Packages) -> None:
    with zipfile.ZipFile(packages.wheel) as archive:
        names = archive.namelist()
    roots = {name.partition("/")[0] for name in names}
    info = f"sessiond-{__version__}"
    assert roots == {"sessiond", f"{info}.data", f"{info}.dist-info"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    assert f"{info}.data/data/share/man/man1/sessiond.1" in names
    assert f"{info}.dist-info/licenses/LICENSE" in names


@pytest.mark.parametrize("python", list(_pythons()))
def test_it_is_installed_into_an_empty_home_and_finds_what_was_said(
    packages: Packages, home: Path, python: str
) -> None:
    variables = _variables(home)
    _run([BIN / "uv", "venv", "--quiet", "--python", python, home / "venv"], variables)
    _run(
        [BIN / "uv", "pip", "install", "--quiet", "--python", home / "venv/bin/python", packages.wheel],
        variables,
    )
    sessiond = home / "venv/bin/sessiond"
    assert _run([sessiond, "--version"], variables).stdout == f"sessiond {__version__}\n"
    _run([sessiond, "new", "--id", "first-one"], variables)
    _run(
        [sessiond, "append", "first-one", "--user", "Where is the harbor?", "--assistant", "North."],
        variables,
    )
    found = _run([sessiond, "search", "harbor", "--wait"], variables).stdout
    assert "Where is the harbor?" in found
    assert _run([sessiond, "doctor"], variables).returncode == 0


@pytest.mark.parametrize("installer", ["uv", "pip"])
@pytest.mark.parametrize("name", ["plain", "with a space", "Größe 日本", "l" * 150])
def test_the_command_starts_wherever_it_is_installed(
    packages: Packages, home: Path, pip: list[str | Path], installer: str, name: str
) -> None:
    venv = home / name / "venv"
    variables = _variables(home)
    _run([sys.executable, "-m", "venv", "--without-pip", venv], variables)
    install: dict[str, list[str | Path]] = {
        "uv": [BIN / "uv", "pip", "install", "--quiet", "--python", venv / "bin/python"],
        "pip": [*pip, "--python", venv / "bin/python", "install"],
    }
    _run([*install[installer], "--no-deps", "--no-index", packages.wheel], variables)
    assert _run([venv / "bin/sessiond", "--version"], variables).stdout == f"sessiond {__version__}\n"


def test_hooks_servers_and_services_name_the_command_so_that_programs_find_it(
    packages: Packages, home: Path
) -> None:
    variables = _variables(home)
    _run([BIN / "uv", "venv", "--quiet", "--python", sys.executable, home / "venv"], variables)
    _run(
        [BIN / "uv", "pip", "install", "--quiet", "--python", home / "venv/bin/python", packages.wheel],
        variables,
    )
    sessiond = home / "venv/bin/sessiond"
    claude = home / "bin/claude"
    claude.parent.mkdir()
    claude.write_text("#!/bin/sh\necho '2.1.0 (Claude Code)'\n", encoding="utf-8")
    claude.chmod(0o700)
    variables["PATH"] = f"{claude.parent}:{variables['PATH']}"
    _run([sessiond, "setup", "--yes", "--agent", "claude-code"], variables)
    settings = json.loads((home / ".claude/settings.json").read_text(encoding="utf-8"))
    hooks = {
        hook["command"]
        for groups in settings["hooks"].values()
        for group in groups
        for hook in group["hooks"]
    }
    assert hooks
    for hook in hooks:
        loud = hook.replace(" 2>/dev/null || true", "")
        assert str(sessiond).replace("'", "'\"'\"'") in loud
        assert _run(["/bin/sh", "-c", loud], variables).stderr == ""
    server = json.loads((home / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]["sessiond"]
    _run([server["command"], *server["args"], "--help"], variables)
    unit = _run([sessiond, "install-service", "--print"], variables).stdout
    [start] = [line.partition("=")[2] for line in unit.splitlines() if line.startswith("ExecStart=")]
    assert shlex.split(start)[0] == str(home / "venv/bin/python")


def test_it_runs_from_a_local_index_without_an_installation(packages: Packages, home: Path) -> None:
    command: list[str | Path] = [
        BIN / "uvx",
        "--quiet",
        "--find-links",
        packages.folder,
        "--python",
        sys.executable,
        "sessiond",
    ]
    assert _run([*command, "--version"], _variables(home)).stdout == f"sessiond {__version__}\n"
    assert _run([*command, "new", "--id", "first-one"], _variables(home)).stdout == "first-one\n"
    assert "first-on" in _run([*command, "list", "--drafts"], _variables(home)).stdout
    _run([*command, "stop"], _variables(home))


def _build(tree: Path, folder: Path) -> Packages:
    """Build both packages of a tree without the network."""
    _run([sys.executable, "-m", "hatchling", "build", "-d", folder], {**os.environ}, cwd=tree)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Packages(folder, wheel, sdist)


def _run(
    command: Sequence[str | Path],
    variables: Mapping[str, str],
    *,
    cwd: Path | None = None,
    code: int | None = 0,
) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        command, env=dict(variables), cwd=cwd or variables["HOME"], stdin=subprocess.DEVNULL,
        capture_output=True, encoding="utf-8", timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
    return ran


def _variables(home: Path) -> dict[str, str]:
    """Return the variables of a new user: nothing but a home, and how this machine reaches package indexes."""
    passed = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    return {
        "UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1",  # as pip does
        **passed, "HOME": str(home), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
        "UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache/uv"),
    }  # fmt: skip


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
