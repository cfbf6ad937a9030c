"""Files that agents write beside their sessions are read only if they are regular files of a bounded size."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents import json_files, regular_files
from sessiond.agents.codex.beside import Titles
from sessiond.agents.gemini.beside import beside as beside_gemini


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_endless(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


MAKERS = [make_pipe, make_endless, Path.mkdir]


@pytest.mark.parametrize("make", MAKERS)
def test_a_pipe_a_folder_and_a_large_file_are_errors_of_the_system(
    make: Callable[[Path], Any], tmp_path: Path
) -> None:
    make(tmp_path / "file")
    with pytest.raises(OSError, match=r"not a regular file|more than"):
        regular_files.content(tmp_path / "file")
    assert json_files.value_of(tmp_path / "file") is None


def test_a_file_of_the_maximum_size_is_read_and_a_larger_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert regular_files.content(path, 3) == b"abc"
    with pytest.raises(OSError, match="more than 2 bytes"):
        regular_files.content(path, 2)


@pytest.mark.parametrize("make", MAKERS)
def test_a_session_of_codex_has_no_title_if_the_index_of_titles_cannot_be_read(
    make: Callable[[Path], Any], tmp_path: Path
) -> None:
    make(tmp_path / "session_index.jsonl")
    assert Titles()(str(tmp_path / "sessions" / "rollout.jsonl")) == {}


@pytest.mark.parametrize("make", MAKERS)
def test_a_session_of_gemini_has_no_folder_if_the_files_that_name_it_cannot_be_read(
    make: Callable[[Path], Any], tmp_path: Path
) -> None:
    project = tmp_path / "tmp" / "project"
    project.mkdir(parents=True)
    make(tmp_path / "projects.json")
    if make is not make_endless:  # the first bytes of this file are read
        make(project / ".project_root")
    assert beside_gemini(str(project / "chats" / "session-1.jsonl")) == {}
