"""Lines added to a large file give the entries that the whole file gives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents.companions import Companions
from sessiond.hub.following import tails
from sessiond.hub.following.tails import Tail
from sessiond.hub.transfer import foreign_files
from support.dialects import jsonl
from support.long_sessions import claude_session


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_files, "MIN_READER_BYTES", 0)


def tail_at(path: Path) -> Tail:
    """The tail of a file that was just read whole."""
    read = foreign_files.read(str(path), None, Companions())
    assert read.reader is not None
    made = tails.tail_of(str(path), read.imported.dialect, read.state, read.reader)
    assert made is not None
    return made


def up_to_an_answer() -> list[Any]:
    lines = claude_session(2)
    return lines[: next(n for n, line in enumerate(lines, 1) if line.get("uuid") == "line-of-1-3")]


def ids(tail: Tail) -> list[str]:
    added = tail.read_added()
    assert added is not None
    return [entry.id for entry in added.entries[1 : added.imported.conversation_count + 1]]


def test_a_file_that_is_not_only_longer_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    lines = claude_session(3)

    def tail() -> Tail:
        path.write_bytes(jsonl(*lines))
        return tail_at(path)

    truncated = tail()
    path.write_bytes(jsonl(*lines[:-1]))
    assert truncated.read_added() is None
    changed = tail()
    path.write_bytes(jsonl(*lines).replace(b"answer 2", b"ANSWER 2") + jsonl(lines[0]))
    assert changed.read_added() is None
    damaged = tail()
    with path.open("ab") as file:
        file.write(b'{"type":"user","uuid":"x"{"type":"user"}\n')
    assert damaged.read_added() is None
    replaced = tail()
    other = tmp_path / "other"
    other.write_bytes(jsonl(*lines, lines[0]))
    other.replace(path)
    assert replaced.read_added() is None


def test_half_a_line_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    lines = up_to_an_answer()
    path.write_bytes(jsonl(*lines[:-1]))
    tail = tail_at(path)
    data = jsonl(lines[-1])
    with path.open("ab") as file:
        file.write(data[:20])
        file.flush()
        assert ids(tail) == []
        file.write(data[20:])
        file.flush()
        assert ids(tail) == ["line-of-1-3"]


def test_a_line_that_was_the_missing_parent_of_another_has_the_file_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    lines = up_to_an_answer()
    path.write_bytes(jsonl(*lines[:-1]))
    tail = tail_at(path)
    early = {**lines[-1], "uuid": "early", "parentUuid": "late"}
    with path.open("ab") as file:
        file.write(jsonl(early))
        file.flush()
        assert ids(tail) == ["early"]
        file.write(jsonl({**early, "uuid": "late", "parentUuid": lines[-2]["uuid"]}))
        file.flush()
        assert tail.read_added() is None


def changed(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"answer 0", b"ANSWER 0"))


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("change", [changed, truncated])
def test_a_stored_reader_does_not_go_on_in_a_file_with_other_bytes(
    change: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(*claude_session(3)))
    read = foreign_files.read(str(path), None, Companions())
    assert read.reader is not None
    change(path)
    assert tails.tail_of(str(path), "claude-code", read.state, read.reader) is None
