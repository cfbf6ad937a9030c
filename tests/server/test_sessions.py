"""The life of a session: created, opened, found, listed, closed; drafts and ephemeral ones."""

import asyncio
import contextlib
import json  # noqa: TID251 - files are compared as another program reads them
from pathlib import Path
from typing import Any

import pytest

from support.columns import messages_of
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.shared import terminal


async def test_a_new_session_is_a_draft_that_no_list_shows(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    made = (await peer.call("session/create", cwd=cwd, title="Plans", tags=["a", "b"]))["session"]
    assert (made["isDraft"], made["title"], made["tags"], made["cwd"]) == (True, "Plans", ["a", "b"], cwd)
    assert (made["lastSeq"], made["messageCount"], made["entryCount"]) == (1, 0, 1)  # the title
    assert Path(made["path"]).is_relative_to(daemon.home / "data" / "drafts")
    assert (await peer.call("session/list", cwd=cwd))["sessions"] == []
    assert (await peer.call("session/list", cwd=cwd, includeDrafts=True))["sessions"] == [
        made | {"logId": None, "lifecycle": "empty", "model": None, "provisional": False}
    ]


async def test_a_user_message_alone_leaves_a_draft_a_draft(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(session_id, user("hello"))
    session = (await peer.call("session/info", sessionId=session_id))["session"]
    assert (session["isDraft"], session["firstPrompt"]) == (True, "hello")
    assert (await peer.call("session/list", cwd=cwd))["sessions"] == []


async def test_the_first_assistant_message_moves_a_draft_into_the_sessions(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    draft = (await peer.call("session/create", cwd=cwd))["session"]
    await peer.append(draft["sessionId"], user("hello"), assistant("hi"))
    [session] = (await peer.call("session/list", cwd=cwd))["sessions"]
    assert session["sessionId"] == draft["sessionId"]
    assert session["isDraft"] is False
    assert Path(session["path"]).is_relative_to(daemon.home / "data" / "sessions")
    assert not Path(draft["path"]).exists()
    lines = [json.loads(line) for line in Path(session["path"]).read_bytes().splitlines()]
    assert [line["type"] for line in lines] == ["session", "message", "message"]


async def test_everybody_hears_when_a_session_is_created_and_when_its_draft_becomes_one(
    daemon: Running, cwd: str
) -> None:
    peer, other = await daemon.attach(), await daemon.attach()
    await other.call("server/status")
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(session_id, user("hello"))
    await peer.append(session_id, assistant("hi"))
    await other.until(lambda client: bool(client.told("session/changed")))
    [drafted], [promoted] = other.told("session/created"), other.told("session/changed")
    assert (drafted["session"]["sessionId"], drafted["session"]["isDraft"]) == (session_id, True)
    assert promoted["session"] == (await peer.call("session/info", sessionId=session_id))["session"]
    assert promoted["session"]["messageCount"] == 2
    assert promoted["changed"] == ["isDraft", "path"]
    assert promoted["origin"] == drafted["origin"]


async def test_a_draft_closed_by_its_last_client_goes_to_the_trash(daemon: Running, cwd: str) -> None:
    peer, other = await daemon.attach(), await daemon.attach()
    made = (await peer.call("session/create", cwd=cwd))["session"]
    session_id = made["sessionId"]
    await other.call("session/open", sessionId=session_id)
    await peer.append(session_id, user("never mind"))
    assert await peer.call("session/close", sessionId=session_id) == {
        "clientCount": 1,
        "trashId": None,
        "trashPath": None,
    }
    assert Path(made["path"]).exists()
    closed = await other.call("session/close", sessionId=session_id)
    assert closed["clientCount"] == 0
    assert b"never mind" in Path(closed["trashPath"]).read_bytes()
    assert not Path(made["path"]).exists()
    await peer.until(lambda client: bool(client.told("session/deleted")))
    assert peer.told("session/deleted")[0]["trashId"] == closed["trashId"]
    assert (await refusal(peer.call("session/info", sessionId=session_id))).kind == "sessionTrashed"


async def test_a_draft_outlives_a_client_that_vanishes(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(session_id, user("do not lose me"))
    peer.connection.abort()
    await peer.is_closed.wait()
    other = await daemon.attach()
    opened = (await other.call("session/open", sessionId=session_id))["session"]
    assert (opened["firstPrompt"], opened["isDraft"]) == ("do not lose me", True)


async def test_a_client_that_never_had_a_draft_open_cannot_trash_it(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    peer.connection.abort()
    await peer.is_closed.wait()
    other = await daemon.attach()
    assert await other.call("session/close", sessionId=session_id) == {
        "clientCount": 0,
        "trashId": None,
        "trashPath": None,
    }
    assert (await other.call("session/info", sessionId=session_id))["session"]["isDraft"]


async def test_a_close_that_follows_an_answer_on_the_wire_trashes_nothing(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    appended, closed = await asyncio.gather(
        peer.append(session_id, user("hello"), assistant("hi")),
        peer.call("session/close", sessionId=session_id),
    )
    assert (appended["lastSeq"], closed) == (2, {"clientCount": 0, "trashId": None, "trashPath": None})
    assert [session["sessionId"] for session in (await peer.call("session/list", cwd=cwd))["sessions"]] == [
        session_id
    ]


async def test_opening_a_draft_while_it_is_closed_gives_it_whole_or_not_at_all(
    daemon: Running, cwd: str
) -> None:
    peer, other = await daemon.attach(), await daemon.attach()
    for _ in range(20):
        session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
        calls = [
            peer.call("session/close", sessionId=session_id),
            other.call("session/open", sessionId=session_id),
        ]
        closed, opened = await asyncio.gather(*calls, return_exceptions=True)
        assert not isinstance(closed, BaseException)
        if isinstance(opened, BaseException):
            assert getattr(opened, "kind", "") == "sessionTrashed"
            assert closed["trashId"]
        else:
            assert closed == {"clientCount": 1, "trashId": None, "trashPath": None}
            await other.append(session_id, user("still here"), assistant("yes"))


async def test_a_session_with_an_answer_is_kept_when_it_is_closed(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(session_id, user("hello"), assistant("hi"))
    assert await peer.call("session/close", sessionId=session_id) == {
        "clientCount": 0,
        "trashId": None,
        "trashPath": None,
    }
    await peer.append(session_id, user("a close only says that one does not need it now"))
    assert not peer.told("session/appended")[1:]


async def test_a_client_may_choose_an_id(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    for session_id in (f"my-session_{cwd[-1]}", cwd.rpartition("/")[2] + "x" * 100):
        made = (await peer.call("session/create", cwd=cwd, id=session_id))["session"]
        assert made["sessionId"] == session_id
        again = await refusal(peer.call("session/create", cwd=cwd, id=session_id))
        assert (again.kind, again.code, again.details["sessionId"]) == ("alreadyExists", 1409, session_id)


async def test_one_of_two_clients_that_want_the_same_id_at_once_gets_it(daemon: Running, cwd: str) -> None:
    peers = [await daemon.attach() for _ in range(4)]
    session_id = cwd.rpartition("/")[2] + "-wanted"
    made = await asyncio.gather(
        *(peer.call("session/create", cwd=cwd, id=session_id) for peer in peers), return_exceptions=True
    )
    assert sorted(getattr(item, "kind", "made") for item in made) == ["alreadyExists"] * 3 + ["made"]


@pytest.mark.parametrize(
    "bad",
    ["short", "x" * 129, "../../../etc/passwd", "has space", "nul\0nul-nul", "dots.dots", "-leading-dash",
     "_leading", "slash/slash", "new\nline-x", "ünïcödé-id", "x" * 10_000, ""],
)  # fmt: skip
async def test_a_bad_id_is_refused_and_makes_no_file(memory: Running, cwd: str, bad: str) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call("session/create", cwd=cwd, id=bad))).kind == "invalidParams"
    assert not memory.files("drafts")


@pytest.mark.parametrize("bad", ["", "relative/path", "~", "/nul\0", "C:\\work"])
async def test_a_folder_that_is_no_absolute_path_is_refused(memory: Running, bad: str) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call("session/create", cwd=bad))).kind == "invalidParams"


async def test_an_ephemeral_session_never_touches_the_disk(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    before = daemon.everything()
    made = (await peer.call("session/create", cwd=cwd, ephemeral=True))["session"]
    session_id = made["sessionId"]
    assert (made["ephemeral"], made["path"]) == (True, None)
    await peer.append(session_id, user("hello"), assistant("hi"))
    assert len(messages_of(await peer.call("session/context", sessionId=session_id))) == 2
    assert (await peer.call("session/list", cwd=cwd))["sessions"] == []
    await peer.call("session/close", sessionId=session_id)
    assert (await peer.call("session/info", sessionId=session_id))["session"]["messageCount"] == 2
    assert daemon.everything() == before


async def resolved(peer: Peer, query: str, **params: Any) -> tuple[list[str], bool, bool]:
    """What `session/resolve` finds: the ids, whether the first is exactly meant, and whether there are more."""
    found = await peer.call("session/resolve", query=query, **params)
    return [session["sessionId"] for session in found["sessions"]], found["exact"], found["more"]


@pytest.mark.parametrize(
    "method", ["open", "info", "append", "label", "rename", "close", "delete", "fork", "subscribe"]
)
async def test_a_method_takes_whole_ids_only(daemon: Running, cwd: str, method: str) -> None:
    peer = await daemon.attach()
    session_id = cwd.rpartition("/")[2].replace("project", "whole") + "-session"
    await peer.call("session/create", cwd=cwd, id=session_id)
    await peer.append(session_id, user("hello", id="a"), assistant("hi"))
    needed: dict[str, dict[str, Any]] = {
        "append": {"entries": [user("x")]}, "label": {"entryId": "a", "label": "x"}, "rename": {"title": "x"},
    }  # fmt: skip
    asking = peer.call(f"session/{method}", sessionId=session_id[:-4], **needed.get(method, {}))
    refused = await refusal(asking)
    assert (refused.kind, refused.details["didYouMean"]) == ("sessionNotFound", [session_id])
    assert await peer.call("session/unsubscribe", sessionId=session_id[:-4]) == {"wasSubscribed": False}
    assert (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 2


@pytest.mark.parametrize("restarts", [False, True])
async def test_the_sessions_that_a_beginning_means_are_found_open_or_closed(
    tmp_path: Path, cwd: str, restarts: bool
) -> None:
    stem = "ambiguous"
    names = [stem + end for end in ("-one", "-one-more", "-two")]
    async with contextlib.AsyncExitStack() as stack:
        daemon = await stack.enter_async_context(running(tmp_path))
        peer = await daemon.attach()
        for name in names:
            await peer.call("session/create", cwd=cwd, id=name, title=f"About {name}")
            await peer.append(name, user("hello"), assistant("hi"))
        if restarts:
            await stack.aclose()
            peer = await (await stack.enter_async_context(running(tmp_path))).attach()
            await peer.call("session/open", sessionId=names[1])
        assert await resolved(peer, stem + "-") == (names, False, False)
        assert await resolved(peer, stem + "-one") == (names[:2], True, False)
        assert await resolved(peer, stem + "-t") == (names[2:], False, False)
        assert await resolved(peer, stem + "-", limit=2) == (names[:2], False, True)
        assert await resolved(peer, stem + "-none") == ([], False, False)
        [found] = (await peer.call("session/resolve", query=stem + "-t"))["sessions"]
        [listed] = (await peer.call("session/list", cwd=cwd, query=stem + "-two"))["sessions"]
        assert found == listed
        refused = await refusal(peer.call("session/open", sessionId=stem + "-"))
        assert (refused.kind, refused.details["didYouMean"]) == ("sessionNotFound", names)


async def test_a_mistyped_id_is_answered_with_the_nearest(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    session_id = cwd.rpartition("/")[2].replace("project", "mistyped-session")
    await peer.call("session/create", cwd=cwd, id=session_id)
    refused = await refusal(peer.call("session/open", sessionId="mistypd" + session_id[8:]))
    assert refused.details["didYouMean"][0] == session_id  # sessions of other tests may be near, too


async def test_three_characters_are_no_beginning(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    await peer.call("session/create", cwd=cwd, id="abcdefgh")
    assert await resolved(peer, "abc") == ([], False, False)
    assert await resolved(peer, "abcd") == (["abcdefgh"], False, False)


async def test_a_session_is_found_by_what_its_header_says_even_under_another_file_name(
    daemon: Running, cwd: str
) -> None:
    peer = await daemon.attach()
    session_id = cwd.rpartition("/")[2].replace("project", "header-decides")
    folder = daemon.home / "data" / "sessions" / "--somewhere--"
    folder.mkdir(parents=True, exist_ok=True)
    line = {"type": "session", "version": 3, "id": session_id, "timestamp": "2026-01-01T00:00:00.000Z"}
    path = folder / f"{session_id}-copied-by-hand.jsonl"
    path.write_text(json.dumps(line | {"cwd": cwd}) + "\n", encoding="utf-8")
    [listed] = (await peer.call("session/list", cwd=cwd))["sessions"]
    assert listed["sessionId"] == session_id
    assert (await peer.call("session/info", sessionId=session_id))["session"]["path"] == str(path)


async def test_open_wants_an_id_or_a_path_and_not_both(memory: Running) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call("session/open"))).kind == "invalidParams"
    both = await refusal(peer.call("session/open", sessionId="abcdefgh", path="/x"))
    assert both.kind == "invalidParams"
    assert (await refusal(peer.call("session/open", path="relative.jsonl"))).kind == "invalidParams"


async def test_the_reply_to_open_comes_before_anything_about_the_session(daemon: Running, cwd: str) -> None:
    peer, other = await daemon.attach(), await daemon.attach()
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    appends = [peer.append(session_id, user(str(number))) for number in range(50)]
    opening = other.call("session/open", sessionId=session_id, terminal=terminal("t1", cwd=cwd))
    opened, *_ = await asyncio.gather(opening, *appends)
    last = opened["session"]["lastSeq"]
    await other.until(lambda client: last == 50 or 50 in client.seqs())
    assert other.seqs() == list(range(last + 1, 51))
    assert other.order[0] == "reply"


# --- lists -------------------------------------------------------------------------------------------------


async def filled(daemon: Running, cwd: str, *titles: str) -> list[str]:
    """Sessions with an answer each, oldest first; their ids."""
    peer = await daemon.attach()
    ids = []
    for title in titles:
        tags = ["even" if len(titles) % 2 else "odd", title]
        made = (await peer.call("session/create", cwd=cwd, title=title, tags=tags))["session"]
        await peer.append(made["sessionId"], user(f"about {title}"), assistant("ok"))
        ids.append(made["sessionId"])
        await asyncio.sleep(0.002)  # times have milliseconds
    return ids


async def test_lists_come_newest_first_or_as_one_asks(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    a, b, c = await filled(daemon, cwd, "Banana", "apple", "Cherry")
    await peer.append(a, user("again"))

    async def ids(**params: object) -> list[str]:
        return [
            session["sessionId"]
            for session in (await peer.call("session/list", cwd=cwd, **params))["sessions"]
        ]

    assert await ids() == [a, c, b]
    assert await ids(sort="created") == [c, b, a]
    assert await ids(sort="title") == [b, a, c]
    assert await ids(tags=["apple"]) == [b]
    assert await ids(tags=["apple", "Cherry"]) == []
    assert await ids(query="ABOUT cherry") == [c]
    assert await ids(query=a) == [a]
    assert await ids(limit=2) == [a, c]


async def test_a_list_is_of_one_folder_unless_all_is_asked_for(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    [here], [there] = await filled(memory, cwd, "x"), await filled(memory, cwd + "-other", "y")
    for params, expected in (
        ({"cwd": cwd}, {here}), ({}, {here, there}),
    ):  # fmt: skip
        listed = await peer.call("session/list", **params)
        assert {session["sessionId"] for session in listed["sessions"]} == expected


@pytest.mark.parametrize("sort", ["updated", "created", "title"])
async def test_pages_neither_repeat_nor_miss_a_session_while_others_are_added(
    daemon: Running, cwd: str, sort: str
) -> None:
    peer = await daemon.attach()
    ids = await filled(daemon, cwd, *"hgfedcba")
    seen: list[str] = []
    cursor = None
    for turn in range(10):
        page = await peer.call("session/list", cwd=cwd, sort=sort, limit=3, cursor=cursor)
        seen += [session["sessionId"] for session in page["sessions"]]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
        await filled(daemon, cwd, "A" if turn == 0 else "zz")
    assert [text for text in seen if text in ids] == sorted(ids, key=ids.index, reverse=True)
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("cursor", ["nonsense", "", "ü", "W10=", "WzEsMiwzXQ==", "x" * 10_000])
async def test_a_cursor_that_was_never_given_is_refused(memory: Running, cursor: str) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call("session/list", cursor=cursor))).kind == "cursorExpired"


async def test_a_cursor_of_another_order_is_refused(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    await filled(memory, cwd, "a", "b")
    cursor = (await peer.call("session/list", limit=1))["nextCursor"]
    refused = await refusal(peer.call("session/list", sort="title", cursor=cursor))
    assert (refused.kind, refused.code) == ("cursorExpired", 1410)


async def test_files_that_are_no_sessions_are_not_listed(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    [session_id] = await filled(memory, cwd, "real")
    folder = memory.files()[0].parent
    (folder / "empty-00.jsonl").write_bytes(b"")
    (folder / "binary00.jsonl").write_bytes(bytes(range(256)) * 50)
    (folder / "notes.txt").write_text("hello", encoding="utf-8")
    (folder / "folder00.jsonl").mkdir()
    (folder / "link0000.jsonl").symlink_to(folder / "empty-00.jsonl")
    assert [session["sessionId"] for session in (await peer.call("session/list"))["sessions"]] == [session_id]


async def test_a_list_is_the_same_for_open_and_closed_sessions(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        await filled(daemon, cwd, "a", "b")
        warm = await (await daemon.attach()).call("session/list")
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert (await peer.call("session/list"))["sessions"] == warm["sessions"]
        for session in warm["sessions"]:
            assert (session.pop("lifecycle"), session.pop("model")) == ("complete", "anthropic/claude-test-1")
            info = await peer.call("session/info", sessionId=session["sessionId"])
            assert info["session"].pop("logId")
            assert session.pop("logId") is None
            assert session.pop("provisional") is False
            assert (info["session"], info["problems"]) == (session, [])
