"""agent/verify: everything that agents wrote is here whole, or a gap is named."""

import json  # noqa: TID251 - lines of logs are changed as another program would change them
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.config import AgentsConfig, Config, RetentionConfig
from sessiond.hub.transfer import import_reading
from sessiond.hub.transfer.spool import Spool
from sessiond.hub.verification import comparing
from sessiond.server import server
from sessiond.store.files.store import FileStore
from support.daemons import Peer, Running, refusal, running, user
from support.dialect_files import SESSION, meta, said
from support.following import has, until
from support.images import image_block, png
from support.sized_sessions import WRITERS, texts_of
from support.writing_agents import WritingClaude, write_codex

YEAR_2001 = 1_000_000_000


@pytest.fixture
async def daemon(agents_home: Path, tmp_path: Path) -> AsyncIterator[Running]:
    async with running(tmp_path / "home") as made:
        yield made


@pytest.fixture
async def peer(daemon: Running) -> Peer:
    return await daemon.attach()


def conversation(home: Path, *, turns: int = 2) -> WritingClaude:
    """A session of Claude Code that ended long ago."""
    claude = WritingClaude(home)
    for number in range(turns):
        claude.asks(f"question {number}")
        claude.says(f"answer {number}")
    age(claude.path)
    return claude


def age(path: Path) -> None:
    os.utime(path, (YEAR_2001, YEAR_2001))


async def follow(peer: Peer, *agents: str) -> None:
    await peer.call("agent/follow", agents=list(agents or ("claude-code",)), workDoneToken="all")


async def verified(peer: Peer, **params: Any) -> dict[str, Any]:
    found: dict[str, Any] = await peer.call("agent/verify", **params)
    assert found["gapCount"] == len(found["gaps"])
    return found


async def gaps(peer: Peer, **params: Any) -> list[str]:
    return [gap["kind"] for gap in (await verified(peer, **params))["gaps"]]


def log_of(daemon: Running) -> Path:
    [path] = [file for file in daemon.files() if file.name.endswith(f"{SESSION}.jsonl")]
    return path


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("kind", WRITERS)
async def test_every_followed_source_is_whole(kind: str, deep: bool, agents_home: Path, peer: Peer) -> None:
    agent, write = WRITERS[kind]
    write(agents_home, texts_of(1_000))
    for path in agents_home.rglob("*.*"):
        age(path)
    await follow(peer, agent)
    found = await verified(peer, deep=deep)
    assert found["gaps"] == []
    [row] = found["agents"]
    assert (row["agent"], row["fileCount"], row["wholeCount"]) == (agent, 1, 1)
    assert (row["entryCount"] is not None) == deep
    assert row["sizeBytes"] > 1_000


async def test_nothing_is_verified_if_no_agent_is_followed(agents_home: Path, peer: Peer) -> None:
    conversation(agents_home)
    assert (await verified(peer))["agents"] == []


async def test_an_agent_that_is_not_followed_has_gaps_when_it_is_named(agents_home: Path, peer: Peer) -> None:
    claude = conversation(agents_home)
    [gap] = (await verified(peer, agents=["claude-code"]))["gaps"]
    assert (gap["kind"], gap["path"], gap["sessionId"]) == ("unread", str(claude.path), None)
    assert gap["advice"].endswith(f"sessiond import {claude.path}")
    refused = await refusal(peer.call("agent/verify", agents=["unknown"]))
    assert refused.kind == "invalidParams"


async def test_a_session_that_lost_an_entry_is_named_with_the_entry(
    agents_home: Path, daemon: Running, peer: Peer
) -> None:
    claude = conversation(agents_home)
    await follow(peer)
    log = log_of(daemon)
    lines = log.read_bytes().splitlines(keepends=True)
    lost = json.loads(lines.pop(-2))["id"]
    log.write_bytes(b"".join(lines))
    [gap] = (await verified(peer))["gaps"]
    assert (gap["kind"], gap["path"], gap["sessionId"]) == ("incomplete", str(claude.path), SESSION)
    assert lost in gap["message"]
    await peer.call("session/import", path=str(claude.path))  # as the advice says
    assert await gaps(peer, deep=True) == []


