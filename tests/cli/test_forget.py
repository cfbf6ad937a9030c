"""`sessiond forget` deletes sessions for good, lists what was forgotten, and takes it back."""

from pathlib import Path

from support.commands import Shell
from support.dialect_files import claude
from support.dialects import jsonl


def written(folder: Path, number: int) -> tuple[str, Path]:
    """A transcript of Claude Code in a project; returns the id of its session, too."""
    session = f"{number:08}-2222-4333-8444-555555555555"
    path = folder / "-work" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    at = {"sessionId": session, "cwd": str(folder)}
    path.write_bytes(
        jsonl(
            claude("user", f"u{number}", None, f"Question {number}") | at,
            claude("assistant", f"a{number}", f"u{number}", "An answer") | at,
        )
    )
    return session, path


def test_a_forgotten_session_is_listed_and_not_imported_until_that_is_revoked(fresh: Shell) -> None:
    session, path = written(fresh.folder, 1)
    fresh.run("import", str(path))
    assert fresh.run("forget", session[:8]).lines == [session]
    assert fresh.run("forget", "--list").out.startswith(session)
    assert "forgotten" in fresh.run("import", str(path)).out + fresh.run("import", str(path)).err

    assert fresh.run("forget", "--revoke", session[:8]).lines == [session]
    assert fresh.run("forget", "--list").out == ""
    assert fresh.run("import", str(path)).code == 0
    assert session in fresh.run("list", "--all").out or session[:8] in fresh.run("list", "--all").out


def test_a_purge_leaves_nothing_in_the_trash(fresh: Shell) -> None:
    session, path = written(fresh.folder, 2)
    fresh.run("import", str(path))
    done = fresh.run("forget", session, "--purge", "--json").json

    assert (done["sessionId"], done["purged"]) == (session, True)
    assert fresh.run("trash", "--json").json["sessions"] == []


def test_the_sessions_of_a_project_are_only_listed_without_yes(fresh: Shell) -> None:
    ids = []
    for number in (3, 4):
        session, path = written(fresh.folder, number)
        fresh.run("import", str(path))
        ids.append(session)
    listed = fresh.run("forget", "--project", str(fresh.folder))
    assert {line.split()[0] for line in listed.lines} == set(ids)
    assert "add --yes" in listed.err
    assert fresh.run("forget", "--list").out == ""

    assert set(fresh.run("forget", "--project", str(fresh.folder), "--yes").lines) == set(ids)
    assert fresh.run("list", "--all", "--json").json["sessions"] == []


def test_an_id_that_was_not_forgotten_cannot_be_revoked(fresh: Shell) -> None:
    assert fresh.run("forget", "--revoke", "4f0c21aa").code == 2
