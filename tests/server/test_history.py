"""The history of prompts: additions, searches, deletions, and the states of its file."""

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessiond.config import Config, HistoryConfig
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.patience import BOUND
from support.shared import started

VERSION_1 = """
CREATE TABLE history(
    id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL, created_at INTEGER NOT NULL, cwd TEXT
);
CREATE TABLE commands(id TEXT PRIMARY KEY, added INTEGER NOT NULL);
CREATE INDEX history_cwd ON history(cwd, id);
CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id');
CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN
    INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);
END;
INSERT INTO history(prompt, created_at, cwd) VALUES('one', 1699999999, '/w'), ('two words', 1700000000, '/w');
INSERT INTO commands VALUES('an-old-command', 1);
PRAGMA user_version = 1;
"""
"""The tables of the first version of the file, with two prompts."""


async def prompts(peer: Peer, **params: Any) -> list[str]:
    """The last prompts, once there are as many as `count` says."""
    return [prompt["prompt"] for prompt in (await peer.call("history/list", **params))["prompts"]]


async def until(peer: Peer, expected: list[str], **params: Any) -> None:
    seen: list[str] = []
    async with asyncio.timeout(BOUND):
        while seen != expected:
            seen = await prompts(peer, **params)


async def found(peer: Peer, query: str, **params: Any) -> list[str]:
    return [
        prompt["prompt"] for prompt in (await peer.call("history/list", query=query, **params))["prompts"]
    ]


async def test_user_messages_are_added_to_the_history(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    blocks = {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "image", "data": "x"}]}
    await peer.append(session_id, user("one"), assistant("not this"), {"type": "message", "message": blocks})
    await until(peer, ["two", "one"], cwd=cwd)
    [newest, _] = (await peer.call("history/list", cwd=cwd))["prompts"]
    assert (newest["cwd"], newest["createdAt"][:2]) == (cwd, "20")


async def test_a_prompt_has_the_ids_of_its_session_and_its_entry(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("one", id="a"), assistant("yes"), user("two", id="b"))
    _, other = await started(daemon, cwd)
    await peer.append(other, user("three", id="c"))
    await peer.call("history/add", prompt="four", cwd=cwd)
    await until(peer, ["four", "three", "two", "one"], cwd=cwd)
    found = (await peer.call("history/list", cwd=cwd))["prompts"]
    assert [(session["sessionId"], session["entryId"]) for session in found] == [
        (None, None), (other, "c"), (session_id, "b"), (session_id, "a"),
    ]  # fmt: skip
    assert len({item["promptId"] for item in found}) == 4
    assert await prompts(peer, sessionId=session_id) == ["two", "one"]
    assert await prompts(peer, sessionId=session_id, query="on", cwd=cwd) == ["one"]
    assert await prompts(peer, sessionId="nobody") == []


