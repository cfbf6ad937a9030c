"""trash/purge: the only request that cannot be undone, a dry run by default."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sessiond.config import Config, RetentionConfig
from sessiond.protocol import types
from sessiond.server import server
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.patience import BOUND
from support.shared import started


async def deleted(daemon: Running, cwd: str, **params: Any) -> tuple[Peer, dict[str, Any]]:
    """A session in the trash, as its deletion was answered."""
    peer, session_id = await started(daemon, cwd, **params)
    await peer.append(session_id, user("hello"), assistant("hi"))
    return peer, await peer.call("session/delete", sessionId=session_id)


async def test_a_purge_is_a_dry_run_by_default(daemon: Running, cwd: str) -> None:
    peer, gone = await deleted(daemon, cwd, title="Plans")
    said = await peer.call("trash/purge", sessionId=gone["sessionId"])
    assert (said["dryRun"], [session["title"] for session in said["purged"]]) == (True, ["Plans"])
    assert said["purgedBytes"] == Path(gone["trashPath"]).stat().st_size
    done = await peer.call("trash/purge", trashId=gone["trashId"], dryRun=False)
    assert (done["dryRun"], done["purged"], done["keptCount"]) == (
        False, said["purged"], said["keptCount"],
    )  # fmt: skip
    left = sorted(Path(gone["trashPath"]).parent.glob(f"*{gone['sessionId']}*"))
    assert left == []
    for call in ("trash/restore", "trash/purge"):
        assert (await refusal(peer.call(call, sessionId=gone["sessionId"]))).kind == "sessionNotFound"
    assert (await refusal(peer.call("session/info", sessionId=gone["sessionId"]))).kind == "sessionNotFound"


async def test_only_sessions_that_are_old_enough_are_purged(memory: Running, cwd: str) -> None:
    peer, first = await deleted(memory, cwd)
    _, second = await deleted(memory, cwd)
    make_old(first["trashPath"])
    done = await peer.call("trash/purge", olderThanMs=86_400 * 1_000, dryRun=False)
    assert ([session["trashId"] for session in done["purged"]], done["keptCount"]) == ([first["trashId"]], 1)
    assert [session["trashId"] for session in (await peer.call("trash/list"))["sessions"]] == [
        second["trashId"]
    ]
    done = await peer.call("trash/purge", olderThanMs=0, dryRun=False)
    assert (len(done["purged"]), done["keptCount"]) == (1, 0)


@pytest.mark.parametrize(("most", "truncated"), [(2, True), (3, False)])
async def test_a_purge_of_many_lists_the_first_and_counts_all(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch, most: int, truncated: bool
) -> None:
    monkeypatch.setattr(types, "MAX_REPORTED", most)
    everything = [(await deleted(memory, cwd))[1] for _ in range(3)]
    peer = await memory.attach()
    size = sum(Path(session["trashPath"]).stat().st_size for session in everything)
    for dry_run in (True, False):
        done = await peer.call("trash/purge", olderThanMs=0, dryRun=dry_run)
        assert (len(done["purged"]), done["purgedCount"], done["truncated"]) == (most, 3, truncated)
        assert (done["purgedBytes"], done["keptCount"]) == (size, 0)
    assert (await peer.call("trash/list"))["sessions"] == []


async def test_a_session_that_is_not_in_the_trash_is_not_purged(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    asked = peer.call("trash/purge", sessionId=session_id, dryRun=False)
    assert (await refusal(asked)).kind == "sessionNotFound"
    assert (await peer.append(session_id, user("still here")))["lastSeq"] == 1


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"sessionId": "a", "trashId": "b"},
        {"sessionId": "a", "olderThanMs": 1},
        {"olderThanMs": -1},
    ],
)
async def test_a_purge_takes_exactly_one_selector(memory: Running, params: dict[str, Any]) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call("trash/purge", **params))).kind == "invalidParams"


async def test_the_daemon_purges_automatically_only_if_it_is_configured(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "KEEP_START_SECONDS", 0.05)
    async with running(tmp_path) as daemon:
        _, old = await deleted(daemon, cwd)
        _, new = await deleted(daemon, cwd)
    make_old(old["trashPath"])
    async with running(tmp_path) as daemon:
        assert (await (await daemon.attach()).call("trash/list", withTotal=True))["totalCount"] == 2
    async with running(tmp_path, config=Config(keep=RetentionConfig(trash_max_age=86_400.0))) as daemon:
        peer = await daemon.attach()
        async with asyncio.timeout(BOUND):
            while (await peer.call("trash/list", withTotal=True))["totalCount"] > 1:
                pass
    assert (Path(old["trashPath"]).exists(), Path(new["trashPath"]).exists()) == (False, True)


def make_old(trashed: str) -> None:
    """Let a session have gone to the trash long ago."""
    note = Path(f"{trashed}.json")
    text = note.read_text(encoding="utf-8")
    before = text.partition('"trashedAt": "')[2].partition('"')[0]
    note.write_text(text.replace(before, "2025-01-01T00:00:00.000Z"), encoding="utf-8")
