"""sessiond as a service of a user: its files, when they are written, and that clients start the daemon through it."""

import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sessiond.client import units
from sessiond.client.daemon_socket import read_endpoint
from sessiond.client.dial import connect as dial
from sessiond.paths import Locations, find_locations
from support import manager
from support.homes import a_home, environment, sessiond, wait_until
from support.patience import BOUND

_SYSTEMCTL = """\
#!{python}
import os, pathlib, subprocess, sys
home = pathlib.Path({home!r})
words = [it for it in sys.argv[1:] if it not in ("--user", "--no-ask-password")]
with open(home / "asked", "a") as asked:
    print(*words, file=asked)
if words[0] == "is-active":
    sys.exit(0 if (home / "on").exists() else 3)
if words[0] == "disable":
    (home / "on").unlink(missing_ok=True)
if words[0] == "restart":
    unit = pathlib.Path(os.environ["XDG_CONFIG_HOME"], "systemd/user", words[1]).read_text()
    path = next(it for it in unit.splitlines() if it.startswith("ListenStream=")).partition("=")[2]
    (home / "on").touch()
    it = subprocess.Popen(
        [sys.executable, {manager!r}, path, sys.executable, "-m", "sessiond", "serve"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )
    it.stdout.readline()
"""
"""As much of systemctl as sessiond asks, with a manager that listens."""


class Desk:
    """A home with a service manager that can be asked, or one that cannot."""

    def __init__(self, locations: Locations, *, manager_responds: bool) -> None:
        self.locations = locations
        self.home = Path(str(locations.home))
        folder = self.home / "bin"
        folder.mkdir()
        systemctl = folder / "systemctl"
        text = _SYSTEMCTL.format(python=sys.executable, home=str(self.home), manager=manager.__file__)
        systemctl.write_text(text if manager_responds else "#!/bin/sh\nexit 1\n", encoding="utf-8")
        systemctl.chmod(0o755)
        self.environment = environment(
            locations,
            PATH=f"{folder}:/usr/bin:/bin",
            XDG_CONFIG_HOME=str(self.home / "xdg"),
            HOME=str(self.home),
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            sessiond(*words), env=self.environment, capture_output=True, encoding="utf-8", timeout=BOUND,
            check=False,
        )  # fmt: skip

    def files(self) -> list[Path]:
        return sorted((self.home / "xdg").rglob("*.s*"))

    def asked(self) -> list[str]:
        asked = self.home / "asked"
        return asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []


def test_the_files_can_be_looked_at_before_anything_is_written() -> None:
    with a_home() as locations:
        desk = Desk(locations, manager_responds=True)
        shown = desk.run("install-service", "--print")
        assert shown.returncode == 0
        assert f"ListenStream={locations.socket}" in shown.stdout
        assert (desk.files(), desk.asked()) == ([], [])


def test_installed_twice_is_installed_once_and_what_is_right_is_left_alone() -> None:
    with a_home() as locations:
        desk = Desk(locations, manager_responds=True)
        assert desk.run("install-service").returncode == 0
        files = desk.files()
        assert [file.suffix for file in files] == [".service", ".socket"]
        before = [file.stat().st_ino for file in files]
        asked = len(desk.asked())
        again = desk.run("install-service")
        assert (again.returncode, [file.stat().st_ino for file in files]) == (0, before)
        assert not [line for line in desk.asked()[asked:] if line.startswith(("restart", "enable"))]


def test_the_daemon_that_runs_gives_its_place_to_the_service() -> None:
    with a_home() as locations:
        desk = Desk(locations, manager_responds=True)
        desk.run("serve", "--detach")
        before = read_endpoint(locations)["pid"]
        assert desk.run("install-service").returncode == 0
        dial(locations, autostart=False).close()  # as good as any other client
        wait_until(Path(locations.endpoint).exists, BOUND)
        told = desk.run("status", "--json")
        assert told.returncode == 0, told.stderr
        assert str(before) not in told.stdout


def test_a_client_has_the_manager_start_the_daemon_where_there_is_one() -> None:
    with a_home() as locations:
        desk = Desk(locations, manager_responds=True)
        desk.run("install-service")
        asked = len(desk.asked())
        Path(locations.socket).unlink()  # as after a logout
        wait_until(lambda: desk.run("list").returncode == 0, BOUND)
        assert any(line.startswith("restart sessiond-") for line in desk.asked()[asked:])
        with dial(locations, autostart=False):
            pass


def test_without_a_manager_that_answers_the_commands_are_told_and_clients_start_the_daemon() -> None:
    with a_home() as locations:
        desk = Desk(locations, manager_responds=False)
        told = desk.run("install-service")
        assert told.returncode == 0
        assert "systemctl --user enable --now" in told.stderr
        assert desk.run("new", "--id", "atlas-one").returncode == 0


def test_an_installed_service_can_be_removed_again() -> None:
    with a_home() as locations:
        desk = Desk(locations, manager_responds=True)
        assert desk.run("uninstall-service").returncode == 0
        desk.run("install-service")
        shown = desk.run("uninstall-service", "--print")
        assert shown.stdout.split() == [str(file) for file in sorted(desk.files(), reverse=True)]
        assert desk.run("uninstall-service").returncode == 0
        assert desk.files() == []
        assert any(line.startswith("disable --now") for line in desk.asked())


@pytest.mark.parametrize("home", ["/h", '/home/a da/"quoted" $HOME 100%'])
def test_any_path_gets_into_the_units_whole(home: str) -> None:
    locations = find_locations({"SESSIOND_HOME": home})
    service = next(unit for name, unit in units.systemd_units(locations).items() if name.endswith(".service"))
    line = next(line for line in service.splitlines() if line.startswith("Environment="))
    said = line.removeprefix('Environment="').removesuffix('"')
    assert said.replace('\\"', '"').replace("%%", "%") == f"SESSIOND_HOME={home}"


def test_a_home_of_its_own_has_a_service_of_its_own() -> None:
    names = {units.unit_name(find_locations({"SESSIOND_HOME": home})) for home in ("/a", "/b")}
    names.add(units.unit_name(find_locations({"HOME": "/home/ada"})))
    assert len(names) == 3
    assert "sessiond" in names


def test_the_property_list_says_what_launchd_needs() -> None:
    locations = find_locations({"SESSIOND_HOME": "/h"})
    (text,) = units.launchd_job(locations).values()
    job = plistlib.loads(text.encode())
    assert job["Sockets"]["sessiond"] == {"SockPathName": locations.socket, "SockPathMode": 0o600}
    assert job["ProgramArguments"][-1] == "serve"
    assert job["EnvironmentVariables"]["SESSIOND_HOME"] == "/h"


@pytest.mark.system
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    with a_home() as locations:
        desk = Desk(locations, manager_responds=False)
        desk.run("install-service")
        runtime = tmp_path / "run"
        runtime.mkdir(mode=0o700)
        told = subprocess.run(
            ["systemd-analyze", "--user", "verify", *map(str, desk.files())],
            env={**desk.environment, "XDG_RUNTIME_DIR": str(runtime)}, capture_output=True, timeout=BOUND,
            encoding="utf-8", check=False,
        )  # fmt: skip
        assert [line for line in told.stderr.splitlines() if "sessiond" in line] == []
