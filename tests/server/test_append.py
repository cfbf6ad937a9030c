"""`session/append`, rule by rule: all or nothing, parent, race, leaf, retries, order, bytes, sense."""

import asyncio
import json  # noqa: TID251 - files are compared as another program reads them
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from support.columns import entries_of, seqs_of
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.disk import Disk
from support.patience import BOUND
from support.shared import lines_of, started


def ids(result: dict[str, Any]) -> list[str]:
    return [entry["id"] for entry in result["entries"]]


def statuses(result: dict[str, Any]) -> list[str]:
    return [entry["status"] for entry in result["entries"]]


async def stored(peer: Peer, session_id: str, *names: str) -> list[dict[str, Any]]:
    return list(entries_of(await peer.call("session/entries", sessionId=session_id, entryIds=list(names))))


# --- where, in words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("empty", [{}, {"parentId": None, "expectedLeafId": None}])
async def test_a_client_that_cannot_tell_absent_from_null_says_where_in_words(
    daemon: Running, cwd: str, empty: dict[str, None]
) -> None:
    peer, session_id = await started(daemon, cwd)
    first, second = ids(await peer.append(session_id, user("a"), user("b")))
    at_leaf = await peer.append(session_id, user("c"), placement="leaf", **empty)
    root = await peer.append(session_id, user("d"), placement="root", **empty)
    below = await peer.append(session_id, user("e"), placement="parent", **{**empty, "parentId": first})
    names = [*ids(at_leaf), *ids(root), *ids(below)]
    entries = await stored(peer, session_id, *names)
    assert [entry["parentId"] for entry in entries] == [second, None, first]


