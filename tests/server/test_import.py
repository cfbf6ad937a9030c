"""session/import: files of other programs become sessions, whole or not at all, and grow with their files."""

import asyncio
import json  # noqa: TID251 - files of other programs are written as they write them
import os
from pathlib import Path
from typing import Any

import pytest

from support import logs
from support.claude_transcripts import imported, turn, write
from support.columns import entries_of
from support.daemons import Peer, Refused, Running, assistant, refusal, running, user
from support.shared import lines_of


async def stored_in(peer: Peer, session_id: str) -> list[dict[str, Any]]:
    page = await peer.call("session/entries", sessionId=session_id, limit=1_000)
    return [dict(entry) for entry in entries_of(page)]


async def test_a_file_becomes_a_session_of_its_own_id_and_the_source_is_only_read(
    daemon: Running, tmp_path: Path
) -> None:
    source = write(
        tmp_path / "session.jsonl", turn(0), turn(1), {"type": "tag", "tag": "docs", "sessionId": "x"}
    )
    before = source.read_bytes(), source.stat().st_mtime_ns
    peer = await daemon.attach()
    session = await imported(peer, source)
    try:
        assert session["status"] == "created"
        assert session["format"] == "claude-code"
        assert session["convertedLines"] == {"user": 1, "assistant": 1, "tag": 1}
        info = (await peer.call("session/info", sessionId=session["sessionId"]))["session"]
        assert info["sessionId"] == "11111111-2222-4333-8444-555555555555"
        assert info["cwd"] == "/work/claude"
        assert (info["leafId"], info["messageCount"], info["tags"]) == ("turn-1", 2, ["docs"])
        assert info["createdAt"] == "2026-01-01T00:00:00.000Z"
        path = await peer.call("session/path", sessionId=session["sessionId"])
        assert [entry["id"] for entry in entries_of(path)] == ["turn-0", "turn-1"]
        assert (source.read_bytes(), source.stat().st_mtime_ns) == before
    finally:
        for file in daemon.files():
            if session["sessionId"] in file.name:
                file.unlink()


async def test_a_second_import_adds_nothing_and_a_grown_file_what_is_new(
    memory: Running, tmp_path: Path
) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    first = await imported(peer, source)
    everything = memory.everything()
    again = await imported(peer, source)
    assert (again["status"], again["addedCount"]) == ("unchanged", 0)
    assert memory.everything() == everything
    write(source, turn(0), turn(1), {"type": "mystery", "sessionId": "x"}, turn(2), turn(3))
    grown = await imported(peer, source)
    assert (grown["status"], grown["addedCount"], grown["sessionId"]) == ("grown", 3, first["sessionId"])
    info = (await peer.call("session/info", sessionId=first["sessionId"]))["session"]
    assert info["leafId"] == "turn-3"
    found = {entry["id"]: entry["parentId"] for entry in await stored_in(peer, first["sessionId"])}
    assert (found["turn-2"], found["turn-3"]) == ("turn-1", "turn-2")
    assert (await imported(peer, source))["status"] == "unchanged"


async def test_the_leaf_stays_in_a_session_that_was_continued_here(memory: Running, tmp_path: Path) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    session_id = (await imported(peer, source))["sessionId"]
    [here] = (await peer.append(session_id, user("and here I go on")))["entries"]
    write(source, turn(0), turn(1), turn(2), turn(3))
    assert (await imported(peer, source))["addedCount"] == 2
    info = (await peer.call("session/info", sessionId=session_id))["session"]
    assert info["leafId"] == here["id"]
    path = await peer.call("session/path", sessionId=session_id, leafId="turn-3")
    assert [entry["id"] for entry in entries_of(path)] == ["turn-0", "turn-1", "turn-2", "turn-3"]


