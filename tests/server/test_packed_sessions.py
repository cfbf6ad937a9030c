"""Sessions that nobody has used for a while are packed; clients see no difference but the name of the file."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pyzstd

from sessiond.config import Config, RetentionConfig, RootsConfig
from sessiond.hub.transfer.exchange import Exchange
from sessiond.server import server
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.patience import BOUND
from support.waiting import until
from support.writing_agents import WritingClaude

NEVER = Config(keep=RetentionConfig(pack_after=None))
AT_ONCE = Config(keep=RetentionConfig(pack_after=0.0))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PACK_START_SECONDS", 0.05)


async def a_session(peer: Peer, cwd: str, name: str = "session-old", *, entries: int = 40) -> Path:
    """A closed session whose file is worth packing. Return its file."""
    await peer.call("session/create", cwd=cwd, id=name)
    for number in range(entries):
        await peer.append(
            name, user(f"question {number} walnut{number}"), assistant(f"answer {number} " * 60)
        )
    await peer.call("session/close", sessionId=name)
    return Path((await peer.call("session/info", sessionId=name))["session"]["path"])


def packed_name(path: Path) -> Path:
    return path.with_name(f"{path.name}.zst")


async def until_packed(path: Path) -> Path:
    async with asyncio.timeout(BOUND):
        while path.exists():  # noqa: ASYNC110 - the daemon says nothing about it
            await asyncio.sleep(0.01)
    return packed_name(path)


@asynccontextmanager
async def a_packed_session(
    home: Path, cwd: str, **params: Any
) -> AsyncIterator[tuple[Running, Peer, Path, bytes]]:
    """A daemon with a packed session: the daemon, a client, the packed file and the bytes of the log."""
    async with running(home, config=NEVER) as daemon:
        path = await a_session(await daemon.attach(), cwd, **params)
    before = path.read_bytes()
    async with running(home, config=AT_ONCE) as daemon:
        peer = await daemon.attach()
        yield daemon, peer, await until_packed(path), before


async def listed(peer: Peer, cwd: str) -> dict[str, Any]:
    (row,) = (await peer.call("session/list", cwd=cwd))["sessions"]
    return dict(row)


async def test_an_unused_session_is_packed_and_is_the_same_session(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        path = await a_session(peer, cwd)
        before = await listed(peer, cwd)
        found = await peer.call("session/search", query="walnut17")
        sizes = {share["key"]: share["sizeBytes"] for share in (await peer.call("storage/report"))["kinds"]}
        assert sizes["sessions"] == path.stat().st_size
        tree = await peer.call("session/tree", sessionId="session-old")
        context = await peer.call("session/context", sessionId="session-old")
        await peer.call("session/close", sessionId="session-old")
    lines = path.read_bytes()
    async with running(tmp_path, config=AT_ONCE) as daemon:
        peer = await daemon.attach()
        packed = await until_packed(path)
        assert pyzstd.decompress(packed.read_bytes()) == lines
        assert packed.stat().st_size < len(lines) / 4
        assert await listed(peer, cwd) == before | {"path": str(packed)}
        sizes = {share["key"]: share["sizeBytes"] for share in (await peer.call("storage/report"))["kinds"]}
        assert sizes["packed"] == packed.stat().st_size
        hits = (await peer.call("session/search", query="walnut17"))["hits"]
        assert [hit["entryId"] for hit in hits] == [hit["entryId"] for hit in found["hits"]]
        for name in (str(packed), str(path)):
            opened = await peer.call("session/open", path=name)
            assert (opened["session"]["sessionId"], opened["session"]["path"]) == ("session-old", str(packed))
            assert opened["session"]["sizeBytes"] == len(lines)
        assert (await peer.call("session/tree", sessionId="session-old"))["nodes"] == tree["nodes"]
        assert (await peer.call("session/context", sessionId="session-old"))["messages"] == context[
            "messages"
        ]
        assert packed.exists()


async def test_an_append_unpacks_a_session_first(tmp_path: Path, cwd: str) -> None:
    async with a_packed_session(tmp_path, cwd) as (_daemon, peer, packed, before):
        await peer.call("session/open", sessionId="session-old")
        await peer.append("session-old", user("more walnut99"))
        info = (await peer.call("session/info", sessionId="session-old"))["session"]
        assert info["path"] == str(packed)[:-4]
        assert Path(info["path"]).read_bytes().startswith(before)
        assert not packed.exists()
        row = await listed(peer, cwd)
        assert (row["path"], row["entryCount"]) == (info["path"], 81)
        assert len((await peer.call("session/search", query="walnut99"))["hits"]) == 1
        assert len((await peer.call("session/search", query="walnut7"))["hits"]) == 1


async def test_a_packed_session_is_exported_forked_trashed_and_restored(tmp_path: Path, cwd: str) -> None:
    async with a_packed_session(tmp_path, cwd) as (_daemon, peer, packed, before):
        exported = await peer.call("session/export", sessionId="session-old", format="jsonl")
        assert exported["text"].count("\n") == before.count(b"\n")
        forked = await peer.call("session/fork", sessionId="session-old")
        assert forked["session"]["parentSessionId"] == "session-old"
        await peer.call("session/close", sessionId=forked["session"]["sessionId"])
        gone = await peer.call("session/delete", sessionId="session-old")
        assert not packed.exists()
        assert gone["trashPath"].endswith(".zst")
        restored = await peer.call("trash/restore", sessionId="session-old")
        assert restored["session"]["path"] == str(packed)
        assert pyzstd.decompress(packed.read_bytes()) == before


async def test_packing_reads_no_log_again_for_the_index_and_for_a_sync(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        path = await a_session(peer, cwd)
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        await peer.call("session/search", query="walnut1")
        positions = await peer.call("sync/positions")
    async with running(tmp_path, config=AT_ONCE) as daemon:
        peer = await daemon.attach()
        await until_packed(path)
        store = daemon.inside.hub.stores[0]
        monkeypatch.setattr(store, "scan", lambda *_args: pytest.fail("the log is read"))
        monkeypatch.setattr(store, "read_ends", lambda *_args: pytest.fail("the log is read"))
        assert (await listed(peer, cwd))["path"] == str(packed_name(path))
        assert len((await peer.call("session/search", query="walnut1"))["hits"]) == 1
        assert (await peer.call("sync/positions"))["sessions"] == positions["sessions"]


async def test_open_small_and_foreign_sessions_stay_plain(tmp_path: Path, cwd: str) -> None:
    pi = tmp_path / "pi" / "--a--" / "2026-01-01T00-00-00-000Z_of-pi-1234.jsonl"
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        old, small = await a_session(peer, cwd), await a_session(peer, cwd, "session-small", entries=2)
        opened = await a_session(peer, cwd, "session-open")
        pi.parent.mkdir(parents=True)
        pi.write_bytes(old.read_bytes().replace(b"session-old", b"of-pi-1234"))
    os.utime(pi, (0, 0))
    config = Config(keep=RetentionConfig(pack_after=0.0), roots=RootsConfig((str(tmp_path / "pi"),)))
    async with running(tmp_path, config=config) as daemon:
        peer = await daemon.attach()
        await peer.call("session/open", sessionId="session-open")
        await until_packed(old)
        assert small.exists()
        assert opened.exists()
        assert pi.exists()
        assert not packed_name(pi).exists()


async def test_a_recently_used_session_is_not_packed(tmp_path: Path, cwd: str) -> None:
    config = Config(keep=RetentionConfig(pack_after=3600.0))
    async with running(tmp_path, config=NEVER) as daemon:
        path = await a_session(await daemon.attach(), cwd)
    os.utime(path, (0, 0))
    async with running(tmp_path, config=config) as daemon:
        totals = await daemon.inside.hub.packing.pack_unused(3600.0)
        assert totals.session_count == 0
        assert path.exists()
        assert (await daemon.inside.hub.packing.pack_unused(0.0)).session_count == 1


async def test_a_request_packs_unused_sessions_at_once_and_reports_totals_and_progress(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        closed, opened = [await a_session(peer, cwd, name) for name in ("session-one", "session-two")]
    size = closed.stat().st_size
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        await peer.call("session/open", sessionId="session-two")
        assert (await peer.call("storage/archive"))["sessionCount"] == 0
        found = await peer.call("storage/archive", unusedDays=0, workDoneToken="packing")
        assert found == {
            "sessionCount": 1,
            "sizeBytes": size,
            "packedBytes": packed_name(closed).stat().st_size,
            "failedCount": 0,
        }
        assert opened.exists()
        steps = [note["value"] for note in peer.told("$/progress") if note["token"] == "packing"]
    assert [step["kind"] for step in steps] == ["begin", "report", "end"]
    assert steps[1]["message"] == "0 of 1 sessions"


async def test_a_request_to_pack_does_not_wait_for_the_pauses_of_the_background(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    def is_importing(_exchange: Exchange) -> bool:
        asked.set()
        return True

    async with running(tmp_path, config=NEVER) as daemon:
        path = await a_session(await daemon.attach(), cwd)
    monkeypatch.setattr(Exchange, "is_importing", property(is_importing))
    async with running(tmp_path, config=AT_ONCE) as daemon:
        peer = await daemon.attach()
        async with asyncio.timeout(BOUND):
            await asked.wait()
        assert (await peer.call("storage/archive", unusedDays=0))["sessionCount"] == 1
        assert packed_name(path).exists()


async def test_a_damaged_packed_session_shows_its_other_lines(tmp_path: Path, cwd: str) -> None:
    async with a_packed_session(tmp_path, cwd, entries=600) as (_daemon, _peer, packed, before):
        pass
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 0xFF
    packed.write_bytes(data)
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        opened = await peer.call("session/open", sessionId="session-old")
        problems = opened["problems"]
        assert problems
        entries = opened["session"]["entryCount"]
        assert 600 < entries < before.count(b"\n") - 1


async def test_a_packed_session_that_was_cut_off_is_refused_by_name(tmp_path: Path, cwd: str) -> None:
    async with a_packed_session(tmp_path, cwd) as (_daemon, _peer, packed, _before):
        pass
    packed.write_bytes(packed.read_bytes()[:-20])
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        refused = await refusal(peer.call("session/open", path=str(packed)))
        assert refused.kind == "storageFailed"


async def test_a_client_has_a_session_unpacked_and_others_hear_of_its_path(tmp_path: Path, cwd: str) -> None:
    async with a_packed_session(tmp_path, cwd) as (daemon, peer, packed, before):
        other = await daemon.attach()
        await other.call("session/open", sessionId="session-old")
        opened = await peer.call("session/open", sessionId="session-old", unpack=True)
        plain = Path(str(packed).removesuffix(".zst"))
        assert opened["session"]["path"] == str(plain)
        assert plain.read_bytes() == before
        assert not packed.exists()
        await other.until(lambda client: bool(client.told("session/changed")))
        assert other.told("session/changed")[-1]["changed"] == ["path"]
        assert (await listed(peer, cwd))["path"] == str(plain)


async def test_an_import_of_an_unchanged_file_reads_no_packed_log_and_a_grown_one_makes_it_plain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = WritingClaude(tmp_path / "agents")
    for number in range(20):
        claude.asks(f"question {number}")
        claude.says("word " * 400)
    os.utime(claude.path, (1_000_000_000, 1_000_000_000))
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        (made,) = (await peer.call("session/import", paths=[str(claude.path)]))["sessions"]
        plain = Path((await peer.call("session/info", sessionId=made["sessionId"]))["session"]["path"])
    async with running(tmp_path, config=AT_ONCE) as daemon:
        packed = await until_packed(plain)
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        store = daemon.inside.hub.stores[0]
        with monkeypatch.context() as patched:
            patched.setattr(store, "scan", lambda *_args: pytest.fail("the log is read"))
            (again,) = (await peer.call("session/import", paths=[str(claude.path)]))["sessions"]
        assert again["status"] == "unchanged"
        assert packed.exists()
        claude.says("one more answer")
        (grown,) = (await peer.call("session/import", paths=[str(claude.path)]))["sessions"]
        assert (grown["sessionId"], grown["status"], grown["addedCount"]) == (made["sessionId"], "grown", 1)
        assert plain.exists()
        assert not packed.exists()


async def test_damage_behind_an_open_index_is_an_error_and_then_a_problem(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path, config=NEVER) as daemon:
        path = await a_session(await daemon.attach(), cwd, entries=1500)
        assert path.stat().st_size > 1024 * 1024
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        await peer.call("session/open", sessionId="session-old")
        await until(lambda: list(tmp_path.glob("state/open-indexes/*")))
    async with running(tmp_path, config=AT_ONCE):
        packed = await until_packed(path)
    status, data = packed.stat(), bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 0xFF
    packed.write_bytes(data)
    os.utime(packed, ns=(status.st_atime_ns, status.st_mtime_ns))
    async with running(tmp_path, config=NEVER) as daemon:
        peer = await daemon.attach()
        opened = await peer.call("session/open", sessionId="session-old")
        assert (opened["problems"], opened["session"]["entryCount"]) == ([], 3000)
        refused = await refusal(peer.call("session/context", sessionId="session-old"))
        assert refused.kind == "foreignWriter"
        again = await peer.call("session/open", sessionId="session-old")
        assert {problem["kind"] for problem in again["problems"]} >= {"damagedLine"}
        assert 1500 < again["session"]["entryCount"] < 3000
        assert (await peer.call("session/context", sessionId="session-old"))["messages"]