@pytest.mark.parametrize("large", [0, import_reading.LARGE_FILE])
async def test_each_lost_entry_of_a_log_is_found(
    large: int, agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_reading, "LARGE_FILE", large)
    claude = conversation(agents_home, turns=4)
    async with running(tmp_path / "home") as daemon:
        await follow(await daemon.attach())
        log = log_of(daemon)
    store = FileStore(tmp_path / "home/data", tmp_path / "home/state")
    lines = log.read_bytes().splitlines(keepends=True)
    of_source = [at for at, line in enumerate(lines) if at and json.loads(line)["type"] != "leaf"]
    assert len(of_source) >= 9  # the origin, and a line for each message
    for at in of_source:
        log.write_bytes(b"".join((*lines[:at], *lines[at + 1 :])))
        pair, spool = comparing.Pair(str(claude.path), str(log)), Spool(str(tmp_path))
        [found] = comparing.compare([pair], store, spool)
        assert (found.missing, found.failure) == ([json.loads(lines[at])["id"]], None)


@pytest.mark.parametrize("kind", WRITERS)
async def test_a_source_is_compared_part_by_part_as_it_is_compared_whole(
    kind: str, agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, write = WRITERS[kind]
    write(agents_home, texts_of(30_000))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await follow(peer, agent)
        [session] = (await peer.call("session/list"))["sessions"]
        [log] = [file for file in daemon.files() if file.suffix == ".jsonl"]
    store = FileStore(tmp_path / "home/data", tmp_path / "home/state")
    log.write_bytes(log.read_bytes().replace(b"1 heron", b"1 HERON"))
    results = []
    for large in (0, import_reading.LARGE_FILE):
        monkeypatch.setattr(import_reading, "LARGE_FILE", large)
        spool = Spool(str(tmp_path / f"spool-{large}"))
        results += comparing.compare([comparing.Pair(session["origin"]["path"], str(log))], store, spool)
        assert list(tmp_path.glob(f"spool-{large}/.*")) == []
    assert results[0] == results[1]
    assert results[0].different_count == 1


@pytest.mark.parametrize("padding", [0, 3_000_000])
async def test_other_content_is_found_by_a_deep_verification(
    padding: int, agents_home: Path, daemon: Running, peer: Peer
) -> None:
    claude = conversation(agents_home)
    for start in range(0, padding, 50_000):
        claude.says(f"{start} " * 7_000)
    age(claude.path)
    await follow(peer)
    log = log_of(daemon)
    log.write_bytes(log.read_bytes().replace(b"answer 0", b"ANSWER 0"))
    assert await gaps(peer, deep=True) == ["different"]


async def test_a_source_that_was_written_since_is_behind_until_it_is_read(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = conversation(agents_home)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("session/import", path=str(claude.path))
        assert await gaps(peer, agents=["claude-code"]) == []
        claude.asks("one more")
        claude.says("answered")
        assert await gaps(peer, agents=["claude-code"]) == ["behind"]
        age(claude.path)
        assert await gaps(peer, agents=["claude-code"]) == ["incomplete"]
        await follow(peer)
        await has(peer, "answered")
        assert await gaps(peer) == []


async def test_a_session_in_the_trash_is_counted_and_is_no_gap(agents_home: Path, peer: Peer) -> None:
    conversation(agents_home)
    await follow(peer)
    await peer.call("session/delete", sessionId=SESSION)
    found = await verified(peer)
    assert (found["gaps"], found["agents"][0]["deletedCount"]) == ([], 1)
    await peer.call("trash/purge", sessionId=SESSION, dryRun=False)
    assert await gaps(peer) == ["noSession"]


async def test_excluded_and_forgotten_sessions_are_left_out(agents_home: Path, tmp_path: Path) -> None:
    conversation(agents_home)
    other = WritingClaude(agents_home, "99999999-2222-4333-8444-555555555555", "-private")
    other.asks("secret", cwd="/private/notes")
    other.says("kept", cwd="/private/notes")
    age(other.path)
    config = Config(agents=AgentsConfig(follow=("claude-code",), exclude=("/private",)))
    async with running(tmp_path / "home", config=config) as daemon:
        peer = await daemon.attach()
        await has(peer, "answer 1")
        await until(lambda: _counts(peer, "leftOutCount", 1))
        await peer.call("session/delete", sessionId=SESSION, forget=True)
        found = await verified(peer, deep=True)
    [row] = found["agents"]
    assert (found["gaps"], row["leftOutCount"], row["wholeCount"]) == ([], 2, 0)


async def _counts(peer: Peer, member: str, count: int) -> bool:
    return bool((await verified(peer))["agents"][0][member] == count)


async def test_work_that_was_added_here_is_no_gap(agents_home: Path, peer: Peer) -> None:
    conversation(agents_home)
    await follow(peer)
    await peer.call("session/rename", sessionId=SESSION, title="Ours")
    await peer.append(SESSION, user("more, here"))
    await peer.call("session/move", sessionId=SESSION, cwd="/w")
    assert await gaps(peer, deep=True) == []


async def test_images_and_long_texts_are_compared_wherever_they_are_stored(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("x" * 700_000)
    claude.says("good day")
    claude.write(
        {
            "type": "user", "uuid": "p1", "parentUuid": claude.last, "sessionId": SESSION, "cwd": "/work",
            "version": "2.1.0", "isSidechain": False, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": [{"type": "image", "source": {
                "type": "base64", "media_type": "image/png", "data": image_block(png(300, 300))["data"]}}]},
        }
    )  # fmt: skip
    age(claude.path)
    async with running(tmp_path / "home", image_blobs=True) as daemon:
        peer = await daemon.attach()
        await follow(peer)
        assert await gaps(peer, deep=True) == []


