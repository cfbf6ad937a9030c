"""A batch is there as a whole or not at all, also when the daemon died in the middle of its write."""

from pathlib import Path
from typing import Any

import pytest

from support.columns import entries_of
from support.daemons import Peer, assistant, running, user

BATCH = [user("one", id="b1"), assistant("two", id="b2"), user("three", id="b3")]


async def ids(peer: Peer, path: Path) -> list[str]:
    opened = await peer.call("session/open", path=str(path))
    entries = await peer.call("session/entries", sessionId=opened["session"]["sessionId"])
    return [entry["id"] for entry in entries_of(entries)]


async def written(home: Path) -> bytes:
    """A log with an entry and, behind it, a batch of three."""
    async with running(home) as daemon:
        peer = await daemon.attach()
        session = (await peer.call("session/create", cwd="/p", id="batches1"))["session"]["sessionId"]
        await peer.append(session, assistant("zero", id="b0"))
        await peer.append(session, *BATCH)
        (file,) = daemon.files()
        return file.read_bytes()


async def test_a_batch_cut_anywhere_is_not_there_at_all(tmp_path: Path) -> None:
    whole = await written(tmp_path / "first")
    start = whole.index(b'{"type":"message","id":"b1"')
    async with running(tmp_path / "second") as daemon:
        peer = await daemon.attach()
        for cut in range(start, len(whole) - 1, 7):
            file = tmp_path / f"{cut}.jsonl"
            file.write_bytes(whole[:cut].replace(b"batches1", f"cut-{cut:05}".encode(), 1))
            assert await ids(peer, file) == ["b0"], cut


async def test_a_whole_batch_is_there_even_without_its_last_newline(tmp_path: Path) -> None:
    whole = await written(tmp_path / "first")
    async with running(tmp_path / "second") as daemon:
        peer = await daemon.attach()
        file = tmp_path / "whole.jsonl"
        file.write_bytes(whole[:-1])
        assert await ids(peer, file) == ["b0", "b1", "b2", "b3"]


@pytest.mark.parametrize("lines", [1, 2])
async def test_bytes_that_were_cut_off_are_kept_beside_and_the_batch_may_be_sent_again(
    tmp_path: Path, lines: int
) -> None:
    whole = await written(tmp_path / "first")
    start = whole.index(b'{"type":"message","id":"b1"')
    cut = start
    for _ in range(lines):
        cut = whole.index(b"\n", cut) + 1
    file = tmp_path / "cut.jsonl"
    file.write_bytes(whole[:cut])
    async with running(tmp_path / "second") as daemon:
        peer = await daemon.attach()
        opened = await peer.call("session/open", path=str(file))
        assert [problem["line"] for problem in opened["problems"]] == [3]
        assert file.read_bytes() == whole[:cut]
        answer = await peer.append("batches1", *BATCH)
        assert [(entry["seq"], entry["status"]) for entry in answer["entries"]] == [
            (2, "created"), (3, "created"), (4, "created"),
        ]  # fmt: skip
        (kept,) = tmp_path.glob("cut.jsonl.torn-*")
        assert kept.read_bytes() == whole[start:cut]


async def test_the_mark_of_a_batch_is_not_seen_in_what_is_read(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer, other = await daemon.attach(), await daemon.attach()
        session = (await peer.call("session/create", cwd="/p"))["session"]["sessionId"]
        await other.call("session/subscribe", sessionId=session)
        await peer.append(session, *BATCH)
        await other.until(lambda subscriber: subscriber.seqs() == [1, 2, 3])
        read: dict[str, Any] = await peer.call("session/entries", sessionId=session)
        assert entries_of(read) == entries_of(other.told("session/appended")[0])
        assert [set(entry) for entry in entries_of(read)] == [
            {"type", "id", "parentId", "timestamp", "message"}
        ] * 3
