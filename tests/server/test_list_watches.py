"""Watches of the session list: what a client that shows a list hears without a subscription to any session."""

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessiond.hub.index import list_changes, watches
from sessiond.protocol import types as t
from support import logs
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.watched_lists import WatchedList, watching

pytestmark = pytest.mark.filterwarnings("error")


async def begun(peer: Peer, cwd: str, *entries: dict[str, Any], **params: Any) -> str:
    """The id of a new session that is not a draft session."""
    made = await peer.call("session/create", cwd=cwd, **params)
    session_id: str = made["session"]["sessionId"]
    await peer.append(session_id, *(entries or (user("hello"), assistant("hi"))))
    return session_id


async def two(daemon: Running) -> tuple[Peer, Peer]:
    """A client that writes, and one that shows a list and is subscribed to nothing."""
    return await daemon.attach(), await daemon.attach()


# --- the changes -------------------------------------------------------------------------------------------


async def test_a_watch_receives_every_change_of_a_session_without_a_subscription(
    daemon: Running, cwd: str
) -> None:
    writer, picker = await two(daemon)
    session_id = await begun(writer, cwd, user("hello", id="first"), assistant("hi"))
    shown = await watching(picker, cwd=cwd)

    async def has(field: str, value: object) -> None:
        await shown.until(lambda watched: watched.rows[session_id][0][field] == value)

    assert shown.rows[session_id][0]["lifecycle"] == "complete"
    await writer.append(session_id, user("and now?"))
    await has("lifecycle", "interrupted")
    await writer.append(session_id, {"type": "model_change", "provider": "openai", "modelId": "other"})
    await has("model", "openai/other")
    await writer.call("session/rename", sessionId=session_id, title="Named")
    await has("title", "Named")
    await writer.call("session/tag", sessionId=session_id, add=["bug"])
    await has("tags", ["bug"])
    await writer.call("session/branch", sessionId=session_id, entryId="first")
    await has("leafId", "first")
    await shown.until_current()
    assert not picker.told("session/appended")


async def test_a_changed_row_equals_the_row_of_the_list(daemon: Running, cwd: str) -> None:
    writer, picker = await two(daemon)
    shown = await watching(picker, cwd=cwd)
    session_id = await begun(writer, cwd)
    while (note := await shown.next())["changed"][0]["messageCount"] < 2:
        pass
    listed = (await picker.call("session/list", cwd=cwd))["sessions"]
    assert [session["sessionId"] for session in listed] == [session_id]
    assert note["changed"] == listed
    assert (note["removed"], note["replay"]) == ([], False)


async def test_a_deleted_session_is_removed_and_a_restored_one_comes_back(daemon: Running, cwd: str) -> None:
    writer, picker = await two(daemon)
    session_id = await begun(writer, cwd)
    shown = await watching(picker, cwd=cwd)
    await writer.call("session/delete", sessionId=session_id)
    assert (await shown.next())["removed"] == [session_id]
    await writer.call("trash/restore", sessionId=session_id)
    assert [session["sessionId"] for session in (await shown.next())["changed"]] == [session_id]


async def test_a_draft_session_appears_when_it_becomes_a_session(daemon: Running, cwd: str) -> None:
    writer, picker = await two(daemon)
    shown = await watching(picker, cwd=cwd)
    drafts = await watching(picker, cwd=cwd, includeDrafts=True)
    made = await writer.call("session/create", cwd=cwd)
    session_id = made["session"]["sessionId"]
    assert (await drafts.next())["changed"][0]["isDraft"]
    assert not shown.take()
    await writer.append(session_id, user("hello"), assistant("hi"))
    await shown.until(lambda watched: session_id in watched.rows)
    await drafts.until(lambda watched: not watched.rows[session_id][0]["isDraft"])


async def test_the_file_of_another_program_appears_grows_and_disappears(daemon: Running, cwd: str) -> None:
    writer, picker = await two(daemon)
    await begun(writer, cwd)
    shown = await watching(picker)
    folder = next(file.parent for file in daemon.files() if cwd.rsplit("/", 1)[-1] in str(file))
    name = f"foreign-{os.urandom(4).hex()}"
    foreign = folder / f"2026-01-01T00-00-00-000Z_{name}.jsonl"
    foreign.write_bytes(logs.log(logs.header(id=name, cwd=cwd), logs.user("hello")))
    await shown.until(lambda watched: name in watched.rows)
    with foreign.open("ab") as file:
        file.write(
            logs.log(logs.header(id=name, cwd=cwd), logs.user("hello"), logs.assistant("hi")).splitlines(
                True
            )[-1]
        )
    await shown.until(lambda watched: watched.rows[name][0]["messageCount"] == 2)
    foreign.unlink()
    await shown.until(lambda watched: name not in watched.rows)


