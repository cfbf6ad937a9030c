"""The most recent session, for lists and continue-recent: the one that was written to last, whatever was written."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from support import logs
from support.daemons import Peer, Running, running

OLD, NEW = "session-old", "session-new"


def two_sessions(home: Path, cwd: str) -> None:
    """A session of the first of March, and one of the second."""
    folder = home / "data/sessions/--any--"
    folder.mkdir(parents=True)
    for day, session_id in enumerate((OLD, NEW), 1):
        lines = [logs.header(id=session_id, cwd=cwd), logs.user("a question"), logs.assistant("an answer")]
        written = logs.log(*lines).replace(b"2026-03-01T", f"2026-03-0{day}T".encode())
        (folder / f"2026-03-01T08-00-00-000Z_{session_id}.jsonl").write_bytes(written)


async def listed(peer: Peer, cwd: str) -> list[str]:
    return [session["sessionId"] for session in (await peer.call("session/list", cwd=cwd))["sessions"]]


async def rename(peer: Peer) -> None:
    await peer.call("session/rename", sessionId=OLD, title="Named")


async def tag(peer: Peer) -> None:
    await peer.call("session/tag", sessionId=OLD, add=["work"])


async def label(peer: Peer) -> None:
    await peer.call("session/label", sessionId=OLD, entryId="e1", label="here")


async def branch(peer: Peer) -> None:
    await peer.call("session/branch", sessionId=OLD, entryId="e1")


async def change_the_model(peer: Peer) -> None:
    await peer.append(OLD, {"type": "model_change", "provider": "acme", "modelId": "m1"})


async def keep_state_of_an_extension(peer: Peer) -> None:
    await peer.append(OLD, {"type": "custom", "customType": "theirs", "data": {}})


async def write_of_a_later_version(peer: Peer) -> None:
    await peer.append(OLD, {"type": "of_a_later_version"})


@pytest.mark.parametrize(
    "write",
    [rename, tag, label, branch, change_the_model, keep_state_of_an_extension, write_of_a_later_version],
)
async def test_any_write_to_a_session_makes_it_the_most_recent(
    tmp_path: Path, cwd: str, write: Callable[[Peer], Awaitable[None]]
) -> None:
    two_sessions(tmp_path, cwd)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert await listed(peer, cwd) == [NEW, OLD]
        await write(peer)
        assert await listed(peer, cwd) == [OLD, NEW]
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert await listed(peer, cwd) == [OLD, NEW]
        went = await peer.call("session/continue", cwd=cwd)
        assert (went["session"]["sessionId"], went["reason"]) == (OLD, "recent")


async def test_a_fork_of_an_old_session_is_the_most_recent(tmp_path: Path, cwd: str) -> None:
    two_sessions(tmp_path, cwd)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        forked = (await peer.call("session/fork", sessionId=OLD))["session"]
        assert forked["updatedAt"] == forked["createdAt"]
        assert await listed(peer, cwd) == [forked["sessionId"], NEW, OLD]
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert await listed(peer, cwd) == [forked["sessionId"], NEW, OLD]
        assert (await peer.call("session/continue", cwd=cwd))["session"]["sessionId"] == forked["sessionId"]


async def test_to_look_at_a_session_makes_it_no_more_recent(tmp_path: Path, cwd: str) -> None:
    two_sessions(tmp_path, cwd)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await peer.call("session/open", sessionId=OLD)
        await peer.call("session/tree", sessionId=OLD)
        assert await listed(peer, cwd) == [NEW, OLD]


async def test_an_imported_session_has_the_time_of_its_source(
    daemon: Running, cwd: str, tmp_path: Path
) -> None:
    source = tmp_path / "source.jsonl"
    source.write_bytes(logs.log(logs.header(cwd=cwd), logs.user("a question"), logs.assistant("an answer")))
    peer = await daemon.attach()
    [imported] = (await peer.call("session/import", paths=[str(source)]))["sessions"]
    [session] = (await peer.call("session/list"))["sessions"]
    assert session["sessionId"] == imported["sessionId"]
    assert session["updatedAt"] == "2026-03-01T08:00:02.000Z"
