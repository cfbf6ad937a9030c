"""The messages to clients when several daemons use one store (`protocol.md`, "Several daemons on one store")."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.session import moved_appends
from support.daemons import Peer, assistant, refusal, user
from support.several_daemons import Member, several_daemons
from support.shared_work import lines_of, names_of
from support.waiting import until


@pytest.fixture
async def members(tmp_path: Path) -> AsyncIterator[list[Member]]:
    async with several_daemons(tmp_path) as members:
        yield members


async def shared_session(members: Sequence[Member]) -> str:
    """A session with a question and an answer that a client of each daemon has open. Returns its id."""
    here, *others = members
    made = await here.peer.call("session/create", cwd="/work/p")
    session_id: str = made["session"]["sessionId"]
    await here.peer.append(session_id, user("hello", id="first"), assistant("hi", id="second"))
    for other in others:
        await other.peer.call("session/open", sessionId=session_id)
    return session_id


async def info(member: Member, session_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await member.peer.call("session/info", sessionId=session_id))["session"]
    return found


def origins(peer: Peer) -> list[str]:
    return [note["origin"]["kind"] for note in peer.told("session/appended")]


async def test_an_append_at_one_daemon_is_told_at_the_other_with_its_seq(members: list[Member]) -> None:
    here, there = members
    session_id = await shared_session(members)
    made = await there.peer.append(session_id, user("from there"))
    await here.peer.until(lambda peer: 3 in peer.seqs())
    assert [entry["seq"] for entry in made["entries"]] == [3]
    assert origins(here.peer)[-1] == "foreign"
    assert origins(there.peer) == ["client"]
    assert await lines_of(here.peer, session_id) == await lines_of(there.peer, session_id)


async def test_entries_of_both_have_one_order_and_each_is_below_the_one_before(members: list[Member]) -> None:
    session_id = await shared_session(members)
    appends = [
        member.peer.append(session_id, user(f"{number}"), user(f"{number} again"))
        for number in range(10)
        for member in members
    ]
    made = await asyncio.gather(*appends)
    assert sorted(entry["seq"] for answer in made for entry in answer["entries"]) == list(range(3, 43))
    for member in members:
        await until(lambda member=member: member.daemon.hub.sessions.cached(session_id).tree.committed == 43)  # type: ignore[misc]
    entries = await lines_of(members[0].peer, session_id)
    assert [entry["parentId"] for entry in entries[1:]] == [entry["id"] for entry in entries[:-1]]
    batches = list(zip(names_of(entries[2::2]), names_of(entries[3::2]), strict=True))
    assert all(second == f"{first} again" for first, second in batches)


async def test_an_expected_leaf_is_compared_with_what_all_daemons_have_stored(members: list[Member]) -> None:
    here, there = members
    session_id = await shared_session(members)
    there.store.link.delivers = False
    await here.peer.append(session_id, user("came first", id="third"))
    conflict = await refusal(there.peer.append(session_id, user("x"), expectedLeafId="second"))
    assert (conflict.kind, conflict.details["currentLeafId"], conflict.details["lastSeq"]) == (
        "leafConflict",
        "third",
        3,
    )
    assert (await there.peer.append(session_id, user("y"), expectedLeafId="third"))["entries"][0]["seq"] == 4


async def test_an_entry_that_another_daemon_has_just_stored_is_found(members: list[Member]) -> None:
    here, there = members
    session_id = await shared_session(members)
    there.store.link.delivers = False
    await here.peer.append(session_id, user("z", id="third"))
    made = await there.peer.append(session_id, user("below it"), parentId="third")
    assert made["entries"][0]["seq"] == 4
    assert (
        await refusal(there.peer.append(session_id, user("x"), parentId="nobody"))
    ).kind == "entryNotFound"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/label", {"entryId": "third", "label": "here"}),
        ("session/branch", {"entryId": "third"}),
        ("session/path", {"leafId": "third"}),
        ("session/context", {"leafId": "third"}),
        ("session/fork", {"leafId": "third"}),
    ],
)
async def test_every_request_finds_an_entry_that_another_daemon_has_just_stored(
    members: list[Member], method: str, params: dict[str, Any]
) -> None:
    here, there = members
    session_id = await shared_session(members)
    there.store.link.delivers = False
    await here.peer.append(session_id, user("z", id="third"))
    await there.peer.call(method, sessionId=session_id, **params)
    missing = {name: "nobody" if value == "third" else value for name, value in params.items()}
    assert (await refusal(there.peer.call(method, sessionId=session_id, **missing))).kind == "entryNotFound"


async def test_a_retry_at_another_daemon_is_a_duplicate(members: list[Member]) -> None:
    here, there = members
    session_id = await shared_session(members)
    there.store.link.delivers = False
    await here.peer.append(session_id, user("once", id="third"))
    again = await there.peer.append(session_id, user("once", id="third"))
    assert again["entries"] == [{"id": "third", "seq": 3, "status": "duplicate"}]
    assert (await refusal(there.peer.append(session_id, user("other", id="third")))).kind == "idReused"


async def test_a_command_takes_effect_once_whichever_daemon_receives_it(members: list[Member]) -> None:
    session_id = await shared_session(members)
    answers = await asyncio.gather(
        *(
            member.peer.call("session/rename", sessionId=session_id, title="T", commandId="c-1")
            for member in members
        )
    )
    assert len({answer["recordId"] for answer in answers}) == 1
    assert len(await lines_of(members[0].peer, session_id)) == 3


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("fault", ["lost before", "lost after", "late", "moved"])
async def test_a_lost_answer_is_resolved_and_stores_nothing_twice(
    members: list[Member], fault: Any, size: int
) -> None:
    here, there = members
    session_id = await shared_session(members)
    there.store.link.faults.extend([fault] * 3)
    texts = [[f"{number}-{place}" for place in range(size)] for number in range(3)]
    made = await asyncio.gather(*(there.peer.append(session_id, *map(user, batch)) for batch in texts))
    entries = [entry for answer in made for entry in answer["entries"]]
    last = 2 + 3 * size
    assert [entry["seq"] for entry in entries] == list(range(3, last + 1))
    assert {entry["status"] for entry in entries} == {"created"}
    await here.peer.until(lambda peer: last in peer.seqs())
    assert names_of((await lines_of(here.peer, session_id))[2:]) == [
        text for batch in texts for text in batch
    ]
    assert there.peer.seqs() == list(range(3, last + 1))
    assert set(origins(there.peer)) == {"client"}


@pytest.mark.parametrize("size", [1, 2])
async def test_an_append_that_was_sent_is_not_said_to_have_had_no_effect(
    members: list[Member], size: int
) -> None:
    here, there = members
    session_id = await shared_session(members)
    there.store.link.faults.extend(["late", "not sent"])
    made = await there.peer.append(session_id, *[user(f"{number}") for number in range(size)])
    assert [entry["seq"] for entry in made["entries"]] == list(range(3, 3 + size))
    await here.peer.until(lambda peer: 2 + size in peer.seqs())
    assert len(await lines_of(here.peer, session_id)) == 2 + size


async def test_an_outcome_that_stays_unknown_is_told_with_the_ids_to_repeat_it(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moved_appends, "RESOLVE_SECONDS", 0.0)
    here, there = members
    session_id = await shared_session(members)
    there.store.link.faults.append("cut")
    unknown = await refusal(there.peer.append(session_id, user("one"), user("two")))
    assert (unknown.kind, len(unknown.details["entryIds"])) == ("outcomeUnknown", 2)
    there.store.join()
    drafts = [user(text, id=id) for text, id in zip(("one", "two"), unknown.details["entryIds"], strict=True)]
    again = await there.peer.append(session_id, *drafts)
    assert [entry["seq"] for entry in again["entries"]] == [3, 4]
    await here.peer.until(lambda peer: 4 in peer.seqs())
    assert len(await lines_of(here.peer, session_id)) == 4


async def test_a_daemon_that_is_cut_off_says_so_and_serves_what_it_has(members: list[Member]) -> None:
    here, there = members
    session_id = await shared_session(members)
    there.store.cut()
    assert (await refusal(there.peer.append(session_id, user("x")))).kind == "storeUnreachable"
    session = await info(there, session_id)
    assert session["stale"] == "the connection is cut"
    assert session["writeBlock"]["reason"] == "storeUnreachable"
    for number in range(3):
        await here.peer.append(session_id, user(f"{number}"))
    assert len(await lines_of(there.peer, session_id)) == 2
    there.store.join()
    await there.peer.until(lambda peer: 5 in peer.seqs())
    assert there.peer.seqs() == [3, 4, 5]
    session = await info(there, session_id)
    assert (session["stale"], session["writeBlock"], session["lastSeq"]) == (None, None, 5)


async def test_ids_that_a_daemon_chooses_are_long_on_a_shared_store(members: list[Member]) -> None:
    session_id = await shared_session(members)
    made = await members[0].peer.append(session_id, user("a"), user("b"), advance=False)
    entries = await lines_of(members[0].peer, session_id)
    assert {len(entry["id"]) for entry in (*made["entries"], entries[-1])} == {16}


async def test_a_draft_stays_while_a_client_of_another_daemon_has_it(members: list[Member]) -> None:
    here, there = members
    made = await here.peer.call("session/create", cwd="/work/p")
    session_id = made["session"]["sessionId"]
    await there.peer.call("session/open", sessionId=session_id)
    assert (await here.peer.call("session/close", sessionId=session_id))["trashId"] is None
    await there.peer.append(session_id, user("still here"))
    assert await here.daemon.hub.repairs.trash_old_drafts(0) == 0
    assert (await there.peer.call("session/close", sessionId=session_id))["trashId"] is not None


async def test_a_session_that_another_daemon_has_trashed_is_closed(members: list[Member]) -> None:
    here, there = members
    session_id = await shared_session(members)
    await here.peer.call("session/delete", sessionId=session_id)
    there.store.hear({session_id})
    await there.peer.until(lambda peer: bool(peer.told("session/lagged")))
    assert (await refusal(there.peer.append(session_id, user("x")))).kind == "sessionTrashed"


async def test_one_daemon_at_a_time_compacts_a_session(members: list[Member]) -> None:
    here, there = members
    session_id = await shared_session(members)
    assert await here.store.claim(session_id, "compaction")
    busy = await refusal(there.peer.call("session/compact", sessionId=session_id))
    assert (busy.kind, "another daemon" in busy.message) == ("overloaded", True)
    await here.store.end_claim(session_id, "compaction")
    assert (await refusal(there.peer.call("session/compact", sessionId=session_id))).kind != "overloaded"
