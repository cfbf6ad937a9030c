"""The index is disposable: deleted, damaged or behind, the answers are the same."""

import asyncio
import json  # noqa: TID251 - files are written as another program writes them
import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.index import listing
from sessiond.hub.index.worker import Worker
from sessiond.store.files import census
from sessiond.store.files.census import FileCensus
from sessiond.store.records import Changes
from support import logs
from support.daemons import Peer, Running, assistant, joined, refusal, running, spawn, user
from support.patience import BOUND
from support.shared import started

Answers = dict[str, Any]


def write(home: Path, number: int, *more: logs.Line, cwd: str = "/work/clock") -> Path:
    """A session as another program leaves it."""
    session_id = f"session-{number:04}"
    path = home / "data/sessions/--any--" / f"2026-01-01T00-00-00-000Z_{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(logs.log(logs.header(id=session_id, cwd=cwd), *more))
    return path


def filled(home: Path, count: int = 12) -> list[Path]:
    return [
        write(
            home, number,
            logs.user(f"prompt {number} about garnet"),
            logs.assistant(f"answer {number} with beryl", provider="acme", model=f"m{number % 3}"),
            logs.label("e1", f"label {number % 2}"),
            cwd=f"/work/{number % 2}",
        )
        for number in range(count)
    ]  # fmt: skip


async def answers(peer: Peer) -> Answers:
    """Return all kinds of answers of the index."""
    return {
        "all": placeless(await peer.call("session/list", limit=1_000, withTotal=True)),
        "one folder": placeless(await peer.call("session/list", cwd="/work/1", sort="title")),
        "query": placeless(await peer.call("session/list", query="PROMPT 3")),
        "words": by_place(await peer.call("session/search", query="garnet", limit=1_000)),
        "labeled": by_place(await peer.call("session/search", query="ber*", labels=["label 1"], limit=1_000)),
        "titles": by_place(await peer.call("session/search", query="label", limit=1_000)),
    }


def placeless(page: dict[str, Any]) -> dict[str, Any]:
    """A page without its position in the changes of the list, which each daemon counts anew."""
    return {name: value for name, value in page.items() if name not in ("epoch", "position")}


def by_place(found: dict[str, Any]) -> list[Any]:
    """Hits without their order, which depends on the order in which they were read."""
    assert found["unsearched"] == {"sessionCount": 0, "sizeBytes": 0}
    return sorted(json.dumps(hit) for hit in found["hits"])


async def fresh(home: Path) -> Answers:
    """Return the answers of a daemon that has never had an index."""
    shutil.rmtree(home / "state", ignore_errors=True)
    async with running(home) as daemon:
        return await answers(await daemon.attach())


def index_of(home: Path) -> Path:
    return home / "state/index.db"


async def test_a_restarted_daemon_returns_the_same_results_from_the_stored_index(tmp_path: Path) -> None:
    filled(tmp_path)
    expected = await fresh(tmp_path)
    assert expected["all"]["totalCount"] == 12
    inode = index_of(tmp_path).stat().st_ino
    async with running(tmp_path) as daemon:
        assert await answers(await daemon.attach()) == expected
    assert index_of(tmp_path).stat().st_ino == inode


async def test_an_index_that_is_deleted_while_it_is_used_is_rebuilt(tmp_path: Path, caplog: Any) -> None:
    filled(tmp_path)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        expected = await answers(peer)
        for path in index_of(tmp_path).parent.glob("index.db*"):
            path.unlink()
        assert await answers(peer) == expected
        assert index_of(tmp_path).exists()
    assert "index" in caplog.text


async def test_an_index_of_another_version_is_rebuilt(tmp_path: Path) -> None:
    filled(tmp_path)
    expected = await fresh(tmp_path)
    import sqlite3

    with sqlite3.connect(index_of(tmp_path)) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    async with running(tmp_path) as daemon:
        assert await answers(await daemon.attach()) == expected


@pytest.mark.parametrize("content", [b"", b"x", b"SQLite format 3\0" + b"\xff" * 5_000, os.urandom(20_000)])
async def test_a_file_that_is_no_index_is_replaced(tmp_path: Path, content: bytes) -> None:
    filled(tmp_path)
    expected = await fresh(tmp_path)
    for path in index_of(tmp_path).parent.glob("index.db-*"):
        path.unlink()
    index_of(tmp_path).write_bytes(content)
    async with running(tmp_path) as daemon:
        assert await answers(await daemon.attach()) == expected


