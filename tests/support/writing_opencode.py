"""OpenCode, which writes sessions into its database: each change is one transaction with a numbered event."""

import json  # noqa: TID251 - rows are written as OpenCode writes them
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TABLES = """
CREATE TABLE session(id TEXT PRIMARY KEY, parent_id TEXT, slug TEXT, directory TEXT, title TEXT, version TEXT,
    revert TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT REFERENCES session(id) ON DELETE CASCADE,
    time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT REFERENCES message(id) ON DELETE CASCADE, session_id TEXT,
    time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE event_sequence(aggregate_id TEXT PRIMARY KEY, seq INTEGER NOT NULL);
CREATE INDEX message_session ON message(session_id, time_created, id);
CREATE INDEX part_message ON part(message_id, id);
CREATE INDEX part_session ON part(session_id);
"""
SESSION = "ses_heron"


class WritingOpenCode:
    """OpenCode, which has a database open.

    Args:
        path: The database, which is made if it does not exist.
        numbers_events: Whether it numbers the events of a session, as newer versions do.
        name: Returns the id of a message that is written at a time. Default: ids that sort by the time.
        clock: The time in milliseconds.
    """

    def __init__(
        self,
        path: Path,
        *,
        numbers_events: bool = True,
        name: Callable[[int, str], str] | None = None,
        clock: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        is_new = not path.exists()
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA foreign_keys = ON")
        if is_new:
            self.db.executescript(TABLES)
        self._numbers_events = numbers_events
        self._name = name
        self._now = clock
        self._count = 0
        self._asked: dict[str, str] = {}  # the last prompt of each session

    def close(self) -> None:
        """End OpenCode, which removes the `-wal` file."""
        self.db.close()

    def begins(self, session: str = SESSION, *, parent: str | None = None, title: str = "Herons") -> None:
        """A new session."""
        now = self._now()
        values = [session, parent, "x", "/work", title, "1.18.33", None, now, now]
        self._change(session, ("INSERT INTO session VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", values))

    def asks(self, text: str, session: str = SESSION) -> str:
        """Write a prompt of a person. Returns the id of the message."""
        self._asked[session] = name = self._message(session, {"role": "user"}, text)
        return name

    def says(self, text: str, session: str = SESSION) -> str:
        """A finished answer."""
        name = self.begins_to_say(session)
        self.ends(name, text, session)
        return name

    def begins_to_say(self, session: str = SESSION) -> str:
        """An answer whose text is still empty."""
        return self._message(session, {"role": "assistant", **self._of_answer(session)}, "")

    def ends(self, name: str, text: str, session: str = SESSION) -> None:
        """The text of an answer, and then its end."""
        now = self._now()
        part = json.dumps({"type": "text", "text": text})
        [created] = self.db.execute("SELECT time_created FROM message WHERE id = ?", [name]).fetchone()
        info = {"role": "assistant", **self._of_answer(session)}
        data = json.dumps({**info, "time": {"created": created, "completed": now}})
        self._change(
            session, ("UPDATE part SET data = ?, time_updated = ? WHERE message_id = ?", [part, now, name])
        )
        self._change(
            session, ("UPDATE message SET data = ?, time_updated = ? WHERE id = ?", [data, now, name])
        )

    def titles(self, title: str, session: str = SESSION) -> None:
        """A new title."""
        now = self._now()
        self._change(
            session, ("UPDATE session SET title = ?, time_updated = ? WHERE id = ?", [title, now, session])
        )

    def reverts_to(self, message: str, session: str = SESSION) -> None:
        """Revert a message and all later ones as the user does. OpenCode removes them with the next prompt."""
        now, revert = self._now(), json.dumps({"messageID": message})
        self._change(
            session, ("UPDATE session SET revert = ?, time_updated = ? WHERE id = ?", [revert, now, session])
        )

    def removes_from(self, message: str, session: str = SESSION) -> None:
        """Remove the reverted messages."""
        now = self._now()
        self._change(
            session,
            ("DELETE FROM message WHERE session_id = ? AND id >= ?", [session, message]),
            ("UPDATE session SET revert = NULL, time_updated = ? WHERE id = ?", [now, session]),
        )

    def deletes(self, session: str = SESSION) -> None:
        """Delete a session with all that belongs to it."""
        self.db.execute("BEGIN")
        self.db.execute("DELETE FROM session WHERE id = ?", [session])
        self.db.execute("DELETE FROM event_sequence WHERE aggregate_id = ?", [session])
        self.db.execute("COMMIT")

    def _message(self, session: str, info: dict[str, Any], text: str) -> str:
        self._count += 1
        now = self._now()
        name = f"msg_{now:013}_{self._count:05}" if self._name is None else self._name(now, info["role"])
        data = json.dumps({**info, "time": {"created": now}})
        part = json.dumps({"type": "text", "text": text})
        self._change(
            session,
            ("INSERT INTO message VALUES(?, ?, ?, ?, ?)", [name, session, now, now, data]),
            ("INSERT INTO part VALUES(?, ?, ?, ?, ?, ?)", [f"prt_{name}", name, session, now, now, part]),
        )
        return name

    def _change(self, session: str, *statements: tuple[str, list[Any]]) -> None:
        self.db.execute("BEGIN")
        for statement, values in statements:
            self.db.execute(statement, values)
        if self._numbers_events:
            self.db.execute(
                "INSERT INTO event_sequence VALUES(?, 0) ON CONFLICT(aggregate_id) DO UPDATE SET seq = seq + 1",
                [session],
            )
        self.db.execute("COMMIT")

    def _of_answer(self, session: str) -> dict[str, Any]:
        parent = {"parentID": self._asked[session]} if session in self._asked else {}
        return {"modelID": "m", "providerID": "mock", **parent}
