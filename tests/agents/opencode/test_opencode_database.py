"""Sessions in OpenCode's database are read without a trace in it."""

import json  # noqa: TID251 - rows are written as OpenCode writes them
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sessiond.agents import known
from sessiond.agents.opencode import database as opencode_database
from sessiond.agents.session_database import UnreadableDatabase
from support.daemons import running

TABLES = """
CREATE TABLE session(id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT, version TEXT, revert TEXT,
    time_created INTEGER, time_updated INTEGER);
CREATE TABLE message(id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part(id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
"""
AT = 1_767_225_600_000


def add_message(db: sqlite3.Connection, session: str, number: int, role: str, text: str) -> None:
    time = {"created": AT, "completed": AT + 1}
    name, at = f"msg_{session}_{number}", AT + number
    part = json.dumps({"type": "text", "text": text})
    info = json.dumps({"role": role, "time": time, "modelID": "m", "providerID": "mock"})
    db.execute("INSERT INTO message VALUES(?, ?, ?, ?, ?)", [name, session, at, at, info])
    db.execute("INSERT INTO part VALUES(?, ?, ?, ?, ?, ?)", [f"prt_{name}", name, session, at, at, part])
    db.commit()


def add_session(db: sqlite3.Connection, name: str) -> None:
    db.execute(
        "INSERT INTO session VALUES(?, NULL, 'x', '/work', 'A title', '1.18.33', NULL, ?, ?)", [name, AT, AT]
    )
    add_message(db, name, 1, "user", f"asked in {name}")
    add_message(db, name, 2, "assistant", f"answered in {name}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "theirs" / "opencode.db"


@pytest.fixture
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    """OpenCode, which has its database open."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(TABLES)
        add_session(db, "ses_a")
        add_session(db, "ses_b")
        yield db


def state(path: Path) -> dict[str, bytes]:
    """The files beside a database, without the one in which SQLite, within one process, also counts readers."""
    return {path.name: path.read_bytes() for path in path.parent.iterdir() if not path.name.endswith("-shm")}


def test_sessions_are_listed_with_their_last_change(path: Path, writer: sqlite3.Connection) -> None:
    found = opencode_database.sessions(str(path))
    assert [(name, change.at) for name, change in found.items()] == [("ses_a", AT + 2), ("ses_b", AT + 2)]
    add_message(writer, "ses_b", 3, "user", "more")
    changed = opencode_database.last_change(str(path), "ses_b")
    assert changed is not None
    assert changed.at == AT + 3
    assert opencode_database.last_change(str(path), "ses_c") is None


def test_a_session_is_a_document_that_the_reader_detects(path: Path, writer: sqlite3.Connection) -> None:
    data = opencode_database.document(str(path), "ses_a")
    assert data is not None
    assert known.detect(data) == "opencode"
    found = json.loads(data)
    assert [message["info"]["role"] for message in found["messages"]] == ["user", "assistant"]
    assert (found["info"]["directory"], found["info"]["title"]) == ("/work", "A title")


def test_a_closed_database_gets_no_files_beside_it(path: Path, writer: sqlite3.Connection) -> None:
    writer.close()
    before = sorted(path.name for path in path.parent.iterdir())
    assert before == ["opencode.db"]
    assert opencode_database.document(str(path), "ses_a") is not None
    assert sorted(path.name for path in path.parent.iterdir()) == before


def test_a_reader_in_another_process_leaves_no_trace(path: Path, writer: sqlite3.Connection) -> None:
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in path.parent.iterdir()}
    program = (
        "import sys; from sessiond.agents.opencode import database as it; print(it.document(*sys.argv[1:]))"
    )
    read = [sys.executable, "-c", program, str(path), "ses_a"]
    assert "asked in ses_a" in subprocess.run(read, capture_output=True, check=True, encoding="utf-8").stdout
    assert {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in path.parent.iterdir()
    } == before
    assert len(before) == 3


def test_a_database_whose_writer_was_killed_is_read_with_its_log(
    path: Path, writer: sqlite3.Connection, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(path.parent, copy)
    assert b"asked in ses_a" in (opencode_database.document(str(copy / path.name), "ses_a") or b"")
    (copy / "opencode.db-shm").unlink()
    with pytest.raises(UnreadableDatabase, match="cannot be read now"):  # SQLite would make the file anew
        opencode_database.sessions(str(copy / path.name))
    assert {file.name for file in copy.iterdir()} == {"opencode.db", "opencode.db-wal"}


def test_messages_of_a_later_form_are_said_by_name(path: Path, writer: sqlite3.Connection) -> None:
    writer.executescript(
        "CREATE TABLE session_message(session_id TEXT); DELETE FROM message WHERE session_id = 'ses_a'"
    )
    assert b'"messages":[]' in (opencode_database.document(str(path), "ses_a") or b"")
    writer.execute("INSERT INTO session_message VALUES('ses_a')")
    writer.commit()
    with pytest.raises(UnreadableDatabase, match="later version"):
        opencode_database.document(str(path), "ses_a")


def test_a_reader_and_a_writer_do_not_wait_for_each_other(path: Path, writer: sqlite3.Connection) -> None:
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE session SET title = 'not yet'")
    assert b"A title" in (opencode_database.document(str(path), "ses_a") or b"")
    writer.rollback()


def test_a_row_that_is_no_json_is_kept_as_it_is(path: Path, writer: sqlite3.Connection) -> None:
    writer.execute("UPDATE part SET data = 'torn{' WHERE message_id = 'msg_ses_a_1'")
    writer.commit()
    found = json.loads(opencode_database.document(str(path), "ses_a") or b"")
    assert found["messages"][0]["parts"][0]["raw"] == "torn{"


def texts_of(path: Path, message: str) -> list[str]:
    found = json.loads(opencode_database.document(str(path), "ses_a") or b"")
    [parts] = [sent["parts"] for sent in found["messages"] if sent["info"]["id"] == message]
    return [part["text"] for part in parts]


def test_parts_are_in_the_order_in_which_they_were_written(path: Path, writer: sqlite3.Connection) -> None:
    writer.execute("DELETE FROM part")
    for name, text in (("prt_z", "one"), ("prt_m", "two"), ("prt_a", "three")):
        row = [name, "msg_ses_a_1", "ses_a", AT + 1, AT + 1, json.dumps({"type": "text", "text": text})]
        writer.execute("INSERT INTO part VALUES(?, ?, ?, ?, ?, ?)", row)
    writer.commit()
    assert texts_of(path, "msg_ses_a_1") == ["one", "two", "three"]


def test_parts_that_opencode_moved_from_files_are_in_the_order_of_their_ids(
    path: Path, writer: sqlite3.Connection
) -> None:
    writer.execute("DELETE FROM part")
    for message in ("msg_ses_a_1", "msg_ses_a_2"):
        for name, text in (("prt_b", "two"), ("prt_c", "three"), ("prt_a", "one")):
            part = json.dumps({"type": "text", "text": text})
            row = [f"{name}_{message}", message, "ses_a", AT + 5_000, AT + 5_000, part]
            writer.execute("INSERT INTO part VALUES(?, ?, ?, ?, ?, ?)", row)
    writer.commit()
    assert texts_of(path, "msg_ses_a_1") == texts_of(path, "msg_ses_a_2") == ["one", "two", "three"]


def test_a_version_that_is_not_known_is_said_by_name(path: Path, writer: sqlite3.Connection) -> None:
    writer.execute("ALTER TABLE part RENAME COLUMN data TO body")
    with pytest.raises(UnreadableDatabase, match="its table part has no column data"):
        opencode_database.sessions(str(path))


def test_another_file_is_no_database_of_opencode(tmp_path: Path) -> None:
    other = tmp_path / "opencode.db"
    other.write_bytes(b"no database" * 100)
    with pytest.raises(UnreadableDatabase, match="not a database"):
        opencode_database.sessions(str(other))


async def test_an_import_of_the_database_imports_each_session_and_later_what_is_new(
    path: Path, writer: sqlite3.Connection, tmp_path: Path
) -> None:
    before = state(path)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        first = (await peer.call("session/import", path=str(path)))["sessions"]
        assert [(result["status"], result["path"]) for result in first] == [
            ("created", f"{path}#ses_a"), ("created", f"{path}#ses_b"),
        ]  # fmt: skip
        hits = await peer.call("session/search", query="answered")
        assert len({hit["sessionId"] for hit in hits["hits"]}) == 2
        assert state(path) == before
        add_message(writer, "ses_b", 3, "user", "more")
        add_message(writer, "ses_b", 4, "assistant", "enough")
        again = (await peer.call("session/import", path=str(path)))["sessions"]
        assert [(result["status"], result["addedCount"]) for result in again] == [
            ("unchanged", 0),
            ("grown", 2),
        ]


async def test_a_database_that_cannot_be_read_is_skipped_with_the_reason(tmp_path: Path) -> None:
    other = tmp_path / "opencode.db"
    other.write_bytes(b"no database" * 100)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        [skipped] = (await peer.call("session/import", path=str(other)))["skipped"]
    assert "not a database" in skipped["message"]
