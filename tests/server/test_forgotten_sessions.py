"""A forgotten session stays forgotten: no import, followed agent, sync or restart brings it back."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.daemons import Peer, running
from support.dialect_files import SESSION
from support.following import until
from support.two_machines import Machines, two_machines
from support.writing_agents import WritingClaude

OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def agents_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "ada"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return home


@pytest.fixture
def claude(agents_home: Path) -> WritingClaude:
    claude = WritingClaude(agents_home)
    claude.asks("Where is the heron?")
    claude.says("In the reeds.")
    return claude


@pytest.fixture
async def peer(agents_home: Path, tmp_path: Path) -> AsyncIterator[Peer]:
    async with running(tmp_path / "home") as daemon:
        yield await daemon.attach()


@pytest.fixture
async def machines(tmp_path: Path) -> AsyncIterator[Machines]:
    async with two_machines(tmp_path) as made:
        yield made


async def imported(peer: Peer, path: Path) -> dict[str, Any]:
    found: dict[str, Any] = await peer.call("session/import", path=str(path))
    return found


async def forget(peer: Peer, session_id: str = SESSION) -> dict[str, Any]:
    gone: dict[str, Any] = await peer.call("session/delete", sessionId=session_id, forget=True)
    return gone


async def ids(peer: Peer) -> set[str]:
    return {session["sessionId"] for session in (await peer.call("session/list"))["sessions"]}


async def test_an_import_leaves_a_forgotten_session_out_and_says_so(
    claude: WritingClaude, peer: Peer
) -> None:
    await imported(peer, claude.path)
    await forget(peer)
    claude.says("It has flown away.")
    [skipped] = (await imported(peer, claude.path))["skipped"]

    assert "forgotten" in skipped["message"]
    assert await ids(peer) == set()


async def test_it_stays_forgotten_after_a_purge_and_a_restart(
    claude: WritingClaude, agents_home: Path, tmp_path: Path
) -> None:
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await imported(peer, claude.path)
        gone = await forget(peer)
        await peer.call("trash/purge", trashId=gone["trashId"], dryRun=False)
    claude.says("It has flown away.")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        assert len((await imported(peer, claude.path))["skipped"]) == 1
        [session] = (await peer.call("forgotten/list"))["sessions"]
    assert (session["sessionId"], session["agent"], session["path"]) == (
        SESSION, "claude-code", str(claude.path),
    )  # fmt: skip


async def test_following_leaves_it_out_and_goes_on_with_the_others(
    claude: WritingClaude, agents_home: Path, peer: Peer
) -> None:
    await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
    await forget(peer)
    claude.says("It has flown away.")
    other = WritingClaude(agents_home, OTHER)
    other.asks("Where is the owl?")
    other.says("In the barn.")
    await peer.call("agent/wake", agent="claude-code")

    async def is_read() -> bool:
        return OTHER in await ids(peer)

    await until(is_read)
    assert await ids(peer) == {OTHER}
    [agent] = [each for each in (await peer.call("agent/list"))["agents"] if each["name"] == "claude-code"]
    assert agent["problems"] == []


@pytest.mark.parametrize("name", ["copy.jsonl", f"{OTHER}.jsonl"])
async def test_a_copy_or_a_fork_of_its_file_is_left_out_too(
    name: str, claude: WritingClaude, peer: Peer
) -> None:
    await imported(peer, claude.path)
    await forget(peer)
    copy = claude.path.with_name(name)
    copy.write_bytes(claude.path.read_bytes().replace(SESSION.encode(), copy.stem.encode()))
    [skipped] = (await imported(peer, copy))["skipped"]

    assert "forgotten" in skipped["message"]


async def test_a_fork_that_is_stored_already_goes_on(claude: WritingClaude, peer: Peer) -> None:
    await imported(peer, claude.path)
    fork = WritingClaude(claude.path.parents[3], OTHER)
    shutil.copy(claude.path, fork.path)
    fork.path.write_bytes(claude.path.read_bytes().replace(SESSION.encode(), OTHER.encode()))
    await imported(peer, fork.path)
    await forget(peer)
    fork.asks("Where is it now?", parent=None)
    [session] = (await imported(peer, fork.path))["sessions"]

    assert session["status"] == "grown"


async def test_a_session_in_the_trash_can_be_forgotten(claude: WritingClaude, peer: Peer) -> None:
    await imported(peer, claude.path)
    await peer.call("session/delete", sessionId=SESSION)
    await forget(peer)

    assert len((await imported(peer, claude.path))["skipped"]) == 1


async def test_revoking_reads_the_file_of_a_followed_agent_again(claude: WritingClaude, peer: Peer) -> None:
    await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
    gone = await forget(peer)
    await peer.call("trash/purge", trashId=gone["trashId"], dryRun=False)
    revoked = await peer.call("forgotten/revoke", sessionIds=[SESSION, OTHER])

    async def is_back() -> bool:
        return SESSION in await ids(peer)

    assert revoked == {"revoked": [SESSION]}
    await until(is_back)


async def test_a_restored_session_is_not_forgotten_any_more(claude: WritingClaude, peer: Peer) -> None:
    await imported(peer, claude.path)
    await forget(peer)
    await peer.call("trash/restore", sessionId=SESSION)
    claude.says("It has flown away.")
    [session] = (await imported(peer, claude.path))["sessions"]

    assert session["status"] == "grown"
    assert (await peer.call("forgotten/list"))["sessions"] == []


async def test_a_sync_does_not_bring_it_back_with_what_the_other_machine_added(machines: Machines) -> None:
    here, there = machines.here, machines.there
    session_id = await here.talk()
    await machines.sync()
    await there.say(session_id, "more")
    await here.peer.call("session/delete", sessionId=session_id, forget=True)
    report = await machines.sync()

    assert await here.ids() == set()
    assert await there.ids() == {session_id}
    assert report.problems == []


async def test_a_sync_deletes_the_same_lines_on_the_other_machine(machines: Machines) -> None:
    here, there = machines.here, machines.there
    session_id = await here.talk()
    await machines.sync()
    await here.peer.call("session/delete", sessionId=session_id, forget=True)
    await machines.sync()

    assert await there.ids() == set()


async def test_lines_of_a_forgotten_session_are_refused_from_older_versions(machines: Machines) -> None:
    here, there = machines.here, machines.there
    session_id = await here.talk()
    await machines.sync()
    await here.peer.call("session/delete", sessionId=session_id, forget=True)
    page = await there.peer.call("sync/lines", sessionId=session_id)
    put = await here.peer.call("sync/put", sessionId=session_id, lines=page["lines"], head=page["head"])

    assert (put["isNew"], put["addedCount"]) == (False, 0)
    assert "forgotten" in put["refused"][0]["message"]
