"""The folder of a Gemini CLI session, which files beside it name."""

from pathlib import Path

import pytest

from sessiond.agents.gemini.beside import beside


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    folder = tmp_path / ".gemini/tmp/clock/chats"
    folder.mkdir(parents=True)
    return folder


def test_the_file_of_the_project_names_it(chats: Path) -> None:
    (chats.parent / ".project_root").write_text("/home/dev/clock\n", encoding="utf-8")
    assert beside(str(chats / "session-1.jsonl")) == {"cwd": "/home/dev/clock"}
    assert beside(str(chats / "session-1/subagent.jsonl")) == {"cwd": "/home/dev/clock"}


def test_else_the_table_of_all_projects_names_it(chats: Path) -> None:
    table = chats.parent.parent.parent / "projects.json"
    table.write_text('{"projects": {"/other": "x", "/home/dev/clock": "clock"}}', encoding="utf-8")
    assert beside(str(chats / "session-1.jsonl")) == {"cwd": "/home/dev/clock"}


@pytest.mark.parametrize("written", [b"", b"relative", b"/with\0nul", b"\xff\xfe"])
def test_text_that_is_no_folder_is_none(chats: Path, written: bytes) -> None:
    (chats.parent / ".project_root").write_bytes(written)
    (chats.parent.parent.parent / "projects.json").write_bytes(b'{"projects": [1]}')
    assert beside(str(chats / "session-1.jsonl")) == {}


def test_a_file_elsewhere_has_none(tmp_path: Path) -> None:
    assert beside(str(tmp_path / "session.jsonl")) == {}
