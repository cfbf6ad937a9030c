"""Program order: what one connection sends without waiting is answered as if each request had waited."""

import asyncio
import random
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from campaigns.order_model import Outcome, Plan, Step
from support.columns import entries_of, message_ids_of
from support.daemons import Mode, Peer, Refused, Running, assistant, refusal, running, user
from support.disk import Disk
from support.shared import started
from support.summarizers import SMALL, summarizing, talk

_numbers = count(1)


async def outcome(call: "asyncio.Future[Any]") -> Outcome:
    try:
        answer: Outcome = await call
    except Refused as refused:
        return refused.kind
    return answer


async def wrong(peer: Peer, steps: list[Step]) -> list[str]:
    """Send all requests without waiting, and say which answers are not those of the model."""
    calls = [peer.send(step.method, **step.params) for step in steps]
    found = []
    for number, (step, call) in enumerate(zip(steps, calls, strict=True)):
        problem = step.check(await outcome(call))
        if problem:
            found.append(f"{number} {step.method} {step.params}: {problem}")
    return found


@pytest.mark.slow
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)  # fmt: skip
@given(seed=st.integers(0, 1 << 32), length=st.integers(2, 120))
async def test_pipelined_requests_are_answered_as_if_each_had_waited_for_the_one_before(
    memory: Running, seed: int, length: int
) -> None:
    plan = Plan(random.Random(seed), f"order-model-{next(_numbers)}")
    peer = await memory.attach()
    assert await wrong(peer, list(plan.steps(length))) == []
    peer.connection.close()


