"""session/cleanup: old sessions are trashed, sessions in use are skipped, and every client is notified."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from sessiond.config import Config, InvalidConfigError, RetentionConfig, RootsConfig, read
from sessiond.protocol import types
from sessiond.server import server
from support import logs
from support.daemons import Peer, Running, assistant, configure, refusal, running, user
from support.patience import BOUND
from support.shared import terminal

DAY = 86_400


async def old_session(peer: Peer, cwd: str, name: str, *, days: int = 100, **params: Any) -> dict[str, Any]:
    """A session that nobody has open and that was written to some days ago."""
    await peer.call("session/create", cwd=cwd, id=name, **params)
    await peer.append(name, user("hello", id="a"), assistant("hi"))
    await peer.call("session/close", sessionId=name)
    session: dict[str, Any] = (await peer.call("session/info", sessionId=name))["session"]
    make_old(session["path"], days)
    return session


def make_old(path: str | Path, days: int) -> None:
    then = Path(path).stat().st_mtime - days * DAY
    os.utime(path, (then, then))


def names(found: list[dict[str, Any]]) -> list[str]:
    return [session["session"]["sessionId"] for session in found]


async def test_a_cleanup_is_a_dry_run_by_default(memory: Running, cwd: str) -> None:
    peer, other = await memory.attach(), await memory.attach()
    await other.call("server/status")
    old = await old_session(peer, cwd, "session-old")
    await old_session(peer, cwd, "session-new", days=1)
    before = Path(old["path"]).read_bytes()
    said = await peer.call("session/cleanup", maxAgeMs=30 * DAY * 1_000)
    assert (names(said["removed"]), said["keptCount"], said["dryRun"]) == (["session-old"], 1, True)
    assert (said["removed"][0]["limit"], said["removed"][0]["trashId"]) == ("age", None)
    assert Path(old["path"]).exists()
    done = await peer.call("session/cleanup", maxAgeMs=30 * DAY * 1_000, dryRun=False)
    assert Path(done["removed"][0]["trashPath"]).read_bytes() == before
    await other.until(lambda client: bool(client.told("session/deleted")))
    assert [notification["sessionId"] for notification in other.told("session/deleted")] == ["session-old"]
    assert [session["sessionId"] for session in (await peer.call("session/list", cwd=cwd))["sessions"]] == [
        "session-new"
    ]
    assert names((await peer.call("session/cleanup", maxAgeMs=30 * DAY * 1_000))["removed"]) == []


async def test_a_restored_session_is_not_cleaned_up_again(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    await old_session(peer, cwd, "session-old")
    await peer.call("session/cleanup", maxAgeMs=30 * DAY * 1_000, dryRun=False)
    await peer.call("trash/restore", sessionId="session-old")
    assert names((await peer.call("session/cleanup", maxAgeMs=30 * DAY * 1_000))["removed"]) == []


async def test_of_too_many_sessions_with_a_tag_the_newest_stay(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    for number in range(4):
        await old_session(
            peer, cwd, f"session-{number}", days=number, tags=["even"] if number % 2 == 0 else []
        )
    said = await peer.call("session/cleanup", maxSessions=1)
    assert names(said["removed"]) == ["session-3", "session-2", "session-1"]
    assert {session["limit"] for session in said["removed"]} == {"count"}
    done = await peer.call("session/cleanup", maxSessions=1, tags=["even", "odd"], dryRun=False)
    assert names(done["removed"]) == ["session-2"]
    assert (await peer.call("session/list", cwd=cwd, withTotal=True))["totalCount"] == 3


async def test_a_cleanup_of_many_lists_the_first_and_counts_all(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(types, "MAX_REPORTED", 2)
    peer = await memory.attach()
    for number in range(6):
        await old_session(peer, cwd, f"session-{number}", days=100 - number)
    for number in range(3):
        await peer.call("session/open", sessionId=f"session-{number}")
    for dry_run in (True, False):
        done = await peer.call("session/cleanup", maxAgeMs=30 * DAY * 1_000, dryRun=dry_run)
        assert (names(done["removed"]), done["removedCount"]) == (["session-3", "session-4"], 3)
        assert (names(done["skipped"]), done["skippedCount"]) == (["session-0", "session-1"], 3)
        assert (done["truncated"], done["keptCount"]) == (True, 3)
    assert len((await peer.call("trash/list"))["sessions"]) == 3


@pytest.mark.parametrize("dry_run", [True, False])
async def test_sessions_in_use_or_labeled_or_read_only_are_skipped(
    memory: Running, cwd: str, dry_run: bool
) -> None:
    peer, other = await memory.attach(), await memory.attach()
    sessions = {
        name: await old_session(peer, cwd, f"session-{name}")
        for name in ("open", "watched", "held", "labeled", "plain")
    }
    await other.call("session/open", sessionId="session-open")
    await other.call("session/subscribe", sessionId="session-watched")
    where = terminal("pane", cwd=cwd, pid=os.getpid())
    await other.call("session/open", sessionId="session-held", terminal=where)
    await other.call("session/unsubscribe", sessionId="session-held")
    await other.call("session/close", sessionId="session-held")
    await peer.call("session/label", sessionId="session-labeled", entryId="a", label="keep")
    plain = Path(sessions["plain"]["path"])
    newer = plain.with_name(plain.name.replace("plain", "newer"))
    newer.write_bytes(plain.read_bytes().replace(b"plain", b"newer").replace(b'"version":3', b'"version":9'))
    for path in (sessions["labeled"]["path"], newer):
        make_old(path, 100)
    found = await peer.call("session/cleanup", maxAgeMs=30 * DAY * 1_000, dryRun=dry_run)
    assert {session["session"]["sessionId"]: session["reason"] for session in found["skipped"]} == {
        "session-open": "open", "session-watched": "open", "session-held": "open",
        "session-labeled": "labeled", "session-newer": "readOnly",
    }  # fmt: skip
    assert names(found["removed"]) == ["session-plain"]
    assert all(Path(session["path"]).exists() for name, session in sessions.items() if name != "plain")


async def test_drafts_and_folders_of_other_programs_are_not_considered(tmp_path: Path, cwd: str) -> None:
    theirs = tmp_path / "theirs" / "--work--" / "2025-01-01T00-00-00-000Z_theirs-1.jsonl"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(
        logs.log(logs.header(id="theirs-1"), logs.user("hi", parent=None), logs.assistant("hi"))
    )
    make_old(theirs, 100)
    config = Config(roots=RootsConfig(folders=(str(tmp_path / "theirs"),)))
    async with running(tmp_path / "home", config=config) as daemon:
        peer = await daemon.attach()
        draft = (await peer.call("session/create", cwd=cwd))["session"]
        make_old(draft["path"], 100)
        assert (await peer.call("session/list", withTotal=True))["totalCount"] == 1
        done = await peer.call("session/cleanup", maxAgeMs=0, maxSessions=0, dryRun=False)
        assert (done["removed"], done["skipped"], done["keptCount"]) == ([], [], 0)
    assert theirs.exists()


@pytest.mark.parametrize("params", [{}, {"tags": ["a"]}, {"maxAgeMs": -1}, {"maxSessions": -1}])
async def test_a_cleanup_without_limits_is_refused(memory: Running, params: dict[str, Any]) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call("session/cleanup", **params))).kind == "invalidParams"


async def test_the_daemon_cleans_up_automatically_only_if_it_is_configured(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "KEEP_START_SECONDS", 0.05)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        old = await old_session(peer, cwd, "session-old")
        await old_session(peer, cwd, "session-new", days=1)
    async with running(tmp_path, config=Config(keep=RetentionConfig(max_age=30.0 * DAY))) as daemon:
        peer = await daemon.attach()
        async with asyncio.timeout(BOUND):
            while (await peer.call("trash/list", withTotal=True))["totalCount"] == 0:
                pass
        [gone] = (await peer.call("trash/list"))["sessions"]
        assert (gone["sessionId"], gone["deletedBy"]) == ("session-old", "daemon")
        assert (await peer.call("session/list", cwd=cwd, withTotal=True))["totalCount"] == 1
        assert (await peer.call("trash/restore", sessionId="session-old"))["session"]["path"] == old["path"]


async def test_a_rule_moves_the_sessions_that_it_selects_and_says_which_one_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "KEEP_START_SECONDS", 0.05)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await old_session(peer, "/work/scratch/a", "session-scratch")
        await old_session(peer, "/work/app", "session-app")
    text = '[keep]\nrules = [{ max_sessions = 100 }, { projects = ["/work/scratch"], max_age = "30d" }]\n'
    configure(tmp_path, text)
    async with running(tmp_path, config=read(str(tmp_path / "config/config.toml"))) as daemon:
        peer = await daemon.attach()
        async with asyncio.timeout(BOUND):
            while (await peer.call("trash/list", withTotal=True))["totalCount"] == 0:
                pass
        [gone] = (await peer.call("trash/list"))["sessions"]
        assert gone["sessionId"] == "session-scratch"
        assert gone["note"] == "cleanup: older than the maximum age (rule 2)"


@pytest.mark.parametrize(
    "rule", ['{ agents = ["gemini"] }', '{ max_age = "soon" }', "7", '{ agent = "gemini", max_age = "1d" }']
)
def test_a_rule_without_a_limit_or_with_an_unknown_key_is_an_error(rule: str, tmp_path: Path) -> None:
    configure(tmp_path, f"[keep]\nrules = [{rule}]\n")
    with pytest.raises(InvalidConfigError):
        read(str(tmp_path / "config/config.toml"))
