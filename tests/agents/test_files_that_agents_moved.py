"""A file that its agent archives, moves or deletes: the session is the same one, and says what became of the file."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.columns import entries_of
from support.daemons import Peer, running
from support.dialect_files import SESSION, meta, said
from support.following import has, info, texts, until
from support.real_agents import RealAgents
from support.scripted_model import ScriptedModel
from support.writing_agents import WritingClaude, write_codex

TALK = (meta(id=SESSION), said("user", "Where is the heron?"), said("assistant", "In the reeds."))


async def origin_is(peer: Peer, path: Path | None, *, session: str = SESSION, **wanted: bool) -> None:
    """Wait until the origin of a session is as wanted: `gone` and `archived`, both False by default."""

    async def found() -> bool:
        origin: dict[str, Any] = (await info(peer, session))["origin"]
        states = {name: origin[name] for name in ("gone", "archived")}
        is_path = path is None or origin["path"] == str(path)
        return is_path and states == {"gone": False, "archived": False, **wanted}

    await until(found)


def archived(home: Path, rollout: Path) -> Path:
    """The place at which Codex archives a rollout."""
    folder = home / ".codex/archived_sessions"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / rollout.name


async def following(daemon: Any, name: str) -> Peer:
    peer: Peer = await daemon.attach()
    await peer.call("agent/follow", agents=[name], workDoneToken=f"follow {name}")
    return peer


@pytest.mark.slow
async def test_a_session_that_codex_archives_and_takes_back_is_archived_and_back_and_never_deleted(
    agents_home: Path, tmp_path: Path
) -> None:
    rollout = write_codex(agents_home, *TALK)
    async with running(tmp_path / "home") as daemon:
        peer = await following(daemon, "codex")
        await has(peer, "In the reeds.")
        for _ in range(2):
            away = archived(agents_home, rollout)
            rollout.rename(away)
            await origin_is(peer, away, archived=True)
            away.rename(rollout)
            await origin_is(peer, rollout)
        write_codex(agents_home, said("user", "And the owl?"))
        await has(peer, "And the owl?")
        assert await texts(peer) == ["Where is the heron?", "In the reeds.", "And the owl?"]
        rollout.unlink()
        await origin_is(peer, None, gone=True)
        entries = entries_of(await peer.call("session/entries", sessionId=SESSION, limit=1_000))
        states = [
            entry["data"]["state"] for entry in entries if entry.get("customType") == "sessiond.originState"
        ]
        assert "gone" not in states[:-1]


@pytest.mark.slow
async def test_a_session_that_codex_archived_while_no_daemon_ran_is_archived(
    agents_home: Path, tmp_path: Path
) -> None:
    rollout = write_codex(agents_home, *TALK)
    async with running(tmp_path / "home", "process") as daemon:
        await has(await following(daemon, "codex"), "In the reeds.")
    away = archived(agents_home, rollout)
    rollout.rename(away)
    async with running(tmp_path / "home", "process") as daemon:
        await origin_is(await daemon.attach(), away, archived=True)
    away.rename(rollout)
    async with running(tmp_path / "home", "process") as daemon:
        await origin_is(await daemon.attach(), rollout)


@pytest.mark.slow
async def test_a_session_that_was_archived_before_it_is_read_is_archived(
    agents_home: Path, tmp_path: Path
) -> None:
    rollout = write_codex(agents_home, *TALK)
    rollout.rename(archived(agents_home, rollout))
    async with running(tmp_path / "home") as daemon:
        peer = await following(daemon, "codex")
        await origin_is(peer, archived(agents_home, rollout), archived=True)
        [row] = (await peer.call("session/list"))["sessions"]
        assert row["origin"]["archived"]


@pytest.mark.slow
async def test_a_session_whose_archived_file_is_a_copy_is_not_archived(
    agents_home: Path, tmp_path: Path
) -> None:
    rollout = write_codex(agents_home, *TALK)
    copy = archived(agents_home, rollout)
    shutil.copy(rollout, copy)
    async with running(tmp_path / "home") as daemon:
        peer = await following(daemon, "codex")
        await has(peer, "In the reeds.")
        rollout.unlink()
        await origin_is(peer, copy, archived=True)
        shutil.copy(copy, rollout)
        await origin_is(peer, rollout)


@pytest.mark.slow
async def test_a_session_whose_project_folder_is_renamed_names_its_new_file(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("Where is the heron?")
    claude.says("In the reeds.")
    async with running(tmp_path / "home") as daemon:
        peer = await following(daemon, "claude-code")
        await has(peer, "In the reeds.")
        renamed = claude.path.parent.with_name("-work-renamed")
        claude.path.parent.rename(renamed)
        claude.path = renamed / claude.path.name
        await origin_is(peer, claude.path)
        claude.asks("And the owl?")
        await has(peer, "And the owl?")
        assert await texts(peer) == ["Where is the heron?", "In the reeds.", "And the owl?"]
        claude.path.unlink()
        await origin_is(peer, None, gone=True)


@pytest.mark.agents
@pytest.mark.slow
async def test_a_session_of_the_real_codex_is_archived_until_it_is_unarchived(
    agents_home: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with ScriptedModel() as model:
        model.when("Where is the heron?").says("The heron stands in the reeds.")
        agents = RealAgents(agents_home, model.url)
        async with running(tmp_path / "home") as daemon:
            peer = await following(daemon, "codex")
            await asyncio.to_thread(agents.turn, "codex", project, "Where is the heron?")
            session = agents.native_id("codex")
            await has(peer, "The heron stands in the reeds.", session)
            await asyncio.to_thread(agents.run, ["codex", "archive", session], project)
            await origin_is(peer, agents.session_files("codex")[-1], session=session, archived=True)
            await asyncio.to_thread(agents.run, ["codex", "unarchive", session], project)
            await origin_is(peer, agents.session_files("codex")[-1], session=session)
