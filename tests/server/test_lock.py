import os
from pathlib import Path

import pytest

from sessiond.server.process.lock import AnotherRuns, DaemonLock, LockRefused


def test_only_one_holds_the_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "daemon.lock")
    first = DaemonLock(path)
    with pytest.raises(AnotherRuns):
        DaemonLock(path)
    first.release()
    DaemonLock(path).release()


def test_the_lock_file_stays_when_the_lock_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    DaemonLock(str(path)).release()
    assert path.exists()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_holder_notices_that_the_file_was_removed_or_replaced(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "daemon.lock"
    lock = DaemonLock(str(path))
    before = lock.still_ours
    (tmp_path / "other").touch()
    if replaced:
        (tmp_path / "other").rename(path)
    else:
        path.unlink()
    assert (before, lock.still_ours) == (True, False)
    lock.release()


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "second name", "open to others"])
def test_a_file_that_is_no_lock_of_ours_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    path, other = tmp_path / "daemon.lock", tmp_path / "other"
    other.write_text("not ours", encoding="utf-8")
    other.chmod(0o600)
    match kind:
        case "link":
            path.symlink_to(other)
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path, 0o600)
        case "second name":
            path.hardlink_to(other)
        case "open to others":
            path.touch()
            path.chmod(0o666)
    before = path.lstat()
    with pytest.raises(LockRefused):
        DaemonLock(str(path))
    after = path.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert other.read_text(encoding="utf-8") == "not ours"
