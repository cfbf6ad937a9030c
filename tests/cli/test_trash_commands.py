"""The commands delete, restore, trash, cleanup, purge and move."""

from pathlib import Path

import pytest

from support.columns import entries_of
from support.commands import Shell


def talked(shell: Shell, title: str) -> str:
    """A session in which something was said."""
    session = shell("new", "--title", title).lines[0]
    shell("append", session, "--user", "hello", "--assistant", "hi")
    return session


@pytest.mark.parametrize("command", ["delete", "rm"])
def test_deleted_sessions_are_in_the_trash_until_they_are_restored(fresh: Shell, command: str) -> None:
    sessions = [talked(fresh, "Plans"), talked(fresh, "Notes")]
    assert fresh(command, *sessions, "--note", "an experiment").lines == sessions
    assert fresh("list").lines == []
    lines = fresh("trash").lines
    assert sorted(line.split()[0] for line in lines) == sorted(name[:8] for name in sessions)
    assert all("an experiment" in line for line in lines)
    assert fresh("restore", sessions[0][:8]).lines == [sessions[0]]
    assert [line.split()[0] for line in fresh("list").lines] == [sessions[0][:8]]
    assert len(fresh("trash").lines) == 1


def test_the_beginning_of_an_id_means_the_only_session_in_the_trash_that_has_it(fresh: Shell) -> None:
    for name in ("atlas-one", "atlas-two"):
        fresh("new", "--id", name)
        fresh("delete", name)
    ambiguous = fresh.run("restore", "atlas")
    assert ambiguous.code == 2
    assert "session id 'atlas' is ambiguous: atlas-one, atlas-two" in ambiguous.err
    assert fresh("purge", "atlas-o", "--yes").lines[0].startswith("atlas-on")
    assert fresh("restore", "atlas").lines == ["atlas-two"]


def test_a_file_is_named_by_its_path_and_a_deletion_by_its_trash_id_and_a_deletion_by_its_trash_id(
    shell: Shell,
) -> None:
    session = talked(shell, "Plans")
    path = shell("show", session, "--json").json["session"]["path"]
    trash_id = shell("delete", path, "--json").json["trashId"]
    assert shell("restore", trash_id, "--json").json["session"]["path"] == path


def test_an_empty_trash_is_said_to_be_empty(fresh: Shell) -> None:
    ran = fresh("trash")
    assert (ran.lines, ran.err) == ([], "The trash is empty.\n")


def test_more_than_is_shown_is_counted(fresh: Shell) -> None:
    fresh("delete", talked(fresh, "Plans"), talked(fresh, "Notes"))
    ran = fresh("trash", "-n", "1")
    assert len(ran.lines) == 1
    assert "sessiond trash --limit 2" in ran.err


def test_a_deleted_session_is_refused_with_the_way_back(shell: Shell) -> None:
    session = talked(shell, "Plans")
    shell("delete", session)
    ran = shell.run("append", session, "--user", "x")
    assert ran.code == 1
    assert f"sessiond restore {session}" in ran.err


def test_a_session_moves_to_another_folder(shell: Shell) -> None:
    session = talked(shell, "Plans")
    ran = shell("move", session, "--cwd", "/elsewhere")
    assert ran.lines == [session]
    assert ran.err.splitlines() == [
        "sessiond: warning: the folder /elsewhere does not exist",
        "The session belongs to /elsewhere now.",
    ]
    assert [line.split()[0] for line in shell("list", "--cwd", "/elsewhere").lines] == [session[:8]]
    assert shell("move", session, "--json").json["session"]["cwd"] == str(shell.folder)


def test_a_folder_that_was_renamed_is_offered(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    session = shell("new", "--cwd", str(tmp_path / "old")).lines[0]
    shell("append", session, "--user", "hello", "--assistant", "hi")
    (tmp_path / "old").rename(tmp_path / "new")
    ran = shell("continue", "--cwd", str(tmp_path / "new"))
    assert f"1 session of {tmp_path / 'old'}, which does not exist" in ran.err
    assert f"sessiond move {session} --cwd {tmp_path / 'new'}" in ran.err
    shell("move", session, "--cwd", str(tmp_path / "new"))
    assert len(shell("list", "--cwd", str(tmp_path / "new")).lines) == 1


def test_a_purge_says_what_would_go_and_with_yes_does_it(fresh: Shell) -> None:
    sessions = [talked(fresh, "Plans"), talked(fresh, "Notes")]
    fresh("delete", *sessions)
    said = fresh("purge", sessions[0])
    assert said.lines[0].startswith(sessions[0][:8])
    assert "add --yes" in said.err
    assert len(fresh("trash").lines) == 2
    assert "deleted for good; 1 left" in fresh("purge", sessions[0], "--yes").err
    assert fresh("purge", "--days", "1", "--yes").err == "No session in the trash is that old.\n"
    assert len(fresh("purge", "--days", "0", "--yes", "--json").json["purged"]) == 1
    assert fresh("trash").lines == []


def test_a_cleanup_says_what_would_go_and_with_yes_does_it(fresh: Shell) -> None:
    sessions = [talked(fresh, title) for title in ("Kept", "Plans", "Notes", "Last")]
    entry = entries_of(fresh("rpc", "session/path", f'{{"sessionId": "{sessions[0]}"}}').json)[0]["id"]
    fresh("label", sessions[0], entry, "keep")
    said = fresh("cleanup", "--keep", "0")
    assert len(said.lines) == 4
    assert "2 sessions would be moved to the trash, 2 stay: add --yes" in said.err
    assert "it has labels" in next(line for line in said.lines if "Kept" in line)
    assert "2 sessions moved to the trash, 2 stay" in fresh("cleanup", "--keep", "0", "--yes").err
    assert "it is open" in next(line for line in said.lines if "Last" in line)  # this terminal has it
    assert len(fresh("list").lines) == 2
    assert fresh("cleanup", "--days", "1", "--tag", "scratch", "--json").json["removed"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("delete",),
        ("restore",),
        ("trash", "x"),
        ("cleanup",),
        ("cleanup", "--yes"),
        ("purge",),
        ("purge", "x", "--days", "3"),
        ("purge", "--days", "x"),
    ],
)
def test_arguments_that_make_no_sense_are_wrong_usage(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell.run(*words).code == 2
