"""A census finds every change, time after time, and nothing that did not change."""

import errno
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.store.errors import StorageFailed
from sessiond.store.files.census import FileCensus, Root

SETTLED = time.time() - 100


def never(_polled_at: float) -> bool:
    """A census that checks all files the first time only."""
    return _polled_at < 0


def put(path: Path, data: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def refs(root: Path) -> set[str]:
    return {str(path) for path in root.rglob("*.jsonl")}


def test_the_first_census_finds_all_and_the_next_nothing(tmp_path: Path) -> None:
    put(tmp_path / "--a--/1_one.jsonl")
    put(tmp_path / "two.jsonl")
    put(tmp_path / "--a--/deeper/three.jsonl")
    put(tmp_path / "--a--/.hidden.jsonl")
    put(tmp_path / "--a--/notes.txt")
    (tmp_path / "--a--/link.jsonl").symlink_to(tmp_path / "two.jsonl")
    census = FileCensus([Root(str(tmp_path))])
    assert {Path(stored.ref).name for stored in census.poll().found} == {"1_one.jsonl", "two.jsonl"}
    assert census.poll() == ([], [])


def test_a_file_that_changed_is_found_at_once_in_a_folder_that_did_not(tmp_path: Path) -> None:
    path = put(tmp_path / "--a--/one.jsonl")
    os.utime(path.parent, (SETTLED, SETTLED))
    census = FileCensus([Root(str(tmp_path))], due=never)
    census.poll()
    with path.open("ab") as file:
        file.write(b"more")
    assert [(stored.ref, stored.size) for stored in census.poll().found] == [(str(path), 5)]


def test_of_many_files_one_that_is_hinted_at_is_polled_at(tmp_path: Path) -> None:
    paths = [put(tmp_path / f"--a--/{number}.jsonl") for number in range(400)]
    for path in paths:
        os.utime(path, (SETTLED, SETTLED))
    old = paths[7]
    os.utime(old, (SETTLED - 1_000, SETTLED - 1_000))
    os.utime(old.parent, (SETTLED, SETTLED))
    census = FileCensus([Root(str(tmp_path))], due=never)
    census.poll()
    with old.open("ab") as file:
        file.write(b"more")
    assert census.poll().found == []
    assert [stored.ref for stored in census.poll([str(old), "/elsewhere.jsonl"]).found] == [str(old)]


def test_a_folder_of_ours_that_cannot_be_read_is_an_error_and_one_of_others_a_gap(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(StorageFailed):
        FileCensus([Root(str(loop))]).poll()
    census = FileCensus([Root(str(loop), own=False), Root(str(put(tmp_path / "ok/one.jsonl").parent))])
    assert len(census.poll().found) == 1
    assert str(loop) in caplog.text


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("cgmdr"), st.integers(0, 5), st.integers(0, 2)), max_size=12))
def test_after_any_changes_a_census_knows_what_there_is(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    root = tmp_path_factory.mktemp("root")
    census = FileCensus([Root(str(root))])
    known: dict[str, int] = {}
    for what, number, folder in steps:
        path = root / f"--{folder}--" / f"{number}.jsonl"
        match what:
            case "c" if not path.exists():
                put(path)
            case "g" if path.exists():
                path.write_bytes(path.read_bytes() + b"y")
            case "m" if path.exists():
                target = root / f"--{(folder + 1) % 3}--" / path.name
                target.parent.mkdir(exist_ok=True)
                path.replace(target)
            case "d" if path.exists():
                path.unlink()
            case "r" if path.exists():
                put(root / "new", b"other").replace(path)
        changes = census.poll()
        for ref in changes.gone:
            del known[ref]
        known |= {stored.ref: stored.size for stored in changes.found}
        assert known == {ref: Path(ref).stat().st_size for ref in refs(root)}


def test_a_folder_that_could_not_be_read_once_is_read_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / "--a--/one.jsonl")
    os.utime(path.parent, (SETTLED, SETTLED))
    census, scandir = FileCensus([Root(str(tmp_path))], due=never), os.scandir

    def refuse(folder: str) -> object:
        if folder == str(path.parent):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(StorageFailed):
        census.poll()
    monkeypatch.setattr(os, "scandir", scandir)
    assert [stored.ref for stored in census.poll().found] == [str(path)]
