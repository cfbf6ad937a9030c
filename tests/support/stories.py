"""Sessions with known content for tests of displays, written by a client that needs no process."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sessiond.client.blocking import connect
from sessiond.paths import Locations
from support.daemons import assistant, user
from support.dialect_files import meta, said
from support.writing_agents import write_codex


@dataclass(frozen=True)
class Teller:
    """Another client that works on the sessions of the daemon of `locations`, which is started if necessary."""

    locations: Locations
    folder: Path

    def call(self, method: str, **params: Any) -> Any:
        with connect(locations=self.locations) as daemon:
            return daemon.call(method, params)

    def create(self, session_id: str, *entries: dict[str, Any], **more: Any) -> list[str]:
        """A session with some entries. A session without an answer goes to the trash when no client has it open."""
        with connect(locations=self.locations) as daemon:
            daemon.call("session/create", {"id": session_id, "cwd": str(self.folder), **more})
            appended = daemon.call("session/append", {"sessionId": session_id, "entries": list(entries)})
        return [entry["id"] for entry in appended["entries"]]

    def append(self, session_id: str, *entries: dict[str, Any], **params: Any) -> list[str]:
        """The ids of the appended entries."""
        appended = self.call("session/append", sessionId=session_id, entries=list(entries), **params)
        return [entry["id"] for entry in appended["entries"]]

    def run_codex_exec(self, session_id: str, prompt: str) -> None:
        """Import what `codex exec` writes: a session whose prompt a program gave."""
        lines = (
            meta(id=session_id, cwd=str(self.folder), source="exec"),
            said("user", prompt),
            said("assistant", "Done."),
        )
        now = {"timestamp": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:23] + "Z"}
        path = write_codex(self.folder, *(line | now for line in lines), name=session_id)
        self.call("session/import", path=str(path))

    def branch(self, session_id: str, target: str | None) -> None:
        self.call("session/branch", sessionId=session_id, entryId=target)

    def label(self, session_id: str, target: str, label: str) -> None:
        self.call("session/label", sessionId=session_id, entryId=target, label=label)


@dataclass(frozen=True)
class Story:
    """A session that forks once: two approaches to fix a parser. The fields are ids of entries."""

    id: str
    why: str
    because: str
    fix: str
    fixed: str
    write_test: str
    tested: str


def parser_story(teller: Teller, session_id: str = "atlas-parser", title: str = "The last line") -> Story:
    """Ada asks for the reason, requests a fix, goes back, and requests a test first; the reason has a label."""
    with connect(locations=teller.locations) as daemon:

        def append(*entries: dict[str, Any]) -> list[str]:
            appended = daemon.call("session/append", {"sessionId": session_id, "entries": list(entries)})
            return [entry["id"] for entry in appended["entries"]]

        daemon.call("session/create", {"id": session_id, "cwd": str(teller.folder), "title": title})
        why, because = append(
            user("Why does it drop the last line?"), assistant("It stops at the last newline.")
        )
        fix, fixed = append(user("Fix it."), assistant("Done: it counts."))
        daemon.call("session/branch", {"sessionId": session_id, "entryId": because})
        write_test, tested = append(user("Write a failing test first."), assistant("It fails, as it should."))
        daemon.call("session/label", {"sessionId": session_id, "entryId": because, "label": "the cause"})
    return Story(session_id, why, because, fix, fixed, write_test, tested)