async def test_a_line_that_is_damaged_is_here_as_it_is(agents_home: Path, peer: Peer) -> None:
    claude = conversation(agents_home)
    with claude.path.open("ab") as file:
        file.write(b'{"type":"user","uuid":"cut\n\x00\x00{"type":"future","x":1}\n')
    age(claude.path)
    await follow(peer)
    assert await gaps(peer, deep=True) == []


async def test_several_sources_are_compared_in_one_process_and_all_are_counted(
    agents_home: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        write_codex(
            agents_home, meta(id=f"{number}" * 8 + "-2222-4333-8444-555555555555"), said("user", f"q {number}"),
            said("assistant", "hi"), name=f"{number}",
        )  # fmt: skip
    await follow(peer, "codex")
    found = await verified(peer, deep=True)
    assert (found["gaps"], found["agents"][0]["wholeCount"]) == ([], 5)
    assert found["agents"][0]["entryCount"] >= 10
    assert comparing.MAX_NAMED == 3


async def test_a_packed_session_is_whole_and_a_damaged_one_has_gaps(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PACK_START_SECONDS", 0.05)
    conversation(agents_home, turns=200)
    agents = AgentsConfig(follow=("claude-code",))
    async with running(tmp_path / "home", config=Config(agents=agents)) as daemon:
        peer = await daemon.attach()
        await has(peer, "answer 199")
        log = log_of(daemon)
    packing = Config(agents=agents, keep=RetentionConfig(pack_after=0.0))
    async with running(tmp_path / "home", config=packing) as daemon:
        peer = await daemon.attach()
        await until(lambda: _is_gone(log))
        kinds = {row["key"]: row["count"] for row in (await peer.call("storage/report"))["kinds"]}
        assert (kinds["packed"], "sessions" in kinds) == (1, False)
        assert await gaps(peer) == []
        assert await gaps(peer, deep=True) == []
        packed = log.with_name(f"{log.name}.zst")
        content = bytearray(packed.read_bytes())
        content[len(content) // 3] ^= 1
        packed.write_bytes(content)
        assert await gaps(peer, deep=True) == ["incomplete"]


async def _is_gone(path: Path) -> bool:
    return not path.exists()


async def test_verifying_reports_progress(agents_home: Path, peer: Peer) -> None:
    conversation(agents_home)
    await follow(peer)
    await verified(peer, deep=True, workDoneToken="v")
    steps = [note["value"] for note in peer.told("$/progress") if note["token"] == "v"]
    assert [steps[0]["kind"], steps[-1]["kind"]] == ["begin", "end"]
    assert any("Comparing" in step.get("message", "") for step in steps)


async def test_verifying_changes_nothing(agents_home: Path, daemon: Running, peer: Peer) -> None:
    conversation(agents_home)
    await follow(peer)
    before = {path: path.read_bytes() for path in daemon.files()}
    await verified(peer, deep=True)
    assert {path: path.read_bytes() for path in daemon.files()} == before