async def test_results_are_the_same_when_the_index_cannot_be_stored(tmp_path: Path) -> None:
    filled(tmp_path)
    expected = await fresh(tmp_path)
    for path in index_of(tmp_path).parent.glob("index.db*"):
        path.unlink()
    index_of(tmp_path).mkdir()
    (index_of(tmp_path) / "something").write_bytes(b"")
    async with running(tmp_path) as daemon:
        assert await answers(await daemon.attach()) == expected


async def test_a_damaged_index_returns_the_same_results_wherever_it_is_cut_or_overwritten(
    tmp_path: Path,
) -> None:
    filled(tmp_path)
    expected = await fresh(tmp_path)
    sound = index_of(tmp_path).read_bytes()
    seal = index_of(tmp_path).with_name("index.db-seal")
    sealed = seal.read_bytes()
    chance = random.Random(5)
    for offset in range(0, len(sound), 4096):
        damaged = bytearray(sound)
        at = offset + chance.randrange(0, 4096 - 64)
        damaged[at : at + 64] = bytes(chance.randrange(256) for _ in range(64))
        index_of(tmp_path).write_bytes(damaged)
        seal.write_bytes(sealed)
        async with running(tmp_path) as daemon:
            assert await answers(await daemon.attach()) == expected, at
    for size in range(0, len(sound), len(sound) // 7):
        index_of(tmp_path).write_bytes(sound[:size])
        async with running(tmp_path) as daemon:
            assert await answers(await daemon.attach()) == expected, size


async def test_the_index_of_a_killed_daemon_is_used_by_the_next_one(tmp_path: Path) -> None:
    filled(tmp_path)
    process = await spawn(tmp_path)
    peer = await joined(tmp_path).attach()
    expected = await answers(peer)
    process.kill()
    await process.wait()
    inode = index_of(tmp_path).stat().st_ino
    async with running(tmp_path) as daemon:
        assert await answers(await daemon.attach()) == expected
    assert index_of(tmp_path).stat().st_ino == inode


async def test_changes_of_files_by_other_programs_are_in_the_next_result(
    tmp_path: Path,
) -> None:
    paths = filled(tmp_path, 6)
    chance = random.Random(3)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        for turn in range(25):
            path = chance.choice(paths)
            match turn % 5:
                case 0:
                    paths.append(write(tmp_path, 100 + turn, logs.user("new garnet"), logs.assistant("ok")))
                case 1:
                    with path.open("ab") as file:
                        line = {"type": "message", "id": f"t{turn}", "parentId": "e1",
                                "timestamp": "2026-03-01T00:00:00Z",
                                "message": {"role": "user", "content": f"grown garnet {turn}"}}  # fmt: skip
                        file.write(json.dumps(line).encode() + b"\n")
                case 2:
                    paths.remove(path)
                    moved = path.with_name(f"2026-01-01T00-00-00-000Z_moved-{turn:04}.jsonl")
                    paths.append(path.rename(moved))
                case 3:
                    write(tmp_path, 50 + turn, logs.user("garnet once"), logs.assistant("ok")).replace(path)
                case 4:
                    paths.remove(path)
                    path.unlink()
            seen = await answers(peer)
            shutil.copytree(tmp_path / "data", tmp_path / f"copy-{turn}/data")
            brute = await fresh(tmp_path / f"copy-{turn}")
            assert scrubbed(seen) == scrubbed(brute), turn


def scrubbed(answer: Answers) -> str:
    """An answer without what tells two homes apart."""
    text = json.dumps(answer)
    import re

    return re.sub(r"/[^\" ]*/data/", "/data/", text)


async def test_lists_and_searches_include_each_append_to_an_open_session(memory: Running) -> None:
    peer, session_id = await started(memory, "/w")
    await peer.append(session_id, user("first"), assistant("ok"))
    for number in range(20):
        await peer.append(session_id, user(f"more zircon {number}", id=f"z{number}"))
        listed, found = await asyncio.gather(
            peer.call("session/list"), peer.call("session/search", query="zircon", limit=100)
        )
        assert listed["sessions"][0]["entryCount"] == number + 3
        assert len(found["hits"]) == number + 1


async def test_a_draft_that_becomes_a_session_is_listed_and_found_once(memory: Running) -> None:
    peer, session_id = await started(memory, "/w")
    await peer.append(session_id, user("spinel"))
    assert (await peer.call("session/list", includeDrafts=True, withTotal=True))["totalCount"] == 1
    assert len((await peer.call("session/search", query="spinel"))["hits"]) == 1
    await peer.append(session_id, assistant("spinel, too"))
    assert (await peer.call("session/list", includeDrafts=True, withTotal=True))["totalCount"] == 1
    assert len((await peer.call("session/search", query="spinel"))["hits"]) == 2


@pytest.mark.parametrize("sort", ["updated", "created", "title"])
async def test_pages_have_the_same_sessions_forward_and_backward(tmp_path: Path, sort: str) -> None:
    filled(tmp_path, 10)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await peer.call("session/open", sessionId="session-0004")  # one of them answers for itself
        forth = [await peer.call("session/list", sort=sort, limit=3, withTotal=True)]
        while (cursor := forth[-1]["nextCursor"]) is not None:
            forth.append(await peer.call("session/list", sort=sort, limit=3, cursor=cursor, withTotal=True))
        back = [forth[-1]]
        while (cursor := back[-1]["previousCursor"]) is not None:
            page = await peer.call("session/list", sort=sort, limit=3, cursor=cursor, withTotal=True)
            if not page["sessions"]:
                break
            back.append(page)
    ids = [session["sessionId"] for page in forth for session in page["sessions"]]
    assert len(set(ids)) == len(ids) == 10
    assert [session["sessionId"] for page in reversed(back) for session in page["sessions"]] == ids
    assert {page["totalCount"] for page in forth} == {10}


@pytest.mark.parametrize(
    ("lines", "lifecycle"),
    [
        ([], "empty"),
        ([logs.user("x")], "interrupted"),
        ([logs.user("x"), logs.assistant("y", stopReason="stop")], "complete"),
        ([logs.user("x"), logs.assistant("y", stopReason="aborted")], "aborted"),
        ([logs.user("x"), logs.assistant("y", stopReason="error")], "error"),
        ([logs.user("x"), logs.assistant("y", stopReason="length")], "interrupted"),
        ([logs.user("x"), logs.assistant([logs.tool_call("read", {})])], "interrupted"),
        (
            [logs.user("x"), logs.assistant([logs.tool_call("read", {})]), logs.tool_result("z")],
            "interrupted",
        ),
        ([logs.user("x"), logs.assistant("y"), logs.label("e1", "z")], "complete"),
        (
            [logs.user("x"), logs.assistant("y"), logs.user("z"), logs.entry("leaf", targetId="e2")],
            "complete",
        ),
    ],
)
async def test_a_list_has_the_lifecycle_of_each_session(
    tmp_path: Path, lines: list[logs.Line], lifecycle: str
) -> None:
    write(tmp_path, 1, *lines)
    async with running(tmp_path) as daemon:
        [listed] = (await (await daemon.attach()).call("session/list", includeDrafts=True))["sessions"]
        assert listed["lifecycle"] == lifecycle


async def test_a_list_has_the_model_for_the_next_turn(tmp_path: Path) -> None:
    said = logs.assistant("y", provider="acme", model="one")
    write(tmp_path, 1, logs.user("x"), said)
    write(tmp_path, 2, logs.user("x"), said, logs.entry("model_change", model="acme/two"))
    write(tmp_path, 3, logs.user("x"), said, logs.entry("model_change", model="acme/two", role="fast"))
    write(tmp_path, 4, logs.user("x"), logs.entry("model_change", provider="acme", modelId="three"))
    write(tmp_path, 5, logs.user("x"))
    async with running(tmp_path) as daemon:
        listed = (await (await daemon.attach()).call("session/list"))["sessions"]
    assert {session["sessionId"][-1]: session["model"] for session in listed} == {
        "1": "acme/one", "2": "acme/two", "3": "acme/one", "4": "acme/three", "5": None,
    }  # fmt: skip


async def test_a_closed_session_is_found_by_a_prefix_and_a_mistyped_id_gets_suggestions(
    tmp_path: Path,
) -> None:
    filled(tmp_path, 3)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        unlike = await refusal(peer.call("session/info", sessionId="something else"))
        assert (unlike.kind, unlike.details["didYouMean"]) == ("sessionNotFound", [])
        several = await refusal(peer.call("session/info", sessionId="session-000"))
        assert several.details["didYouMean"] == ["session-0000", "session-0001", "session-0002"]
        mistyped = await refusal(peer.call("session/info", sessionId="sesion-0001"))
        assert "session-0001" in mistyped.details["didYouMean"]
        for name in ("session-0002", "session-0001"):
            assert (await peer.call("session/info", sessionId=name))["session"]["sessionId"] == name
        write(tmp_path, 7777)
        meant = await peer.call("session/resolve", query="session-7")
        assert [session["sessionId"] for session in meant["sessions"]] == ["session-7777"]


async def test_an_index_that_is_a_symbolic_link_is_replaced_and_its_target_unchanged(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"")
    (tmp_path / "state").mkdir()
    index_of(tmp_path).symlink_to(victim)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert (await peer.call("session/list"))["sessions"] == []
    assert victim.read_bytes() == b""
    assert not index_of(tmp_path).is_symlink()


async def test_an_index_error_that_a_rebuild_does_not_fix_is_a_storage_failure(
    memory: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    peer = await memory.attach()
    with monkeypatch.context() as patched:
        patched.setattr(listing, "page", refuse)
        assert (await refusal(peer.call("session/list"))).kind == "storageFailed"
    assert (await peer.call("session/list"))["sessions"] == []


async def test_a_file_that_disappears_while_it_is_read_is_not_listed_with_its_former_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = filled(tmp_path, 2)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert (await peer.call("session/list", withTotal=True))["totalCount"] == 2
        with path.open("ab") as file:
            file.write(logs.log(logs.user("more")))
        look = FileCensus.poll

        def look_before_it_goes(self: FileCensus, hints: Iterable[str] = ()) -> Changes:
            changes = look(self, hints)
            path.unlink(missing_ok=True)
            return changes

        monkeypatch.setattr(FileCensus, "poll", look_before_it_goes)
        (left,) = (await peer.call("session/list"))["sessions"]
        assert left["sessionId"] == "session-0001"
        assert (await peer.call("session/list", withTotal=True))["totalCount"] == 1


async def test_a_change_is_listed_although_the_request_that_detected_it_was_canceled(
    memory: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer, session_id = await started(memory, "/w")
    await peer.append(session_id, user("first"), assistant("ok"))
    busy, go_on, page = threading.Event(), threading.Event(), listing.page

    def held(*asked: Any) -> Any:
        busy.set()
        assert go_on.wait(BOUND)
        return page(*asked)

    monkeypatch.setattr(listing, "page", held)
    before = asyncio.create_task((await memory.attach()).call("session/list"))
    assert await asyncio.to_thread(busy.wait, BOUND)
    await peer.append(session_id, user("second"))
    behind = asyncio.create_task(refusal(peer.call("session/list")))
    await (await memory.attach()).call("server/status")  # by now it waits for the index
    peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
    assert (await behind).kind == "canceled"
    go_on.set()
    await before
    assert [session["entryCount"] for session in (await peer.call("session/list"))["sessions"]] == [3]


async def test_a_file_that_changes_while_texts_are_indexed_is_checked_by_the_next_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = filled(tmp_path, 2)
    os.utime(paths[0].parent, (0, 0))  # a folder that has settled tells nothing of its files
    monkeypatch.setattr(census, "NEWEST", 0)
    monkeypatch.setattr(census, "FULL_SECONDS", float("inf"))
    async with running(tmp_path) as daemon:
        peer, index, look = await daemon.attach(), daemon.inside.hub.index, Worker.check_files
        await peer.call("session/list")

        def look_and_grow(*asked: Any) -> int:
            made = look(*asked)
            paths[1].write_bytes(logs.log(logs.header(id="session-0001"), logs.user("alone")))
            loop.call_soon_threadsafe(index.updater.written, [str(paths[1])])
            return made

        loop = asyncio.get_running_loop()
        monkeypatch.setattr(Worker, "check_files", look_and_grow)
        await peer.call("session/search", query="garnet")
        listed = (await peer.call("session/list", includeDrafts=True))["sessions"]
    assert {session["sessionId"]: session["entryCount"] for session in listed} == {
        "session-0000": 3,
        "session-0001": 1,
    }
