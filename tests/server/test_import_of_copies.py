"""Several files of one session: it has the entries of all of them, and the newest file with messages leads."""

import os
from pathlib import Path
from typing import Any

import pytest

from support.claude_transcripts import OLD, SESSION, turn, write
from support.columns import entries_of
from support.daemons import Peer, Running, running
from support.dialect_files import FILES
from support.dialects import jsonl
from support.logs import Line

COPIED = {name: lines for name, lines in FILES.items() if name not in ("nova", "cline", "opencode")}


async def stored_in(peer: Peer, session_id: str) -> dict[str, Line]:
    page = await peer.call("session/entries", sessionId=session_id, limit=1_000)
    return {entry["id"]: entry for entry in entries_of(page) if entry["type"] != "leaf"}


def is_state(line: Line) -> bool:
    return bool(line.get("customType") == "sessiond.originState")


async def info(peer: Peer, session_id: str = SESSION) -> dict[str, Any]:
    return dict((await peer.call("session/info", sessionId=session_id))["session"])


async def imported_ids(peer: Peer, folder: Path) -> set[str]:
    result = await peer.call("session/import", path=str(folder))
    assert result["skipped"] == []
    return {session["sessionId"] for session in result["sessions"]}


@pytest.mark.parametrize("order", ["part first", "whole first"])
@pytest.mark.parametrize("dialect", COPIED)
async def test_a_file_and_an_earlier_copy_of_it_are_one_session(
    dialect: str, order: str, tmp_path: Path
) -> None:
    lines: list[Any] = COPIED[dialect]
    part, whole = ("a", "b") if order == "part first" else ("b", "a")
    name = f"{SESSION}.jsonl"
    write(tmp_path / "one" / name, *lines, at=OLD + 60)
    write(tmp_path / "both" / whole / name, *lines, at=OLD + 60)
    write(tmp_path / "both" / part / name, *lines[: len(lines) // 2 + 1])
    async with running(tmp_path / "alone") as daemon:
        peer = await daemon.attach()
        [alone] = await imported_ids(peer, tmp_path / "one")
        wanted, about = await stored_in(peer, alone), await info(peer, alone)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        [session] = await imported_ids(peer, tmp_path / "both")
        found = {name: item for name, item in (await stored_in(peer, session)).items() if not is_state(item)}
        assert session == alone
        assert {name: entry["parentId"] for name, entry in found.items()} == {
            name: entry["parentId"] for name, entry in wanted.items()
        }
        now = await info(peer, session)
        for fact in ("leafId", "messageCount", "firstPrompt", "cwd"):
            assert now[fact] == about[fact]
        assert now["updatedAt"][:16] == about["updatedAt"][:16], "it is not new in a list"
        assert now["origin"]["path"] == str(tmp_path / "both" / whole / name)


async def test_the_entries_of_files_that_went_on_apart_are_all_there(memory: Running, tmp_path: Path) -> None:
    here = turn(2, uuid="here"), turn(3, uuid="here-too", parentUuid="here")
    there = turn(2, uuid="there"), turn(3, uuid="there-too", parentUuid="there")
    write(tmp_path / "all" / "a.jsonl", turn(0), turn(1), *here, at=OLD + 60)
    write(tmp_path / "all" / "b.jsonl", turn(0), turn(1), *there)
    peer = await memory.attach()
    assert await imported_ids(peer, tmp_path / "all") == {SESSION}
    assert {"here-too", "there-too"} <= set(await stored_in(peer, SESSION))
    assert (await info(peer))["leafId"] == "here-too"
    write(
        tmp_path / "all" / "b.jsonl", turn(0), turn(1), *there, turn(4, parentUuid="there-too"), at=OLD + 90
    )
    await imported_ids(peer, tmp_path / "all")
    now = await info(peer)
    assert now["leafId"] == "here-too", "only a followed agent moves a leaf that is not its own"
    assert now["origin"]["path"] == str(tmp_path / "all" / "b.jsonl")


async def test_lines_beside_the_conversation_with_the_same_number_are_all_there(
    memory: Running, tmp_path: Path
) -> None:
    def other(text: str) -> Line:
        return {"type": "mystery", "sessionId": SESSION, "text": text}

    def title(text: str) -> Line:
        return {"type": "custom-title", "customTitle": text, "sessionId": SESSION}

    write(tmp_path / "all" / "a.jsonl", turn(0), turn(1), other("one"), title("First"), at=OLD + 60)
    write(tmp_path / "all" / "b.jsonl", turn(0), turn(1), other("two"), title("Second"))
    write(tmp_path / "all" / "c.jsonl", turn(0), turn(1), other("two"), title("Second"), other("three"))
    peer = await memory.attach()
    for _ in range(2):
        assert await imported_ids(peer, tmp_path / "all") == {SESSION}
        entries = (await stored_in(peer, SESSION)).values()
        raws = [entry["data"]["raw"] for entry in entries if entry.get("customType") == "sessiond.import"]
        assert sorted(raw.rpartition(":")[2].strip(' "}') for raw in raws) == ["one", "three", "two"]
        assert [entry["name"] for entry in entries if entry["type"] == "session_info"] == ["First", "Second"]


async def test_a_file_without_messages_leads_no_session(memory: Running, tmp_path: Path) -> None:
    head = {"sessionId": SESSION, "projectHash": "x", "startTime": "2026-01-01T00:00:00.000Z", "kind": "main"}
    context = "<session_context>\nThis is the Gemini CLI.\n</session_context>"

    def said(name: str, type: str, text: str) -> Line:
        content = [{"text": text}] if type == "user" else text
        return {"id": name, "timestamp": "2026-01-01T00:00:01.000Z", "type": type, "content": content}

    write(tmp_path / "stray" / "s.jsonl", head, said("c2", "user", context), at=OLD + 60)
    write(
        tmp_path / "real" / "s.jsonl", head, said("c1", "user", context), said("q", "user", "hello"),
        said("a", "gemini", "good day"),
    )  # fmt: skip
    for number, order in enumerate((("stray", "real"), ("real", "stray"))):
        async with running(tmp_path / f"home-{number}") as daemon:
            peer = await daemon.attach()
            for name in order:
                assert await imported_ids(peer, tmp_path / name) == {SESSION}
            now = await info(peer)
            assert (now["leafId"], now["messageCount"], now["isDraft"]) == ("a", 2, False)
            assert now["origin"]["path"] == str(tmp_path / "real" / "s.jsonl")
            assert {"c1", "c2"} <= set(await stored_in(peer, SESSION))


async def test_two_conversations_that_claim_one_id_are_two_sessions_in_one_import(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b", "c")):
        lines = turn(0, f"question {name}"), turn(1, f"answer {name}")
        write(tmp_path / "all" / f"{name}.jsonl", *lines, at=OLD + number)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        first = await imported_ids(peer, tmp_path / "all")
        assert len(first) == 3
        prompts = {(await info(peer, text))["firstPrompt"] for text in first}
        assert prompts == {"question a", "question b", "question c"}
    (tmp_path / "home" / "state" / "imports.db").unlink()
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        assert await imported_ids(peer, tmp_path / "all") == first
        listed = await peer.call("session/list")
        assert len(listed["sessions"]) == 3


async def test_a_hard_link_is_no_other_session(memory: Running, tmp_path: Path) -> None:
    write(tmp_path / "all" / "a.jsonl", turn(0), turn(1))
    os.link(tmp_path / "all" / "a.jsonl", tmp_path / "all" / "b.jsonl")
    peer = await memory.attach()
    assert await imported_ids(peer, tmp_path / "all") == {SESSION}
    assert len(await stored_in(peer, SESSION)) == 3
    assert (await info(peer))["origin"]["path"] == str(tmp_path / "all" / "a.jsonl")


async def test_the_folder_of_the_newest_file_is_that_of_the_session(memory: Running, tmp_path: Path) -> None:
    former, moved = "/work/former", "/work/moved"
    old = turn(0, cwd=former), turn(1, cwd=former)
    write(tmp_path / "all" / "-work-former" / f"{SESSION}.jsonl", *old)
    peer = await memory.attach()
    await imported_ids(peer, tmp_path / "all")
    assert (await info(peer))["cwd"] == former
    copy = write(tmp_path / "all" / "-work-moved" / f"{SESSION}.jsonl", *old, turn(2, cwd=moved), at=OLD + 60)
    assert await imported_ids(peer, tmp_path / "all") == {SESSION}
    now = await info(peer)
    assert (now["cwd"], now["origin"]["path"], now["leafId"]) == (moved, str(copy), "turn-2")
    assert await imported_ids(peer, tmp_path / "all") == {SESSION}
    assert (await info(peer))["cwd"] == moved
    listed = await peer.call("session/list", cwd=moved)
    assert [session["sessionId"] for session in listed["sessions"]] == [SESSION]


async def test_a_session_that_was_moved_here_stays_there(memory: Running, tmp_path: Path) -> None:
    old = turn(0, cwd="/work/former"), turn(1, cwd="/work/former")
    source = write(tmp_path / "all" / "-work-former" / f"{SESSION}.jsonl", *old)
    peer = await memory.attach()
    await imported_ids(peer, tmp_path / "all")
    await peer.call("session/move", sessionId=SESSION, cwd="/work/mine")
    write(source, *old, turn(2, cwd="/work/former"), at=OLD + 60)
    write(
        tmp_path / "all" / "-copy" / f"{SESSION}.jsonl",
        *old,
        turn(2, cwd="/work/former"),
        turn(3),
        at=OLD + 90,
    )
    assert await imported_ids(peer, tmp_path / "all") == {SESSION}
    assert (await info(peer))["cwd"] == "/work/mine"
    assert "turn-3" in await stored_in(peer, SESSION)


async def test_a_later_import_with_a_folder_moves_the_session(memory: Running, tmp_path: Path) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    await imported_ids(peer, source)
    await peer.call("session/import", path=str(source), cwd="/work/other")
    assert (await info(peer))["cwd"] == "/work/other"
    await imported_ids(peer, source)
    assert (await info(peer))["cwd"] == "/work/other"


def test_the_copied_files_have_more_than_one_line() -> None:
    assert all(len(jsonl(*lines).splitlines()) > 2 for lines in COPIED.values())


async def test_a_session_that_an_earlier_version_cut_is_named_and_is_whole_after_another_import(
    tmp_path: Path,
) -> None:
    source = write(tmp_path / "in" / f"{SESSION}.jsonl", *(turn(number) for number in range(6)))
    async with running(tmp_path / "home") as daemon:
        await imported_ids(await daemon.attach(), tmp_path / "in")
    [stored] = (tmp_path / "home").rglob("*_*.jsonl")
    lines = stored.read_bytes().replace(b'"parentId":"turn-2"', b'"parentId":null')
    stored.write_bytes(lines)
    os.utime(source, (OLD + 60, OLD + 60))
    source.write_bytes(source.read_bytes() + b" \n")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        [session] = (await peer.call("session/import", path=str(source)))["sessions"]
        assert any(
            SESSION in problem["message"] and "pieces" in problem["message"]
            for problem in session["problems"]
        )
        assert len((await peer.call("session/context", sessionId=SESSION))["messages"]) == 3
        await peer.call("session/delete", sessionId=SESSION)
        [again] = (await peer.call("session/import", path=str(source)))["sessions"]
        assert not again["problems"]
        assert len((await peer.call("session/context", sessionId=again["sessionId"]))["messages"]) == 6
