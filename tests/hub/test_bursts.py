"""Many appends at once share writes and syncs, from the first one to a session on."""

import asyncio
from pathlib import Path

import pytest

from support.columns import entries_of
from support.daemons import assistant, running, user
from support.disk import Disk
from support.shared import started


@pytest.mark.parametrize("first", ["draft", "session", "closed"])
async def test_a_burst_on_a_session_that_must_be_seen_to_first_shares_its_syncs(
    tmp_path: Path, cwd: str, first: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        if first != "draft":
            await peer.append(session_id, user("1"), assistant("2"))
        if first == "closed":
            assert daemon.hub is not None
            await daemon.hub.sessions.close_session(daemon.hub.sessions.all()[0])
        before = disk.called["fdatasync"]
        results = await asyncio.gather(*(peer.append(session_id, user("x")) for _ in range(500)))
        seqs = [result["lastSeq"] for result in results]
        assert seqs == list(range(seqs[0], seqs[0] + 500))
        assert disk.called["fdatasync"] - before < 60


async def test_a_burst_that_an_answer_stands_in_the_middle_of_shares_its_syncs(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        drafts = [assistant("now") if number == 200 else user("x") for number in range(400)]
        before = disk.called["fdatasync"]
        results = await asyncio.gather(*(peer.append(session_id, draft) for draft in drafts))
        assert [result["lastSeq"] for result in results] == list(range(1, 401))
        assert disk.called["fdatasync"] - before < 60
        assert [session["sessionId"] for session in (await peer.call("session/list"))["sessions"]] == [
            session_id
        ]


async def test_a_refusal_in_a_burst_refuses_only_what_it_should(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        drafts = [{"type": "message"} if number % 10 == 0 else user(f"{number}") for number in range(100)]
        results = await asyncio.gather(
            *(peer.append(session_id, draft) for draft in drafts), return_exceptions=True
        )
        kinds = [getattr(result, "kind", "stored") for result in results]
        assert kinds == ["invalidEntry" if number % 10 == 0 else "stored" for number in range(100)]
        said = await peer.call("session/path", sessionId=session_id)
        texts = [entry["message"]["content"] for entry in entries_of(said)]
        assert texts == [f"{number}" for number in range(100) if number % 10]