# --- the filter --------------------------------------------------------------------------------------------


async def test_a_session_leaves_and_enters_a_list_by_its_folder_its_tags_and_its_title(
    daemon: Running, cwd: str, tmp_path: Path
) -> None:
    writer, picker = await two(daemon)
    session_id = await begun(writer, cwd, title="The parser")
    elsewhere = str(tmp_path / "elsewhere")
    here = await watching(picker, cwd=cwd)
    tagged = await watching(picker, cwd=cwd, tags=["bug", "new"])
    found = await watching(picker, query="PARSER " + cwd)

    async def current() -> tuple[bool, bool, bool]:
        for watched in (here, tagged, found):
            await watched.until_current()
        return session_id in here.rows, session_id in tagged.rows, session_id in found.rows

    assert await current() == (True, False, True)
    await writer.call("session/tag", sessionId=session_id, add=["bug", "new", "third"])
    assert await current() == (True, True, True)
    await writer.call("session/tag", sessionId=session_id, remove=["new"])
    assert await current() == (True, False, True)
    await writer.call("session/rename", sessionId=session_id, title="The lexer")
    assert await current() == (True, False, False)
    await writer.call("session/move", sessionId=session_id, cwd=elsewhere)
    assert await current() == (False, False, False)
    await writer.call("session/move", sessionId=session_id, cwd=cwd)
    await writer.call("session/rename", sessionId=session_id, title="A parser again")
    assert await current() == (True, False, True)


async def test_a_watch_receives_nothing_about_sessions_that_never_matched(
    daemon: Running, cwd: str, tmp_path: Path
) -> None:
    writer, picker = await two(daemon)
    shown = await watching(picker, cwd=cwd)
    elsewhere = await begun(writer, str(tmp_path / "elsewhere"))
    await writer.append(elsewhere, user("more"), assistant("and more"))
    await writer.call("session/rename", sessionId=elsewhere, title="Elsewhere")
    await writer.call("session/create", cwd=cwd, id=(draft := f"draft-{elsewhere}"))
    await writer.call("session/close", sessionId=draft)
    await writer.call("session/delete", sessionId=elsewhere)
    session_id = await begun(writer, cwd)
    await shown.until_current()
    heard = picker.told("server/sessionsChanged")
    assert {row["sessionId"] for note in heard for row in note["changed"]} == {session_id}
    assert not {elsewhere, draft} & {item for note in heard for item in note["removed"]}


def test_a_filter_has_the_params_of_a_list() -> None:
    types = {field.name: field.type for field in msgspec.structs.fields(t.ListParams)}
    for field in msgspec.structs.fields(t.ListFilter):
        assert types[field.name] == field.type


# --- resuming ----------------------------------------------------------------------------------------------


async def test_after_a_reconnection_exactly_the_changed_rows_are_sent(daemon: Running, cwd: str) -> None:
    writer, picker = await two(daemon)
    ids = [await begun(writer, cwd) for _ in range(5)]
    shown = await watching(picker, cwd=cwd)
    await shown.until_current()
    picker.connection.close()
    await picker.connection.wait_closed()
    await writer.append(ids[1], user("more"))
    await writer.call("session/rename", sessionId=ids[1], title="Twice changed")
    await writer.call("session/delete", sessionId=ids[3])
    shown.peer = await daemon.attach()
    begins = await shown.watch()
    assert (begins["mode"], begins["reason"], begins["message"]) == ("replay", None, None)
    note = await shown.next()
    assert [session["sessionId"] for session in note["changed"]] == [ids[1]]
    assert (note["removed"], note["replay"]) == ([ids[3]], True)
    await shown.until_current()
    assert shown.peer.order[0] == "reply"


async def test_a_watch_from_the_current_position_gets_no_replay(daemon: Running, cwd: str) -> None:
    writer, picker = await two(daemon)
    await begun(writer, cwd)
    shown = await watching(picker, cwd=cwd)
    await shown.until_current()
    again = await watching(picker, cwd=cwd)
    session_id = await begun(writer, cwd)
    await again.until_current()
    assert all(not note["replay"] for note in picker.told("server/sessionsChanged"))
    assert {
        session["sessionId"] for note in picker.told("server/sessionsChanged") for session in note["changed"]
    } == {session_id}


