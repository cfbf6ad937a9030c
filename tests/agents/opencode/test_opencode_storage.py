"""Sessions that OpenCode kept in files, before it had a database, are imported and followed."""

import json  # noqa: TID251 - files are written as OpenCode writes them
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.columns import messages_of
from support.daemons import Peer, running
from support.following import has, texts, until
from support.writing_opencode import WritingOpenCode

SESSION, OTHER = "ses_heron", "ses_barn_owl"


class OldOpenCode:
    """A version of OpenCode that writes each message and each part into a file of its own."""

    def __init__(self, storage: Path) -> None:
        self.storage = storage
        self._now = 1_767_225_600_000
        self._asked: dict[str, str] = {}

    def begins(self, session: str = SESSION) -> None:
        for name in ("message", "part"):
            (self.storage / name).mkdir(parents=True, exist_ok=True)
        self._write(f"session/global/{session}", {"id": session, "directory": "/work", "title": "Herons",
            "version": "0.15.8", "time": {"created": self._now, "updated": self._now}})  # fmt: skip

    def asks(self, text: str, session: str = SESSION, *, name: str | None = None) -> None:
        self._asked[session] = self._message(session, {"role": "user"}, name, text)

    def says(self, *parts: str, session: str = SESSION, name: str | None = None) -> None:
        info = {"role": "assistant", "parentID": self._asked[session], "modelID": "m", "providerID": "p"}
        self._message(session, info, name, *parts)

    def _message(self, session: str, info: dict[str, Any], name: str | None, *parts: str) -> str:
        self._now += 1_000
        name = name or f"msg_{self._now}"
        time = {"created": self._now, **({"completed": self._now + 1} if info["role"] == "assistant" else {})}
        for number, text in enumerate(parts):
            part = {
                "type": "text",
                "text": text,
                "time": {"start": self._now + number, "end": self._now + number},
            }
            self._write(f"part/{name}/prt_{9 - number}_{name}", part)
        self._write(f"message/{session}/{name}", {"id": name, "sessionID": session, **info, "time": time})
        return name

    def _write(self, name: str, value: dict[str, Any]) -> None:
        path = self.storage / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=2), encoding="utf-8")


@pytest.fixture
def opencode(agents_home: Path) -> OldOpenCode:
    return OldOpenCode(agents_home / ".local/share/opencode/storage")


@pytest.fixture
async def peer(tmp_path: Path, agents_home: Path) -> AsyncIterator[Peer]:
    async with running(tmp_path / "home") as daemon:
        yield await daemon.attach()


async def spoken(peer: Peer, session: str = SESSION) -> list[str]:
    found = messages_of(await peer.call("session/context", sessionId=session))
    return [part["text"] for message in found for part in message["content"]]


async def test_a_session_in_files_is_imported_in_the_order_of_its_times(
    peer: Peer, opencode: OldOpenCode
) -> None:
    opencode.begins()
    opencode.asks("one", name="msg_z")
    opencode.says("two", "three", name="msg_m")
    opencode.asks("four", name="msg_a")
    opencode.says("five", name="msg_b")
    result = await peer.call("session/import", path=str(opencode.storage))
    assert [(session["status"], session["sessionId"]) for session in result["sessions"]] == [
        ("created", SESSION)
    ]
    assert result["skipped"] == []
    assert await spoken(peer) == ["one", "two", "three", "four", "five"]
    info = (await peer.call("session/info", sessionId=SESSION))["session"]
    assert (info["cwd"], info["title"]) == ("/work", "Herons")
    again = await peer.call("session/import", path=str(opencode.storage))
    assert [session["status"] for session in again["sessions"]] == ["unchanged"]


async def test_sessions_in_files_are_followed(peer: Peer, opencode: OldOpenCode) -> None:
    opencode.begins()
    opencode.asks("hello")
    opencode.says("here")
    before = {path: path.read_bytes() for path in opencode.storage.rglob("*.json")}
    await peer.call("agent/follow", agents=["opencode"], workDoneToken="first")
    assert await texts(peer, SESSION) == ["hello", "here"]
    opencode.asks("and now?")
    opencode.says("now")
    await has(peer, "now", SESSION)
    opencode.begins(OTHER)
    opencode.asks("another", OTHER)
    opencode.says("session", session=OTHER)
    await has(peer, "session", OTHER)
    opencode.asks("again", OTHER)
    opencode.says("and again", session=OTHER)
    await has(peer, "and again", OTHER)
    assert await spoken(peer) == ["hello", "here", "and now?", "now"]
    assert before.items() <= {path: path.read_bytes() for path in opencode.storage.rglob("*.json")}.items()
    [listed] = [agent for agent in (await peer.call("agent/list"))["agents"] if agent["name"] == "opencode"]
    assert (listed["fileCount"], listed["sessionCount"], listed["problems"]) == (2, 2, [])


async def test_a_session_that_moved_into_the_database_is_one(peer: Peer, opencode: OldOpenCode) -> None:
    for session in (SESSION, OTHER):
        opencode.begins(session)
        opencode.asks("hello", session)
        opencode.says("here", session=session)
    new = WritingOpenCode(opencode.storage.parent / "opencode.db")
    new.begins()
    new.asks("hello")
    new.says("here")
    new.asks("from the database")
    new.says("now")
    await peer.call("agent/follow", agents=["opencode"], workDoneToken="first")
    await has(peer, "now", SESSION)

    async def both() -> bool:
        return len((await peer.call("session/list"))["sessions"]) == 2

    await until(both)
    assert await spoken(peer) == ["hello", "here", "from the database", "now"]
    assert await spoken(peer, OTHER) == ["hello", "here"]
    new.close()


async def test_a_message_that_is_half_written_waits_and_changes_no_other(
    peer: Peer, opencode: OldOpenCode
) -> None:
    opencode.begins()
    opencode.asks("hello")
    opencode.says("here")
    (opencode.storage / "message" / SESSION / "msg_torn.json").write_text('{"id": "msg_t', encoding="utf-8")
    [session] = (await peer.call("session/import", path=str(opencode.storage)))["sessions"]
    assert await spoken(peer) == ["hello", "here"]
    assert session["heldBackCount"] == 1