async def test_an_imported_session_without_an_answer_is_a_draft(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    session = await imported(peer, write(tmp_path / "session.jsonl", turn(0)))
    assert session["isDraft"] is True
    assert memory.files() == []
    [draft] = memory.files("drafts")
    assert lines_of(draft)[0]["id"] == session["sessionId"]
    write(tmp_path / "session.jsonl", turn(0), turn(1))
    assert (await imported(peer, tmp_path / "session.jsonl"))["isDraft"] is False
    assert [len(memory.files()), len(memory.files("drafts"))] == [1, 0]


async def test_a_file_that_cannot_be_imported_is_skipped_with_its_reason(
    memory: Running, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    write(folder / "a" / "one.jsonl", turn(0), turn(1))
    write(folder / "b" / "nothing.jsonl", b"not json at all")
    write(
        folder / "c.jsonl",
        {"type": "session", "id": "sess-1234", "version": 1, "timestamp": "2024-01-01T10:00:00Z"},
    )
    (folder / "d.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (folder / "e.txt").write_text("no suffix that a session has", encoding="utf-8")
    os.mkfifo(folder / "f.jsonl")
    peer = await memory.attach()
    result = await peer.call("session/import", path=str(folder))
    assert [session["path"] for session in result["sessions"]] == [str(folder / "a" / "one.jsonl")]
    skipped = {Path(entry["path"]).name: entry["message"] for entry in result["skipped"]}
    assert set(skipped) == {"nothing.jsonl", "c.jsonl", "d.jsonl.zst", "f.jsonl"}
    assert len(result["skipped"]) == 4


async def test_sessions_of_sessiond_are_not_imported(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    made = await peer.call("session/create", cwd="/work/own")
    await peer.append(made["session"]["sessionId"], user("hi"), assistant("yo"))
    result = await peer.call("session/import", path=str(memory.home / "data"))
    assert result["sessions"] == []
    assert len(result["skipped"]) == 1


async def test_a_copy_of_a_home_file_has_an_id_of_its_own_and_the_same_lines(
    memory: Running, tmp_path: Path
) -> None:
    source = tmp_path / "pi.jsonl"
    source.write_bytes(logs.log(logs.header(), logs.user("hi"), logs.assistant("yo")))
    peer = await memory.attach()
    session = await imported(peer, source)
    assert session["sessionId"] != logs.SESSION_ID
    [file] = memory.files()
    assert file.read_bytes().split(b"\n")[2:4] == source.read_bytes().split(b"\n")[1:3]


async def test_two_files_with_one_session_id_become_two_sessions(memory: Running, tmp_path: Path) -> None:
    other = turn(0, uuid="other-0"), turn(1, uuid="other-1", parentUuid="other-0")
    peer = await memory.attach()
    one = await imported(peer, write(tmp_path / "one.jsonl", turn(0), turn(1)))
    two = await imported(peer, write(tmp_path / "two.jsonl", *other))
    assert one["sessionId"] != two["sessionId"]
    assert (await imported(peer, tmp_path / "two.jsonl"))["sessionId"] == two["sessionId"]
    assert (await imported(peer, tmp_path / "two.jsonl"))["status"] == "unchanged"


async def test_files_with_other_content_under_the_same_ids_become_sessions_of_their_own(
    memory: Running, tmp_path: Path
) -> None:
    peer = await memory.attach()
    made = []
    for number in range(4):
        lines = logs.log(
            logs.header(), logs.user("the same"), logs.assistant("yo"), logs.user(f"other {number}")
        )
        (tmp_path / f"{number}.jsonl").write_bytes(lines)
        made.append(await imported(peer, tmp_path / f"{number}.jsonl"))
    assert [result["status"] for result in made] == ["created"] * 4
    assert len({session["sessionId"] for session in made}) == 4
    again = [await imported(peer, tmp_path / f"{number}.jsonl") for number in range(4)]
    assert [result["status"] for result in again] == ["unchanged"] * 4
    assert [session["sessionId"] for session in again] == [session["sessionId"] for session in made]


async def test_subagents_are_imported_as_children(memory: Running, tmp_path: Path) -> None:
    parent = "11111111-2222-4333-8444-555555555555"
    write(tmp_path / f"{parent}.jsonl", turn(0), turn(1))
    sub = tmp_path / parent / "subagents" / "agent-a1.jsonl"
    write(sub, turn(0, isSidechain=True, agentId="a1"), turn(1, isSidechain=True, agentId="a1"))
    sub.with_suffix(".meta.json").write_text(json.dumps({"toolUseId": "toolu_1"}), encoding="utf-8")
    peer = await memory.attach()
    result = await peer.call("session/import", path=str(tmp_path / f"{parent}.jsonl"))
    child = next(session["sessionId"] for session in result["sessions"] if session["sessionId"] != parent)
    info = (await peer.call("session/info", sessionId=child))["session"]
    assert (info["parentSessionId"], info["leafId"]) == (parent, "turn-1")
    origin = next(
        item["data"] for item in await stored_in(peer, child) if item.get("customType") == "sessiond.origin"
    )
    assert origin["toolUseId"] == "toolu_1"


async def test_large_texts_and_images_go_into_blobs(memory: Running, tmp_path: Path) -> None:
    long = turn(1)
    long["message"]["content"] = [{"type": "text", "text": "x" * 600_000}]
    peer = await memory.attach()
    session = await imported(peer, write(tmp_path / "session.jsonl", turn(0), long))
    [file] = memory.files()
    assert file.stat().st_size < 550_000
    assert len(list((memory.home / "data" / "blobs").rglob("*"))) >= 1
    entries = await stored_in(peer, session["sessionId"])
    assert any("sessiondBlobs" in entry for entry in entries)


async def test_progress_is_reported_and_ends_before_the_response(memory: Running, tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / "all" / f"{number}.jsonl", turn(0, sessionId=f"session-number-{number}"), turn(1))
    peer = await memory.attach()
    await peer.call("session/import", path=str(tmp_path / "all"), workDoneToken="t-1")
    steps = [
        notification["value"] for notification in peer.told("$/progress") if notification["token"] == "t-1"
    ]
    assert [step["kind"] for step in steps] == ["begin", "report", "report", "report", "end"]
    assert peer.order.index("reply") > max(n for n, text in enumerate(peer.order) if text == "$/progress")
    assert len(peer.told("session/created")) == 3


async def test_a_canceled_import_keeps_its_sessions_and_the_next_one_continues(
    memory: Running, tmp_path: Path
) -> None:
    count = 300
    for number in range(count):
        write(tmp_path / "all" / f"{number:03}.jsonl", turn(0, sessionId=f"session-number-{number}"), turn(1))
    peer = await memory.attach()
    asking = asyncio.create_task(peer.call("session/import", path=str(tmp_path / "all"), workDoneToken=7))
    await peer.until(lambda client: len(client.told("session/created")) > 3)
    peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
    with pytest.raises(Refused) as refused:
        await asking
    assert refused.value.kind == "canceled"
    kept = len(memory.files())
    assert 3 < kept < count
    result = await peer.call("session/import", path=str(tmp_path / "all"))
    states = [session["status"] for session in result["sessions"]]
    assert len(states) == count
    assert states.count("unchanged") >= kept - 1
    assert len(memory.files()) == count


async def test_a_path_must_be_absolute_and_exist(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    for params in ({}, {"path": "relative.jsonl"}, {"path": "/with\0nul"}, {"path": "/x", "cwd": "relative"}):
        assert (await refusal(peer.call("session/import", **params))).kind == "invalidParams"
    result = await peer.call("session/import", path=str(tmp_path / "is-not-there.jsonl"))
    assert result["sessions"] == []
    assert len(result["skipped"]) == 1


async def test_a_crash_leaves_whole_sessions_only(tmp_path: Path) -> None:
    source = write(tmp_path / "src" / "session.jsonl", *(turn(number) for number in range(40)))
    async with running(tmp_path / "home", "memory") as daemon:
        session = await imported(await daemon.attach(), source)
    async with running(tmp_path / "home", "memory") as daemon:
        peer = await daemon.attach()
        opened = await peer.call("session/open", sessionId=session["sessionId"])
        assert opened["problems"] == []
        assert opened["session"]["messageCount"] == 40


async def test_a_request_can_name_another_folder(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    session = await imported(peer, write(tmp_path / "s.jsonl", turn(0), turn(1)), cwd="/work/elsewhere")
    info = (await peer.call("session/info", sessionId=session["sessionId"]))["session"]
    assert info["cwd"] == "/work/elsewhere"
