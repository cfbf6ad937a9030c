"""Names of files and folders: nothing a client sends becomes a path unchecked."""

import os
from pathlib import PurePath

import pytest
from hypothesis import given, strategies as st

from sessiond.store.files import paths


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/work/pi", "--work-pi--"),
        ("/", "----"),
        ("/a/b-c", "--a-b-c--"),
        ("/a-b/c", "--a-b-c--"),
        ("C:\\Users\\me", "--C--Users-me--"),
        ("/työ/日本", "--työ-日本--"),
        ("/line\nbreak\0", "--line-break---"),
        ("/..", "--..--"),
        ("", "----"),
    ],
)
def test_the_folder_of_a_working_directory_is_named_after_it(cwd: str, folder: str) -> None:
    assert paths.encode_cwd(cwd) == folder


@given(st.text(max_size=400) | st.text(alphabet="/日x\udcff\ud800\n", min_size=100, max_size=400))
def test_every_working_directory_has_a_folder_that_fits(cwd: str) -> None:
    folder = paths.encode_cwd(cwd)
    assert len(os.fsencode(folder)) <= 200
    assert PurePath(folder).name == folder
    assert "\0" not in folder


def test_long_working_directories_that_differ_at_the_end_do_not_share_a_folder() -> None:
    assert paths.encode_cwd("/" + "x" * 300 + "a") != paths.encode_cwd("/" + "x" * 300 + "b")


def test_a_log_is_named_by_its_time_and_id() -> None:
    name = paths.log_name("2026-02-16T10:20:30.000Z", "a_b-C9")
    assert name == "2026-02-16T10-20-30-000Z_a_b-C9.jsonl"
    assert paths.session_id_of(name) == "a_b-C9"


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "-a", "_a", "a/b", "a.b", "a b", "a\n", "ä", "a\0", "x" * 129]
)
def test_an_id_that_could_leave_its_folder_names_no_log(bad: str) -> None:
    with pytest.raises(ValueError, match="cannot name"):
        paths.log_name("2026-02-16T10:20:30.000Z", bad)


@pytest.mark.parametrize("bad", ["", "now", "../2026", "2026/1", "2026\n", "2026_1", "2026" + "0" * 99])
def test_what_is_no_timestamp_names_no_log(bad: str) -> None:
    with pytest.raises(ValueError, match="timestamp"):
        paths.log_name(bad, "abc")


def test_ids_of_other_programs_may_hold_dots() -> None:
    assert paths.is_known_id("my.session-1")
    assert not any(map(paths.is_known_id, ["", ".", "..", ".a", "a/b", "a\\b", "x" * 129, "a\n"]))


@pytest.mark.parametrize(
    ("name", "session_id"),
    [
        ("2026-02-16T10-20-30-000Z_my.session_1.jsonl", "my.session_1"),
        ("agent.jsonl", "agent"),
        ("2026_.jsonl", "2026_"),
        (".hidden_abc.jsonl", None),
        ("2026_abc.jsonl.v1.bak", None),
        ("2026_abc.jsonl.torn-3", None),
        ("notes.txt", None),
    ],
)
def test_the_id_is_read_from_the_name_of_a_log_and_of_nothing_else(name: str, session_id: str | None) -> None:
    assert paths.session_id_of(name) == session_id


@pytest.mark.parametrize(
    ("terminal", "name"),
    [
        ("pts-3", "pts-3"),
        ("tmux-%5", "tmux-%5"),
        ("../../etc/passwd", "=2e.=2f..=2fetc=2fpasswd"),
        ("..", "=2e."),
        ("", "="),
        ("a=b", "a=3db"),
        ("a\0\n", "a=00=0a"),
    ],
)
def test_a_terminal_has_a_file_that_cannot_leave_its_folder(terminal: str, name: str) -> None:
    assert paths.terminal_name(terminal) == name


@given(st.lists(st.text(max_size=200), min_size=2, max_size=2, unique=True))
def test_two_terminals_never_share_a_file(terminals: list[str]) -> None:
    one, two = map(paths.terminal_name, terminals)
    assert one != two
    assert PurePath(one).name == one
    assert not one.startswith(".")
    assert len(one) <= 120