@pytest.mark.parametrize("mode", ["socket", pytest.param("process", marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(4))
async def test_pipelined_requests_over_a_socket_are_answered_in_their_order(
    tmp_path: Path, mode: Mode, seed: int
) -> None:
    async with running(tmp_path, mode) as daemon:
        plan = Plan(random.Random(seed), "order-socket")
        for _ in range(3):
            assert await wrong(await daemon.attach(), list(plan.steps(150))) == []


# --- what follows a write ----------------------------------------------------------------------------------


async def test_every_request_after_an_append_sees_it(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, assistant("begun", id="m0"))
    for number in range(1, 31):
        name, on = f"m{number}", {"sessionId": session_id}
        peer.send("session/append", **on, entries=[user("x", id=name)])
        context = peer.send("session/context", **on)
        path = peer.send("session/path", **on)
        label = peer.send("session/label", **on, entryId=name, label="here")
        fork = peer.send("session/fork", **on, leafId=name)
        branched = peer.send("session/branch", **on, entryId=name)
        tree = peer.send("session/tree", **on, filter="labeledOnly")
        assert message_ids_of(await context)[-1] == name
        assert entries_of(await path)[-1]["id"] == name
        assert (await label)["recordId"]
        assert (await fork)["session"]["messageCount"] == number + 1
        assert (await branched)["leafId"] == name
        assert (await tree)["nodes"][-1]["id"] == name


async def test_a_session_is_created_and_written_to_without_waiting(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    calls = []
    for number in range(50):
        session_id = f"created-{cwd.rpartition('/')[2]}-{number}"
        peer.send("session/create", cwd=cwd, id=session_id)
        peer.send("session/subscribe", sessionId=session_id)
        calls.append(peer.send("session/append", sessionId=session_id, entries=[user("first")]))
        calls.append(peer.send("session/open", sessionId=session_id))
    results = await asyncio.gather(*calls)
    assert [
        answer["lastSeq"] if "lastSeq" in answer else answer["session"]["lastSeq"] for answer in results
    ] == [1] * 100


async def test_a_session_is_one_whether_it_is_named_by_its_id_or_its_path(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd, id="named-in-two-ways")
    path = (await peer.append(session_id, assistant("1"))) and str(memory.files()[0])
    for number in range(2, 12):
        peer.send("session/append", sessionId=session_id, entries=[user("x")])
        by_id = peer.send("session/info", sessionId=session_id)
        by_path = peer.send("session/open", path=path)
        assert (await by_id)["session"]["lastSeq"] == (await by_path)["session"]["lastSeq"] == number
    await peer.call("session/close", sessionId=session_id)
    memory.inside.hub.sessions.all()[0].used_at = 0
    opened = peer.send("session/open", path=path)
    peer.send("session/append", sessionId=session_id, entries=[user("x", id="after")])
    await opened
    await peer.until(lambda client: any("after" in str(note) for note in client.told("session/appended")))


async def test_requests_behind_a_write_that_fails_go_on_without_it(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, assistant("begun", id="m0"))
        disk.refuse("write", 1)
        failed = peer.send("session/append", sessionId=session_id, entries=[user("x", id="m1")])
        path = peer.send("session/path", sessionId=session_id)
        label = peer.send("session/label", sessionId=session_id, entryId="m1", label="x")
        assert (await refusal(failed)).kind == "storageFailed"
        assert [entry["id"] for entry in entries_of(await path)] == ["m0"]
        assert (await refusal(label)).kind == "entryNotFound"


async def test_requests_behind_a_creation_that_fails_are_told_that_the_session_is_not_there(
    memory: Running, cwd: str
) -> None:
    peer = await memory.attach()
    created = peer.send("session/create", cwd="not absolute", id="never-created")
    appended = peer.send("session/append", sessionId="never-created", entries=[user("x")])
    assert (await refusal(created)).kind == "invalidParams"
    assert (await refusal(appended)).kind == "sessionNotFound"


# --- what does not wait ------------------------------------------------------------------------------------


async def test_a_read_waits_only_for_the_writes_of_its_own_connection_and_session(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, assistant("1"))
        other, other_id = await started(daemon, cwd)
        await other.append(other_id, assistant("1"))
        with disk.hold("fdatasync"):
            appended = peer.send("session/append", sessionId=session_id, entries=[user("2")])
            behind = peer.send("session/info", sessionId=session_id)
            assert (await peer.call("session/info", sessionId=other_id))["session"]["lastSeq"] == 1
            assert (await other.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 1
            assert not behind.done()
        assert (await behind)["session"]["lastSeq"] == (await appended)["lastSeq"] == 2


async def test_pipelined_appends_with_labels_and_renames_among_them_share_their_syncs(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, assistant("1", id="m0"))
        before = disk.called["fdatasync"]
        calls = []
        for number in range(100):
            on = {"sessionId": session_id}
            calls.append(peer.send("session/append", **on, entries=[user("x", id=f"n{number}")]))
            calls.append(peer.send("session/label", **on, entryId=f"n{number}", label="x"))
            calls.append(peer.send("session/rename", **on, title=f"{number}"))
        await asyncio.gather(*calls)
        assert disk.called["fdatasync"] - before < 30


async def test_nothing_waits_for_a_summary(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd, turns=8)
    await summarizing(memory)  # it never answers
    compacting = peer.send("session/compact", sessionId=session_id, settings=SMALL)
    appended = await peer.append(session_id, user("goes on"))
    context = await peer.call("session/context", sessionId=session_id)
    assert message_ids_of(context)[-1] == appended["leafId"]
    assert not compacting.done()


# --- reads before writes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["session/context", "session/path", "session/export", "state/get"])
async def test_a_read_that_waits_for_room_does_not_see_what_was_appended_after_it(
    memory: Running, cwd: str, method: str
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, assistant("before", id="m1"))
    answers = memory.inside.memory_budget.answers
    await answers.enter(answers.size)
    more = {"format": "jsonl"} if method == "session/export" else {}
    read = peer.send(method, sessionId=session_id, **more)
    await peer.append(session_id, user("after", id="m2"))
    await peer.append(session_id, user("after", id="m3"))
    answers.leave(answers.size)
    assert "m2" not in str(await read)


@pytest.mark.parametrize("method", ["session/tree", "session/stats"])
async def test_a_write_waits_for_a_read_before_it_that_looks_at_the_whole_session(
    memory: Running, cwd: str, method: str
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, assistant("before", id="m1"))
    answers = memory.inside.memory_budget.answers
    await answers.enter(answers.size)
    read = peer.send(method, sessionId=session_id)
    appended = peer.send("session/append", sessionId=session_id, entries=[user("after", id="m2")])
    await peer.call("server/status")
    assert not appended.done()
    answers.leave(answers.size)
    answer = await read
    assert (answer["entryCount"] if method == "session/tree" else answer["treeStats"]["entryCount"]) == 1
    assert (await appended)["lastSeq"] == 2


async def test_a_session_is_not_deleted_while_an_earlier_read_still_needs_it(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, assistant("said", id="m1"))
    answers = memory.inside.memory_budget.answers
    await answers.enter(answers.size)
    read = peer.send("session/context", sessionId=session_id)
    deleted = peer.send("session/delete", sessionId=session_id)
    behind = peer.send("session/append", sessionId=session_id, entries=[user("too late")])
    await peer.call("server/status")
    assert not deleted.done()
    answers.leave(answers.size)
    assert message_ids_of(await read) == ["m1"]
    assert (await deleted)["sessionId"] == session_id
    assert (await refusal(behind)).kind == "sessionTrashed"


# --- while requests wait -----------------------------------------------------------------------------------


async def test_a_request_that_waits_for_its_turn_is_canceled_there(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, assistant("1"))
        with disk.hold("fdatasync"):
            written = peer.send("session/append", sessionId=session_id, entries=[user("2")])
            read = peer.send("session/path", sessionId=session_id)
            tagged = peer.send("session/tag", sessionId=session_id, add=["never"])
            behind = peer.send("session/append", sessionId=session_id, entries=[user("3")])
            await peer.call("server/status")
            for name in ("call-3", "call-4"):
                peer.connection.notify("$/cancelRequest", {"id": name})
            assert (await refusal(read)).kind == "canceled"
            assert (await refusal(tagged)).kind == "canceled"
            assert not behind.done()
        assert ((await written)["lastSeq"], (await behind)["lastSeq"]) == (2, 3)
        status = await peer.call("server/status")
        assert status["inFlightCount"] == 0
        assert (await peer.call("session/info", sessionId=session_id))["session"]["tags"] == []


async def test_the_writes_of_a_client_that_has_gone_take_effect_in_their_order(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, assistant("1"))
        with disk.hold("fdatasync"):
            calls = [
                peer.send("session/append", sessionId=session_id, entries=[user("2")]),
                peer.send("session/context", sessionId=session_id),
                peer.send("session/tag", sessionId=session_id, add=["kept"]),
                peer.send("session/append", sessionId=session_id, entries=[user("3", id="last")]),
            ]
            await peer.call("server/status")
            peer.connection.abort()
            await asyncio.gather(*calls, return_exceptions=True)
        other = await daemon.attach()
        first = (await other.call("session/subscribe", sessionId=session_id))["fromSeq"]
        await other.until(lambda client: first > 4 or 4 in client.seqs())
        info = await other.call("session/info", sessionId=session_id)
        assert (info["session"]["leafId"], info["session"]["tags"]) == ("last", ["kept"])
        assert (await other.call("server/status"))["inFlightCount"] == 0


async def test_more_requests_than_may_be_in_flight_are_all_answered_in_their_order(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await started(memory, cwd)
    calls = []
    for number in range(600):
        calls.append(peer.send("session/append", sessionId=session_id, entries=[user(f"{number}")]))
        calls.append(peer.send("session/info", sessionId=session_id))
    results = await asyncio.gather(*calls)
    assert [result["lastSeq"] for result in results[::2]] == list(range(1, 601))
    assert [result["session"]["lastSeq"] for result in results[1::2]] == list(range(1, 601))


async def test_requests_that_wait_when_the_daemon_drains_are_answered_once(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, assistant("1"))
        with disk.hold("fdatasync"):
            written = peer.send("session/append", sessionId=session_id, entries=[user("2")])
            read = peer.send("session/info", sessionId=session_id)
            tagged = peer.send("session/tag", sessionId=session_id, add=["t"])
            await peer.call("server/drain", timeoutMs=30_000)
        assert (await written)["lastSeq"] == (await read)["session"]["lastSeq"] == 2
        assert (await refusal(tagged)).kind == "draining"


async def test_requests_about_all_sessions_see_the_writes_before_them(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    for number in range(10):
        session_id = f"listed-{number}-at-once"
        peer.send("session/create", cwd=cwd, id=session_id)
        peer.send("session/append", sessionId=session_id, entries=[assistant("x"), user("y")])
        listed = peer.send("session/list", cwd=cwd)
        flushed = peer.send("session/flush")
        continued = peer.send("session/continue", cwd=cwd)
        assert len((await listed)["sessions"]) == number + 1
        assert (await continued)["session"]["sessionId"] == session_id
        await flushed


async def test_a_command_of_an_editor_sees_the_append_before_it(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    await peer.call("initialize", capabilities={}, processId=None, rootUri=None)
    peer.connection.notify("initialized", {})
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(session_id, assistant("begun"))
    for number in range(5):
        peer.send("session/append", sessionId=session_id, entries=[user("x", id=f"m{number}")])
        arguments = [{"sessionId": session_id, "entryId": f"m{number}", "label": "here"}]
        labeled = peer.send("workspace/executeCommand", command="sessiond.label", arguments=arguments)
        assert (await labeled)["recordId"]