async def test_an_added_prompt_has_the_same_id_in_the_list(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    added = await peer.call("history/add", prompt="once", cwd=cwd, commandId=f"add-{cwd}")
    [listed] = (await peer.call("history/list", cwd=cwd))["prompts"]
    assert added == {"added": True, "promptId": listed["promptId"], "duplicate": False}
    again = await peer.call("history/add", prompt="once", cwd=cwd, commandId=f"add-{cwd}")
    assert again == added | {"duplicate": True}
    assert (await peer.call("history/add", prompt="once", cwd=cwd))["promptId"] is None


async def ids_of(peer: Peer, *texts: str) -> list[str]:
    listed = (await peer.call("history/list"))["prompts"]
    return [item["promptId"] for item in listed if item["prompt"] in texts]


async def test_a_deleted_prompt_is_gone_and_the_others_stay(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    for number in range(4):
        await peer.call("history/add", prompt=f"number {number}", cwd=cwd)
    listed = (await peer.call("history/list", cwd=cwd))["prompts"]
    some = [listed[0]["promptId"], listed[2]["promptId"]]
    unknown = [f"{some[0]}0000", "x", "-", f"{some[0][:-1]}\u0661", some[0].replace("-", "-0"), "0-0"]
    assert await peer.call("history/delete", promptIds=[*some, *unknown]) == {
        "deletedIds": some, "duplicate": False,
    }  # fmt: skip
    assert await prompts(peer, cwd=cwd) == ["number 2", "number 0"]
    assert await found(peer, "numb", cwd=cwd) == ["number 2", "number 0"]
    assert (await peer.call("history/delete", promptIds=some))["deletedIds"] == []
    last = (await peer.call("history/add", prompt="number 3", cwd=cwd))["promptId"]
    assert last not in some


async def test_a_list_after_a_deletion_does_not_have_the_prompt(memory: Running) -> None:
    peer = await memory.attach()
    for number in range(20):
        added = await peer.call("history/add", prompt=f"number {number}")
        deleting = asyncio.ensure_future(peer.call("history/delete", promptIds=[added["promptId"]]))
        await asyncio.sleep(0)
        assert await prompts(peer) == []
        await deleting


async def test_a_deleted_prompt_does_not_come_back_when_the_index_is_built_again(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, "/w")
        entry = user("forget this", id="a")
        await peer.append(session_id, entry, assistant("ok"), user("keep this"))
        await until(peer, ["keep this", "forget this"])
        await peer.call("history/delete", promptIds=await ids_of(peer, "forget this"))
        await peer.append(session_id, entry)  # a retry stores nothing
    for file in tmp_path.rglob("index.db*"):
        file.unlink()
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert len((await peer.call("session/search", query="this"))["hits"]) == 2
        await peer.call("session/open", sessionId=session_id)
        assert await prompts(peer) == ["keep this"]


async def test_the_text_of_a_deleted_prompt_is_not_left_in_the_file(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        for number in range(50):
            await peer.call("history/add", prompt=f"filler {number} of the history")
            if number % 10 == 0:
                await peer.call("history/add", prompt=f"hunter2 {number} " + "swordfish " * 1_000)
        secrets = (await peer.call("history/list", query="hunter2"))["prompts"]
        deleted = await peer.call("history/delete", promptIds=[secret["promptId"] for secret in secrets])
        assert len(deleted["deletedIds"]) == 5
        left = b"".join(path.read_bytes() for path in tmp_path.rglob("history.db*"))
        assert (b"hunter2" in left, b"swordfish" in left, b"filler" in left) == (False, False, True)


async def test_the_id_of_a_prompt_is_not_that_of_one_in_a_new_file(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        former = (await (await daemon.attach()).call("history/add", prompt="former"))["promptId"]
    (tmp_path / "data/history.db").rename(tmp_path / "data/elsewhere.db")
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert (await peer.call("history/add", prompt="new"))["promptId"] != former
        assert (await peer.call("history/delete", promptIds=[former]))["deletedIds"] == []
        assert await prompts(peer) == ["new"]


async def test_a_file_of_an_older_daemon_keeps_its_prompts(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with closing(sqlite3.connect(tmp_path / "data/history.db")) as connection:
        connection.executescript(VERSION_1)
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, "/w")
        [old, older] = (await peer.call("history/list"))["prompts"]
        assert (old["prompt"], old["cwd"], old["createdAt"]) == (
            "two words",
            "/w",
            "2023-11-14T22:13:20.000Z",
        )
        assert (old["sessionId"], old["entryId"], older["prompt"]) == (None, None, "one")
        assert await found(peer, "wor") == ["two words"]
        await peer.append(session_id, user("three", id="a"))
        await until(peer, ["three", "two words", "one"])
        await peer.call("history/delete", promptIds=[old["promptId"]])
        assert await prompts(peer) == ["three", "one"]
    with closing(sqlite3.connect(tmp_path / "data/history.db")) as connection:
        # The older daemon can write to the file again.
        connection.execute(
            "INSERT INTO history(prompt, created_at, cwd) VALUES('four', strftime('%s', 'now'), NULL)"
        )
        connection.commit()
    async with running(tmp_path) as daemon:
        assert await prompts(await daemon.attach()) == ["four", "three", "one"]


@pytest.mark.parametrize("prompt_ids", [[], ["x"] * 1_001, [""], ["x" * 65], None])
async def test_a_deletion_with_invalid_prompt_ids_is_refused(
    memory: Running, prompt_ids: list[str] | None
) -> None:
    refused = await refusal((await memory.attach()).call("history/delete", promptIds=prompt_ids))
    assert refused.kind == "invalidParams"


async def test_a_prompt_that_repeats_the_one_before_is_not_added_again(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    texts = ("a", "a", "b", " ", "a  ")
    assert [(await peer.call("history/add", prompt=text, cwd=cwd))["added"] for text in texts] == [
        True, False, True, False, True,
    ]  # fmt: skip
    assert await prompts(peer, cwd=cwd) == ["a", "b", "a"]


async def test_the_last_prompt_is_known_after_a_restart(tmp_path: Path) -> None:
    for added in (True, False):
        async with running(tmp_path) as daemon:
            peer = await daemon.attach()
            assert (await peer.call("history/add", prompt="again"))["added"] is added
            assert await prompts(peer) == ["again"]


async def test_a_repeated_append_adds_a_prompt_once(memory: Running) -> None:
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
        page = await peer.call("history/list", query="prompt", limit=3, cursor=cursor)
        seen += [prompt["prompt"] for prompt in page["prompts"]]
        cursor = page["nextCursor"]
        await peer.call("history/add", prompt=f"prompt later {len(seen)}")
    assert seen == [f"prompt {number}" for number in reversed(range(10))]
    assert cursor is None
    assert (await refusal(peer.call("history/list", cursor="x"))).kind == "cursorExpired"


def copy(prompt: str, at: str, **more: str) -> dict[str, str]:
    return {"prompt": prompt, "createdAt": at, **more}


async def test_imported_prompts_have_their_times_and_their_places_in_the_list(memory: Running) -> None:
    peer = await memory.attach()
    await peer.call("history/add", prompt="now", cwd="/w")
    early, late = copy("early", "2025-01-01T10:00:00Z", cwd="/w"), copy("late", "2025-06-01T12:00:00+02:00")
    session = copy("of a session", "2024-01-01T00:00:00Z", sessionId="another-one", entryId="e1")
    assert await peer.call("history/import", prompts=[late, session, early]) == {"addedCount": 3}
    assert await prompts(peer) == ["now", "late", "early", "of a session"]
    assert await prompts(peer, cwd="/w") == ["now", "early"]
    [found] = (await peer.call("history/list", sessionId="another-one"))["prompts"]
    assert (found["entryId"], found["createdAt"][:19]) == ("e1", "2024-01-01T00:00:00")
    pages: list[str] = []
    cursor = None
    while not pages or cursor is not None:
        page = await peer.call("history/list", limit=1, cursor=cursor)
        pages += [prompt["prompt"] for prompt in page["prompts"]]
        cursor = page["nextCursor"]
    assert pages == ["now", "late", "early", "of a session"]


async def test_an_import_of_prompts_may_be_repeated(memory: Running) -> None:
    peer = await memory.attach()
    copies = [copy("same", f"2025-01-01T10:00:0{second}Z", cwd="/w") for second in range(3)]
    assert await peer.call("history/import", prompts=copies) == {"addedCount": 3}
    other = copy("same", "2025-01-01T10:00:00Z", cwd="/other")
    again = [*copies, other, copy(" ", "2025-01-01T10:00:00Z")]
    assert await peer.call("history/import", prompts=again) == {"addedCount": 1}
    assert await prompts(peer) == ["same"] * 4


@pytest.mark.parametrize("at", ["yesterday", "2025-01-01T10:00:00", "0001-01-01T00:00:00Z", ""])
async def test_an_imported_prompt_needs_a_time(memory: Running, at: str) -> None:
    peer = await memory.attach()
    refused = await refusal(peer.call("history/import", prompts=[copy("one", at)]))
    assert refused.kind == "invalidParams"
    assert await prompts(peer) == []


async def test_a_disabled_history_is_unchanged(tmp_path: Path) -> None:
    async with running(tmp_path, config=Config(history=HistoryConfig(enabled=False))) as daemon:
        peer, session_id = await started(daemon, "/w")
        await peer.append(session_id, user("secret"), assistant("ok"))
        assert not (await peer.call("history/add", prompt="secret"))["added"]
        assert await prompts(peer) == []
    assert b"secret" not in b"".join(path.read_bytes() for path in tmp_path.rglob("history.db*"))


async def test_messages_of_ephemeral_sessions_are_not_added(memory: Running) -> None:
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


async def test_a_history_that_cannot_be_written_delays_no_append(tmp_path: Path) -> None:
    (tmp_path / "data/history.db").mkdir(parents=True)
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, "/w")
        answer = await peer.append(session_id, user("x"), assistant("y"))
        assert answer["lastSeq"] == 2
        assert (await refusal(peer.call("history/list"))).kind == "storageFailed"


async def test_a_history_that_could_not_be_loaded_is_loaded_by_a_later_request(
    memory: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the system has no descriptors left at the very moment."""
    peer = await memory.attach()
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "sessiond.hub.prompt_history.database", None)
        await refusal(peer.call("history/add", prompt="lost"))
    assert (await peer.call("history/add", prompt="kept"))["added"]
    assert await prompts(peer) == ["kept"]


async def test_a_history_that_stays_unreadable_after_it_was_quarantined_is_a_storage_error(
    memory: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> sqlite3.Connection:
        raise sqlite3.DatabaseError("file is not a database")

    peer = await memory.attach()
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", refuse)
        assert (await refusal(peer.call("history/list"))).kind == "storageFailed"
    assert await prompts(peer) == []
