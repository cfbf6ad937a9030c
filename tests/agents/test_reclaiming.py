"""storage/reclaim and storage/giveBack: old files of agents are moved here if their sessions are whole, and back."""

import json  # noqa: TID251 - lines of logs are changed as another program would change them
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.daemons import Peer, Running, refusal, running
from support.dialect_files import SESSION
from support.following import has, info, until
from support.sized_sessions import WRITERS, texts_of
from support.writing_agents import WritingClaude

DAY = 86_400


@pytest.fixture
async def daemon(agents_home: Path, tmp_path: Path) -> AsyncIterator[Running]:
    async with running(tmp_path / "home") as made:
        yield made


@pytest.fixture
async def peer(daemon: Running) -> Peer:
    return await daemon.attach()


def conversation(home: Path, *, days: float = 40) -> WritingClaude:
    claude = WritingClaude(home)
    claude.asks("hello " * 500)
    claude.says("good day")
    then = time.time() - days * DAY
    os.utime(claude.path, (then, then))
    return claude


async def follow(peer: Peer, agent: str = "claude-code") -> None:
    await peer.call("agent/follow", agents=[agent], workDoneToken="all")


async def reclaimed(peer: Peer, agent: str = "claude-code", **params: Any) -> dict[str, Any]:
    found: dict[str, Any] = await peer.call("storage/reclaim", agent=agent, **params)
    return found


async def test_a_dry_run_moves_nothing(agents_home: Path, daemon: Running, peer: Peer) -> None:
    claude = conversation(agents_home)
    await follow(peer)
    before = daemon.everything()
    found = await reclaimed(peer)
    assert (found["fileCount"], found["keptBytes"], found["dryRun"]) == (1, None, True)
    assert claude.path.exists()
    assert daemon.everything() == before


async def test_an_old_file_is_moved_and_comes_back_byte_for_byte(
    agents_home: Path, daemon: Running, peer: Peer
) -> None:
    claude = conversation(agents_home)
    content, modified = claude.path.read_bytes(), claude.path.stat().st_mtime_ns
    await follow(peer)
    found = await reclaimed(peer, dryRun=False)
    assert (found["fileCount"], found["sizeBytes"], found["skipped"]) == (1, len(content), [])
    assert 0 < found["keptBytes"] < len(content)
    assert list(claude.path.parent.iterdir()) == []
    assert await info(peer)  # the session is here as before
    await has(peer, "good day")
    await until(lambda: _is_gone(peer))
    found = await peer.call("storage/giveBack", agent="claude-code")
    assert (found["fileCount"], found["sizeBytes"], found["skippedCount"]) == (1, len(content), 0)
    assert (claude.path.read_bytes(), claude.path.stat().st_mtime_ns) == (content, modified)
    assert list((daemon.home / "data/originals").iterdir()) == []


async def _is_gone(peer: Peer) -> bool:
    return bool((await info(peer))["origin"]["gone"])


@pytest.mark.parametrize(
    "kind", [kind for kind, (agent, _) in WRITERS.items() if agent in ("claude-code", "codex")]
)
async def test_the_files_of_each_agent_come_back(kind: str, agents_home: Path, peer: Peer) -> None:
    agent, write = WRITERS[kind]
    write(agents_home, texts_of(100_000))
    files = [path for path in agents_home.rglob("*.jsonl") if path.is_file()]
    for path in files:
        os.utime(path, (1_000_000_000, 1_000_000_000))
    before = {path: path.read_bytes() for path in files}
    await follow(peer, agent)
    assert (await reclaimed(peer, agent, dryRun=False))["fileCount"] == len(files)
    await peer.call("storage/giveBack", agent=agent)
    assert {path: path.read_bytes() for path in files} == before


async def test_a_younger_file_stays(agents_home: Path, peer: Peer) -> None:
    claude = conversation(agents_home, days=20)
    await follow(peer)
    assert (await reclaimed(peer, dryRun=False))["fileCount"] == 0
    assert (await reclaimed(peer, dryRun=False, olderThanDays=19))["fileCount"] == 1
    assert not claude.path.exists()


async def test_a_file_whose_session_lacks_an_entry_stays_and_is_named(
    agents_home: Path, daemon: Running, peer: Peer
) -> None:
    claude = conversation(agents_home)
    await follow(peer)
    [log] = [file for file in daemon.files() if file.name.endswith(f"{SESSION}.jsonl")]
    lines = log.read_bytes().splitlines(keepends=True)
    changed = json.loads(lines[-1])
    lines[-1] = json.dumps({**changed, "message": {**changed["message"], "content": []}}).encode() + b"\n"
    log.write_bytes(b"".join(lines))
    found = await reclaimed(peer, dryRun=False)
    assert (found["fileCount"], found["skippedCount"]) == (0, 1)
    assert found["skipped"][0]["path"] == str(claude.path)
    assert claude.path.exists()


async def test_a_file_that_was_never_read_stays(agents_home: Path, peer: Peer) -> None:
    claude = conversation(agents_home)
    found = await reclaimed(peer, dryRun=False)
    assert (found["fileCount"], found["skipped"][0]["message"]) == (0, "it was not read yet")
    assert claude.path.exists()


async def test_a_file_is_not_moved_back_over_new_work(agents_home: Path, peer: Peer) -> None:
    claude = conversation(agents_home)
    await follow(peer)
    await reclaimed(peer, dryRun=False)
    claude.path.write_bytes(b'{"type":"summary"}\n')
    found = await peer.call("storage/giveBack", agent="claude-code")
    assert (found["fileCount"], found["skipped"][0]["path"]) == (0, str(claude.path))
    assert claude.path.read_bytes() == b'{"type":"summary"}\n'


async def test_only_the_files_of_the_named_agent_are_moved_back(agents_home: Path, peer: Peer) -> None:
    claude = conversation(agents_home)
    await follow(peer)
    await reclaimed(peer, dryRun=False)
    assert (await peer.call("storage/giveBack", agent="codex"))["fileCount"] == 0
    assert not claude.path.exists()


async def test_an_agent_with_a_database_and_an_unknown_agent_are_refused(peer: Peer) -> None:
    for agent in ("opencode", "nobody"):
        assert (await refusal(reclaimed(peer, agent))).kind == "invalidParams"
    assert (await refusal(peer.call("storage/giveBack", agent="nobody"))).kind == "invalidParams"


async def test_originals_are_counted_and_known_to_the_doctor(agents_home: Path, peer: Peer) -> None:
    conversation(agents_home)
    await follow(peer)
    await reclaimed(peer, dryRun=False)
    kinds = {row["key"]: row["count"] for row in (await peer.call("storage/report"))["kinds"]}
    assert kinds["originals"] == 2  # the original and its note
    findings = (await peer.call("server/doctor"))["findings"]
    assert [one for one in findings if one["kind"] in ("unknownFile", "damagedOriginal")] == []


@pytest.mark.parametrize("is_missing", [True, False])
async def test_the_doctor_names_a_damaged_and_a_missing_original(
    agents_home: Path, daemon: Running, peer: Peer, is_missing: bool
) -> None:
    conversation(agents_home)
    await follow(peer)
    await reclaimed(peer, dryRun=False)
    [original] = (daemon.home / "data/originals").glob("*.zst")
    content = bytearray(original.read_bytes())
    content[len(content) // 2] ^= 1
    original.write_bytes(content)
    if is_missing:
        original.unlink()
    kinds = [finding["kind"] for finding in (await peer.call("server/doctor"))["findings"]]
    assert kinds.count("damagedOriginal") == 1
