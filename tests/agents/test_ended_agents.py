"""A session whose agent has ended, or was killed, says so at once, and no more when the agent goes on with it."""

import contextlib
import dataclasses
import json  # noqa: TID251 - an event as an agent writes it
import shlex
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessiond.agents.claude_code.processes import processes_of
from sessiond.agents.session_processes import NamedProcess
from sessiond.agents.table import AGENTS
from sessiond.client.board import state_of
from sessiond.hub.clock import iso, timestamp
from sessiond.hub.following.followed_agent import FollowedAgent
from sessiond.hub.following.session_ends import SessionEnds
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.protocol import types as t
from sessiond.rpc.process import start_time
from support import writing_opencode
from support.columns import entries_of
from support.daemons import Peer, running
from support.dialect_files import COPILOT, SESSION, meta, said
from support.dialects import jsonl
from support.following import has, info, until
from support.held_texts import HeldTexts
from support.session_holders import Holder, a_holder, register_claude
from support.writing_agents import WritingClaude, write_codex

QUESTION = "Where is the heron?"
THREAD = "0199a213-81c0-7800-8aa1-bbab2a035a53"
HOOK = """\
import sys
from sessiond.cli.commands import hook
hook.READ_SECONDS = hook.LAST_SECONDS = hook.RESPONSE_SECONDS = 60.0
hook.run(sys.argv[1])
"""
"""A hook with limits that a busy machine does not exceed."""


@pytest.fixture
def agent() -> Iterator[Holder]:
    with a_holder() as found:
        yield found


async def following(daemon: Any, *names: str) -> Peer:
    peer: Peer = await daemon.attach()
    await peer.call("agent/follow", agents=list(names), workDoneToken="follow")
    return peer


async def ended_is(peer: Peer, wanted: bool, session: str = SESSION) -> None:
    """Wait until a session says that no process has it, or that one may have it."""

    async def found() -> bool:
        sessions = (await peer.call("session/resolve", query=session))["sessions"]
        return bool(sessions) and (await info(peer, session))["origin"]["ended"] is wanted

    await until(found)


async def ends(peer: Peer, session: str = SESSION) -> int:
    """How many entries of a session say that it has ended."""
    entries = entries_of(await peer.call("session/entries", sessionId=session, limit=1_000))
    return sum(
        entry.get("customType") == "sessiond.originState" and "ended" in entry["data"] for entry in entries
    )


async def state(peer: Peer, session: str = SESSION) -> str:
    """The state of a session on the board."""
    rows = (await peer.call("session/list", includeDrafts=True))["sessions"]
    [row] = [row for row in rows if row["sessionId"] == session]
    return state_of(msgspec.convert(row, t.ListedSession), time.time())


def now() -> str:
    return iso(time.time_ns())


@contextlib.asynccontextmanager
async def at_work(
    agents_home: Path, folder: Path, agent: Holder
) -> AsyncIterator[tuple[WritingClaude, Peer]]:
    """A followed Claude Code in the middle of a turn, whose process is `agent`."""
    claude = WritingClaude(agents_home)
    claude.asks(QUESTION, timestamp=now())
    register_claude(agents_home, claude.session, agent.pid)
    async with running(folder / "home") as daemon:
        peer = await following(daemon, "claude-code")
        await has(peer, QUESTION)
        yield claude, peer


