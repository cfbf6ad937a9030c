"""The end of a file that was not complete in time is read by itself once its program is quiet."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sessiond.hub.following import follower
from sessiond.hub.transfer import foreign_files
from support.columns import entries_of
from support.daemons import Peer, running
from support.dialect_files import SESSION
from support.following import has, texts, until
from support.writing_agents import WritingClaude

QUIET = 3.0


def waiting(claude: WritingClaude) -> None:
    """Write a prompt that waits in the queue."""
    queued = {"operation": "enqueue", "content": "Also this", "timestamp": "2026-01-01T00:00:09.000Z"}
    claude.write({"type": "queue-operation", "sessionId": SESSION, **queued})


def incomplete(claude: WritingClaude) -> None:
    """Write a part of an answer."""
    claude.says("Also this", message_id="m", stop=None)


async def _is_said(peer: Peer, text: str) -> bool:
    entries = entries_of(await peer.call("session/entries", sessionId=SESSION))
    return any(text in str(entry) for entry in entries)


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("write", [waiting, incomplete])
async def test_the_end_of_a_file_is_read_once_its_program_is_quiet(
    write: Callable[[WritingClaude], None],
    is_restarted: bool,
    agents_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follower, "GROWING_SECONDS", QUIET)
    monkeypatch.setattr(follower, "DUE_STEP_SECONDS", 0.5)
    monkeypatch.setattr(foreign_files, "GROWING_SECONDS", QUIET)
    claude = WritingClaude(agents_home)
    claude.asks("Hello")
    claude.says("Hi")
    write(claude)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        assert not await _is_said(peer, "Also this")
        if not is_restarted:
            await until(lambda: _is_said(peer, "Also this"))
    if is_restarted:
        async with running(tmp_path / "home") as daemon:
            peer = await daemon.attach()
            await peer.call("agent/follow", agents=["claude-code"], workDoneToken="again")
            await until(lambda: _is_said(peer, "Also this"))


async def test_a_line_that_is_completed_after_its_program_was_quiet_is_read(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("Hello")
    rest = claude.write_half("Also this")
    old = time.time() - 1_000
    os.utime(claude.path, (old, old))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        assert await texts(peer) == ["Hello"]
        claude.append(rest)
        await has(peer, "Also this")
        assert await texts(peer) == ["Hello", "Also this"]
