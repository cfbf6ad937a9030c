"""Rows of the list that are made from the beginning and the end of a file, until the whole file is read."""

import os
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.index import facts, files, updating
from support import logs
from support.daemons import Peer, running
from support.watched_lists import WatchedList, watching

COUNTS = ("messageCount", "entryCount", "lastSeq", "problemCount")
FILLER = [logs.assistant("filler " * 200, id=f"f{number}") for number in range(20)]


@pytest.fixture(autouse=True)
def no_file_is_read_as_a_whole_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "WHOLE_BYTES", 0)


@pytest.fixture
def at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The background update does not begin during the test."""
    monkeypatch.setattr(updating, "START_SECONDS", 3_600.0)


def write(home: Path, number: int, *more: logs.Line, **header: Any) -> Path:
    """A session of another program that is too large to be read as a whole at first."""
    session_id = f"session-{number:04}"
    path = home / "data/sessions/--any--" / f"2026-01-01T00-00-00-000Z_{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    fields: dict[str, Any] = {"id": session_id, "cwd": f"/work/{number % 2}", **header}
    lines = [logs.user(f"prompt {number}"), *FILLER, *more, *FILLER[:12], logs.user("and now?", id="last")]
    path.write_bytes(logs.log(logs.header(**fields), *lines))
    assert path.stat().st_size > facts.SMALL_FILE
    return path


async def rows(peer: Peer, **params: Any) -> dict[str, dict[str, Any]]:
    page = await peer.call("session/list", **params)
    return {session["sessionId"]: session for session in page["sessions"]}


async def test_the_first_list_has_provisional_rows_without_counts(tmp_path: Path, at_rest: None) -> None:
    write(tmp_path, 1, title="Known")
    async with running(tmp_path) as daemon:
        row = (await rows(await daemon.attach()))["session-0001"]
    assert row["provisional"]
    assert [row[name] for name in (*COUNTS, "model")] == [None] * 5
    assert (row["title"], row["firstPrompt"], row["leafId"]) == ("Known", "prompt 1", "last")
    assert (row["lifecycle"], row["cwd"], row["isDraft"]) == ("interrupted", "/work/1", False)


async def test_provisional_rows_become_those_of_the_whole_files_and_a_watch_receives_them(
    tmp_path: Path,
) -> None:
    for number in range(7):
        write(tmp_path, number, logs.entry("session_info", name=f"Renamed {number}"))
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        shown = await watching(peer)
        await shown.until(lambda watched: not any(row["provisional"] for [row] in watched.rows.values()))
        await shown.until_current()
        assert {row["title"] for [row] in shown.rows.values()} == {f"Renamed {number}" for number in range(7)}
        for session_id, [row] in shown.rows.items():
            about = (await peer.call("session/info", sessionId=session_id))["session"]
            assert {name: row[name] for name in about if name != "logId"} == {
                name: value for name, value in about.items() if name != "logId"
            }


@pytest.mark.parametrize(
    "params",
    [{"tags": ["late"]}, {"query": "renamed"}, {"sort": "title"}, {"sort": "title", "cwd": "/work/1"}],
    ids=str,
)
async def test_filters_and_orders_by_facts_of_the_whole_file_are_final_at_once(
    tmp_path: Path, params: dict[str, Any], at_rest: None
) -> None:
    tags = logs.entry("custom", customType="sessiond.tags", data={"tags": ["late"]})
    write(tmp_path, 1, logs.entry("session_info", name="Renamed"), tags)
    write(tmp_path, 2, title="Other")
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert all(row["provisional"] for row in (await rows(peer)).values())
        found = await rows(peer, **params)
        unfiltered = "sort" in params and "cwd" not in params
        assert list(found) == (["session-0002", "session-0001"] if unfiltered else ["session-0001"])
        assert not any(row["provisional"] for row in found.values())


async def test_pages_by_time_have_the_order_of_the_whole_files(tmp_path: Path, at_rest: None) -> None:
    for number in range(9):
        late = logs.entry(
            "label", targetId="e1", label="x", timestamp=f"2026-04-0{(number * 4) % 9 + 1}T00:00:00Z"
        )
        path = write(tmp_path, number)
        path.write_bytes(path.read_bytes() + logs.log(late))
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        pages = [await peer.call("session/list", limit=2, withTotal=True)]
        while (cursor := pages[-1]["nextCursor"]) is not None:
            pages.append(await peer.call("session/list", limit=2, withTotal=True, cursor=cursor))
        provisional = [session for page in pages for session in page["sessions"]]
        assert all(row["provisional"] for row in provisional)
        await peer.call("session/list", sort="title")
        final = (await peer.call("session/list"))["sessions"]
    assert {page["totalCount"] for page in pages} == {9}
    assert [row["sessionId"] for row in final] == [row["sessionId"] for row in provisional]
    same = ("updatedAt", "createdAt", "cwd", "path", "sizeBytes", "parentSessionId", "isDraft")
    assert [[row[name] for name in same] for row in final] == [
        [row[name] for name in same] for row in provisional
    ]


async def test_an_id_resolves_to_a_row_of_the_whole_file(tmp_path: Path, at_rest: None) -> None:
    write(tmp_path, 1)
    write(tmp_path, 2)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        [found] = (await peer.call("session/resolve", query="session-0001"))["sessions"]
        assert (found["provisional"], found["entryCount"]) == (False, 34)
        assert (await rows(peer))["session-0002"]["provisional"]


async def test_the_session_to_continue_is_chosen_by_whole_files(tmp_path: Path, at_rest: None) -> None:
    write(tmp_path, 1)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await rows(peer)
        terminal = {"id": "tty-1", "kind": "tty"}
        chosen = await peer.call("session/continue", cwd="/work/1", terminal=terminal)
    assert (chosen["session"]["sessionId"], chosen["created"]) == ("session-0001", False)


async def test_the_next_daemon_reads_the_files_of_provisional_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 1)
    with monkeypatch.context() as patched:
        patched.setattr(updating, "START_SECONDS", 3_600.0)
        async with running(tmp_path) as daemon:
            assert (await rows(await daemon.attach()))["session-0001"]["provisional"]
    async with running(tmp_path) as daemon:
        shown = WatchedList(await daemon.attach(), {})
        await shown.watch()
        await shown.until(lambda watched: watched.rows["session-0001"][0]["entryCount"] == 34)


async def test_a_row_that_is_complete_stays_complete_when_its_file_grows(
    tmp_path: Path, at_rest: None
) -> None:
    path = write(tmp_path, 1)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await rows(peer, sort="title")
        with path.open("ab") as file:
            file.write(
                logs.log(logs.header(), logs.assistant("more", id="m", parent="last")).splitlines(True)[1]
            )
        row = (await rows(peer))["session-0001"]
        assert (row["provisional"], row["entryCount"], row["leafId"]) == (False, 35, "m")


async def test_a_provisional_row_follows_its_file(tmp_path: Path, at_rest: None) -> None:
    path, gone = write(tmp_path, 1), write(tmp_path, 2)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await rows(peer)
        moved = path.rename(path.with_name("2026-01-01T00-00-00-000Z_moved-0001.jsonl"))
        with moved.open("ab") as file:
            file.write(
                logs.log(logs.header(), logs.assistant("more", id="m", parent="last")).splitlines(True)[1]
            )
        gone.unlink()
        [row] = (await rows(peer)).values()
        assert (row["provisional"], row["path"], row["leafId"]) == (True, str(moved), "m")
        [row] = (await rows(peer, sort="title")).values()
        assert (row["provisional"], row["entryCount"]) == (False, 35)


async def test_an_open_session_has_a_complete_row(tmp_path: Path, at_rest: None) -> None:
    write(tmp_path, 1)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert (await rows(peer))["session-0001"]["provisional"]
        await peer.call("session/open", sessionId="session-0001")
        await peer.append("session-0001", {"type": "label", "targetId": "last", "label": "here"})
        row = (await rows(peer))["session-0001"]
        assert (row["provisional"], row["entryCount"]) == (False, 35)


async def test_the_newest_files_are_read_as_a_whole_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_rest: None
) -> None:
    paths = [write(tmp_path, number) for number in range(4)]
    for number, path in enumerate(paths):
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    monkeypatch.setattr(files, "WHOLE_BYTES", 2 * paths[0].stat().st_size + 100)
    async with running(tmp_path) as daemon:
        found = await rows(await daemon.attach())
    assert {name: row["provisional"] for name, row in found.items()} == {
        "session-0000": True, "session-0001": True, "session-0002": False, "session-0003": False,
    }  # fmt: skip


async def test_a_file_of_another_program_is_read_as_a_whole(tmp_path: Path, at_rest: None) -> None:
    path = write(tmp_path, 1)
    lines = path.read_bytes().splitlines(True)
    path.write_bytes(
        b'{"type":"user","uuid":"1","parentUuid":null,"sessionId":"x","message":{}}\n' + b"".join(lines[1:])
    )
    async with running(tmp_path) as daemon:
        assert await rows(await daemon.attach()) == {}