async def test_a_killed_claude_code_is_stopped_at_once_and_works_again_when_it_is_resumed(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    async with at_work(agents_home, tmp_path, agent) as (claude, peer):
        assert await state(peer) == "working"
        agent.kill()
        await ended_is(peer, True)
        assert await state(peer) == "stopped"
        claude.asks("And the owl?", timestamp=now())
        await has(peer, "And the owl?")
        await ended_is(peer, False)
        assert await state(peer) == "working"


async def test_the_last_lines_of_a_killed_agent_are_read_before_its_end(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    async with at_work(agents_home, tmp_path, agent) as (claude, peer):
        claude.says("In the reeds.")
        claude.asks("And the owl?")
        agent.kill()
        await ended_is(peer, True)
        await has(peer, "And the owl?")
        assert (await info(peer))["origin"]["ended"]


async def test_an_answer_of_an_ended_agent_waits_for_nobody(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks(QUESTION, timestamp=now())
    claude.says("In the reeds.", timestamp=now())
    register_claude(agents_home, claude.session, agent.pid)
    async with running(tmp_path / "home") as daemon:
        peer = await following(daemon, "claude-code")
        await has(peer, "In the reeds.")
        assert await state(peer) == "waiting"
        agent.kill()
        await ended_is(peer, True)
        assert await state(peer) == "stopped"


async def test_the_subagents_of_a_killed_agent_have_ended_too(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks(QUESTION)
    below = WritingClaude(agents_home, session="agent-a1")
    below.path = claude.path.with_suffix("") / "subagents/agent-a1.jsonl"
    below.asks("Look into the reeds.", agentId="a1", isSidechain=True)
    register_claude(agents_home, claude.session, agent.pid)
    async with running(tmp_path / "home") as daemon:
        peer = await following(daemon, "claude-code")
        sessions = (await peer.call("session/list", includeDrafts=True))["sessions"]
        assert len(sessions) == 2
        agent.kill()
        for session in sessions:
            await ended_is(peer, True, session["sessionId"])


@pytest.mark.slow
async def test_an_agent_that_was_killed_while_no_daemon_ran_has_ended(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks(QUESTION)
    register_claude(agents_home, claude.session, agent.pid)
    async with running(tmp_path / "home", "process") as daemon:
        await has(await following(daemon, "claude-code"), QUESTION)
    agent.kill()
    claude.asks("And the owl?")
    async with running(tmp_path / "home", "process") as daemon:
        peer = await daemon.attach()
        await has(peer, "And the owl?")
        await ended_is(peer, True)


async def test_a_process_with_the_id_of_a_killed_agent_is_not_the_agent(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks(QUESTION)
    register_claude(agents_home, claude.session, agent.pid, started=1)
    async with running(tmp_path / "home") as daemon:
        await ended_is(await following(daemon, "claude-code"), True)


def test_the_processes_of_another_machine_or_container_are_not_believed(
    agents_home: Path, agent: Holder
) -> None:
    claude = WritingClaude(agents_home)
    file = register_claude(agents_home, claude.session, agent.pid)
    [found] = processes_of(str(claude.path))
    assert found.pid == agent.pid
    register_claude(agents_home, claude.session, agent.pid, domain="linux:0123:pid:[4026531836]")
    assert processes_of(str(claude.path)) == []
    for damaged in ("[]", "{", '{"sessionId":7}', "[" * 100_000):
        file.write_text(damaged, encoding="utf-8")
        assert processes_of(str(claude.path)) == []


async def test_a_session_that_a_running_agent_has_left_for_another_has_ended(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    async with at_work(agents_home, tmp_path, agent) as (_, peer):
        second = WritingClaude(agents_home, session="9d30d5b6-0000-4000-8000-000000000002")
        register_claude(agents_home, second.session, agent.pid)
        second.asks("And the owl?")
        await has(peer, "And the owl?", second.session)
        await ended_is(peer, True)
        await ended_is(peer, False, second.session)


async def test_a_session_that_a_second_process_has_goes_on_when_the_first_is_killed(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    async with at_work(agents_home, tmp_path, agent) as (claude, peer):
        with a_holder() as second:
            register_claude(agents_home, claude.session, second.pid)
            agent.kill()
            claude.asks("And the owl?")
            await has(peer, "And the owl?")
            assert not (await info(peer))["origin"]["ended"]
            second.kill()
            await ended_is(peer, True)
        assert await ends(peer) == 1


async def test_a_killed_codex_that_held_the_lock_of_its_thread_has_ended(
    agents_home: Path, tmp_path: Path
) -> None:
    lock = agents_home / f".codex/thread-writer-locks/{THREAD}.lock"
    lock.parent.mkdir(parents=True)
    with a_holder("lock", str(lock)) as codex:
        write_codex(agents_home, meta(id=THREAD), said("user", QUESTION), name=THREAD)
        async with running(tmp_path / "home") as daemon:
            peer = await following(daemon, "codex")
            await has(peer, QUESTION, THREAD)
            codex.kill()
            await ended_is(peer, True, THREAD)


async def test_a_killed_copilot_that_held_the_lock_of_its_session_has_ended(
    agents_home: Path, tmp_path: Path
) -> None:
    folder = agents_home / ".copilot/session-state" / SESSION
    folder.mkdir(parents=True)
    with a_holder("lock", str(folder / "inuse.1.hold")) as copilot:
        (folder / "events.jsonl").write_bytes(jsonl(*COPILOT))
        async with running(tmp_path / "home") as daemon:
            peer = await following(daemon, "copilot")
            [found] = (await peer.call("session/list", includeDrafts=True))["sessions"]
            assert not found["origin"]["ended"]
            copilot.kill()
            await ended_is(peer, True, found["sessionId"])


async def test_the_sessions_of_a_database_have_ended_when_no_process_has_it_open(
    agents_home: Path, tmp_path: Path
) -> None:
    database = agents_home / ".local/share/opencode/opencode.db"
    with a_holder("database", str(database)) as opencode:
        async with running(tmp_path / "home") as daemon:
            peer = await following(daemon, "opencode")
            await has(peer, QUESTION, writing_opencode.SESSION)
            assert not (await info(peer, writing_opencode.SESSION))["origin"]["ended"]
            opencode.kill()
            await ended_is(peer, True, writing_opencode.SESSION)


@pytest.mark.slow
async def test_an_agent_whose_hook_named_it_has_ended_when_it_is_killed(
    agents_home: Path, tmp_path: Path
) -> None:
    """Nothing that Gemini CLI writes names its process. A shell runs its hook."""
    file = agents_home / ".gemini/tmp/work/chats/session-2026-01-01T00-00-9d30d5b6.jsonl"
    file.parent.mkdir(parents=True)
    head = {"sessionId": SESSION, "projectHash": "0", "startTime": timestamp(), "kind": "main"}
    file.write_bytes(jsonl(head, {"id": "m1", "timestamp": timestamp(), "type": "user", "content": QUESTION}))
    event = json.dumps({"hook_event_name": "BeforeAgent", "transcript_path": str(file)})
    async with running(tmp_path / "home", "process") as daemon:
        peer = await following(daemon, "gemini")
        await has(peer, QUESTION)
        words = ["env", f"SESSIOND_HOME={tmp_path / 'home'}", sys.executable, "-c", HOOK, "gemini"]
        with a_holder("hook", shlex.join(words), event) as gemini:
            assert not (await info(peer))["origin"]["ended"]
            gemini.kill()
            await ended_is(peer, True)


async def test_a_session_that_its_agent_says_to_end_has_ended_though_the_agent_runs(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks(QUESTION)
    process = {"pid": agent.pid, "startTime": start_time(agent.pid)}
    async with running(tmp_path / "home") as daemon:
        peer = await following(daemon, "claude-code")
        await has(peer, QUESTION)
        hook = {"agent": "claude-code", "path": str(claude.path), **process}
        await peer.call("agent/wake", **hook)
        await peer.call("agent/wake", **hook, ended=True)
        await ended_is(peer, True)
        agent.kill()
        claude.asks("And the owl?")
        await has(peer, "And the owl?")
        await ended_is(peer, False)
        assert await ends(peer) == 1


async def test_a_hook_names_the_process_of_a_session_in_a_database(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    opencode = writing_opencode.WritingOpenCode(agents_home / ".local/share/opencode/opencode.db")
    opencode.begins()
    opencode.asks(QUESTION)
    opencode.says("In the reeds.")
    opencode.close()
    async with running(tmp_path / "home") as daemon:
        peer = await following(daemon, "opencode")
        await has(peer, QUESTION, writing_opencode.SESSION)
        process = {"pid": agent.pid, "startTime": start_time(agent.pid)}
        await peer.call("agent/wake", agent="opencode", sessionId=writing_opencode.SESSION, **process)
        agent.kill()
        await ended_is(peer, True, writing_opencode.SESSION)


async def test_an_automated_run_that_ended_after_its_answer_gets_no_further_lines(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks(QUESTION, entrypoint="sdk-cli")
    claude.says("In the reeds.", entrypoint="sdk-cli")
    other = WritingClaude(agents_home, session="9d30d5b6-0000-4000-8000-000000000002")
    other.asks("And the owl?")
    for item in (claude, other):
        register_claude(agents_home, item.session, agent.pid, name=item.session)
    async with running(tmp_path / "home") as daemon:
        peer = await following(daemon, "claude-code")
        assert (await info(peer))["origin"]["automated"]
        agent.kill()
        await ended_is(peer, True, other.session)
        assert await ends(peer) == 0


class _Records:
    """The part of the exchange that tells which session a source has: none."""

    async def imports(self) -> Any:
        return self

    @property
    def records(self) -> Any:
        return self

    def find(self, _paths: list[str], _dialect: None) -> dict[str, Any]:
        return {}


async def _read_nothing(_followed: FollowedAgent, _path: str) -> None:
    pass


def ends_of_sources() -> SessionEnds:
    no_sessions: Any = None
    records: Any = _Records()
    return SessionEnds(no_sessions, records, _read_nothing, lambda: None)


def followed_gemini() -> FollowedAgent:
    sources: Any = None
    return FollowedAgent(AGENTS["gemini"], sources)


def hook(agent: Holder, path: str, *, ended: bool = False) -> t.AgentWakeParams:
    return t.AgentWakeParams(
        agent="gemini", path=path, pid=agent.pid, start_time=start_time(agent.pid), ended=ended
    )


def watched_processes(pid: int | str = "self") -> int:
    """The number of processes whose end a process waits for."""
    names = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            names.append(str(descriptor.readlink()))
    return sum("pidfd" in name for name in names)


async def test_nothing_is_kept_of_a_source_whose_agent_says_that_it_has_ended(agent: Holder) -> None:
    ends, followed, held = ends_of_sources(), followed_gemini(), HeldTexts()
    for number in range(50):
        ends.note_hook(followed, hook(agent, held.text(f"/chats/{number}.jsonl")))
    assert len(held) == 50
    for number in range(50):
        ends.note_hook(followed, hook(agent, f"/chats/{number}.jsonl", ended=True))
    assert len(held) == 0
    ends.close()


async def test_the_sources_of_an_agent_that_is_not_followed_any_more_are_not_watched(agent: Holder) -> None:
    ends, followed, again = ends_of_sources(), followed_gemini(), followed_gemini()
    ends.note_hook(followed, hook(agent, "/chats/1.jsonl"))
    ends.follow({"gemini": again})  # with another folder
    agent.kill()

    async def is_noted() -> bool:
        return again.unwatched == {"/chats/1.jsonl": True}

    await until(is_noted)
    assert followed.unwatched == {}
    with a_holder() as second:
        held = HeldTexts()
        ends.note_hook(again, hook(second, held.text("/chats/2.jsonl")))
        assert (len(held), watched_processes()) == (1, 1)
        ends.follow({})
        assert (len(held), watched_processes()) == (0, 0)


async def test_sources_that_were_written_after_their_end_are_forgotten_in_the_end(agent: Holder) -> None:
    agent.kill()
    sources: Any = None
    followed = FollowedAgent(
        dataclasses.replace(AGENTS["gemini"], processes=lambda _path: [NamedProcess(agent.pid)]), sources
    )
    ends = ends_of_sources()
    for number in range(1_500):
        path = f"/chats/{number}.jsonl"
        followed.ended[path] = 1
        assert await ends.record_end(followed, 0.0)
        ends.note_read(
            followed, path, FileStatus(device=1, inode=number, size=1, modified_ns=2, changed_ns=2)
        )
    for number in (499, 500, 1_499):  # is the process that the agent names the one that had ended before?
        followed.unwatched[f"/chats/{number}.jsonl"] = False
        assert await ends.find_processes(followed, 0.0)
    assert set(followed.ended) == {"/chats/499.jsonl"}


async def test_a_daemon_that_does_not_follow_an_agent_any_more_watches_no_process_of_it(
    agents_home: Path, tmp_path: Path, agent: Holder
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks(QUESTION, timestamp=now())
    register_claude(agents_home, claude.session, agent.pid)
    async with running(tmp_path / "home", "process") as daemon:
        peer = await following(daemon, "claude-code")
        pid = (await peer.call("server/status"))["pid"]

        async def is_watched() -> bool:
            return watched_processes(pid) > 0

        await until(is_watched)
        await peer.call("agent/unfollow", agents=["claude-code"])

        async def is_not_watched() -> bool:
            return not await is_watched()

        await until(is_not_watched)
