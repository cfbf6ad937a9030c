"""session/list with `since` and `until`: the sessions whose last update is in a period."""

from typing import Any

import pytest

from support.daemons import Peer, Running, assistant, refusal, user
from support.shared import started


@pytest.fixture
async def peer(memory: Running) -> Peer:
    return await memory.attach()


async def listed(peer: Peer, **params: Any) -> list[str]:
    page = await peer.call("session/list", cwd="/period", **params)
    return [session["sessionId"] for session in page["sessions"]]


async def test_a_list_has_the_sessions_that_were_updated_in_a_period(memory: Running) -> None:
    peer, session_id = await started(memory, "/period")
    await peer.append(session_id, user("1"), assistant("2"))
    updated = (await peer.call("session/info", sessionId=session_id))["session"]["updatedAt"]
    assert await listed(peer, since=updated, until=updated) == [session_id]
    assert await listed(peer, until="2020-01-01") == []
    assert await listed(peer, since="2199-12-31T23:59:59+02:00") == []


async def test_a_time_that_cannot_be_read_and_changes_in_a_period_are_refused(peer: Peer) -> None:
    assert (await refusal(listed(peer, since="soon"))).kind == "invalidParams"
    page = await peer.call("session/list")
    after = {"epoch": page["epoch"], "position": page["position"]}
    assert (await refusal(listed(peer, since="2026-01-01", changedAfter=after))).kind == "invalidParams"
