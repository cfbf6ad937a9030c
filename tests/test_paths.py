import errno
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.paths import (
    SOCKET_PATH_LIMIT,
    Locations,
    UnsafeFolderError,
    find_locations,
    make_private,
    obstacle,
)

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the XDG folders are those of Linux")


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder that leaves room for the name of a socket, as a runtime folder does and `tmp_path` may not."""
    with tempfile.TemporaryDirectory(prefix="sd-") as folder:
        yield Path(folder)


def private(folder: Path) -> str:
    folder.mkdir(mode=0o700)
    return str(folder)


def test_one_variable_puts_everything_under_one_folder() -> None:
    locations = find_locations({"SESSIOND_HOME": "/x"})
    assert (locations.data, locations.state, locations.runtime, locations.config) == (
        "/x/data",
        "/x/state",
        "/x/run",
        "/x/config",
    )
    assert locations.socket == "/x/run/sessiond.sock"


def test_a_relative_home_is_taken_from_the_current_folder_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_locations({"SESSIOND_HOME": "h"}).home == str(tmp_path / "h")


def test_a_path_too_long_for_a_socket_gets_a_short_one_in_the_runtime_folder(short: Path) -> None:
    runtime = private(short / "r")
    home = f"/{'x' * 120}"
    locations = find_locations({"SESSIOND_HOME": home, "XDG_RUNTIME_DIR": runtime})
    assert locations.runtime.startswith(f"{runtime}/sessiond-")
    assert len(locations.socket) <= SOCKET_PATH_LIMIT
    assert locations.state == f"{home}/state"


def test_two_homes_with_long_paths_have_two_sockets(short: Path) -> None:
    runtime = private(short / "r")
    sockets = {
        find_locations({"SESSIOND_HOME": f"/{'x' * 120}{n}", "XDG_RUNTIME_DIR": runtime}).socket
        for n in (1, 2)
    }
    assert len(sockets) == 2


def test_there_is_a_short_path_even_without_a_runtime_folder() -> None:
    locations = find_locations({"SESSIOND_HOME": f"/{'x' * 120}", "XDG_RUNTIME_DIR": "/missing"})
    assert len(locations.socket) <= SOCKET_PATH_LIMIT


@LINUX
def test_the_folders_are_those_that_platformdirs_names(monkeypatch: pytest.MonkeyPatch) -> None:
    from platformdirs import PlatformDirs

    for environment in (
        {"HOME": "/h"},
        {"HOME": "/h", "XDG_STATE_HOME": "/s"},
        {"HOME": "/h", "XDG_DATA_HOME": "d"},
    ):
        for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        locations, theirs = find_locations(environment), PlatformDirs("sessiond", appauthor=False)
        assert (locations.data, locations.state, locations.config) == (
            theirs.user_data_dir,
            theirs.user_state_dir,
            theirs.user_config_dir,
        )


@LINUX
def test_another_state_folder_does_not_share_a_socket_in_the_runtime_folder(tmp_path: Path) -> None:
    runtime = private(tmp_path / "r")
    one, two = (find_locations({"HOME": home, "XDG_RUNTIME_DIR": runtime}) for home in ("/h/one", "/h/two"))
    assert one.socket != two.socket


@LINUX
@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_runtime_folder_that_others_may_enter_is_not_used(tmp_path: Path, mode: int) -> None:
    runtime = tmp_path / "r"
    runtime.mkdir()
    runtime.chmod(mode)
    assert not find_locations({"HOME": "/h", "XDG_RUNTIME_DIR": str(runtime)}).runtime.startswith(
        str(runtime)
    )


def test_places_cannot_be_changed() -> None:
    locations = find_locations({"SESSIOND_HOME": "/x"})
    with pytest.raises(AttributeError):
        locations.data = "/y"
    assert isinstance(locations, Locations)


def test_folders_are_made_for_the_owner_only(tmp_path: Path) -> None:
    make_private(str(tmp_path / "a" / "b"))
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_folder_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private(str(tmp_path))
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["writable by others", "link", "file"])
def test_a_folder_that_cannot_be_trusted_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    match kind:
        case "writable by others":
            path.mkdir()
            path.chmod(0o777)
        case "link":
            (tmp_path / "real").mkdir()
            path.symlink_to(tmp_path / "real")
        case "file":
            path.write_text("mine", encoding="utf-8")
    before = path.lstat()
    with pytest.raises(UnsafeFolderError):
        make_private(str(path))
    assert os.path.samestat(before, path.lstat())
    assert path.lstat().st_mode == before.st_mode


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_folder_that_the_disk_refuses_is_told_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refuse(path: str, mode: int = 0) -> None:
        raise OSError(error, os.strerror(error), path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(UnsafeFolderError) as refused:
        make_private(str(tmp_path / "new"))
    assert os.strerror(error) in refused.value.reason


def test_the_obstacle_to_a_folder_is_found_without_making_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    assert obstacle(str(tmp_path / "a" / "b")) is None
    for name in ("file/a", "file", "link/a", "link"):
        assert str(tmp_path / name.partition("/")[0]) in (obstacle(str(tmp_path / name)) or "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]
