"""Work on a followed session: what clients do stays, and the agent continues its own chain."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.columns import entries_of
from support.daemons import Peer, running, user
from support.dialect_files import SESSION
from support.following import has, info, texts, until
from support.writing_agents import WritingClaude


@asynccontextmanager
async def followed(agents_home: Path, tmp_path: Path) -> AsyncIterator[tuple[Peer, WritingClaude]]:
    """A client, and Claude Code in a followed session that has a question and an answer."""
    claude = WritingClaude(agents_home)
    claude.asks("first question")
    claude.says("first answer")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        assert await texts(peer) == ["first question", "first answer"]
        yield peer, claude


async def parent_of(peer: Peer, entry_id: str) -> str | None:
    entries = entries_of(await peer.call("session/entries", sessionId=SESSION, limit=1_000))
    [found] = [entry for entry in entries if entry["id"] == entry_id]
    return None if found["parentId"] is None else str(found["parentId"])


async def test_an_append_from_here_is_a_branch_and_the_agent_continues_its_own_chain(
    agents_home: Path, tmp_path: Path
) -> None:
    async with followed(agents_home, tmp_path) as (peer, claude):
        answer = claude.last
        ours = (await peer.append(SESSION, user("ours")))["leafId"]
        assert await parent_of(peer, ours) == answer
        assert (await info(peer))["leafId"] == ours
        question = claude.asks("second question")
        await has(peer, "second question")
        assert await parent_of(peer, question) == answer
        assert (await info(peer))["leafId"] == question


async def test_the_leaf_stays_where_a_client_moved_it_while_the_agent_is_silent(
    agents_home: Path, tmp_path: Path
) -> None:
    async with followed(agents_home, tmp_path) as (peer, claude):
        await peer.call("session/branch", sessionId=SESSION, entryId=claude.first)
        claude.write({"type": "last-prompt", "lastPrompt": "first question", "sessionId": SESSION})
        await until(lambda: _has_kept(peer, "last-prompt"))
        assert (await info(peer))["leafId"] == claude.first
        answer = claude.says("second answer")
        await has(peer, "second answer")
        assert (await info(peer))["leafId"] == answer


async def _has_kept(peer: Peer, kind: str) -> bool:
    entries = entries_of(await peer.call("session/entries", sessionId=SESSION, limit=1_000))
    return any(kind in str(entry.get("data")) for entry in entries)


async def test_a_title_and_tags_of_a_client_survive_those_of_the_agent(
    agents_home: Path, tmp_path: Path
) -> None:
    async with followed(agents_home, tmp_path) as (peer, claude):
        claude.titles("the agent's")
        await until(lambda: _titled(peer, "the agent's"))
        await peer.call("session/rename", sessionId=SESSION, title="ours")
        await peer.call("session/tag", sessionId=SESSION, tags=["mine"])
        claude.titles("another of the agent's")
        claude.write({"type": "tag", "tag": "theirs", "sessionId": SESSION})
        claude.says("second answer")
        await has(peer, "second answer")
        session = await info(peer)
        assert (session["title"], session["tags"]) == ("ours", ["mine"])


async def _titled(peer: Peer, title: str) -> bool:
    return bool((await info(peer))["title"] == title)


async def test_the_titles_of_the_agent_apply_until_a_client_sets_one(
    agents_home: Path, tmp_path: Path
) -> None:
    async with followed(agents_home, tmp_path) as (peer, claude):
        for title in ("one", "two"):
            claude.titles(title)
            await until(lambda title=title: _titled(peer, title))  # type: ignore[misc]


async def test_labels_and_forks_stay(agents_home: Path, tmp_path: Path) -> None:
    async with followed(agents_home, tmp_path) as (peer, claude):
        await peer.call("session/label", sessionId=SESSION, entryId=claude.first, label="start")
        fork = (await peer.call("session/fork", sessionId=SESSION))["session"]["sessionId"]
        claude.says("second answer")
        await has(peer, "second answer")
        labels = (await peer.call("session/labels", sessionId=SESSION))["items"]
        assert [(label["entryId"], label["label"]) for label in labels] == [(claude.first, "start")]
        assert await texts(peer, fork) == ["first question", "first answer"]


async def test_a_rewind_of_the_agent_is_a_branch(agents_home: Path, tmp_path: Path) -> None:
    async with followed(agents_home, tmp_path) as (peer, claude):
        other = claude.asks("another question", parent=claude.first)
        await has(peer, "another question")
        assert await parent_of(peer, other) == claude.first
        assert (await info(peer))["leafId"] == other
        assert "first answer" in await texts(peer)
