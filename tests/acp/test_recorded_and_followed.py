"""A session that is recorded and whose agent's files are followed is one session, in which nothing stands twice."""

from pathlib import Path
from typing import Any

from sessiond.acp.recorder import SessionRecorder
from sessiond.acp.stored_sessions import RecordedAgent
from sessiond.session.dialects.import_builder import session_ids
from support.columns import entries_of
from support.daemons import Peer, running
from support.dialect_files import SESSION
from support.following import has, info, texts
from support.writing_agents import WritingClaude

CLAUDE = RecordedAgent("claude-code", "claude-code")


class Recording:
    """Records turns as the proxy does, without its process."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.it = SessionRecorder("claude-code", "key", None)

    async def begin(self) -> None:
        await self.peer.call("session/create", cwd="/srv", id=SESSION)
        marks = [CLAUDE.origin(SESSION), CLAUDE.mark(SESSION)]
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

    async def says(self, text: str) -> None:
        self.it.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
        self.it.close()
        await self._store()

    async def ends(self) -> None:
        self.it.ended({"stopReason": "end_turn"})
        await self._store()

    async def _store(self) -> None:
        drafts, self.it.drafts = self.it.drafts, []
        await self.peer.call("session/append", sessionId=SESSION, entries=drafts)


async def on_path(peer: Peer) -> list[str]:
    """The texts of the messages on the path to the leaf."""
    entries = entries_of(await peer.call("session/path", sessionId=SESSION))
    contents: list[Any] = [it["message"]["content"] for it in entries if it["type"] == "message"]
    return [it if isinstance(it, str) else it[0]["text"] for it in contents]


async def test_what_was_recorded_is_not_imported_again(agents_home: Path, tmp_path: Path) -> None:
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


async def test_a_file_is_not_read_while_a_turn_is_being_recorded(agents_home: Path, tmp_path: Path) -> None:
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        recording = Recording(peer)
        await recording.begin()
        await recording.asks("How are you?")
        claude = WritingClaude(agents_home)
        claude.asks("How are you?")
        claude.says("Fine.")
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        assert await texts(peer) == ["How are you?"]
        await recording.says("Fine.")
        await recording.ends()
        assert await texts(peer) == ["How are you?", "Fine."]