async def test_a_placement_that_contradicts_the_parent_is_refused(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    [first] = ids(await peer.append(session_id, user("a")))
    for params in (
        {"placement": "leaf", "parentId": first},
        {"placement": "root", "parentId": first},
        {"placement": "parent"},
        {"placement": "parent", "parentId": None},
        {"placement": "other"},
    ):
        refused = await refusal(peer.append(session_id, user("x"), **params))
        assert refused.kind == "invalidParams"


async def test_the_leaf_is_still_compared_with_a_placement(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    first, _ = ids(await peer.append(session_id, user("a"), user("b")))
    refused = await refusal(peer.append(session_id, user("x"), placement="leaf", expectedLeafId=first))
    assert refused.kind == "leafConflict"


# --- all or nothing ----------------------------------------------------------------------------------------


async def test_a_batch_is_stored_in_order_each_entry_below_the_one_before(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    result = await peer.append(session_id, *(user(str(number)) for number in range(5)))
    assert statuses(result) == ["created"] * 5
    assert [entry["seq"] for entry in result["entries"]] == [1, 2, 3, 4, 5]
    assert (result["lastSeq"], result["leafId"]) == (5, ids(result)[-1])
    entries = await stored(peer, session_id, *ids(result))
    assert [entry["parentId"] for entry in entries] == [None, *ids(result)[:-1]]
    assert [entry["message"]["content"] for entry in entries] == list("01234")


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        ({"type": "message"}, "invalidEntry"),
        ({"type": "message", "message": {"content": "whose?"}}, "invalidEntry"),
        ({"type": "message", "message": "text"}, "invalidEntry"),
        ({"message": {"role": "user"}}, "invalidEntry"),
        ({"type": 5}, "invalidEntry"),
        ({"type": ""}, "invalidEntry"),
        ({"type": "session", "id": "x"}, "invalidEntry"),
        ({"type": "label"}, "invalidEntry"),
        ({"type": "compaction"}, "invalidEntry"),
        ({**user("x"), "id": "has space"}, "invalidEntry"),
        ({**user("x"), "id": "../up"}, "invalidEntry"),
        ({**user("x"), "id": "nul\0"}, "invalidEntry"),
        ({**user("x"), "id": "x" * 65}, "invalidEntry"),
        ({**user("x"), "id": ""}, "invalidEntry"),
        ({**user("x"), "id": 7}, "invalidEntry"),
        ({**user("x"), "timestamp": 7}, "invalidEntry"),
        ({**user("x"), "parentId": 7}, "invalidEntry"),
        ({**user("x"), "parentId": "nobody"}, "entryNotFound"),
        ({**user("x"), "parentId": "x" * 10_000}, "entryNotFound"),
        ({"type": "label", "targetId": "nobody", "label": "x"}, "entryNotFound"),
        ({"type": "leaf", "targetId": "nobody"}, "entryNotFound"),
        ([], "invalidEntry"),
        ("text", "invalidEntry"),
        (None, "invalidEntry"),
        (7, "invalidEntry"),
    ],
)  # fmt: skip
async def test_one_bad_draft_keeps_the_whole_batch_out(
    memory: Running, cwd: str, bad: Any, kind: str
) -> None:
    peer, session_id = await started(memory, cwd)
    before = memory.everything()
    refused = await refusal(peer.append(session_id, user("good"), bad, user("good, too")))
    assert refused.kind == kind
    assert memory.everything() == before
    assert (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 0
    assert (await peer.append(session_id, user("still served")))["lastSeq"] == 1


async def test_a_refusal_says_which_draft_and_which_field(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    refused = await refusal(
        peer.append(session_id, user("good"), {"type": "message", "message": {"content": "whose?"}})
    )
    assert refused.details["path"].startswith("$.entries[1]")
    refused = await refusal(peer.append(session_id, user("good"), {"type": "label", "targetId": 5}))
    assert refused.details["path"] == "$.entries[1].targetId"


async def test_an_empty_batch_and_one_of_more_than_ten_thousand_are_refused(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await started(memory, cwd)
    assert (await refusal(peer.append(session_id))).kind == "invalidParams"
    many = [user("x")] * 10_001
    assert (await refusal(peer.append(session_id, *many))).kind == "invalidParams"
    assert (await peer.append(session_id, *many[1:]))["lastSeq"] == 10_000


async def test_an_entry_that_would_not_fit_into_a_frame_again_is_too_large(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    refused = await refusal(peer.append(session_id, user("x" * 49 * 1024 * 1024)))
    assert (refused.kind, refused.code) == ("tooLarge", 1413)
    assert refused.details["actualBytes"] > refused.details["limitBytes"]
    assert (await peer.append(session_id, user("x" * 2_000_000)))["lastSeq"] == 1


# --- the parent and the race -------------------------------------------------------------------------------


async def test_the_parent_is_the_drafts_own_else_the_requests_else_the_leaf(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("1", id="a"), user("2", id="b"), user("3", id="c"))

    async def parents(*drafts: dict[str, Any], **params: Any) -> list[str | None]:
        result = await peer.append(session_id, *drafts, **params)
        return [entry["parentId"] for entry in await stored(peer, session_id, *ids(result))]

    assert await parents(user("at the leaf", id="d")) == ["c"]
    assert await parents(user("where the request says", id="e"), user("below"), parentId="a") == ["a", "e"]
    assert await parents(user("own wins", parentId="b"), parentId="a") == ["b"]
    assert await parents(user("a root", parentId=None, id="r"), user("below"), parentId="a") == [None, "r"]
    assert await parents(user("another root"), parentId=None) == [None]
    mixed = await parents(user("x", id="x"), user("y", parentId="a", id="y"), user("z", parentId="x"))
    assert mixed[1:] == ["a", "x"]


async def test_an_unknown_parent_is_refused(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    refused = await refusal(peer.append(session_id, user("x"), parentId="nobody"))
    assert (refused.kind, refused.code, refused.details["entryId"]) == ("entryNotFound", 1404, "nobody")


async def test_a_parent_later_in_the_batch_is_unknown(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    refused = await refusal(peer.append(session_id, user("x", parentId="later"), user("y", id="later")))
    assert refused.kind == "entryNotFound"
    assert (
        await refusal(peer.append(session_id, user("x", id="self", parentId="self")))
    ).kind == "entryNotFound"


async def test_an_append_that_expects_another_leaf_is_told_the_leaf_and_how_much_was_missed(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("1", id="a"), user("2", id="b"), user("3", id="c"))
    refused = await refusal(peer.append(session_id, user("4"), expectedLeafId="a"))
    assert (refused.kind, refused.code, refused.data["retryable"]) == ("leafConflict", 1409, False)
    assert (
        refused.details["currentLeafId"],
        refused.details["lastSeq"],
        refused.details["missingCount"],
    ) == ("c", 3, 2)
    missed = await peer.call(
        "session/entries",
        sessionId=session_id,
        after=await peer.position(session_id, refused.details["lastSeq"] - 2),
    )
    assert seqs_of(missed) == [2, 3]
    assert (await peer.append(session_id, user("4", id="d"), expectedLeafId="c"))["leafId"] == "d"


async def test_an_expected_leaf_of_null_means_that_nothing_is_there_yet(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    assert (await peer.append(session_id, user("1", id="a"), expectedLeafId=None))["leafId"] == "a"
    refused = await refusal(peer.append(session_id, user("2"), expectedLeafId=None))
    assert (refused.kind, refused.details["missingCount"]) == ("leafConflict", 1)
    await peer.call("session/branch", sessionId=session_id, entryId=None)
    refused = await refusal(peer.append(session_id, user("2"), expectedLeafId="a"))
    assert (refused.kind, refused.details["currentLeafId"]) == ("leafConflict", None)
    assert (await peer.append(session_id, user("2"), expectedLeafId=None))["lastSeq"] == 3


async def test_a_lost_race_may_become_a_sibling(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("1", id="a"), user("2", id="b"))
    result = await peer.append(
        session_id, user("also 2", id="s"), user("3", id="t"), expectedLeafId="a", onConflict="branch"
    )
    assert (result["branched"], result["leafId"]) == (True, "t")
    [sibling] = await stored(peer, session_id, "s")
    assert sibling["parentId"] == "a"
    won = await peer.append(session_id, user("4"), expectedLeafId="t", onConflict="branch")
    assert won["branched"] is False
    root = await peer.append(session_id, user("r", id="r"), expectedLeafId=None, onConflict="branch")
    assert root["branched"]
    assert (await stored(peer, session_id, "r"))[0]["parentId"] is None


async def test_an_expected_leaf_that_never_was_is_unknown(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1"))
    for how in ("reject", "branch"):
        refused = await refusal(peer.append(session_id, user("2"), expectedLeafId="nobody", onConflict=how))
        assert refused.kind == "entryNotFound"


async def test_of_many_who_expect_the_same_leaf_one_wins(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("1", id="a"))
    peers = [await daemon.attach() for _ in range(8)]
    results = await asyncio.gather(
        *(client.append(session_id, user("2"), expectedLeafId="a") for client in peers),
        return_exceptions=True,
    )
    kinds = [getattr(result, "kind", "won") for result in results]
    assert sorted(kinds) == ["leafConflict"] * 7 + ["won"]
    assert (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 2


# --- the leaf ----------------------------------------------------------------------------------------------


async def test_an_append_that_does_not_advance_pins_the_leaf_in_the_file(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, user("1", id="a"), assistant("2", id="b"), user("3", id="c"))
        result = await peer.append(
            session_id, user("aside", id="x"), user("more", id="y"), parentId="a", advance=False
        )
        assert (result["leafId"], result["lastSeq"], ids(result)) == ("c", 6, ["x", "y"])
        assert (await peer.append(session_id, user("4", id="d")))["leafId"] == "d"
        [d] = await stored(peer, session_id, "d")
        assert d["parentId"] == "c"
        pin = lines_of(daemon.files()[0])[6]
        assert (pin["type"], pin["targetId"], pin["parentId"]) == ("leaf", "c", "c")
        await peer.append(session_id, user("aside", id="z"), advance=False)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert (await peer.call("session/info", sessionId=session_id))["session"]["leafId"] == "d"


async def test_the_first_entry_may_leave_the_leaf_before_it(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    result = await peer.append(session_id, user("1"), advance=False)
    assert (result["leafId"], result["lastSeq"]) == (None, 2)


async def test_two_clients_work_on_two_paths_of_one_session(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("1", id="a"), assistant("2", id="b"))
    other = await daemon.attach()

    async def along(who: Peer, first: str, count: int) -> list[str]:
        path = [first]
        for _ in range(count):
            result = await who.append(session_id, user("x"), parentId=path[-1], advance=False)
            path.append(ids(result)[0])
        return path

    for path in await asyncio.gather(along(peer, "a", 10), along(other, "b", 10)):
        walked = await peer.call("session/path", sessionId=session_id, leafId=path[-1])
        assert [entry["id"] for entry in entries_of(walked)][-11:] == path
    assert (await peer.call("session/info", sessionId=session_id))["session"]["leafId"] == "b"


async def test_a_leaf_draft_moves_the_leaf_and_hangs_on_its_target(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("1", id="a"), user("2", id="b"))
    result = await peer.append(session_id, {"type": "leaf", "targetId": "a", "id": "move"}, user("3", id="c"))
    assert (result["leafId"], ids(result)) == ("c", ["move", "c"])
    move, c = await stored(peer, session_id, "move", "c")
    assert (move["parentId"], c["parentId"]) == ("a", "a")
    await peer.until(lambda client: client.seqs() == [1, 2, 3, 4])
    assert (await peer.append(session_id, {"type": "leaf", "targetId": None}))["leafId"] is None
    await peer.until(lambda client: bool(client.told("session/leafMoved")))
    assert peer.told("session/leafMoved")[-1] == {
        "sessionId": session_id, "leafId": None, "previousLeafId": "c", "logId": result["logId"], "seq": 5,
        "origin": peer.told("session/appended")[0]["origin"],
    }  # fmt: skip


# --- again -------------------------------------------------------------------------------------------------


async def test_a_retry_is_a_duplicate_with_its_old_seq_even_after_the_leaf_has_moved(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await started(daemon, cwd)
    drafts = [user("1", id="a"), user("2", id="b")]
    first = await peer.append(session_id, *drafts, expectedLeafId=None)
    await peer.append(session_id, user("3", id="c"))
    await peer.call("session/branch", sessionId=session_id, entryId="a")
    again = await peer.append(session_id, *drafts, expectedLeafId=None)
    assert (ids(again), statuses(again)) == (ids(first), ["duplicate"] * 2)
    assert [entry["seq"] for entry in again["entries"]] == [1, 2]
    assert (again["leafId"], again["lastSeq"]) == ("a", 4)
    assert len(peer.seqs()) == 4


async def test_a_retry_while_the_first_try_is_under_way_is_stored_once(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    other = await daemon.attach()
    draft = user("once", id="once")
    results = await asyncio.gather(
        *(who.append(session_id, draft) for _ in range(10) for who in (peer, other))
    )
    assert sorted(status for result in results for status in statuses(result)) == ["created"] + 19 * [
        "duplicate"
    ]
    assert {result["entries"][0]["seq"] for result in results} == {1}
    assert (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 1


async def test_a_retry_after_a_restart_is_still_a_duplicate(tmp_path: Path, cwd: str) -> None:
    drafts = [user("1", id="a"), assistant("2", id="b")]
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, *drafts)
    before = daemon.everything()
    async with running(tmp_path) as daemon:
        again = await (await daemon.attach()).append(session_id, *drafts)
        assert statuses(again) == ["duplicate"] * 2
    assert daemon.everything() == before


async def test_a_half_new_batch_stores_what_is_new(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("1", id="a"))
    result = await peer.append(session_id, user("1", id="a"), user("2", id="b"))
    assert statuses(result) == ["duplicate", "created"]
    assert (await stored(peer, session_id, "b"))[0]["parentId"] == "a"


@pytest.mark.parametrize(
    "other",
    [
        user("other", id="a"),
        assistant("one", id="a"),
        {**user("one", id="a"), "extra": 1},
        {"type": "message", "id": "a", "message": {"role": "user"}},
        {**user("one", id="a"), "parentId": "b"},
        {**user("one", id="a"), "timestamp": "2020-01-01T00:00:00.000Z"},
        {"type": "custom", "id": "a", "customType": "x"},
    ],
)
async def test_other_content_under_a_known_id_is_refused(memory: Running, cwd: str, other: Any) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("one", id="a"), user("two", id="b"))
    refused = await refusal(peer.append(session_id, user("new"), other))
    assert (refused.kind, refused.code) == ("idReused", 1409)
    assert (refused.details["entryId"], refused.details["seq"]) == ("a", 1)
    assert (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 2


async def test_an_entry_with_less_than_what_is_stored_is_other_content(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, {**user("one", id="a"), "extra": 1})
    assert (await refusal(peer.append(session_id, user("one", id="a")))).kind == "idReused"


async def test_an_id_twice_in_one_batch_is_refused(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    for second in (user("1", id="a"), user("2", id="a")):
        refused = await refusal(peer.append(session_id, user("1", id="a"), second))
        assert refused.kind == "invalidEntry"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (b'{"a":1,"b":[1,2]}', b'{ "b" : [1, 2], "a" : 1 }', True),
        (b'"\\u00e9"', '"é"'.encode(), True),
        (b"1.50", b"1.5", True),
        (b"1e400", b"1e400", True),
        (b"123456789012345678901234567890", b"123456789012345678901234567890 ", True),
        (b"[12345678901234567890123]", b"[ 12345678901234567890123 ]", True),
        (b"123456789012345678901234567890", b"123456789012345678901234567891", False),
        (b"1", b"true", False),
        (b"[0]", b"[false]", False),
        (b"null", b"false", False),
        (b'{"a":null}', b"{}", False),
        (b'"1"', b"1", False),
        (b"9" * 5000, b"9" * 5000 + b" ", True),
        (b"[" * 400 + b"]" * 400, b"[" * 400 + b" " + b"]" * 400, True),
    ],
)
async def test_content_is_the_same_when_its_values_are(
    memory: Running, cwd: str, first: bytes, second: bytes, same: bool
) -> None:
    peer, session_id = await started(memory, cwd)

    def draft(value: bytes) -> Raw:
        return Raw(b'{"type":"something_new","id":"a","data":[%b]}' % value)

    await peer.call("session/append", sessionId=session_id, entries=[draft(first)])
    again = peer.call("session/append", sessionId=session_id, entries=[draft(second)])
    if same:
        assert statuses(await again) == ["duplicate"]
    else:
        assert (await refusal(again)).kind == "idReused"


async def test_a_move_of_the_leaf_may_be_sent_again(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1", id="a"), user("2", id="b"), user("3", id="c"))
    move = {"type": "leaf", "targetId": "a", "id": "m", "parentId": "b"}
    assert statuses(await peer.append(session_id, move)) == ["created"]
    assert statuses(await peer.append(session_id, move)) == ["duplicate"]
    result = await peer.append(session_id, move, user("below a", id="d"))
    assert statuses(result) == ["duplicate", "created"]
    assert (await stored(peer, session_id, "d"))[0]["parentId"] == "a"


# --- order -------------------------------------------------------------------------------------------------


async def test_a_thousand_appends_of_eight_clients_to_a_closed_session_keep_each_clients_order(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("hello"), assistant("hi"))
    await close_everywhere(daemon, session_id)
    peers = [await daemon.attach() for _ in range(8)]
    reader = await daemon.attach()
    appends = [
        peers[number % 8].append(session_id, user(f"{number % 8}.{number // 8:03}")) for number in range(1000)
    ]
    opening = reader.call(
        "session/subscribe", sessionId=session_id, after=await reader.position(session_id, 2)
    )
    await asyncio.gather(opening, *appends)
    await reader.until(lambda client: client.seqs()[-1:] == [1002])
    assert reader.seqs() == list(range(3, 1003))
    said = [
        entry["message"]["content"] for note in reader.told("session/appended") for entry in entries_of(note)
    ]
    for number in range(8):
        own = [text for text in said if text.startswith(f"{number}.")]
        assert own == [f"{number}.{turn:03}" for turn in range(125)]


async def close_everywhere(daemon: Running, session_id: str) -> None:
    """Make the daemon let go of a session, as if nobody had used it for long; as a process it stays open."""
    if daemon.hub is not None:
        [live] = [session for session in daemon.hub.sessions.all() if session.session_id == session_id]
        live.holders.clear()
        await daemon.hub.sessions.close_session(live)
        assert daemon.hub.sessions.cached(session_id) is None


@pytest.mark.parametrize("bursts", [1, 3, 17])
async def test_newcomers_do_not_overtake_those_who_wait_for_a_session_to_open(
    memory: Running, cwd: str, bursts: int
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("hello"), assistant("hi"))
    await close_everywhere(memory, session_id)
    calls = []
    for number in range(200):
        calls.append(asyncio.ensure_future(peer.append(session_id, user(f"{number}"))))
        if number % bursts == 0:
            await asyncio.sleep(0)
    results = await asyncio.gather(*calls)
    assert [result["lastSeq"] for result in results] == list(range(3, 203))


async def test_replies_and_lines_come_in_the_order_of_the_log(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    for turn in range(5):
        calls = [peer.append(session_id, user("x"), durability=how) for how in ("synced", "written") * 10]
        results = await asyncio.gather(*calls)
        assert [result["lastSeq"] for result in results] == list(range(turn * 20 + 1, turn * 20 + 21))
    await peer.until(lambda client: client.seqs() == list(range(1, 101)))
    pairs = [text for text in peer.order if text in ("reply", "session/appended")][1:]
    assert pairs == ["reply", "session/appended"] * 100


# --- bytes -------------------------------------------------------------------------------------------------

AWKWARD = [
    b"1e400", b"-0", b"1.0", b"1.50", b"1E+2", b"123456789012345678901234567890",
    b"0.1000000000000000055511151231",
    b'"\\u00e9\\/\\ud83d\\ude00"', '"é\u2028\u2029\x7f😀"'.encode(), b'{"z":1,"a":2,"":3,"z ":4}',
    b'{"jsonrpc":"2.0"}', b"[[[[[[[]]]]]]]", b"null", b"true", b'""', b'"\\u0000"',
]  # fmt: skip


@pytest.mark.parametrize("value", AWKWARD)
@pytest.mark.parametrize("type_", ["custom", "message", "something_new", "bad", "other", "title", "ünknown"])
async def test_a_body_reaches_file_and_readers_byte_for_byte(
    memory: Running, cwd: str, value: bytes, type_: str
) -> None:
    peer, session_id = await started(memory, cwd)
    body = b'"customType":"x","message":{"role":"user","content":%b},"data":%b,"unknown":[%b]' % (
        (value,) * 3
    )
    draft = Raw(b'{"type":"%b","id":"a",%b}' % (type_.encode(), body))
    if (type_, value) == ("custom", b"1e400"):
        # Of a type that sessiond knows, every number is read, and no float holds this one.
        refused = await refusal(peer.call("session/append", sessionId=session_id, entries=[draft]))
        assert refused.kind == "invalidEntry"
        return
    result = await peer.call("session/append", sessionId=session_id, entries=[draft])
    assert statuses(result) == ["created"]
    _, line, _ = memory.files("drafts")[0].read_bytes().split(b"\n")
    assert line.endswith(b"," + body + b"}")
    raw = await peer.raw("session/entries", sessionId=session_id, entryIds=["a"])
    assert line in raw
    assert line in await peer.raw("session/path", sessionId=session_id)
    await peer.until(lambda client: len(client.bodies) == 1)
    assert line in peer.bodies[0]
    again = await peer.call("session/append", sessionId=session_id, entries=[draft])
    assert statuses(again) == ["duplicate"]
    tree = await peer.call("session/tree", sessionId=session_id, filter="all")
    assert [node["type"] for node in tree["nodes"]] == [type_]


async def test_an_indented_draft_becomes_one_line_and_its_values_stay(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    indented = Raw(b'{\n  "type": "custom",\n  "customType": "x",\n  "data": [\n 1.0,\r\n -0.0 ]\n}')
    await peer.call("session/append", sessionId=session_id, entries=[indented])
    lines = memory.files("drafts")[0].read_bytes().split(b"\n")
    assert len(lines) == 3
    assert lines[1].replace(b" ", b"").endswith(b'"data":[1.0,-0.0]}')


async def test_the_frame_of_an_entry_is_stored_as_the_client_sent_it(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("x", id="a", timestamp="1999-12-31T23:59:59.999Z"))
    [entry] = await stored(peer, session_id, "a")
    assert entry == {
        "type": "message", "id": "a", "parentId": None, "timestamp": "1999-12-31T23:59:59.999Z",
        "message": {"role": "user", "content": "x"},
    }  # fmt: skip


async def test_an_entry_without_an_id_gets_eight_hex_characters_and_the_present_time(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await started(memory, cwd)
    [name] = ids(await peer.append(session_id, user("x")))
    assert len(name) == 8
    assert set(name) <= set("0123456789abcdef")
    [entry] = await stored(peer, session_id, name)
    assert entry["timestamp"].endswith("Z")


# --- durability --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["synced", "written"])
async def test_an_acknowledged_entry_is_in_the_file(daemon: Running, cwd: str, durability: str) -> None:
    peer, session_id = await started(daemon, cwd)
    for number in range(20):
        await peer.append(session_id, user(f"{number}"), durability=durability)
        path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
        assert lines_of(path)[-1]["message"]["content"] == f"{number}"
    assert (await peer.call("session/flush", sessionId=session_id))["sessionCount"] in (0, 1)


async def test_a_flush_waits_for_every_append_before_it(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    answered: list[str] = []

    async def noting(name: str, call: Any) -> None:
        async with asyncio.timeout(BOUND):
            await call
        answered.append(name)

    appends = [noting("append", peer.append(session_id, user("x"), durability="written")) for _ in range(30)]
    await asyncio.gather(*appends, noting("flush", peer.call("session/flush", sessionId=session_id)))
    assert answered == ["append"] * 30 + ["flush"]


# --- compactions -------------------------------------------------------------------------------------------


def call(name: str, *calls: str) -> dict[str, Any]:
    blocks = [{"type": "toolCall", "id": text, "name": "read", "arguments": {}} for text in calls]
    return {"type": "message", "id": name, "message": {"role": "assistant", "content": blocks}}


def answer(name: str, to: str) -> dict[str, Any]:
    message = {"role": "toolResult", "toolCallId": to, "toolName": "read", "content": []}
    return {"type": "message", "id": name, "message": message}


def compaction(first_kept: str | None) -> dict[str, Any]:
    return {"type": "compaction", "summary": "so far", "firstKeptEntryId": first_kept, "tokensBefore": 1}


TALK = [user("1", id="u1"), call("c1", "t1", "t2"), answer("r1", "t1"), answer("r2", "t2"),
        assistant("done", id="a1"), user("2", id="u2")]  # fmt: skip


@pytest.mark.parametrize("kept", ["u1", "c1", "a1", "u2"])
async def test_a_compaction_that_keeps_whole_turns_is_stored(memory: Running, cwd: str, kept: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, *TALK)
    assert (await peer.append(session_id, compaction(kept)))["lastSeq"] == 7


@pytest.mark.parametrize("kept", ["r1", "r2"])
async def test_a_compaction_may_not_keep_a_result_without_its_call(
    memory: Running, cwd: str, kept: str
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, *TALK)
    refused = await refusal(peer.append(session_id, compaction(kept)))
    assert (refused.kind, refused.code, refused.details["rule"]) == ("wouldBreakTree", 1422, "noToolSplit")


@pytest.mark.parametrize("answered", [0, 1])
async def test_a_compaction_may_not_stand_between_a_call_and_its_result(
    memory: Running, cwd: str, answered: int
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, *TALK[: 2 + answered])
    refused = await refusal(peer.append(session_id, compaction("u1")))
    assert (refused.kind, refused.details["rule"]) == ("wouldBreakTree", "noToolSplit")
    await peer.append(session_id, *TALK[2 + answered :])
    await peer.append(session_id, compaction("u1"))


async def test_the_first_kept_entry_of_a_compaction_must_lie_on_its_path(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, *TALK)
    await peer.append(session_id, user("aside", id="s"), parentId="u1")
    for kept, parent in (("s", "u2"), ("u2", "s"), ("nobody", "u2")):
        refused = await refusal(peer.append(session_id, compaction(kept), parentId=parent))
        assert (refused.kind, refused.details["rule"]) == ("wouldBreakTree", "firstKeptOnPath")


async def test_a_compaction_is_judged_with_what_comes_before_it_in_its_batch(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await started(memory, cwd)
    refused = await refusal(peer.append(session_id, *TALK[:2], compaction("u1")))
    assert refused.kind == "wouldBreakTree"
    assert (await peer.append(session_id, *TALK, compaction("u2")))["lastSeq"] == 7


# --- what is not there -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "session_id", ["nothing-here", "../../etc/passwd", "nul\0nul-nul", "x" * 128, ".", "*"]
)
async def test_an_append_to_no_session_is_refused(memory: Running, session_id: str) -> None:
    peer = await memory.attach()
    results = await asyncio.gather(*(refusal(peer.append(session_id, user("x"))) for _ in range(5)))
    assert {result.kind for result in results} == {"sessionNotFound"}
    assert json.dumps(results[0].data)


@pytest.mark.parametrize("session_id", ["", "x" * 129, "x" * 10_000, 5, None])
async def test_a_text_that_cannot_be_an_id_is_refused(memory: Running, session_id: Any) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.append(session_id, user("x")))).kind == "invalidParams"


# --- what a refusal names ----------------------------------------------------------------------------------


async def test_a_conflict_names_a_leaf_that_can_be_read(daemon: Running, cwd: str) -> None:
    winner, session_id = await started(daemon, cwd)
    loser = await daemon.attach()
    leaf = (await winner.append(session_id, assistant("begun")))["leafId"]
    for number in range(40):
        won = asyncio.create_task(winner.append(session_id, user(f"{number}")))
        refused = await refusal(loser.append(session_id, user("too late"), expectedLeafId="nobody-yet"))
        assert refused.kind == "entryNotFound"
        refused = await refusal(loser.append(session_id, user("too late"), expectedLeafId=leaf))
        assert refused.kind == "leafConflict"
        named = refused.details["currentLeafId"]
        read = await loser.call("session/entries", sessionId=session_id, entryIds=[named])
        assert [entry["id"] for entry in entries_of(read)] == [named]
        assert refused.details["lastSeq"] == seqs_of(read)[0]
        await won


async def test_a_conflict_waits_until_the_line_that_won_is_committed(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        leaf = (await peer.append(session_id, assistant("begun")))["leafId"]
        other = await daemon.attach()
        with disk.hold("fdatasync"):
            won = asyncio.create_task(peer.append(session_id, user("wins")))
            lost = asyncio.create_task(
                refusal(other.append(session_id, user("loses"), expectedLeafId=leaf, durability="written"))
            )
            await peer.call("server/status")
            await other.call("server/status")
            assert not lost.done()
        assert (await lost).details["currentLeafId"] == (await won)["leafId"]


async def test_a_conflict_with_a_line_that_is_not_stored_fails_with_it(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        leaf = (await peer.append(session_id, assistant("begun")))["leafId"]
        disk.refuse("write", 1)
        won = asyncio.create_task(refusal(peer.append(session_id, user("wins"))))
        lost = asyncio.create_task(refusal(peer.append(session_id, user("loses"), expectedLeafId=leaf)))
        assert ((await won).kind, (await lost).kind) == ("storageFailed", "storageFailed")
        assert (await peer.append(session_id, user("again"), expectedLeafId=leaf))["lastSeq"] == 2


async def test_an_id_that_is_taken_by_a_line_under_way_is_refused_with_a_seq_that_can_be_read(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await started(memory, cwd)
    stored = asyncio.create_task(peer.append(session_id, {**user("first"), "id": "same"}))
    reused = asyncio.create_task(refusal(peer.append(session_id, {**user("second"), "id": "same"})))
    refused = await reused
    assert stored.done()
    assert (refused.kind, refused.details["seq"]) == ("idReused", (await stored)["lastSeq"])