async def test_a_watch_without_a_position_or_with_that_of_another_daemon_needs_a_snapshot(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path) as daemon:
        writer, picker = await two(daemon)
        session_id = await begun(writer, cwd)
        shown = WatchedList(picker, {})
        first = await shown.watch()
        assert (first["mode"], first["reason"]) == ("snapshot", "noPosition")
        assert first["message"]
        await shown.until_current()
        known = shown.position
    async with running(tmp_path) as daemon:
        writer, shown.peer = await two(daemon)
        await writer.append(session_id, user("more"))
        again = await shown.watch()
        assert (again["mode"], again["reason"]) == ("snapshot", "otherEpoch")
        assert again["epoch"] != known["epoch"]
        assert (await refusal(shown.peer.call("session/list", changedAfter=known))).kind == "cursorExpired"
        await writer.append(session_id, user("and more"))
        await shown.until_current()
        beyond = {"epoch": again["epoch"], "position": again["position"] + 1000}
        result = await shown.peer.call("server/watch", after=beyond)
        assert (result["mode"], result["reason"]) == ("snapshot", "beyondEnd")


async def test_a_position_before_too_many_changes_gets_a_snapshot(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_changes, "MAX_CHANGED", 3)
    writer, picker = await two(memory)
    shown = WatchedList(picker, {})
    await shown.read()
    for _ in range(4):
        await begun(writer, cwd)
    assert (await shown.watch())["reason"] == "tooOld"
    await shown.until_current()


