"""Nothing is said to be found nowhere before all that followed agents wrote was read."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.following import agent_watches, follower
from sessiond.hub.transfer import foreign_files
from sessiond.paths import find_locations
from support.commands import Shell
from support.daemons import Peer, running
from support.dialect_files import SESSION, meta, said
from support.following import has, until
from support.mcp_clients import McpClient, an_mcp_client
from support.writing_agents import WritingClaude, write_codex

NOTHING = {"sessionCount": 0, "sizeBytes": 0}


async def recall(peer: Peer, **params: Any) -> tuple[int, int]:
    """Return the numbers of passages and of unsearched sessions."""
    found = await peer.call("session/recall", question="Where does the rhinoceros live?", **params)
    return len(found["passages"]), found["unsearched"]["sessionCount"]


async def search(peer: Peer, **params: Any) -> tuple[int, int]:
    found = await peer.call("session/search", query="rhinoceros", **params)
    return len(found["hits"]), found["unsearched"]["sessionCount"]


@pytest.mark.parametrize("ask", [recall, search])
async def test_a_file_that_was_written_just_now_counts_until_it_is_read(
    ask: Any, agents_home: Path, tmp_path: Path
) -> None:
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["codex"], workDoneToken="first")
        assert await ask(peer) == (0, 0)
        write_codex(agents_home, meta(), said("user", "rhinoceros"), said("assistant", "In the savanna."))
        found, unsearched = await ask(peer)
        assert found or unsearched
        found, unsearched = await ask(peer, waitMs=30_000)
        assert (bool(found), unsearched) == (True, 0)


async def test_a_new_file_in_a_known_folder_counts_although_no_watch_reports_it(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_watches.AgentWatches, "watch", lambda *_: False)
    monkeypatch.setattr(follower, "POLL_SECONDS", 600.0)
    write_codex(agents_home, meta(id="22222222-2222-4333-8444-555555555555"), said("user", "hello"), name="a")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["codex"], workDoneToken="first")
        write_codex(agents_home, meta(), said("user", "rhinoceros"), name="b")
        found, unsearched = await search(peer)
        assert found or unsearched
        found, unsearched = await search(peer, waitMs=30_000)
        assert (bool(found), unsearched) == (True, 0)


async def test_an_agent_counts_until_its_files_were_looked_at(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_watches.AgentWatches, "watch", lambda *_: True)
    monkeypatch.setattr(follower, "WATCH_START_SECONDS", 3_600.0)
    claude = WritingClaude(agents_home)
    claude.asks("rhinoceros")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"])
        assert await search(peer) == (0, 1)
        before = asyncio.get_running_loop().time()
        assert await search(peer, waitMs=300) == (0, 1)
        assert asyncio.get_running_loop().time() - before >= 0.3
        await peer.call("agent/wake", agent="claude-code")
        await has(peer, "rhinoceros", SESSION)

        async def is_complete() -> bool:
            return await search(peer) == (1, 0)

        await until(is_complete)


async def test_a_list_counts_what_is_not_read_yet(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_watches.AgentWatches, "watch", lambda *_: False)
    monkeypatch.setattr(follower, "POLL_SECONDS", 600.0)
    write_codex(
        agents_home,
        meta(id="22222222-2222-4333-8444-555555555555"),
        said("user", "hello"),
        said("assistant", "Hello."),
        name="a",
    )
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["codex"], workDoneToken="first")
        listed = await peer.call("session/list")
        assert (len(listed["sessions"]), listed.get("unreadCount")) == (1, None)
        write_codex(
            agents_home, meta(), said("user", "rhinoceros"), said("assistant", "In the savanna."), name="b"
        )
        listed = await peer.call("session/list")
        assert (len(listed["sessions"]), listed.get("unreadCount")) in ((1, 1), (2, None))

        async def is_complete() -> bool:
            listed = await peer.call("session/list")
            return (len(listed["sessions"]), listed.get("unreadCount")) == (2, None)

        await until(is_complete)


async def test_a_list_counts_an_agent_until_its_files_were_looked_at(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_watches.AgentWatches, "watch", lambda *_: True)
    monkeypatch.setattr(follower, "WATCH_START_SECONDS", 3_600.0)
    WritingClaude(agents_home).asks("rhinoceros")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"])
        listed = await peer.call("session/list")
        assert (listed["sessions"], listed["unreadCount"]) == ([], 1)


class HeldFollower:
    """A follower that reads no file before it is released. `is_reading` is set when it comes to one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_reading, self._may_read = threading.Event(), threading.Event()
        read = foreign_files.read

        def held(*arguments: Any) -> Any:
            self.is_reading.set()
            self._may_read.wait()
            return read(*arguments)

        monkeypatch.setattr(foreign_files, "read", held)

    def release(self) -> None:
        self._may_read.set()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldFollower]:
    follower = HeldFollower(monkeypatch)
    yield follower
    follower.release()


