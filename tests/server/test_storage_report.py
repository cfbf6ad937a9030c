"""storage/report: what lies where, by agent, project and month, with each blob counted where it is named."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.config import Config, RootsConfig
from support.daemons import Peer, assistant, running, user
from support.dialect_files import meta, said
from support.dialects import jsonl
from support.images import image_block, png

PICTURE = png(300, 300)


@pytest.fixture
async def peer(tmp_path: Path) -> AsyncIterator[Peer]:
    async with running(tmp_path, image_blobs=True) as daemon:
        yield await daemon.attach()


async def report(peer: Peer, **params: Any) -> dict[str, Any]:
    # The blobs that a log names are counted with its texts.
    await peer.call("session/search", query="anything", waitMs=60_000)
    found: dict[str, Any] = await peer.call("storage/report", **params)
    return found


async def session_with(peer: Peer, *entries: dict[str, Any], cwd: str = "/w") -> str:
    session_id: str = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(session_id, user("go on"), *entries)
    return session_id


def shares(rows: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    return {row["key"]: (row["count"], row["sizeBytes"]) for row in rows}


def picture() -> dict[str, Any]:
    return {"type": "message", "message": {"role": "user", "content": [image_block(PICTURE)], "timestamp": 1}}


async def size_of(peer: Peer, session_id: str) -> int:
    found = await peer.call("session/info", sessionId=session_id)
    return int(found["session"]["sizeBytes"])


async def test_an_empty_home_has_no_sessions_in_the_report(peer: Peer) -> None:
    found = await report(peer)
    assert found["agents"] == found["projects"] == found["months"] == found["sessions"] == []
    assert not {"sessions", "drafts", "blobs", "trash"} & shares(found["kinds"]).keys()
    assert found["totalBytes"] == sum(row["sizeBytes"] for row in found["kinds"])


async def test_logs_and_drafts_count_with_the_bytes_of_their_files(peer: Peer) -> None:
    answered = await session_with(peer, assistant("done"))
    draft = await session_with(peer)
    found = shares((await report(peer))["kinds"])
    assert found["sessions"] == (1, await size_of(peer, answered))
    assert found["drafts"] == (1, await size_of(peer, draft))


async def test_a_blob_counts_once_on_the_disk_and_in_each_session_that_names_it(peer: Peer) -> None:
    first = await session_with(peer, assistant("a"), picture(), picture())
    second = await session_with(peer, assistant("b"), picture())
    found = await report(peer)
    assert shares(found["kinds"])["blobs"] == (1, len(PICTURE))
    logs = [await size_of(peer, first), await size_of(peer, second)]
    listed = {row["sessionId"]: (row["logBytes"], row["blobBytes"]) for row in found["sessions"]}
    assert listed == {first: (logs[0], len(PICTURE)), second: (logs[1], len(PICTURE))}
    assert shares(found["agents"]) == {"sessiond": (2, sum(logs) + 2 * len(PICTURE))}


async def test_a_session_that_no_longer_names_a_blob_does_not_count_it(peer: Peer) -> None:
    session = await session_with(peer, assistant("a"), picture())
    assert (await report(peer))["sessions"][0]["blobBytes"] == len(PICTURE)
    await peer.call("session/delete", sessionId=session)
    found = await report(peer)
    assert found["sessions"] == []
    assert shares(found["kinds"])["blobs"] == (1, len(PICTURE))


async def test_sessions_count_for_their_agent_their_project_and_the_month_of_their_last_change(
    peer: Peer, tmp_path: Path
) -> None:
    file = tmp_path / "rollout-x.jsonl"
    file.write_bytes(jsonl(meta(cwd="/home/ada/atlas"), said("user", "hello"), said("assistant", "hi")))
    imported = await peer.call("session/import", path=str(file))
    own = await session_with(peer, assistant("done"), cwd="/home/ada/other")
    sizes = [await size_of(peer, imported["sessions"][0]["sessionId"]), await size_of(peer, own)]
    found = await report(peer)
    assert shares(found["agents"]) == {"codex": (1, sizes[0]), "sessiond": (1, sizes[1])}
    assert shares(found["projects"]) == {"/home/ada/atlas": (1, sizes[0]), "/home/ada/other": (1, sizes[1])}
    assert sum(row["sizeBytes"] for row in found["months"]) == sum(sizes)
    assert [row["key"] for row in found["months"]] == sorted(
        (row["key"] for row in found["months"]), reverse=True
    )
    assert found["recentBytes"] == sizes[1]  # the rollout was written long ago


async def test_deleted_sessions_count_as_trash(peer: Peer) -> None:
    session = await session_with(peer, assistant("done"))
    size = await size_of(peer, session)
    await peer.call("session/delete", sessionId=session)
    found = await report(peer)
    count, in_trash = shares(found["kinds"])["trash"]
    assert count == 2  # the log, and the note that tells where it was
    assert in_trash > size
    assert found["agents"] == []


async def test_only_the_largest_projects_and_sessions_are_listed_and_all_are_counted(peer: Peer) -> None:
    for number in range(4):
        await session_with(peer, assistant("x" * 1_000 * (number + 1)), cwd=f"/w/{number}")
    found = await report(peer, limit=2)
    assert [row["key"] for row in found["projects"]] == ["/w/3", "/w/2"]
    assert [row["cwd"] for row in found["sessions"]] == ["/w/3", "/w/2"]
    assert found["projectCount"] == 4
    assert shares(found["agents"])["sessiond"][0] == 4


async def test_an_append_is_in_the_next_report(peer: Peer) -> None:
    session = await session_with(peer, assistant("done"))
    before = (await report(peer))["sessions"][0]["logBytes"]
    await peer.append(session, user("y" * 5_000))
    after = (await report(peer))["sessions"][0]["logBytes"]
    assert after == await size_of(peer, session) > before + 5_000


async def test_sessions_in_the_folder_of_another_program_count_apart(tmp_path: Path) -> None:
    folder = tmp_path / "pi" / "--w--"
    folder.mkdir(parents=True)
    log = [
        {
            "type": "session",
            "version": 3,
            "id": "theirs-1",
            "timestamp": "2026-02-16T10:20:30.000Z",
            "cwd": "/w",
        },
        {**assistant("done"), "id": "a1", "parentId": None, "timestamp": "2026-02-16T10:20:31.000Z"},
    ]
    file = folder / "2026-02-16T10-20-30-000Z_theirs-1.jsonl"
    file.write_bytes(jsonl(*log))
    config = Config(roots=RootsConfig(folders=(str(tmp_path / "pi"),)))
    async with running(tmp_path / "home", config=config) as daemon:
        found = await report(await daemon.attach())
    assert shares(found["kinds"])["inPlace"] == (1, file.stat().st_size)
    assert "sessions" not in shares(found["kinds"])
    assert shares(found["months"]) == {"2026-02": (1, file.stat().st_size)}
