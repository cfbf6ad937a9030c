"""The copy that keeps a session of Gemini CLI from the load that overwrites its file."""

import os
from pathlib import Path

import pytest

from sessiond.agents.gemini.row import GEMINI

ID = "1e29fcae-ad50-43cc-a1d8-8205fe7a112a"


@pytest.fixture
def chats(agents_home: Path) -> Path:
    """The folder with the sessions of one project."""
    folder = agents_home / ".gemini/tmp/project/chats"
    folder.mkdir(parents=True)
    return folder


def write(chats: Path, name: str, *, session_id: str = ID, lines: int = 1) -> Path:
    file = chats / name
    file.write_text(f'{{"sessionId":"{session_id}"}}\n' + '{"id":"m"}\n' * lines, encoding="utf-8")
    return file


def before_load() -> None:
    assert GEMINI.before_load is not None
    GEMINI.before_load(ID, os.environ)


def names(chats: Path) -> list[str]:
    return sorted(path.name for path in chats.iterdir())


def test_the_file_is_copied_under_a_name_that_gemini_does_not_delete(chats: Path) -> None:
    own = write(chats, "session-2026-11-25T22-49-1e29fcae.jsonl")
    before_load()
    copy = chats / "session-2026-11-25T22-49-keepad50.jsonl"
    assert copy.read_bytes() == own.read_bytes()
    assert len(names(chats)) == 2


def test_a_copy_that_has_as_much_is_not_made_again(chats: Path) -> None:
    write(chats, "session-2026-11-25T22-49-1e29fcae.jsonl")
    copy = write(chats, "session-2026-11-25T22-49-keepad50.jsonl", lines=5)
    before = copy.read_bytes()
    before_load()
    assert copy.read_bytes() == before
    assert len(names(chats)) == 2


def test_a_session_that_has_grown_since_is_copied_again(chats: Path) -> None:
    own = write(chats, "session-2026-11-25T22-49-1e29fcae.jsonl", lines=5)
    write(chats, "session-2026-11-25T22-49-keepad50.jsonl")
    before_load()
    assert (chats / "session-2026-11-25T22-49-kee2ad50.jsonl").read_bytes() == own.read_bytes()
    before_load()
    assert len(names(chats)) == 3


def test_only_the_longest_file_of_a_session_is_copied(chats: Path) -> None:
    write(chats, "session-2026-11-25T22-51-1e29fcae.jsonl", lines=9)
    write(chats, "session-2026-11-25T22-52-1e29fcae.jsonl", lines=0)
    before_load()
    assert names(chats)[1:] == [
        "session-2026-11-25T22-51-keepad50.jsonl",
        "session-2026-11-25T22-52-1e29fcae.jsonl",
    ]


def test_files_of_other_sessions_are_left_alone(chats: Path) -> None:
    write(chats, "session-2026-11-25T22-51-1e29fcae.jsonl", session_id="1e29fcae-0000-4000-8000-000000000000")
    before_load()
    assert len(names(chats)) == 1


def test_without_any_files_nothing_happens(agents_home: Path) -> None:
    before_load()
    assert not (agents_home / ".gemini").exists()
