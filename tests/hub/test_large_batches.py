"""Large batches are prepared in slices: others are answered meanwhile, and nothing else about them is different."""

import asyncio
from pathlib import Path

import pytest

from sessiond.hub.session.batches import LARGE_BATCH
from support.columns import entries_of
from support.daemons import Refused, assistant, running, user
from support.shared import started

ROWS = 5 * LARGE_BATCH


@pytest.fixture(autouse=True)
def one_step_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slice takes a turn of the event loop of its own, so that all that can come in between does."""
    monkeypatch.setattr("sessiond.hub.execution.slices.TICK_SECONDS", 0.0)


async def test_others_are_answered_while_a_large_batch_is_prepared(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        other = await daemon.attach()
        done: list[str] = []
        large = asyncio.ensure_future(peer.append(session_id, *(user(str(number)) for number in range(ROWS))))
        large.add_done_callback(lambda _: done.append("large"))
        await asyncio.sleep(0)
        for _ in range(3):
            await other.call("session/info", sessionId=session_id)
            done.append("small")
        await large
        assert done == ["small", "small", "small", "large"]


async def test_entries_appended_after_a_large_batch_stand_behind_it(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        drafts = [user("first")], [user(f"{number}") for number in range(ROWS)], [assistant("last")]
        first, large, last = await asyncio.gather(*(peer.append(session_id, *draft) for draft in drafts))
        assert (first["lastSeq"], large["lastSeq"], last["lastSeq"]) == (1, ROWS + 1, ROWS + 2)
        assert [entry["seq"] for entry in large["entries"]] == list(range(2, ROWS + 2))
        path = await peer.call("session/path", sessionId=session_id, limit=10_000)
        ids = [entry["id"] for entry in entries_of(path)]
        assert ids == [entry["id"] for result in (first, large, last) for entry in result["entries"]]
        assert [entry["parentId"] for entry in entries_of(path)] == [None, *ids[:-1]]


async def test_a_large_batch_that_is_sent_again_is_stored_once(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        drafts = [user(str(number)) | {"id": f"entry-{number}"} for number in range(ROWS)]
        results = await asyncio.gather(*(peer.append(session_id, *drafts) for _ in range(2)))
        assert [{entry["status"] for entry in result["entries"]} for result in results] == [
            {"created"},
            {"duplicate"},
        ]
        assert (await peer.call("session/info", sessionId=session_id))["session"]["entryCount"] == ROWS


async def test_one_bad_draft_keeps_a_large_batch_out_and_nothing_else(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        drafts = [*(user(str(number)) for number in range(ROWS)), {"type": "message"}]
        large = asyncio.ensure_future(peer.append(session_id, *drafts))
        small = asyncio.ensure_future(peer.append(session_id, user("x")))
        with pytest.raises(Refused) as refused:
            await large
        assert refused.value.kind == "invalidEntry"
        assert (await small)["lastSeq"] == 1
