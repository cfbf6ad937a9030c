"""A file that somebody changes in place while it is open: nobody is sent what is no entry, nothing is overwritten."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.session.live import LiveSession
from sessiond.store.errors import StorageFailed
from support.columns import entries_of
from support.daemons import Peer, Refused, Running, assistant, refusal, running, user

READS: list[tuple[str, dict[str, Any]]] = [
    ("session/entries", {}),
    ("session/path", {}),
    ("session/tree", {}),
    ("session/context", {}),
    ("session/context", {"format": "anthropic"}),
    ("session/stats", {}),
    ("session/export", {"format": "markdown"}),
    ("session/fork", {}),
]


async def session_of(daemon: Running, peer: Peer, name: str) -> Path:
    await peer.call("session/create", cwd="/p", id=name)
    await peer.append(name, user("question", id="u1"), assistant("answer", id="a1"))
    await peer.append(name, user("é", id="u2"))
    await peer.append(name, assistant("over", id="a2"))
    return next(path for path in daemon.files() if name in path.name)


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))  # where the clock is coarse


async def outcome(peer: Peer, method: str, **params: Any) -> str:
    try:
        await peer.call(method, **params)
    except Refused as refused:
        return refused.kind
    return "answered"


@pytest.mark.parametrize("damage", [b"\0", b"\n", b'"', b"{"])
async def test_a_byte_changed_anywhere_is_never_sent_as_an_entry(tmp_path: Path, damage: bytes) -> None:
    async with running(tmp_path) as daemon:
        peer, other = await daemon.attach(), await daemon.attach()
        await session_of(daemon, other, "somebody-else")
        size = len((await session_of(daemon, peer, "session-a")).read_bytes())
        for number, offset in enumerate(range(0, size, 41)):
            name = f"changed-{number:03}"
            path = await session_of(daemon, peer, name)
            before = path.read_bytes()
            overwrite(path, offset, damage)
            after = path.read_bytes()
            for method, params in READS:
                told = await outcome(peer, method, sessionId=name, **params)
                assert told in ("answered", "foreignWriter"), f"{method} after a change at {offset}"
            assert path.read_bytes() == after
            if after != before:
                told = await outcome(peer, "session/append", sessionId=name, entries=[user("x", id="new")])
                assert path.read_bytes().startswith(after)
                assert (told == "answered") == (b'\n{"type":"message","id":"new"' in path.read_bytes())
            await outcome(peer, "session/delete", sessionId=name)
        listed = await other.call("session/list")
        assert "somebody-else" in [session["sessionId"] for session in listed["sessions"]]
        await other.append("somebody-else", user("goes on"))


async def test_opening_a_changed_file_again_reads_its_present_content(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        path = await session_of(daemon, peer, "session-a")
        overwrite(path, path.read_bytes().index(b'{"type":"message","id":"u2"'), b"x")
        assert (await refusal(peer.call("session/entries", sessionId="session-a"))).kind == "foreignWriter"
        status = await peer.call("server/status")
        assert [session["writeBlock"]["reason"] for session in status["blockedSessions"]] == ["replaced"]
        listed = await peer.call("session/list")
        assert [session["problemCount"] for session in listed["sessions"]] == [2], (
            "the list says what the file is now"
        )
        opened = await peer.call("session/open", sessionId="session-a")
        assert {problem["kind"] for problem in opened["problems"]} == {"damagedLine", "missingParent"}
        entries = await peer.call("session/entries", sessionId="session-a")
        assert [entry["id"] for entry in entries_of(entries)] == ["u1", "a1", "a2"]
        assert (await peer.append("session-a", user("on")))["lastSeq"] == 5


async def test_a_file_that_was_only_touched_goes_on_as_before(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        path = await session_of(daemon, peer, "session-a")
        os.utime(path, (0, 0))
        assert len(entries_of(await peer.call("session/entries", sessionId="session-a"))) == 4
        assert (await peer.append("session-a", user("on")))["lastSeq"] == 5


async def test_a_terminal_whose_breadcrumb_cannot_be_written_has_its_session_all_the_same(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as daemon:
        (tmp_path / "state" / "terminal-sessions").write_bytes(b"no folder")
        peer = await daemon.attach()
        terminal = {"id": "tty-1"}
        made = await peer.call("session/create", cwd="/p", id="session-a", terminal=terminal)
        assert made["session"]["sessionId"] == "session-a"
        await peer.append("session-a", assistant("a"))
        went = await peer.call("session/continue", cwd="/p", terminal=terminal)
        assert went["session"]["sessionId"] == "session-a"


async def test_the_facts_of_a_session_are_few_only_while_its_file_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_live: LiveSession, _rows: object) -> list[bytes]:
        raise StorageFailed("the disk gives nothing", path="session", errno=errno.EIO)

    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await session_of(daemon, peer, "session-a")
        with monkeypatch.context() as now:
            now.setattr(LiveSession, "read_rows", refused)
            await peer.append("session-a", user("one more"))
            poor = (await peer.call("session/info", sessionId="session-a"))["session"]
        said = (await peer.call("session/info", sessionId="session-a"))["session"]
    assert (poor["entryCount"], poor["firstPrompt"]) == (said["entryCount"], None)
    assert said["firstPrompt"] == "question"
