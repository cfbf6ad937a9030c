"""Continue-recent: each terminal finds its own session, and is told why."""

import asyncio
import os
import subprocess
from typing import Any

import pytest

from support.daemons import Peer, Running, assistant, refusal, user
from support.shared import terminal


async def answered(peer: Peer, cwd: str, **params: Any) -> str:
    """A new session with an answer in it; its id."""
    session_id = (await peer.call("session/create", cwd=cwd, **params))["session"]["sessionId"]
    await peer.append(session_id, user("hello"), assistant("hi"))
    return str(session_id)


async def test_a_terminal_goes_on_with_what_it_had_last(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    mine = await answered(peer, cwd, terminal=terminal("mine", cwd=cwd))
    await answered(peer, cwd)
    again = await daemon.attach()
    went = await again.call("session/continue", cwd=cwd, terminal=terminal("mine", cwd=cwd))
    assert (went["session"]["sessionId"], went["reason"]) == (mine, "breadcrumb")
    assert went["created"] is False
    await peer.append(mine, user("more"))
    await again.until(lambda client: client.seqs() == [3])


async def test_a_breadcrumb_of_another_folder_does_not_count(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    here = await answered(peer, cwd)
    await answered(peer, cwd + "-other", terminal=terminal("moved", cwd=cwd + "-other"))
    went = await peer.call("session/continue", cwd=cwd, terminal=terminal("moved", cwd=cwd))
    assert (went["session"]["sessionId"], went["reason"]) == (here, "recent")


async def test_a_breadcrumb_to_a_session_that_is_gone_is_passed_over(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    other = await answered(peer, cwd)
    session_id = (await peer.call("session/create", cwd=cwd, terminal=terminal("gone", cwd=cwd)))["session"]
    await peer.call("session/close", sessionId=session_id["sessionId"])
    went = await peer.call("session/continue", cwd=cwd, terminal=terminal("gone", cwd=cwd))
    assert (went["session"]["sessionId"], went["reason"]) == (other, "recent")


async def test_without_a_breadcrumb_the_newest_session_that_no_living_terminal_holds_is_taken(
    daemon: Running, cwd: str
) -> None:
    peer = await daemon.attach()
    free = await answered(peer, cwd)
    await asyncio.sleep(0.002)
    await answered(peer, cwd, terminal=terminal("holder", cwd=cwd, pid=os.getpid()))
    went = await peer.call("session/continue", cwd=cwd, terminal=terminal("second", cwd=cwd))
    assert (went["session"]["sessionId"], went["reason"]) == (free, "recent")


async def test_a_terminal_whose_process_is_gone_holds_nothing(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()
    left = await answered(peer, cwd, terminal=terminal("dead", cwd=cwd, pid=process.pid))
    went = await peer.call("session/continue", cwd=cwd, terminal=terminal("next", cwd=cwd))
    assert went["session"]["sessionId"] == left


def _ended() -> subprocess.Popen[bytes]:
    """A process that is dead, and still listed until somebody waits for it."""
    process = subprocess.Popen("true")
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    return process


async def test_a_terminal_whose_dead_process_nobody_buried_holds_nothing(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    with _ended() as process:
        left = await answered(peer, cwd, terminal=terminal("dead", cwd=cwd, pid=process.pid))
        went = await peer.call("session/continue", cwd=cwd, terminal=terminal("next", cwd=cwd))
    assert went["session"]["sessionId"] == left


@pytest.mark.parametrize("pid", [2**31 - 1, 2**31, 2**63, 2**100])
async def test_a_process_id_that_no_system_has_holds_nothing(memory: Running, cwd: str, pid: int) -> None:
    peer = await memory.attach()
    try:
        await answered(peer, cwd, terminal=terminal("odd", cwd=cwd, pid=pid))
    except Exception as error:  # noqa: BLE001 - to refuse it is as good
        assert getattr(error, "kind", "") == "invalidParams"  # noqa: PT017
    await peer.call("session/continue", cwd=cwd, terminal=terminal("next", cwd=cwd))


async def test_a_folder_without_a_free_session_gets_a_new_one(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    held = await answered(peer, cwd, terminal=terminal("first", cwd=cwd, pid=os.getpid()))
    went = await peer.call("session/continue", cwd=cwd, terminal=terminal("second", cwd=cwd))
    assert (went["created"], went["reason"], went["session"]["isDraft"]) == (True, "created", True)
    assert went["session"]["sessionId"] != held


async def test_without_create_a_held_session_is_better_than_none(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    nothing = await refusal(peer.call("session/continue", cwd=cwd, create=False))
    assert nothing.kind == "sessionNotFound"
    held = await answered(peer, cwd, terminal=terminal("first", cwd=cwd, pid=os.getpid()))
    went = await peer.call(
        "session/continue", cwd=cwd, create=False, terminal=terminal("second", cwd=cwd, pid=os.getpid())
    )
    assert (went["session"]["sessionId"], went["reason"]) == (held, "recent")


async def test_two_terminals_that_ask_at_once_get_two_sessions(daemon: Running, cwd: str) -> None:
    peers = [await daemon.attach() for _ in range(4)]
    await answered(peers[0], cwd)
    await answered(peers[0], cwd)
    went = await asyncio.gather(
        *(
            peer.call(
                "session/continue", cwd=cwd, terminal=terminal(f"at-once-{n}", cwd=cwd, pid=os.getpid())
            )
            for n, peer in enumerate(peers)
        )
    )
    assert len({notification["session"]["sessionId"] for notification in went}) == 4
    assert sorted(item["reason"] for item in went) == ["created", "created", "recent", "recent"]


async def test_the_terminal_of_the_handshake_counts_for_all_requests(daemon: Running, cwd: str) -> None:
    def hello() -> dict[str, Any]:
        return {"initializationOptions": {"sessiond": {"terminal": terminal("greeted", cwd=cwd)}}}

    peer = await daemon.attach()
    await peer.call("initialize", **hello())
    mine = await answered(peer, cwd)
    again = await daemon.attach()
    await again.call("initialize", **hello())
    went = await again.call("session/continue", cwd=cwd)
    assert (went["session"]["sessionId"], went["reason"]) == (mine, "breadcrumb")


@pytest.mark.parametrize("bad", ["", "../../x", "a/b", "nul\0", "new\nline", "new line", "x" * 200])
async def test_a_terminal_with_a_hostile_id_is_refused(memory: Running, cwd: str, bad: str) -> None:
    peer = await memory.attach()
    refused = await refusal(peer.call("session/create", cwd=cwd, terminal={"id": bad}))
    assert refused.kind == "invalidParams"
    assert not memory.files("drafts")


async def test_a_terminal_has_a_breadcrumb_for_each_folder(daemon: Running, cwd: str) -> None:
    peer, other = await daemon.attach(), cwd + "/other"
    here = terminal("both", cwd=cwd)
    mine = await answered(peer, cwd, terminal=here)
    there = await answered(peer, other, terminal=here)
    await answered(peer, cwd)
    await answered(peer, other)
    for folder, session_id in ((cwd, mine), (other, there), (cwd, mine)):
        went = await peer.call("session/continue", cwd=folder, terminal=here)
        assert (went["session"]["sessionId"], went["reason"]) == (session_id, "breadcrumb")


async def test_a_terminal_holds_a_session_in_each_folder(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    here, next_ = terminal("holds", cwd=cwd, pid=os.getpid()), terminal("next", cwd=cwd, pid=os.getpid())
    mine = await answered(peer, cwd, terminal=here)
    await answered(peer, cwd + "/other", terminal=here)
    went = await peer.call("session/continue", cwd=cwd, terminal=next_)
    assert went["session"]["sessionId"] != mine
    assert went["created"]


async def test_without_create_nothing_is_bound(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    older = await answered(peer, cwd)
    newer = await answered(peer, cwd)
    looks, next_ = (terminal(name, cwd=cwd, pid=os.getpid()) for name in ("looks", "next"))
    for _ in range(2):
        went = await peer.call("session/continue", cwd=cwd, create=False, terminal=looks)
        assert (went["session"]["sessionId"], went["reason"]) == (newer, "recent")
    assert (await peer.call("session/continue", cwd=cwd, terminal=next_))["session"]["sessionId"] == newer
    assert (await peer.call("session/continue", cwd=cwd, terminal=looks))["session"]["sessionId"] == older


async def test_without_create_a_session_can_be_bound_that_nobody_else_holds(
    daemon: Running, cwd: str
) -> None:
    peer = await daemon.attach()
    free = await answered(peer, cwd)
    writes, next_ = (terminal(name, cwd=cwd, pid=os.getpid()) for name in ("writes", "next"))
    went = await peer.call("session/continue", cwd=cwd, create=False, bind=True, terminal=writes)
    assert went["session"]["sessionId"] == free
    for _ in range(2):  # what another has is found, and left to it
        went = await peer.call("session/continue", cwd=cwd, create=False, bind=True, terminal=next_)
        assert (went["session"]["sessionId"], went["reason"]) == (free, "recent")
    went = await peer.call("session/continue", cwd=cwd, terminal=writes)
    assert went["reason"] == "breadcrumb"


async def test_to_open_a_session_only_to_look_at_it_binds_nothing(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    mine = await answered(peer, cwd, terminal=terminal("looks", cwd=cwd))
    other = await answered(peer, cwd)
    await peer.call("session/open", sessionId=other, terminal=terminal("looks", cwd=cwd), bind=False)
    went = await peer.call("session/continue", cwd=cwd, terminal=terminal("looks", cwd=cwd))
    assert went["session"]["sessionId"] == mine


async def test_without_a_terminal_the_newest_free_session_is_found_drafts_too(
    daemon: Running, cwd: str
) -> None:
    peer = await daemon.attach()
    await answered(peer, cwd)
    held = await answered(peer, cwd, terminal=terminal("holder", cwd=cwd, pid=os.getpid()))
    draft = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    went = await peer.call("session/continue", cwd=cwd)
    assert (went["session"]["sessionId"], went["reason"]) == (draft, "recent")
    await peer.append(draft, user("hello"), assistant("hi"))
    went = await peer.call("session/continue", cwd=cwd, create=False)
    assert went["session"]["sessionId"] == draft != held


async def test_without_a_terminal_several_calls_make_one_draft(daemon: Running, cwd: str) -> None:
    peers = [await daemon.attach() for _ in range(3)]
    went = [await peers[0].call("session/continue", cwd=cwd) for _ in range(3)]
    went += await asyncio.gather(*(peer.call("session/continue", cwd=cwd) for peer in peers))
    went += await asyncio.gather(*(peer.call("session/continue", cwd=cwd + "/other") for peer in peers))
    assert len({notification["session"]["sessionId"] for notification in went}) == 2
    assert [item["created"] for item in went].count(True) == 2


async def test_a_draft_of_a_script_is_not_given_to_a_terminal(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    draft = (await peer.call("session/continue", cwd=cwd))["session"]["sessionId"]
    went = await peer.call("session/continue", cwd=cwd, terminal=terminal("pane", cwd=cwd, pid=os.getpid()))
    assert went["created"]
    assert went["session"]["sessionId"] != draft


async def test_a_short_command_of_a_terminal_does_not_give_its_session_away(
    daemon: Running, cwd: str
) -> None:
    """A hook that runs in a session of its own (setsid) names itself as the terminal's process."""
    peer = await daemon.attach()
    process = await asyncio.create_subprocess_exec("sleep", "600")
    hook = terminal("pane", cwd=cwd, pid=process.pid)
    pane = terminal("pane", cwd=cwd, pid=os.getpid())
    mine = await answered(peer, cwd, terminal=hook)
    for item in (pane, hook, terminal("pane", cwd=cwd)):
        went = await peer.call("session/continue", cwd=cwd, terminal=item)
        assert went["session"]["sessionId"] == mine
    process.kill()
    await process.wait()
    went = await peer.call("session/continue", cwd=cwd, terminal=terminal("next", cwd=cwd))
    assert went["session"]["sessionId"] != mine


async def test_a_process_of_another_namespace_holds_nothing(daemon: Running, cwd: str) -> None:
    """Its id may be that of any process here; the start time tells that it is another one."""
    peer = await daemon.attach()
    inside = terminal("inside", cwd=cwd, pid=os.getpid()) | {"startTime": 1}
    left = await answered(peer, cwd, terminal=inside)
    went = await peer.call("session/continue", cwd=cwd, terminal=terminal("next", cwd=cwd))
    assert went["session"]["sessionId"] == left
    went = await peer.call("session/continue", cwd=cwd, terminal=inside)
    assert (went["session"]["sessionId"], went["reason"]) == (left, "breadcrumb")
