"""A session that takes no writes says so, and why, until the cause is gone; the others never notice."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub import disk_space
from sessiond.hub.session import log_maintenance
from support.columns import entries_of
from support.daemons import Peer, assistant, refusal, running, user
from support.disk import Disk


async def session_in(peer: Peer, name: str) -> str:
    """A session with an answer in it, on disk."""
    made = await peer.call("session/create", cwd="/p", id=name)
    await peer.append(name, user("q"), assistant("a"))
    return str(made["session"]["sessionId"])


async def refuses(peer: Peer, session_id: str) -> Any:
    info = await peer.call("session/info", sessionId=session_id)
    return info["session"].get("writeBlock")


async def status(peer: Peer) -> dict[str, str]:
    told = await peer.call("server/status")
    return {
        session["sessionId"]: session["writeBlock"]["reason"] for session in told.get("blockedSessions", [])
    }


def swept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_maintenance, "RETRY_SECONDS", -1.0)


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (errno.ENOSPC, "storageFull", "diskFull"),
        (errno.EDQUOT, "storageFull", "diskFull"),
        (errno.EIO, "storageFailed", "failed"),
        (errno.EFBIG, "storageFailed", "failed"),
        (errno.EROFS, "storageFailed", "readOnlyDisk"),
    ],
)
async def test_a_refused_write_is_told_until_one_succeeds(
    tmp_path: Path, error: int, kind: str, reason: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer = await daemon.attach()
        await session_in(peer, "session-a")
        await session_in(peer, "session-b")
        disk.refuse("write", 1, error=error)
        refused = await refusal(peer.append("session-a", user("lost")))
        assert (refused.kind, refused.details["errno"], refused.details["path"]) == (
            kind, error, (await peer.call("session/info", sessionId="session-a"))["session"]["path"],
        )  # fmt: skip
        told = await refuses(peer, "session-a")
        assert (told["reason"], told["message"]) == (reason, refused.message)
        assert await status(peer) == {"session-a": reason}
        assert await refuses(peer, "session-b") is None
        await peer.append("session-b", user("goes on"))
        await peer.append("session-a", user("again"))
        assert await refuses(peer, "session-a") is None
        assert await status(peer) == {}
        changes = [
            (change["session"]["sessionId"], change["changed"]) for change in write_block_changes(peer)
        ]
        assert changes == [("session-a", ["writeBlock"])] * 2


def write_block_changes(peer: Peer) -> list[dict[str, Any]]:
    return [
        notification
        for notification in peer.told("session/changed")
        if "writeBlock" in notification["changed"]
    ]


async def test_a_disk_with_room_again_is_noticed_without_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept_at_once(monkeypatch)
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer = await daemon.attach()
        await session_in(peer, "session-a")
        disk.refuse("write", 1, error=errno.ENOSPC)
        await refusal(peer.append("session-a", user("lost")))
        await peer.until(lambda client: len(write_block_changes(client)) == 2)
        assert await status(peer) == {}


async def test_lines_that_could_not_be_synced_are_told_and_written_anew_when_the_disk_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept_at_once(monkeypatch)
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer = await daemon.attach()
        await session_in(peer, "session-a")
        disk.refuse("fdatasync")
        disk.refuse("fsync")
        refused = await refusal(peer.append("session-a", user("lost")))
        assert refused.kind == "storageFailed"
        assert await status(peer) == {"session-a": "notSynced"}
        disk.allow("fsync")  # the descriptor whose sync failed is never synced again
        await peer.until(lambda client: len(write_block_changes(client)) == 2)
        assert await status(peer) == {}
        disk.allow("fdatasync")
        assert (await peer.append("session-a", user("on")))["lastSeq"] == 3


async def test_a_file_that_is_gone_is_told_and_served_again_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept_at_once(monkeypatch)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await session_in(peer, "session-a")
        (file,) = daemon.files()
        away = file.parent.rename(tmp_path / "away")
        refused = await refusal(peer.append("session-a", user("lost")))
        assert (refused.kind, refused.details["path"]) == ("foreignWriter", str(file))
        assert await status(peer) == {"session-a": "replaced"}
        entries = await peer.call("session/entries", sessionId="session-a")
        assert len(entries_of(entries)) == 2, "what it held can still be read"
        away.rename(file.parent)
        assert (await peer.append("session-a", user("on")))["lastSeq"] == 3
        assert await status(peer) == {}


@pytest.mark.parametrize(
    ("error", "reason"), [(errno.EACCES, "permissionDenied"), (errno.EROFS, "readOnlyDisk")]
)
async def test_a_right_to_write_that_comes_back_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, reason: str
) -> None:
    async with running(tmp_path) as first:
        await session_in(await first.attach(), "session-a")
    open_file = os.open

    def refuse_writing(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & os.O_RDWR and str(path).endswith(".jsonl"):
            raise OSError(error, os.strerror(error))  # nothing else stops root
        return open_file(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refuse_writing)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        opened = await peer.call("session/open", sessionId="session-a")
        assert opened["session"]["readOnly"]
        assert opened["session"]["writeBlock"]["reason"] == reason
        assert (await refusal(peer.append("session-a", user("no")))).kind == "readOnly"
        monkeypatch.setattr(os, "open", open_file)
        assert (await peer.append("session-a", user("on")))["lastSeq"] == 3
        session = (await peer.call("session/info", sessionId="session-a"))["session"]
        assert (session["readOnly"], session.get("writeBlock")) == (False, None)


async def test_a_file_whose_sync_fails_at_open_is_read_and_written_anew_before_it_is_appended_to(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as first:
        await session_in(await first.attach(), "session-a")
    disk = Disk()
    disk.drops_pages = False
    disk.refuse("fdatasync", 1)
    (file,) = first.files()
    before, inode = file.read_bytes(), file.stat().st_ino
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer = await daemon.attach()
        opened = await peer.call("session/open", sessionId="session-a")
        assert opened["session"]["writeBlock"]["reason"] == "notSynced"
        assert len(entries_of(await peer.call("session/entries", sessionId="session-a"))) == 2
        assert (await peer.append("session-a", user("on")))["lastSeq"] == 3
        assert file.stat().st_ino != inode
        assert file.read_bytes().startswith(before)
        assert await status(peer) == {}


async def test_little_room_is_warned_of_once_and_told_in_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(disk_space, "LOW_BYTES", 1 << 62)
    monkeypatch.setattr(disk_space, "CHECK_SECONDS", 0.0)
    async with running(tmp_path) as daemon:
        assert daemon.hub is not None
        peer = await daemon.attach()
        for _ in range(3):
            await daemon.hub.disk_space.check()
        told = await peer.call("server/status")
        assert told["lowSpace"]
        assert told["freeBytes"] > 0
        assert len([record for record in caplog.records if record.name == "sessiond.hub.disk_space"]) == 1