async def test_a_list_of_changes_has_only_changed_sessions(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    ids = [await begun(peer, cwd) for _ in range(4)]
    page = await peer.call("session/list", cwd=cwd)
    after = {"epoch": page["epoch"], "position": page["position"]}
    assert len(page["sessions"]) == 4
    assert page["removed"] == []

    async def changed(**params: Any) -> dict[str, Any]:
        found: dict[str, Any] = await peer.call("session/list", cwd=cwd, changedAfter=after, **params)
        return found

    assert (await changed())["sessions"] == []
    await peer.append(ids[0], user("more"))
    await peer.append(ids[2], user("more"))
    await peer.call("session/delete", sessionId=ids[1])
    found = await changed(withTotal=True)
    assert {session["sessionId"] for session in found["sessions"]} == {ids[0], ids[2]}
    assert (found["removed"], found["totalCount"]) == ([ids[1]], 2)
    one = await changed(limit=1)
    rest = await changed(cursor=one["nextCursor"])
    assert [session["sessionId"] for session in one["sessions"] + rest["sessions"]] == [
        session["sessionId"] for session in found["sessions"]
    ]
    assert rest["removed"] == []


# --- the pace ----------------------------------------------------------------------------------------------


async def test_many_changes_are_sent_in_few_notifications(memory: Running, cwd: str) -> None:
    writer, picker = await two(memory)
    session_id = await begun(writer, cwd)
    shown = await watching(picker, cwd=cwd, interval=200)
    async with asyncio.timeout(60):
        for number in range(300):
            await writer.append(session_id, user(f"{number}"), durability="written")
    await shown.until_current()
    assert shown.rows[session_id][0]["messageCount"] == 302
    assert len(picker.told("server/sessionsChanged")) < 60


async def test_a_client_that_does_not_read_gets_the_newest_rows_later_and_queues_none(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, picker = await two(memory)
    ids = [await begun(writer, cwd) for _ in range(3)]
    shown = await watching(picker, cwd=cwd)
    await shown.until_current()
    before = len(picker.told("server/sessionsChanged"))
    reads = asyncio.Event()

    async def drained(_client: object) -> None:
        await reads.wait()

    monkeypatch.setattr("sessiond.server.connection.client.Client.drained", drained)
    await writer.append(ids[0], user("the watch may have been waiting already"))
    for number in range(30):
        for session_id in ids:
            await writer.append(session_id, user(f"{number}"))
        await picker.call("session/list")
    assert len(picker.told("server/sessionsChanged")) <= before + 1
    reads.set()
    await shown.until_current()
    assert {row[0]["messageCount"] for row in shown.rows.values()} == {32, 33}
    assert len(picker.told("server/sessionsChanged")) <= before + 3


async def test_many_changed_sessions_are_sent_in_several_notifications(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches, "MAX_ROWS_IN_NOTIFICATION", 3)
    writer, picker = await two(memory)
    shown = await watching(picker, cwd=cwd)
    await asyncio.gather(*(begun(writer, cwd) for _ in range(10)))
    await shown.until_current()
    assert len(shown.rows) == 10
    assert all(len(note["changed"]) <= 3 for note in picker.told("server/sessionsChanged"))


# --- the watches themselves --------------------------------------------------------------------------------


async def test_a_client_has_several_watches_and_ends_them_one_by_one(daemon: Running, cwd: str) -> None:
    writer, picker = await two(daemon)
    first = await watching(picker, cwd=cwd)
    second = await watching(picker, includeDrafts=True, cwd=cwd)
    assert first.watch_id != second.watch_id
    assert await picker.call("server/unwatch", watchId=first.watch_id) == {"wasWatching": True}
    assert await picker.call("server/unwatch", watchId=first.watch_id) == {"wasWatching": False}
    assert await writer.call("server/unwatch", watchId=second.watch_id) == {"wasWatching": False}
    await begun(writer, cwd)
    await second.until_current()
    assert not first.take()


async def test_the_watches_of_a_client_are_limited(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches, "MAX_WATCHES", 2)
    peer = await memory.attach()
    ids = [(await peer.call("server/watch"))["watchId"] for _ in range(2)]
    assert (await refusal(peer.call("server/watch"))).kind == "overloaded"
    await peer.call("server/unwatch", watchId=ids[0])
    await peer.call("server/watch")


async def test_the_watches_of_a_disconnected_client_end(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    await peer.call("server/watch")
    assert len(memory.inside.watches) == 1
    peer.connection.close()
    await peer.connection.wait_closed()
    other = await memory.attach()
    await other.call("server/status")
    assert len(memory.inside.watches) == 0


async def test_a_watch_lapses_after_the_index_was_deleted(memory: Running, cwd: str) -> None:
    writer, picker = await two(memory)
    session_id = await begun(writer, cwd)
    shown = await watching(picker, cwd=cwd)
    await shown.until_current()
    for path in (memory.home / "state").glob("index.db*"):
        path.unlink()
    await writer.append(session_id, user("more"))
    await picker.until(lambda client: bool(client.told("server/watchLapsed")))
    [lapsed] = picker.told("server/watchLapsed")
    assert (lapsed["watchId"], lapsed["reason"]) == (shown.watch_id, "tooOld")
    assert (await shown.watch())["mode"] == "snapshot"
    await shown.until_current()


# --- list and watch together -------------------------------------------------------------------------------

STEPS = 60


@pytest.mark.parametrize("seed", range(6))
async def test_a_list_and_its_watch_never_miss_a_change_and_never_end_with_a_stale_row(
    daemon: Running, cwd: str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    if seed % 2:
        monkeypatch.setattr(watches, "MAX_ROWS_IN_NOTIFICATION", 2)
    writer, picker = await two(daemon)
    elsewhere = str(tmp_path / "elsewhere")
    ids = [await begun(writer, chance.choice([cwd, elsewhere])) for _ in range(4)]
    trashed: list[str] = []
    filters: list[dict[str, Any]] = [
        {"cwd": cwd}, {"tags": ["a"], "cwd": cwd}, {"query": "odd " + cwd, "includeDrafts": True},
    ]  # fmt: skip
    lists = [await watching(picker, **item) for item in filters]

    async def change(number: int) -> None:
        session_id = chance.choice(ids)
        match chance.randrange(9):
            case 0:
                ids.append(await begun(writer, chance.choice([cwd, elsewhere])))
            case 1:
                made = await writer.call("session/create", cwd=cwd, title=chance.choice(["odd", "even"]))
                ids.append(made["session"]["sessionId"])
            case 2 if len(ids) > 2:
                ids.remove(session_id)
                trashed.append(session_id)
                await writer.call("session/delete", sessionId=session_id)
            case 3 if trashed:
                ids.append(trashed.pop(chance.randrange(len(trashed))))
                await writer.call("trash/restore", sessionId=ids[-1])
            case 4:
                await writer.call("session/tag", sessionId=session_id, add=["a", "b"])
            case 5:
                await writer.call("session/tag", sessionId=session_id, remove=["a"])
            case 6:
                await writer.call(
                    "session/rename", sessionId=session_id, title=chance.choice(["odd", "even"])
                )
            case 7:
                await writer.call("session/move", sessionId=session_id, cwd=chance.choice([cwd, elsewhere]))
            case _:
                await writer.append(session_id, chance.choice([user, assistant])(f"{number}"))

    for number in range(STEPS):
        await change(number)
        if chance.random() < 0.1:
            which = chance.choice(lists)
            which.take()
            await picker.call("server/unwatch", watchId=which.watch_id)
            which.take()
            await change(number)
            assert (await which.watch(intervalMs=20))["mode"] == "replay"
    last = await begun(writer, cwd, title="odd")
    await writer.call("session/tag", sessionId=last, add=["a"])
    for watched in lists:
        await watched.until(lambda watched: last in watched.rows)
        await watched.until_current()
