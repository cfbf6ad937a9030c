"""The ids in the names of logs, whatever other programs add, move and remove."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from sessiond.store.files.census import Root
from sessiond.store.files.log_names import LogNames

NAME = "2026-01-01T00-00-00-000Z_{}.jsonl"


def write(folder: Path, session_id: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME.format(session_id)
    path.write_bytes(b"")
    return path


def names_of(root: Path) -> LogNames:
    return LogNames([Root(str(root), own=True, draft=False)])


def test_logs_in_a_root_and_in_its_folders_are_known(tmp_path: Path) -> None:
    write(tmp_path, "one")
    write(tmp_path / "folder", "two")
    write(tmp_path / "folder/below", "three")
    (tmp_path / "folder" / NAME.format("four")).symlink_to(tmp_path / NAME.format("one"))
    names = names_of(tmp_path)
    assert {name: names.has(name) for name in ("one", "two", "three", "four", "five")} == {
        "one": True, "two": True, "three": False, "four": False, "five": False,
    }  # fmt: skip


def test_changes_of_names_are_seen_at_once(tmp_path: Path) -> None:
    names = names_of(tmp_path / "root")
    assert not names.has("one")
    path = write(tmp_path / "root/folder", "one")
    assert names.has("one")
    path = path.rename(path.with_name(NAME.format("two")))
    assert (names.has("one"), names.has("two")) == (False, True)
    path.unlink()
    path.parent.rmdir()
    assert not names.has("two")
    write(tmp_path / "root/folder", "three")
    assert names.has("three")


def test_a_folder_is_read_again_only_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / f"folder-{number}" for number in range(5)]
    long_ago = time.time() - 1_000
    for number, folder in enumerate(folders):
        write(folder, f"log-{number}")
        os.utime(folder, (long_ago, long_ago))
    os.utime(tmp_path, (long_ago, long_ago))
    read: list[str] = []

    scandir = os.scandir

    def reading(folder: str) -> Any:
        read.append(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", reading)
    names = names_of(tmp_path)
    assert names.has("log-0")
    assert len(read) == 6
    assert names.has("log-4")
    assert len(read) == 6
    write(folders[2], "new")
    assert names.has("new")
    assert read[6:] == [str(folders[2])]


def test_a_look_that_takes_long_is_not_repeated_at_once_unless_the_id_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessiond.store.files.log_names.SHORT_LOOK_SECONDS", 0.0)
    monkeypatch.setattr("sessiond.store.files.log_names.REST_FACTOR", 1_000_000)
    names = names_of(tmp_path)
    path = write(tmp_path, "one")
    assert names.has("one")
    write(tmp_path, "of another program")
    assert not names.has("of another program")
    write(tmp_path, "own")
    names.add("own")
    assert names.has("own")  # after a look, which finds the other one
    assert names.has("of another program")
    path.unlink()
    assert not names.has("one")
