"""The history of prompts: what is remembered, how it is found again, and what happens to its file."""

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessiond.config import Config, HistoryConfig
from sessiond.hub.database_file import DatabaseFile
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.patience import BOUND
from support.shared import started


async def prompts(peer: Peer, **params: Any) -> list[str]:
    """The last prompts, once there are as many as `count` says."""
    return [it["prompt"] for it in (await peer.call("history/recent", **params))["prompts"]]


async def until(peer: Peer, expected: list[str], **params: Any) -> None:
    seen: list[str] = []
    async with asyncio.timeout(BOUND):
        while seen != expected:
            seen = await prompts(peer, **params)


async def found(peer: Peer, query: str, **params: Any) -> list[str]:
    return [it["prompt"] for it in (await peer.call("history/search", query=query, **params))["prompts"]]


async def test_what_a_person_says_in_a_session_is_remembered(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    blocks = {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "image", "data": "x"}]}
    await peer.append(session_id, user("one"), assistant("not this"), {"type": "message", "message": blocks})
    await until(peer, ["two", "one"], cwd=cwd)
    [newest, _] = (await peer.call("history/recent", cwd=cwd))["prompts"]
    assert (newest["cwd"], newest["createdAt"][:2]) == (cwd, "20")


async def test_a_prompt_that_repeats_the_one_before_is_not_added_again(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    assert [(await peer.call("history/add", prompt=it, cwd=cwd))["added"] for it in ("a", "a", "b", " ", "a  ")] == [
        True, False, True, False, True,
    ]  # fmt: skip
    assert await prompts(peer, cwd=cwd) == ["a", "b", "a"]


async def test_the_last_prompt_is_known_after_a_restart(tmp_path: Path) -> None:
    for added in (True, False):
        async with running(tmp_path) as daemon:
            peer = await daemon.attach()
            assert (await peer.call("history/add", prompt="again"))["added"] is added
            assert await prompts(peer) == ["again"]


async def test_a_retry_that_stores_nothing_is_not_remembered_twice(memory: Running) -> None:
    peer, session_id = await started(memory, "/w")
    for _ in range(2):
        await peer.append(session_id, user("first", id="a"), user("second", id="b"))
    await until(peer, ["second", "first"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("fix", ["Fix the flaky test"]),
        ("flak te", ["Fix the flaky test"]),
        ("laky", ["Fix the flaky test"]),
        ("搜索", ["用 SQLite 做全文搜索"]),
        ("100%", ["make it 100% sure"]),
        ("%", ["make it 100% sure"]),
        ("_", []),
        ('"', ['say "hello"']),
        ("hello) OR (", []),
        ("", ["make it 100% sure", 'say "hello"', "用 SQLite 做全文搜索", "Fix the flaky test"]),
    ],
)
async def test_prompts_are_found_by_beginnings_and_by_parts_of_words(
    memory: Running, query: str, expected: list[str]
) -> None:
    peer = await memory.attach()
    for prompt in ("Fix the flaky test", "用 SQLite 做全文搜索", 'say "hello"', "make it 100% sure"):
        await peer.call("history/add", prompt=prompt)
    assert await found(peer, query) == expected


async def test_pages_hold_every_prompt_once_while_others_are_added(memory: Running) -> None:
    peer = await memory.attach()
    for number in range(10):
        await peer.call("history/add", prompt=f"prompt {number}")
    seen: list[str] = []
    cursor = None
    for _ in range(4):
        page = await peer.call("history/search", query="prompt", limit=3, cursor=cursor)
        seen += [it["prompt"] for it in page["prompts"]]
        cursor = page["nextCursor"]
        await peer.call("history/add", prompt=f"prompt later {len(seen)}")
    assert seen == [f"prompt {number}" for number in reversed(range(10))]
    assert cursor is None
    assert (await refusal(peer.call("history/recent", cursor="x"))).kind == "cursorExpired"


async def test_a_history_that_is_switched_off_stays_as_it_is(tmp_path: Path) -> None:
    async with running(tmp_path, chosen=Config(history=HistoryConfig(enabled=False))) as daemon:
        peer, session_id = await started(daemon, "/w")
        await peer.append(session_id, user("secret"), assistant("ok"))
        assert not (await peer.call("history/add", prompt="secret"))["added"]
        assert await prompts(peer) == []
    assert b"secret" not in b"".join(path.read_bytes() for path in tmp_path.rglob("history.db*"))


async def test_what_is_said_in_memory_only_is_not_remembered(memory: Running) -> None:
    peer = await memory.attach()
    made = await peer.call("session/create", cwd="/w", ephemeral=True)
    await peer.append(made["session"]["sessionId"], user("secret"))
    await peer.call("history/add", prompt="not secret")
    assert await prompts(peer) == ["not secret"]


async def test_every_prompt_that_was_stored_is_there_after_an_orderly_end(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, "/w")
        await asyncio.gather(*(peer.append(session_id, user(f"p{number}")) for number in range(200)))
    with closing(sqlite3.connect(tmp_path / "data/history.db")) as connection:
        rows = connection.execute("SELECT prompt FROM history ORDER BY id").fetchall()
        assert [prompt for (prompt,) in rows] == [f"p{number}" for number in range(200)]
        assert connection.execute(
            "SELECT count(*) FROM history_fts WHERE history_fts MATCH 'p7'"
        ).fetchone() == (1,)


@pytest.mark.parametrize("content", [b"no database at all", os.urandom(9_000)])
async def test_a_damaged_history_is_kept_beside_a_new_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/history.db").write_bytes(content)
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, "/w")
        await peer.append(session_id, user("x"), assistant("y"))
        await until(peer, ["x"])
    assert (tmp_path / "data/history.db.damaged-1").read_bytes() == content


async def test_a_history_that_cannot_be_written_holds_up_no_session(tmp_path: Path) -> None:
    (tmp_path / "data/history.db").mkdir(parents=True)
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, "/w")
        answer = await peer.append(session_id, user("x"), assistant("y"))
        assert answer["lastSeq"] == 2
        assert (await refusal(peer.call("history/recent"))).kind == "storageFailed"


async def test_a_history_that_could_not_be_loaded_answers_and_is_loaded_later(
    memory: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the system has no descriptors left at the very moment."""
    peer = await memory.attach()
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "sessiond.hub.prompt_history.database", None)
        await refusal(peer.call("history/add", prompt="lost"))
    assert (await peer.call("history/add", prompt="kept"))["added"]
    assert await prompts(peer) == ["kept"]


async def test_a_history_that_stays_unreadable_after_it_was_put_aside_is_trouble_with_the_disk(
    memory: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: DatabaseFile) -> sqlite3.Connection:
        raise sqlite3.DatabaseError("file is not a database")

    peer = await memory.attach()
    with monkeypatch.context() as patched:
        patched.setattr(DatabaseFile, "_open", refuse)
        assert (await refusal(peer.call("history/recent"))).kind == "storageFailed"
    assert await prompts(peer) == []
