"""The origin of a session on the wire: in descriptions, lists, searches, watches and documents, and as their filter."""

import json  # noqa: TID251 - files of other programs are written as they write them
from pathlib import Path
from typing import Any

from support.daemons import Peer, Running, assistant, user
from support.dialects import jsonl
from support.watched_lists import watching

SESSION = "11111111-2222-4333-8444-555555555555"


def recorded(folder: Path) -> Path:
    """A session of Claude Code."""
    about = {"sessionId": SESSION, "cwd": "/work/claude", "version": "2.1.197"}
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(
        jsonl(
            {"type": "user", "uuid": "u1", "parentUuid": None, "timestamp": "2026-01-01T00:00:00.000Z", **about,
             "message": {"role": "user", "content": "where is the quokka?"}},
            {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "timestamp": "2026-01-01T00:00:01.000Z", **about,
             "message": {"role": "assistant", "id": "m1", "model": "claude-test", "stop_reason": "end_turn",
                         "content": [{"type": "text", "text": "over there"}]}},
        )
    )  # fmt: skip
    return path


def origin(path: Path, *, gone: bool = False) -> dict[str, Any]:
    return {
        "agent": "claude-code", "sessionId": SESSION, "path": str(path), "version": "2.1.197", "gone": gone,
    }  # fmt: skip


async def ids(peer: Peer, **params: Any) -> list[str]:
    return [it["sessionId"] for it in (await peer.call("session/list", **params))["sessions"]]


async def set_state(peer: Peer, state: str) -> None:
    entry = {"type": "custom", "customType": "sessiond.originState", "data": {"state": state}}
    await peer.call("session/append", sessionId=SESSION, entries=[entry], advance=False)


async def test_an_imported_session_has_its_origin_everywhere(memory: Running, tmp_path: Path) -> None:
    path = recorded(tmp_path)
    peer = await memory.attach()
    await peer.call("session/import", path=str(path))
    expected = origin(path)
    assert (await peer.call("session/info", sessionId=SESSION))["session"]["origin"] == expected
    [row] = (await peer.call("session/list"))["sessions"]
    assert row["origin"] == expected
    [found] = (await peer.call("session/resolve", query=SESSION[:8]))["sessions"]
    assert found["origin"] == expected
    [hit] = (await peer.call("session/search", query="quokka", waitMs=10_000))["hits"]
    assert hit["origin"] == expected
    opened = await peer.call("session/open", sessionId=SESSION)
    assert opened["session"]["origin"] == expected
    page = await peer.call("session/export", sessionId=SESSION, format="html")
    head = page["text"].partition('id="session"')[2].partition(">")[2].partition("</script>")[0]
    assert json.loads(head)["session"]["origin"] == expected


async def test_a_session_that_began_here_has_no_origin(memory: Running) -> None:
    peer = await memory.attach()
    created = await peer.call("session/create", cwd="/work/here")
    assert created["session"]["origin"] is None


async def test_lists_and_searches_are_filtered_by_agent(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    await peer.call("session/import", path=str(recorded(tmp_path)))
    own = (await peer.call("session/create", cwd="/work/here"))["session"]["sessionId"]
    await peer.call("session/append", sessionId=own, entries=[user("a quokka"), assistant("yes")])
    assert set(await ids(peer)) == {SESSION, own}
    assert await ids(peer, agent="claude-code") == [SESSION]
    assert await ids(peer, agent="codex") == []
    assert await ids(peer, query="claude-code") == [SESSION]
    hits = (await peer.call("session/search", query="quokka", waitMs=10_000))["hits"]
    assert {it["sessionId"] for it in hits} == {SESSION, own}
    hits = (await peer.call("session/search", query="quokka", agent="claude-code", waitMs=10_000))["hits"]
    assert [it["sessionId"] for it in hits] == [SESSION]


async def test_a_watch_with_an_agent_receives_only_its_sessions(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    listed = await watching(peer, agent="claude-code")
    await peer.call("session/create", cwd="/work/here")
    await peer.call("session/import", path=str(recorded(tmp_path)))
    await listed.until(lambda it: list(it.rows) == [SESSION])


async def test_a_file_that_its_agent_deletes_and_restores_is_gone_and_back(
    memory: Running, tmp_path: Path
) -> None:
    path = recorded(tmp_path)
    peer = await memory.attach()
    await peer.call("session/import", path=str(path))
    leaf = (await peer.call("session/open", sessionId=SESSION))["session"]["leafId"]
    for state in ("gone", "present"):
        await set_state(peer, state)
        [row] = (await peer.call("session/list"))["sessions"]
        assert row["origin"] == origin(path, gone=state == "gone")
        assert row["leafId"] == leaf
    changed = [it["changed"] for it in peer.told("session/changed")]
    assert changed.count(["origin"]) == 2
