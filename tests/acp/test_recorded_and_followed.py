"""A session that is recorded and whose agent's files are followed is one session, in which nothing stands twice."""

from pathlib import Path
from typing import Any

import pytest

from sessiond.acp.recorder import SessionRecorder
from sessiond.acp.stored_sessions import RecordedAgent
from sessiond.hub.following import follower
from sessiond.session.dialects.import_builder import session_ids
from support.columns import entries_of
from support.daemons import Peer, running
from support.dialect_files import SESSION
from support.dialects import jsonl
from support.following import has, info, texts, until
from support.writing_agents import WritingClaude

CLAUDE = RecordedAgent("claude-code", "claude-code")
GEMINI = RecordedAgent("gemini", "gemini")


class Recording:
    """Records turns as the proxy does, without its process."""

    def __init__(self, peer: Peer, agent: RecordedAgent = CLAUDE) -> None:
        self.peer = peer
        self.agent = agent
        self.it = SessionRecorder("claude-code", "key", None)

    async def begin(self) -> None:
        await self.peer.call("session/create", cwd="/srv", id=SESSION)
        marks = [self.agent.origin(SESSION), self.agent.mark(SESSION)]
        await self.peer.call("session/append", sessionId=SESSION, entries=marks, advance=False)

    async def go_on(self) -> None:
        """Begin in a session that was read from the agent's file."""
        self.it = SessionRecorder("claude-code", "key", (await info(self.peer))["leafId"])
        await self.peer.call(
            "session/append", sessionId=SESSION, entries=[CLAUDE.mark(SESSION)], advance=False
        )

    async def asks(self, text: str) -> None:
        self.it.prompt({"prompt": [{"type": "text", "text": text}]})
        await self._store()

    async def says(self, text: str, message_id: str | None = None) -> None:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self.it.update({**update, "messageId": message_id})
        self.it.close()
        await self._store()

    async def ends(self, **result: Any) -> None:
        self.it.ended({"stopReason": "end_turn", **result})
        await self._store()

    async def _store(self) -> None:
        drafts, self.it.drafts = self.it.drafts, []
        await self.peer.call("session/append", sessionId=SESSION, entries=drafts)


async def on_path(peer: Peer) -> list[str]:
    """The texts of the messages on the path to the leaf."""
    entries = entries_of(await peer.call("session/path", sessionId=SESSION))
    contents: list[Any] = [entry["message"]["content"] for entry in entries if entry["type"] == "message"]
    return [content if isinstance(content, str) else content[0]["text"] for content in contents]


async def test_recorded_messages_are_not_imported_again(agents_home: Path, tmp_path: Path) -> None:
    assert session_ids("claude-code", SESSION)[0] == SESSION
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        recording = Recording(peer)
        await recording.begin()
        await recording.asks("How are you?")
        await recording.says("Fine.")
        await recording.ends()
        claude = WritingClaude(agents_home)
        claude.asks("How are you?")
        claude.says("Fine.")
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        assert await texts(peer) == ["How are you?", "Fine."]
        assert len((await peer.call("session/list"))["sessions"]) == 1


async def test_a_file_that_is_read_while_its_recording_begins_makes_no_second_session(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "RECORDED_SECONDS", 0.1)
    claude = WritingClaude(agents_home)
    claude.asks("How are you?")
    claude.says("Fine.")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("session/create", cwd="/srv", id=SESSION)
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        marks = [CLAUDE.origin(SESSION), CLAUDE.mark(SESSION)]
        await peer.call("session/append", sessionId=SESSION, entries=marks, advance=False)
        await has(peer, "Fine.")
        listed = (await peer.call("session/list", includeDrafts=True))["sessions"]
        assert [session["sessionId"] for session in listed] == [SESSION]


async def test_turns_that_the_agent_makes_elsewhere_continue_the_recorded_conversation(
    agents_home: Path, tmp_path: Path
) -> None:
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        recording = Recording(peer)
        await recording.begin()
        await recording.asks("How are you?")
        await recording.says("Fine.")
        await recording.ends()
        claude = WritingClaude(agents_home)
        claude.asks("How are you?")
        claude.says("Fine.")
        claude.asks("And in the terminal?")
        claude.says("Still fine.")
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        await has(peer, "Still fine.")
        assert await on_path(peer) == ["How are you?", "Fine.", "And in the terminal?", "Still fine."]


