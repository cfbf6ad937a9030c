"""A search while texts are not in the index yet: it responds at once and says what is missing."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.index import updating
from support import logs
from support.daemons import Peer, Running, assistant, running, user
from support.patience import BOUND
from support.shared import started

NOTHING = {"sessionCount": 0, "sizeBytes": 0}
MANY = 1_500
"""Entries of more bytes than a search indexes itself."""


@pytest.fixture
def at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The background update does not begin during the test."""
    monkeypatch.setattr(updating, "START_SECONDS", 3_600.0)


async def search(peer: Peer, query: str, **params: Any) -> tuple[set[str], dict[str, int]]:
    """The found entries, and the texts that were not searched."""
    found = await peer.call("session/search", query=query, limit=1_000, **params)
    return {hit["entryId"] for hit in found["hits"]}, found["unsearched"]


async def until_indexed(peer: Peer) -> None:
    async with asyncio.timeout(BOUND):
        while (await search(peer, "nothing"))[1] != NOTHING:  # noqa: ASYNC110 - nothing is sent when it is done
            await asyncio.sleep(0.01)


async def with_a_burst(daemon: Running, cwd: str) -> tuple[Peer, str]:
    """A session with one entry that is indexed and many that are not."""
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("opal before", id="before"), assistant("ok"))
    assert await search(peer, "opal") == ({"before"}, NOTHING)
    await peer.append(session_id, *(user(f"opal {number}", id=f"o{number}") for number in range(MANY)))
    return peer, session_id


async def test_a_search_after_a_burst_responds_with_what_is_indexed(at_rest: None, memory: Running) -> None:
    peer, session_id = await with_a_burst(memory, "/w")
    size = (await peer.call("session/info", sessionId=session_id))["session"]["sizeBytes"]
    found, unsearched = await search(peer, "opal")
    assert found == {"before"}
    assert unsearched["sessionCount"] == 1
    assert updating.SMALL_BACKLOG_BYTES < unsearched["sizeBytes"] < size


async def test_a_search_that_waits_finds_everything(at_rest: None, memory: Running) -> None:
    peer, _ = await with_a_burst(memory, "/w")
    found, unsearched = await search(peer, "opal before", waitMs=60_000)
    assert (found, unsearched) == ({"before"}, NOTHING)
    found, unsearched = await search(peer, f'"opal {MANY - 1}"')
    assert (found, unsearched) == ({f"o{MANY - 1}"}, NOTHING)


async def test_a_burst_is_indexed_in_the_background(memory: Running) -> None:
    peer, _ = await with_a_burst(memory, "/w")
    await until_indexed(peer)
    assert (await search(peer, f'"opal {MANY - 1}"'))[0] == {f"o{MANY - 1}"}


async def test_sessions_that_grow_all_the_time_are_indexed_in_the_background(
    memory: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updating, "START_SECONDS", 0.0)
    monkeypatch.setattr(updating, "MAX_UPDATE_SECONDS", 0.3)
    monkeypatch.setattr(updating, "GROWTH_SECONDS", 3_600.0)
    peer, session_id = await with_a_burst(memory, "/w")
    async with asyncio.timeout(BOUND):
        while f"o{MANY - 1}" not in (await search(peer, f'"opal {MANY - 1}"'))[0]:
            await peer.append(session_id, user("more"))


async def test_a_small_backlog_is_searched_at_once(at_rest: None, memory: Running) -> None:
    peer, session_id = await started(memory, "/w")
    await peer.append(
        session_id, *(user(f"opal {number}", id=f"o{number}") for number in range(50)), assistant("ok")
    )
    assert await search(peer, "opal") == ({f"o{number}" for number in range(50)}, NOTHING)


async def test_the_newest_session_is_searched_before_the_texts_of_older_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updating, "START_SECONDS", 0.0)
    monkeypatch.setattr(updating, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(updating, "PAUSE_FACTOR", updating.BUSY_PAUSE_FACTOR)
    folder = tmp_path / "data/sessions/--any--"
    folder.mkdir(parents=True)

    def write(name: str, *entries: dict[str, Any]) -> None:
        path = folder / f"2026-01-01T00-00-00-000Z_{name}.jsonl"
        path.write_bytes(logs.log(logs.header(id=name), *entries))

    for number in range(60):
        write(f"session-{number:04}", *(logs.assistant("filler " * 500) for _ in range(100)))
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert (await search(peer, "filler"))[1]["sessionCount"] > 0
        write("session-newest", logs.user("opal", id="newest") | {"timestamp": "2030-01-01T00:00:00.000Z"})
        async with asyncio.timeout(BOUND):
            while not (found := await search(peer, "opal"))[0]:  # noqa: ASYNC110 - nothing is sent when it is done
                await asyncio.sleep(0.05)
        assert found[0] == {"newest"}
        assert found[1]["sessionCount"] > 0


async def test_the_texts_of_large_new_files_are_not_searched_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data/sessions/--any--/2026-01-01T00-00-00-000Z_session-0001.jsonl"
    path.parent.mkdir(parents=True)
    filler = (logs.assistant("filler " * 500) for _ in range(50))
    path.write_bytes(logs.log(logs.header(id="session-0001"), logs.user("opal", id="first"), *filler))
    size = path.stat().st_size
    with monkeypatch.context() as patched:
        patched.setattr(updating, "START_SECONDS", 3_600.0)
        async with running(tmp_path) as daemon:
            peer = await daemon.attach()
            assert await search(peer, "opal") == (set(), {"sessionCount": 1, "sizeBytes": size})
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await until_indexed(peer)
        assert await search(peer, "opal") == ({"first"}, NOTHING)
