"""Two daemons on one store: one order, no loss, no double, whatever becomes of the connections to the store."""

import asyncio
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.hub import clock
from support.columns import seqs_of
from support.daemons import assistant, user
from support.linearizability import Append, Read, faults_of, find_order
from support.several_daemons import Member, several_daemons
from support.shared_store import Fault
from support.shared_work import Step, Work, lines_of, names_of

FAULTS: list[Fault | None] = [None, None, "lost before", "lost after", "late", "moved", "not sent"]

steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(["append", "append", "named", "expects", "repeats"]),
        st.integers(1, 3),
        st.integers(0, 6),
    ),
    max_size=4,
)
faults = st.lists(st.sampled_from(FAULTS), max_size=6)
plain = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


async def begin(members: Sequence[Member]) -> str:
    """A session that all have open. Returns its id."""
    made = await members[0].peer.call("session/create", cwd="/work/p")
    session_id: str = made["session"]["sessionId"]
    await members[0].peer.append(session_id, user("hello"), assistant("hi"))
    for member in members[1:]:
        await member.peer.call("session/open", sessionId=session_id)
    return session_id


async def settle(members: Sequence[Member], session_id: str) -> list[dict[str, Any]]:
    """Wait until all daemons have told everything, and have the same lines. Returns these."""
    for member in members:
        member.store.link.faults.clear()
        member.store.join()
    await members[0].peer.append(session_id, user("the end"))
    last = (await members[0].peer.call("session/info", sessionId=session_id))["session"]["lastSeq"]
    for member in members:
        await member.peer.until(lambda peer: bool(peer.seqs()) and peer.seqs()[-1] >= last)
    found = [await lines_of(member.peer, session_id) for member in members]
    assert all(row == found[0] for row in found)
    return found[0]


async def work_together(
    folder: Path, plans: Sequence[Sequence[Step]], lost: Sequence[Sequence[Fault | None]], cuts: Sequence[int]
) -> tuple[Work, list[dict[str, Any]], list[Read]]:
    """Let a client for each plan work on one session, every second one at the other daemon."""
    async with several_daemons(folder) as members:
        session_id = await begin(members)
        work = Work(session_id)
        for member, some in zip(members, lost, strict=False):
            member.store.link.faults.extend(some)
        peers = [await members[number % 2].attach() for number in range(len(plans))]
        clients = [
            asyncio.ensure_future(work.client(f"c{number}", peer, plan))
            for number, (peer, plan) in enumerate(zip(peers, plans, strict=True))
        ]
        for number, turns in enumerate(cuts):
            for _ in range(turns):
                await asyncio.sleep(0)
            members[number % 2].store.cut()
            for _ in range(turns):
                await asyncio.sleep(0)
            members[number % 2].store.join()
        await asyncio.gather(*clients)
        entries = await settle(members, session_id)
        assert all(above["id"] == entry["parentId"] for above, entry in itertools.pairwise(entries))
        texts = ["hello", "hi", *names_of(entries[2:])]
        reads = []
        for number, member in enumerate(members):
            told = [seq for note in member.peer.told("session/appended") for seq in seqs_of(note)]
            shown = [item["entry"] for note in member.peer.told("session/appended") for item in note["items"]]
            assert [entries[seq - 1] for seq in told] == shown
            shown_before = [] if told[0] == 1 else range(1, 3)
            reads.append(Read(f"d{number}", tuple((seq, texts[seq - 1]) for seq in [*shown_before, *told])))
        for peer in peers:
            peer.connection.close()
        return work, entries, reads


@plain
@given(
    plans=st.lists(steps, min_size=2, max_size=4),
    lost=st.tuples(faults, faults),
    cuts=st.lists(st.integers(1, 8), max_size=3),
)
def test_in_any_order_of_events_one_order_explains_all_answers(
    plans: list[list[Step]], lost: tuple[list[Fault | None], list[Fault | None]], cuts: list[int]
) -> None:
    moments = itertools.count(10**12)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # Each attempt to store an entry has a time of its own, so that they can be told apart.
        patch.setattr(clock, "timestamp", lambda: clock.iso(next(moments) * 1_000_000))
        work, entries, reads = asyncio.run(work_together(Path(folder), plans, lost, cuts))
    names = names_of(entries[2:])
    by_id = {entry["id"]: name for entry, name in zip(entries[2:], names, strict=True)} | {
        entries[1]["id"]: "hi"
    }
    first = [Append(("hello", "hi"), -2, -1, "stored", (1, 2))]
    history = [*first, *work.history(by_id)]
    assert find_order(history) is not None, history
    last = Append(("the end",), 10**9, 10**9 + 1, "stored", (len(entries),))
    assert faults_of([*history, last], reads, ["hello", "hi", *names]) == []
