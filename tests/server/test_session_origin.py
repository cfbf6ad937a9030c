"""The origin of a session on the wire: in descriptions, lists, searches, watches and documents, and as their filter."""

import json  # noqa: TID251 - files of other programs are written as they write them
from pathlib import Path
from typing import Any

from support.daemons import Peer, Running, assistant, refusal, user
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


def origin(path: Path, state: str = "present") -> dict[str, Any]:
    return {
        "agent": "claude-code", "sessionId": SESSION, "path": str(path), "version": "2.1.197",
        "gone": state == "gone", "archived": state == "archived", "automated": False, "ended": False,
    }  # fmt: skip


async def ids(peer: Peer, **params: Any) -> list[str]:
    return [session["sessionId"] for session in (await peer.call("session/list", **params))["sessions"]]


async def set_state(peer: Peer, state: str, **more: str) -> None:
    entry = {"type": "custom", "customType": "sessiond.originState", "data": {"state": state, **more}}
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
    assert {hit["sessionId"] for hit in hits} == {SESSION, own}
    hits = (await peer.call("session/search", query="quokka", agent="claude-code", waitMs=10_000))["hits"]
    assert [hit["sessionId"] for hit in hits] == [SESSION]


async def test_a_watch_with_an_agent_receives_only_its_sessions(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    listed = await watching(peer, agent="claude-code")
    await peer.call("session/create", cwd="/work/here")
    await peer.call("session/import", path=str(recorded(tmp_path)))
    await listed.until(lambda watched: list(watched.rows) == [SESSION])


async def test_a_file_that_its_agent_archives_deletes_and_restores_is_archived_gone_and_back(
    memory: Running, tmp_path: Path
) -> None:
    path = recorded(tmp_path)
    peer = await memory.attach()
    await peer.call("session/import", path=str(path))
    leaf = (await peer.call("session/open", sessionId=SESSION))["session"]["leafId"]
    for state in ("archived", "gone", "present"):
        await set_state(peer, state)
        [row] = (await peer.call("session/list"))["sessions"]
        assert row["origin"] == origin(path, state)
        assert row["leafId"] == leaf
    changed = [notification["changed"] for notification in peer.told("session/changed")]
    assert changed.count(["origin"]) == 3


async def test_the_origin_has_the_newest_path_of_the_file(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    await peer.call("session/import", path=str(recorded(tmp_path)))
    await set_state(peer, "archived", sourcePath="/archive/1.jsonl")
    [row] = (await peer.call("session/list"))["sessions"]
    assert row["origin"] == origin(Path("/archive/1.jsonl"), "archived")
    await set_state(peer, "gone")
    [row] = (await peer.call("session/list"))["sessions"]
    assert row["origin"] == origin(Path("/archive/1.jsonl"), "gone")


PI = "0197aaaa-2222-7333-8444-555555555555"


def recorded_by_pi(folder: Path, name: str = PI) -> Path:
    """A session of pi, which gets an id of its own here."""
    path = folder / f"{name}.jsonl"
    at = "2026-01-01T00:00:00.000Z"
    said = [
        {"type": "message", "id": f"e{number}", "parentId": (number and "e0") or None, "timestamp": at,
         "message": {"role": role, "content": [{"type": "text", "text": role}]}}
        for number, role in enumerate(("user", "assistant"))
    ]  # fmt: skip
    path.write_bytes(
        jsonl({"type": "session", "version": 3, "id": name, "timestamp": at, "cwd": "/work"}, *said)
    )
    return path


async def resolved(peer: Peer, query: str) -> tuple[list[str], bool]:
    found = await peer.call("session/resolve", query=query)
    return [session["sessionId"] for session in found["sessions"]], found["exact"]


async def test_a_session_is_found_by_its_id_in_the_agent(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    [session] = (await peer.call("session/import", path=str(recorded_by_pi(tmp_path))))["sessions"]
    here = session["sessionId"]
    assert here != PI
    assert await resolved(peer, PI) == ([here], True)
    assert await resolved(peer, PI[:10]) == ([here], False)
    assert await resolved(peer, here) == ([here], True)
    refused = await refusal(peer.call("session/info", sessionId=PI))
    assert (refused.kind, refused.details["didYouMean"]) == ("sessionNotFound", [here])
    copy = (await peer.call("session/fork", sessionId=here, whole=True))["session"]["sessionId"]
    assert await resolved(peer, PI) == ([here], True), "the copy has the same origin"
    assert await resolved(peer, PI[:10]) == ([here], False)
    other = recorded_by_pi(tmp_path, f"{PI[:-1]}6")
    await peer.call("session/import", path=str(other))
    assert len((await resolved(peer, PI[:10]))[0]) == 2
    assert copy not in (await resolved(peer, PI[:10]))[0]
