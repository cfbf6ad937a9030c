"""Moving in the tree and reading it: branch, fork, label, rename, tag, tree, path, entries, context."""

import asyncio
import json  # noqa: TID251 - files are compared as another program reads them
from pathlib import Path
from typing import Any

import pytest

from support import logs
from support.columns import entries_of, message_ids_of, messages_of, seqs_of
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.shared import lines_of, started
from support.waiting import until

FIRST = [user("q1", id="q1"), assistant("a1", id="a1"), user("q2", id="q2"), assistant("a2", id="a2")]


async def talk(daemon: Running, cwd: str) -> tuple[Peer, str]:
    """q1 - a1 - q2 - a2, and below a1 the other branch q3 - a3, which has the leaf."""
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, *FIRST)
    await peer.append(session_id, user("q3", id="q3"), assistant("a3", id="a3"), parentId="a1")
    return peer, session_id


async def path(peer: Peer, session_id: str, **params: Any) -> list[str]:
    found = await peer.call("session/path", sessionId=session_id, **params)
    return [entry["id"] for entry in entries_of(found)]


# --- branch ------------------------------------------------------------------------------------------------


async def test_a_branch_moves_the_leaf_and_the_move_outlives_the_daemon(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await talk(daemon, cwd)
        moved = await peer.call("session/branch", sessionId=session_id, entryId="a2")
        assert moved == {
            "recordId": lines_of(daemon.files()[0])[-1]["id"], "leafId": "a2", "logId": moved["logId"], "seq": 7,
            "previousLeafId": "a3", "summary": None, "summarizedBy": None, "duplicate": False,
        }  # fmt: skip
        assert await path(peer, session_id) == ["q1", "a1", "q2", "a2"]
        move = lines_of(daemon.files()[0])[-1]
        assert (move["type"], move["parentId"], move["targetId"]) == ("leaf", "a2", "a2")
        await peer.until(lambda client: bool(client.told("session/leafMoved")))
        [note] = peer.told("session/leafMoved")
        assert (note["leafId"], note["previousLeafId"], note["seq"]) == ("a2", "a3", 7)
        assert "session/changed" in peer.order
        assert peer.order[peer.order.index("session/leafMoved") - 2 :][:2] == ["reply", "session/appended"]
    async with running(tmp_path) as daemon:
        assert await path(await daemon.attach(), session_id) == ["q1", "a1", "q2", "a2"]


async def test_a_branch_to_null_starts_anew(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    assert (await peer.call("session/branch", sessionId=session_id, entryId=None))["leafId"] is None
    assert await path(peer, session_id) == []
    assert messages_of(await peer.call("session/context", sessionId=session_id)) == []
    await peer.append(session_id, user("again", id="r"))
    assert await path(peer, session_id) == ["r"]


async def test_a_branch_with_a_summary_says_what_was_left_behind(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    moved = await peer.call(
        "session/branch", sessionId=session_id, entryId="a1", summary="Tried to flush.", details={"n": 1},
        fromExtension=True,
    )  # fmt: skip
    assert moved["leafId"] == moved["recordId"]
    stored = await peer.call("session/entries", sessionId=session_id, entryIds=[moved["recordId"]])
    entry = {
        name: entries_of(stored)[0][name] for name in ("type", "parentId", "fromId", "summary", "details")
    }
    assert entry == {
        "type": "branch_summary", "parentId": "a1", "fromId": "a1", "summary": "Tried to flush.",
        "details": {"n": 1},
    }  # fmt: skip
    said = messages_of(await peer.call("session/context", sessionId=session_id))[-1]
    assert said["role"] == "branchSummary"
    await peer.until(lambda client: bool(client.told("session/leafMoved")))
    root = await peer.call("session/branch", sessionId=session_id, entryId=None, summary="All of it.")
    stored = await peer.call("session/entries", sessionId=session_id, entryIds=[root["recordId"]])
    assert (entries_of(stored)[0]["parentId"], entries_of(stored)[0]["fromId"]) == (None, "root")


async def test_a_branch_may_expect_where_the_leaf_is(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    refused = await refusal(
        peer.call("session/branch", sessionId=session_id, entryId="q1", expectedLeafId="a2")
    )
    assert (refused.kind, refused.details["currentLeafId"]) == ("leafConflict", "a3")
    await peer.call("session/branch", sessionId=session_id, entryId="q1", expectedLeafId="a3")


async def test_a_branch_to_where_the_leaf_is_is_not_a_move(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    assert (await peer.call("session/branch", sessionId=session_id, entryId="a3"))["leafId"] == "a3"
    await peer.call("server/status")
    assert not peer.told("session/leafMoved")


async def test_leaf_lines_stand_in_no_view_and_no_context(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    context = await peer.call("session/context", sessionId=session_id, leafId="a2")
    await peer.call("session/branch", sessionId=session_id, entryId="q1")
    await peer.call("session/branch", sessionId=session_id, entryId="a2")
    tree = await peer.call("session/tree", sessionId=session_id, filter="all")
    assert {node["type"] for node in tree["nodes"]} == {"message"}
    assert await peer.call("session/context", sessionId=session_id) == context
    after = await peer.position(session_id, 6)
    assert seqs_of(await peer.call("session/entries", sessionId=session_id, after=after)) == [7, 8]


# --- fork --------------------------------------------------------------------------------------------------


async def test_a_fork_holds_the_path_and_names_where_it_comes_from(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    await peer.call("session/label", sessionId=session_id, entryId="q2", label="here")
    await peer.call("session/rename", sessionId=session_id, title="Parser")
    source = (await peer.call("session/info", sessionId=session_id))["session"]
    # The title is copied into the header after `rename` was answered.
    await until(lambda: lines_of(Path(source["path"]))[0].get("title") == "Parser")
    before = Path(source["path"]).read_bytes()
    for params, ids in (
        ({"leafId": "a2"}, ["q1", "a1", "q2", "a2"]),
        ({"leafId": "a2", "position": "before"}, ["q1", "a1", "q2"]),
        ({"leafId": "a1"}, ["q1", "a1"]),
        ({"leafId": "q1", "position": "before"}, []),
        ({"leafId": "a3"}, ["q1", "a1", "q3", "a3"]),
    ):
        forked = (await peer.call("session/fork", sessionId=session_id, **params))["session"]
        assert forked["parentPath"] == source["path"]
        assert (forked["cwd"], forked["title"]) == (cwd, "Parser")
        found = await path(peer, forked["sessionId"])
        assert found[: len(ids)] == ids
        labels = [
            label["id"] for label in found_labels(await tree(peer, forked["sessionId"], filter="labeledOnly"))
        ]
        assert labels == (["q2"] if "q2" in ids else [])
        assert forked["isDraft"] is ("a1" not in ids)
        assert not forked["problemCount"]
    assert Path(source["path"]).read_bytes() == before


def found_labels(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [node for node in nodes if node.get("label")]


async def tree(peer: Peer, session_id: str, **params: Any) -> list[dict[str, Any]]:
    return list((await peer.call("session/tree", sessionId=session_id, **params))["nodes"])


async def test_a_fork_of_a_renamed_session_may_have_another_title(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(session_id, user("q"))
    await peer.call("session/rename", sessionId=session_id, title="Parser")
    forked = await peer.call("session/fork", sessionId=session_id, title="Another")
    assert forked["session"]["title"] == "Another"
    assert (await peer.call("session/info", sessionId=session_id))["session"]["title"] == "Parser"


async def test_a_fork_may_have_another_folder_and_title_and_is_open_at_once(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await talk(daemon, cwd)
    forked = (await peer.call("session/fork", sessionId=session_id, cwd=cwd + "-fork", title="Another"))[
        "session"
    ]
    assert (forked["cwd"], forked["title"]) == (cwd + "-fork", "Another")
    await peer.append(forked["sessionId"], user("on", id="on"))
    await peer.until(lambda client: client.told("session/appended")[-1]["sessionId"] == forked["sessionId"])
    assert len((await peer.call("session/list", cwd=cwd + "-fork"))["sessions"]) == 1
    for bad in ("relative", "", "/nul\0"):
        refused = await refusal(peer.call("session/fork", sessionId=session_id, cwd=bad or "."))
        assert refused.kind == "invalidParams"


async def test_a_file_of_version_one_is_forked_without_being_touched(
    daemon: Running, tmp_path: Path, cwd: str
) -> None:
    head = {"type": "session", "id": "v1-to-fork" + cwd[-2:], "timestamp": "2025", "cwd": cwd}
    said = [("user", "one"), ("assistant", "two")]
    entries = [
        {"type": "message", "timestamp": "2025", "message": {"role": r, "content": t}} for r, t in said
    ]
    data = b"".join(json.dumps(item).encode() + b"\n" for item in [head, *entries])
    file = tmp_path / "old.jsonl"
    file.write_bytes(data)
    peer = await daemon.attach()
    forked = (await peer.call("session/fork", path=str(file)))["session"]
    first, *copied = lines_of(forked["path"])
    assert (first["version"], first["parentSession"]) == (3, str(file))
    assert [entry["message"]["content"] for entry in copied] == ["one", "two"]
    assert copied[1]["parentId"] == copied[0]["id"]
    assert file.read_bytes() == data


async def test_an_ephemeral_session_has_ephemeral_forks(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd, ephemeral=True)
    await peer.append(session_id, *FIRST)
    forked = (await peer.call("session/fork", sessionId=session_id, leafId="a1"))["session"]
    assert (forked["ephemeral"], forked["path"], forked["entryCount"]) == (True, None, 2)
    assert forked["parentSessionId"] == session_id


async def test_appends_go_on_while_a_long_session_is_forked(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    for _ in range(4):
        await peer.append(session_id, *(user("x" * 200) for _ in range(2500)))
    forking = peer.call("session/fork", sessionId=session_id)
    appends = [peer.append(session_id, user("on")) for _ in range(20)]
    forked, *results = await asyncio.gather(forking, *appends)
    assert forked["session"]["entryCount"] in range(10_000, 10_021)
    assert results[-1]["lastSeq"] == 10_020


async def test_a_whole_fork_has_every_branch_label_and_title_and_the_leaf(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    await peer.call("session/label", sessionId=session_id, entryId="a3", label="there")
    await peer.call("session/label", sessionId=session_id, entryId="q2", label="here")
    await peer.call("session/rename", sessionId=session_id, title="Parser")
    await peer.call("session/tag", sessionId=session_id, add=["bug"])
    await peer.call("session/branch", sessionId=session_id, entryId="a1")
    source = (await peer.call("session/info", sessionId=session_id))["session"]
    before = lines_of(source["path"])[1:]
    forked = (await peer.call("session/fork", sessionId=session_id, whole=True))["session"]
    assert forked["sessionId"] != session_id
    assert forked["parentPath"] == source["path"]
    for name in (
        "leafId",
        "lastSeq",
        "title",
        "tags",
        "cwd",
        "messageCount",
        "entryCount",
        "firstPrompt",
        "isDraft",
    ):
        assert forked[name] == source[name], name
    assert lines_of(forked["path"])[1:] == before
    for filter_ in ("all", "default", "labeledOnly"):
        assert await tree(peer, forked["sessionId"], filter=filter_) == await tree(
            peer, session_id, filter=filter_
        )
    context = await peer.call("session/context", sessionId=session_id)
    assert await peer.call("session/context", sessionId=forked["sessionId"]) == context
    await peer.append(forked["sessionId"], user("on", id="only-in-the-fork"))
    assert lines_of(source["path"])[1:] == before


async def test_a_whole_fork_may_have_another_folder_and_title(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    params = {"whole": True, "cwd": cwd + "-fork", "title": "Another"}
    forked = (await peer.call("session/fork", sessionId=session_id, **params))["session"]
    assert (forked["cwd"], forked["title"]) == (cwd + "-fork", "Another")
    source = [node["id"] for node in await tree(peer, session_id)]
    assert [node["id"] for node in await tree(peer, forked["sessionId"])] == source


@pytest.mark.parametrize("more", [{"leafId": "a1"}, {"leafId": None}, {"position": "before"}])
async def test_a_whole_fork_goes_with_no_place(memory: Running, cwd: str, more: dict[str, Any]) -> None:
    peer, session_id = await talk(memory, cwd)
    refused = await refusal(peer.call("session/fork", sessionId=session_id, whole=True, **more))
    assert refused.kind == "invalidParams"
    assert "whole" in refused.message


async def test_a_whole_fork_of_a_file_elsewhere_leaves_out_what_is_no_entry(
    daemon: Running, tmp_path: Path, cwd: str
) -> None:
    lines = [
        logs.header(id="elsewhere-" + cwd.rpartition("/")[2], cwd=cwd), logs.user("one", id="u1", parent=None),
        logs.assistant("two", id="u2", parent="u1"), logs.user("other", id="u3", parent="u1"),
    ]  # fmt: skip
    file = tmp_path / "elsewhere.jsonl"
    file.write_bytes(logs.log(*lines[:2]) + b"{broken\n" + logs.log(*lines[2:]))
    before = file.read_bytes()
    peer = await daemon.attach()
    answer = await peer.call("session/fork", path=str(file), whole=True)
    assert answer["problems"] == []
    assert [line["id"] for line in lines_of(answer["session"]["path"])[1:]] == ["u1", "u2", "u3"]
    assert answer["session"]["leafId"] == "u3"
    assert file.read_bytes() == before


async def test_a_whole_fork_has_its_blobs_also_in_memory(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd, ephemeral=True)
    await peer.append(session_id, user("x" * 600_000, id="big"), assistant("ok"))
    forked = (await peer.call("session/fork", sessionId=session_id, whole=True))["session"]
    page = await peer.call(
        "session/entries", sessionId=forked["sessionId"], entryIds=["big"], resolveBlobs=True
    )
    assert entries_of(page)[0]["message"]["content"] == "x" * 600_000
    assert page.get("missingBlobs", []) == []


async def test_others_are_answered_while_a_long_session_is_copied_whole(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    for _ in range(4):
        await peer.append(session_id, *(user("x" * 200) for _ in range(2500)))
    other = await memory.attach()
    forking = asyncio.ensure_future(peer.call("session/fork", sessionId=session_id, whole=True))
    answered = 0
    while not forking.done():
        await other.call("server/status")
        answered += 1
    assert answered > 5
    assert (await forking)["session"]["entryCount"] == 10_000


# --- labels, titles, tags ----------------------------------------------------------------------------------


async def test_a_label_is_set_replaced_and_removed(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)

    async def labels() -> dict[str, str]:
        return {
            label["id"]: label["label"] for label in found_labels(await tree(peer, session_id, filter="all"))
        }

    for params, expected in (
        ({"label": "here"}, {"q1": "here"}), ({"label": "there"}, {"q1": "there"}), ({}, {}),
        ({"label": "x"}, {"q1": "x"}), ({"label": ""}, {}),
    ):  # fmt: skip
        changed = await peer.call("session/label", sessionId=session_id, entryId="q1", **params)
        assert await labels() == expected
        stored = await peer.call("session/entries", sessionId=session_id, entryIds=[changed["recordId"]])
        assert (entries_of(stored)[0]["type"], seqs_of(stored)) == ("label", [changed["seq"]])


async def test_labels_are_listed_in_the_order_of_the_log_page_by_page(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    lines = [
        await peer.call("session/label", sessionId=session_id, entryId=entry_id, label=text)
        for entry_id, text in (("a3", "last"), ("q1", "first"), ("a1", "gone"), ("q2", "middle"), ("a1", ""))
    ]
    whole = await peer.call("session/labels", sessionId=session_id)
    assert [(item["entryId"], item["label"], item["seq"], item["role"]) for item in whole["items"]] == [
        ("q1", "first", 1, "user"), ("q2", "middle", 3, "user"), ("a3", "last", 6, "assistant"),
    ]  # fmt: skip
    assert (whole["logId"], whole["nextCursor"]) == (lines[0]["logId"], None)
    stored = await peer.call("session/entries", sessionId=session_id, entryIds=[lines[1]["recordId"]])
    assert whole["items"][0]["labeledAt"] == entries_of(stored)[0]["timestamp"]
    assert await pages(peer, "labels", "items", sessionId=session_id, limit=1) == whole["items"]
    assert await pages(peer, "labels", "items", sessionId=session_id, limit=3) == whole["items"]


async def test_a_session_without_labels_has_an_empty_list_of_them(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    found = await peer.call("session/labels", sessionId=session_id)
    assert (found["items"], found["nextCursor"]) == ([], None)
    refused = await refusal(peer.call("session/labels", sessionId=session_id, cursor="-1"))
    assert refused.kind == "cursorExpired"


async def test_a_title_is_a_line_and_an_empty_one_takes_it_away(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    for title, expected in (
        ("A\n  new\ttitle ", "A new title"),
        ("x" * 1000, "x" * 1000),
        ("", None),
        ("  ", None),
    ):
        changed = await peer.call("session/rename", sessionId=session_id, title=title)
        assert changed["session"]["title"] == expected
        assert (await peer.call("session/info", sessionId=session_id))["session"] == changed["session"]
    assert (
        await refusal(peer.call("session/rename", sessionId=session_id, title="x" * 1001))
    ).kind == "invalidParams"


async def test_tags_are_added_removed_and_set(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    for params, expected in (
        ({"add": ["b", "a", "b", " ", " c "]}, ["b", "a", "c"]), ({"remove": ["a"]}, ["b", "c"]),
        ({"add": ["d"], "remove": ["b"]}, ["c", "d"]), ({"tags": ["z"]}, ["z"]), ({"tags": []}, []),
    ):  # fmt: skip
        changed = await peer.call("session/tag", sessionId=session_id, **params)
        assert changed["session"]["tags"] == expected
    assert (await refusal(peer.call("session/tag", sessionId=session_id))).kind == "invalidParams"


async def test_a_session_gets_at_most_100_tags_over_several_requests(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    tags = [f"t{number}" for number in range(100)]
    first = {"add": tags[:60], "commandId": "first"}
    await peer.call("session/tag", sessionId=session_id, **first)
    error = await refusal(peer.call("session/tag", sessionId=session_id, add=["x", *tags[60:]]))
    assert (error.kind, error.details["path"]) == ("invalidParams", "$.add")
    assert error.message == "The session would have 101 tags; the limit is 100. Remove some tags first."
    assert (await peer.call("session/info", sessionId=session_id))["session"]["tags"] == tags[:60]
    changed = await peer.call("session/tag", sessionId=session_id, add=tags[50:])
    assert changed["session"]["tags"] == tags
    swapped = await peer.call("session/tag", sessionId=session_id, add=["x"], remove=["t0"])
    assert len(swapped["session"]["tags"]) == 100
    repeated = await peer.call("session/tag", sessionId=session_id, **first)
    assert repeated["duplicate"], "a repeat takes effect once, whatever the tags are now"


async def test_tags_beyond_the_limit_that_another_program_wrote_can_be_removed(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await started(daemon, cwd)
    tags = [f"t{number}" for number in range(150)]
    await peer.append(session_id, {"type": "custom", "customType": "sessiond.tags", "data": {"tags": tags}})
    assert (await refusal(peer.call("session/tag", sessionId=session_id, add=["x"]))).kind == "invalidParams"
    await peer.call("session/tag", sessionId=session_id, add=["x"], remove=tags[:49])
    changed = await peer.call("session/tag", sessionId=session_id, remove=["x", *tags[49:60]])
    assert changed["session"]["tags"] == tags[60:]


async def test_tags_that_many_add_at_once_are_all_there(daemon: Running, cwd: str) -> None:
    _, session_id = await talk(daemon, cwd)
    peers = [await daemon.attach() for _ in range(5)]
    await asyncio.gather(
        *(peer.call("session/tag", sessionId=session_id, add=[f"{n}-{turn}"]) for turn in range(4)
          for n, peer in enumerate(peers))
    )  # fmt: skip
    session = (await peers[0].call("session/info", sessionId=session_id))["session"]
    assert sorted(session["tags"]) == sorted(f"{n}-{turn}" for n in range(5) for turn in range(4))


async def test_after_a_refused_tag_the_next_is_taken(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    assert memory.hub is not None
    memory.hub.sessions.draining = True
    assert (await refusal(peer.call("session/tag", sessionId=session_id, add=["x"]))).kind == "draining"
    memory.hub.sessions.draining = False
    assert (await peer.call("session/tag", sessionId=session_id, add=["x"]))["session"]["tags"] == ["x"]


# --- pages -------------------------------------------------------------------------------------------------


async def bushy(daemon: Running, cwd: str) -> tuple[Peer, str, list[str]]:
    peer, session_id = await started(daemon, cwd)
    ids = [f"e{number}" for number in range(40)]
    for number, name in enumerate(ids):
        parent = None if number == 0 else ids[(number * 7) % number]
        draft = user(name) if number % 3 else assistant(name)
        await peer.append(session_id, {**draft, "id": name}, parentId=parent, durability="written")
    return peer, session_id, ids


async def pages(peer: Peer, method: str, field: str, grow: Any = None, **params: Any) -> list[dict[str, Any]]:
    """Everything, page by page; `grow` is called in between."""
    rows: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await peer.call(f"session/{method}", cursor=cursor, **params)
        assert len(page[field]) <= params["limit"]
        rows += page[field]
        cursor = page.get("nextCursor")
        if cursor is None:
            return rows
        if grow is not None:
            await grow()


@pytest.mark.parametrize("limit", [1, 3, 39, 40, 41])
@pytest.mark.parametrize(("method", "field"), [("entries", "items"), ("path", "items"), ("tree", "nodes")])
async def test_pages_together_are_the_whole(
    daemon: Running, cwd: str, method: str, field: str, limit: int
) -> None:
    peer, session_id, _ = await bushy(daemon, cwd)
    whole = (await peer.call(f"session/{method}", sessionId=session_id, limit=10_000))[field]
    assert await pages(peer, method, field, sessionId=session_id, limit=limit) == whole


@pytest.mark.parametrize(("method", "field"), [("entries", "items"), ("path", "items"), ("tree", "nodes")])
async def test_cursors_hold_while_the_log_grows(memory: Running, cwd: str, method: str, field: str) -> None:
    peer, session_id, _ = await bushy(memory, cwd)
    whole = (await peer.call(f"session/{method}", sessionId=session_id, limit=10_000))[field]

    async def grow() -> None:
        await peer.append(session_id, user("new"), parentId="e0", durability="written")

    rows = await pages(peer, method, field, grow, sessionId=session_id, limit=6)
    names = [row.get("entry", row)["id"] for row in rows]
    assert len(set(names)) == len(names)
    known = [row.get("entry", row)["id"] for row in whole]
    assert [name for name in names if name in known] == known


@pytest.mark.parametrize("filter_", ["default", "noTools", "userOnly", "labeledOnly", "all"])
async def test_a_filtered_tree_comes_in_pages_too(memory: Running, cwd: str, filter_: str) -> None:
    peer, session_id, ids = await bushy(memory, cwd)
    for name in ids[::5]:
        await peer.call("session/label", sessionId=session_id, entryId=name, label=name)
    whole = await tree(peer, session_id, filter=filter_, limit=10_000)
    assert whole
    assert await pages(peer, "tree", "nodes", sessionId=session_id, filter=filter_, limit=2) == whole


async def test_entries_are_found_after_around_and_by_id(daemon: Running, cwd: str) -> None:
    peer, session_id, _ = await bushy(daemon, cwd)

    async def seqs(**params: Any) -> list[int]:
        return list(seqs_of(await peer.call("session/entries", sessionId=session_id, **params)))

    assert await seqs(limit=3) == [1, 2, 3]
    assert await seqs(after=await peer.position(session_id, 38)) == [39, 40]
    assert await seqs(after=await peer.position(session_id, 40)) == []
    assert await seqs(after=await peer.position(session_id, 10**12)) == []
    elsewhere = {"logId": "of-another-log", "seq": 38}
    refused = await refusal(peer.call("session/entries", sessionId=session_id, after=elsewhere))
    assert refused.kind == "cursorExpired"
    assert await seqs(aroundId="e20", limit=5) == [19, 20, 21, 22, 23]
    assert await seqs(aroundId="e0", limit=3) == [1, 2, 3]
    assert await seqs(entryIds=["e5", "e1", "e5"]) == [6, 2, 6]
    assert await seqs(entryIds=[]) == []
    assert await seqs(direction="backward", limit=3) == [40, 39, 38]


@pytest.mark.parametrize("limit", [1, 3, 39, 40, 41])
@pytest.mark.parametrize("method", ["entries", "path"])
async def test_entries_read_backward_are_the_same_from_the_end(
    memory: Running, cwd: str, method: str, limit: int
) -> None:
    peer, session_id, _ = await bushy(memory, cwd)
    whole = await pages(peer, method, "items", sessionId=session_id, limit=10_000)
    backward = await pages(peer, method, "items", sessionId=session_id, limit=limit, direction="backward")
    assert backward == whole[::-1]


@pytest.mark.parametrize("method", ["entries", "path"])
async def test_pages_go_on_backward_from_where_they_began_while_the_log_grows(
    memory: Running, cwd: str, method: str
) -> None:
    peer, session_id, _ = await bushy(memory, cwd)
    whole = await pages(peer, method, "items", sessionId=session_id, limit=10_000)

    async def grow() -> None:
        await peer.append(session_id, user("new"), durability="written")

    found = await pages(peer, method, "items", grow, sessionId=session_id, limit=6, direction="backward")
    assert found == whole[::-1]


@pytest.mark.parametrize("method", ["entries", "path"])
async def test_a_cursor_belongs_to_one_direction(memory: Running, cwd: str, method: str) -> None:
    peer, session_id, _ = await bushy(memory, cwd)
    for one, other in (("forward", "backward"), ("backward", "forward")):
        asked = {"sessionId": session_id, "limit": 1}
        page = await peer.call(f"session/{method}", **asked, direction=one)
        refused = await refusal(
            peer.call(f"session/{method}", **asked, direction=other, cursor=page["nextCursor"])
        )
        assert refused.kind == "cursorExpired"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("entries", {"aroundId": "e1", "entryIds": ["e2"]}),
        ("entries", {"aroundId": "e1", "direction": "backward"}),
        ("entries", {"entryIds": ["e1"], "direction": "backward"}),
        ("entries", {"after": True, "aroundId": "e1"}),
        ("entries", {"after": True, "direction": "backward"}),
        ("tree", {"aroundId": "e1", "cursor": "3"}),
        ("tree", {"openIds": ["e1"]}),
        ("tree", {"openAll": True}),
    ],
)
async def test_params_that_exclude_each_other_are_refused(
    memory: Running, cwd: str, method: str, params: dict[str, Any]
) -> None:
    peer, session_id, _ = await bushy(memory, cwd)
    if "after" in params:
        params = {**params, "after": await peer.position(session_id, 3)}
    refused = await refusal(peer.call(f"session/{method}", sessionId=session_id, **params))
    assert refused.kind == "invalidParams"


async def test_a_page_ends_where_it_would_get_too_large(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, *(user("x" * 700_000) for _ in range(6)))
    for method in ("entries", "path"):
        first = await peer.call(f"session/{method}", sessionId=session_id, limit=10_000)
        assert 1 < len(first["items"]) < 6
        rest = await pages(peer, method, "items", sessionId=session_id, limit=10_000)
        assert len(rest) == 6


async def test_a_tree_is_drawn_from_where_one_asks(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    rows = await tree(peer, session_id)
    assert [(row["id"], row["parentId"], row["depth"], row["indent"], row["onPath"]) for row in rows] == [
        ("q1", None, 0, 0, True), ("a1", "q1", 1, 0, True), ("q2", "a1", 2, 1, False),
        ("a2", "q2", 3, 1, False), ("q3", "a1", 2, 1, True), ("a3", "q3", 3, 1, True),
    ]  # fmt: skip
    assert [row["id"] for row in await tree(peer, session_id, rootId="q2")] == ["q2", "a2"]
    assert [row["id"] for row in await tree(peer, session_id, query="Q2")] == ["q2"]
    assert [row["id"] for row in await tree(peer, session_id, filter="userOnly")] == ["q1", "q2", "q3"]
    assert await tree(peer, session_id, query="nothing like it") == []


async def test_a_tree_is_laid_out_around_the_path(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)

    async def rows(**params: Any) -> list[tuple[str, str, int]]:
        page = await peer.call("session/tree", sessionId=session_id, layout="path", **params)
        return [(row["gutter"], row["id"], row["hiddenCount"]) for row in page["nodes"]]

    folded = [("", "q1", 0), ("", "a1", 0), ("'", "q2", 1), ("", "q3", 0), ("", "a3", 0)]
    opened = [("", "q1", 0), ("", "a1", 0), ("'", "q2", 0), (" ", "a2", 0), ("", "q3", 0), ("", "a3", 0)]
    assert await rows() == folded
    assert await rows(openIds=["a3", "unknown"]) == folded
    assert await rows(openIds=["q2"]) == await rows(openAll=True) == opened
    around = await peer.call("session/tree", sessionId=session_id, layout="path", aroundId="a2")
    assert around["openIds"] == ["q2"]
    await peer.call("session/branch", sessionId=session_id, entryId="a2")
    assert await rows() == [("", "q1", 0), ("", "a1", 0), ("'", "q3", 1), ("", "q2", 0), ("", "a2", 0)]


async def test_a_page_of_a_layout_that_has_changed_is_refused(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    asked = {"sessionId": session_id, "layout": "path", "limit": 2}
    first = await peer.call("session/tree", **asked)
    await peer.append(session_id, user("q4", id="q4"))
    rest = await peer.call("session/tree", **asked, cursor=first["nextCursor"])
    assert [row["id"] for row in rest["nodes"]] == ["q2", "q3"]
    await peer.append(session_id, user("q5", id="q5"), parentId="q1")
    assert (
        await refusal(peer.call("session/tree", **asked, cursor=rest["nextCursor"]))
    ).kind == "cursorExpired"
    asked["layout"] = "log"
    assert (
        await refusal(peer.call("session/tree", **asked, cursor=rest["nextCursor"]))
    ).kind == "cursorExpired"


async def test_a_context_is_that_of_any_leaf(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    await peer.append(session_id, {"type": "model_change", "model": "anthropic/claude-x", "id": "m"})
    for leaf, ids in (("a2", ["q1", "a1", "q2", "a2"]), ("q1", ["q1"]), (None, ["q1", "a1", "q3", "a3"])):
        at = {} if leaf is None else {"leafId": leaf}
        seen = await peer.call("session/context", sessionId=session_id, **at)
        assert message_ids_of(seen) == ids
        assert [message["role"] for message in messages_of(seen)] == ["user", "assistant"] * (
            len(ids) // 2
        ) + (["user"] if len(ids) % 2 else [])
    assert seen["models"] == {"default": "anthropic/claude-x"}
    assert (seen["thinkingLevel"], seen["mode"], seen["leafId"]) == ("off", "none", "m")


async def test_a_session_that_the_real_builders_made_reads_the_same_over_the_wire(
    memory: Running, tmp_path: Path
) -> None:
    loaded = logs.loaded(
        logs.header(),
        logs.user("one"),
        logs.assistant("two"),
        logs.compaction("so far", "e2"),
        logs.user("three"),
    )
    (tmp_path / "made.jsonl").write_bytes(loaded.data)
    peer = await memory.attach()
    session = (await peer.call("session/open", path=str(tmp_path / "made.jsonl")))["session"]
    seen = await peer.call("session/context", sessionId=session["sessionId"])
    assert [json.dumps(message) for message in messages_of(seen)] == [
        json.dumps(json.loads(bytes(value))) for value in loaded.context().messages
    ]