def shell_of(tmp_path: Path) -> Shell:
    (tmp_path / "work").mkdir(exist_ok=True)
    return Shell(find_locations({"SESSIOND_HOME": str(tmp_path / "home")}), tmp_path / "work")


def rollout(agents_home: Path) -> None:
    write_codex(agents_home, meta(), said("user", "rhinoceros"), said("assistant", "In the savanna."))


ASKED: list[tuple[str, dict[str, Any]]] = [
    ("list_sessions", {}),
    ("search_sessions", {"query": "rhinoceros"}),
    ("recall", {"question": "Where does the rhinoceros live?"}),
]


@pytest.mark.parametrize(("tool", "arguments"), ASKED, ids=[row[0] for row in ASKED])
async def test_mcp_waits_for_what_is_not_read_and_then_has_it(
    tool: str, arguments: dict[str, Any], held: HeldFollower, agents_home: Path, tmp_path: Path
) -> None:
    def release_when_told_to_wait(client: McpClient) -> str:
        request = client.start(
            "tools/call",
            name=tool,
            arguments=arguments | {"all_projects": True},
            _meta={"progressToken": "p"},
        )
        while (message := client.next_message()).get("method") != "notifications/progress":
            assert message.get("id") != request, "it did not wait"
        held.release()
        text: str = client.response(request)["result"]["content"][0]["text"]
        return text

    text = await asked_while_held(held, agents_home, tmp_path, release_when_told_to_wait)
    assert "not read yet" not in text.lower()
    assert SESSION in text


@pytest.mark.parametrize(("tool", "arguments"), ASKED, ids=[row[0] for row in ASKED])
async def test_mcp_says_how_much_is_not_read_when_it_has_waited_long_enough(
    tool: str, arguments: dict[str, Any], held: HeldFollower, agents_home: Path, tmp_path: Path
) -> None:
    def ask(client: McpClient) -> str:
        return client.tool(tool, **arguments, all_projects=True)

    text = await asked_while_held(held, agents_home, tmp_path, ask)
    assert "Not read yet: 1 " in text
    assert "Nothing was found" not in text
    assert "There is no such session" not in text


async def asked_while_held(
    held: HeldFollower, agents_home: Path, tmp_path: Path, ask: Callable[[McpClient], str]
) -> str:
    """Return what `ask` returns while the follower is held at the first file of Codex."""
    rollout(agents_home)

    def with_client() -> str:
        with an_mcp_client(shell_of(tmp_path), "--all") as client:
            return ask(client)

    async with running(tmp_path / "home", "socket") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["codex"])
        assert await asyncio.to_thread(held.is_reading.wait, 30)
        try:
            return await asyncio.to_thread(with_client)
        finally:
            held.release()


@pytest.mark.parametrize(
    ("words", "said_then"),
    [
        (["list", "--all"], "1 file of followed agents could not be read yet."),
        (["search", "--all", "rhinoceros"], "could not be searched yet"),
        (["recall", "--all", "Where does the rhinoceros live?"], "could not be searched yet"),
    ],
    ids=["list", "search", "recall"],
)
async def test_a_command_that_finds_nothing_says_how_much_is_not_read(
    words: list[str], said_then: str, held: HeldFollower, agents_home: Path, tmp_path: Path
) -> None:
    rollout(agents_home)
    shell = shell_of(tmp_path)
    async with running(tmp_path / "home", "socket") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["codex"])
        assert await asyncio.to_thread(held.is_reading.wait, 30)
        try:
            ran = await asyncio.to_thread(shell.run, *words)
        finally:
            held.release()
        assert said_then in ran.err
        for claim in ("Nothing was found", "No matches", "There are no sessions"):
            assert claim not in ran.err
        await has(peer, "In the savanna.")