async def test_a_file_that_gemini_begins_anew_moves_no_leaf_of_a_recorded_session(
    agents_home: Path, tmp_path: Path
) -> None:
    at = "2026-01-01T00:00:00.000Z"
    head = {"sessionId": SESSION, "projectHash": "p", "startTime": at, "lastUpdated": at, "kind": "main"}

    def context(day: str) -> dict[str, Any]:
        text = f"<session_context>\nThis is the Gemini CLI. Today is {day}."
        message = {"id": f"context-{day}", "timestamp": at, "type": "user", "content": [{"text": text}]}
        return {"$set": {"messages": [message]}}

    chats = agents_home / ".gemini/tmp/atlas/chats"
    chats.mkdir(parents=True)
    (chats / "session-2026-01-01T00-00-11111111.jsonl").write_bytes(jsonl(head, context("Thursday")))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        recording = Recording(peer, GEMINI)
        await recording.begin()
        await recording.asks("How are you?")
        await recording.says("Fine.")
        await recording.ends()
        await peer.call("agent/follow", agents=["gemini"], workDoneToken="first")
        await until(lambda: _has_entry(peer, "context-Thursday"))
        assert await on_path(peer) == ["How are you?", "Fine."]
        (chats / "session-2026-01-02T00-00-11111111.jsonl").write_bytes(jsonl(head, context("Friday")))
        await until(lambda: _has_entry(peer, "context-Friday"))
        assert await on_path(peer) == ["How are you?", "Fine."]


async def _has_entry(peer: Peer, entry_id: str) -> bool:
    return any(
        entry["id"] == entry_id for entry in entries_of(await peer.call("session/entries", sessionId=SESSION))
    )


async def test_a_followed_session_that_is_recorded_later_has_each_message_once(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("How are you?")
    claude.says("Fine.")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        recording = Recording(peer)
        await recording.go_on()
        await recording.asks("And in the editor?")
        await recording.says("Fine, too.")
        await recording.ends()
        claude.asks("And in the editor?")
        claude.says("Fine, too.")
        claude.asks("Back in the terminal?")
        claude.says("Well.")
        await has(peer, "Well.")
        assert await on_path(peer) == [
            "How are you?", "Fine.", "And in the editor?", "Fine, too.", "Back in the terminal?", "Well.",
        ]  # fmt: skip
        assert len(await texts(peer)) == 6


async def test_a_file_is_not_read_while_a_turn_is_being_recorded_and_soon_after_its_end(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "RECORDED_SECONDS", 0.1)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        recording = Recording(peer)
        recording.it.counts_usage = False
        await recording.begin()
        await recording.asks("How are you?")
        claude = WritingClaude(agents_home)
        claude.asks("How are you?")
        claude.says("Fine.", usage={"input_tokens": 20, "output_tokens": 8})
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        assert await texts(peer) == ["How are you?"]
        await recording.says("Fine.")
        await recording.ends()
        await until(lambda: _counts(peer, (1, 20, 8)))
        assert await texts(peer) == ["How are you?", "Fine."]


async def tokens(peer: Peer) -> tuple[int, int, int]:
    """The requests that count, with their tokens in and out."""
    total = (await peer.call("usage/report", waitMs=60_000))["total"]
    return total["requestCount"], total["tokens"]["input"], total["tokens"]["output"]


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("is_followed", [True, False])
async def test_the_tokens_of_a_turn_count_once(
    is_followed: bool, has_ids: bool, agents_home: Path, tmp_path: Path
) -> None:
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        recording = Recording(peer)
        recording.it.counts_usage = not is_followed
        await recording.begin()
        claude = WritingClaude(agents_home)
        for question, answer in (("How are you?", "Fine."), ("And now?", "Still fine.")):
            claude.asks(question)
            own = claude.says(answer, usage={"input_tokens": 20, "output_tokens": 8})
            await recording.asks(question)
            await recording.says(answer, own if has_ids else None)
            await recording.ends(usage={"inputTokens": 30, "outputTokens": 9})
        claude.asks("And in the terminal?")
        claude.says("Well.", usage={"input_tokens": 7, "output_tokens": 1})
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        await has(peer, "Well.")
        expected = (3, 47, 17) if is_followed else (3, 67, 19)
        await until(lambda: _counts(peer, expected))
        claude.asks("Again?")
        claude.says("Again.", usage={"input_tokens": 1, "output_tokens": 1})
        await has(peer, "Again.")
        await until(lambda: _counts(peer, (4, expected[1] + 1, expected[2] + 1)))
        assert len(await texts(peer)) == 8


async def _counts(peer: Peer, expected: tuple[int, int, int]) -> bool:
    return await tokens(peer) == expected
