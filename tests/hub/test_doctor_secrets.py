"""The doctor's search for secrets: in every store, in logs, blobs, the trash and prompts, in bounded memory."""

import asyncio
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessiond.config import Config
from sessiond.hub.doctor.scope import Scope
from sessiond.hub.doctor.secrets import find_secrets
from sessiond.paths import find_locations
from sessiond.session.content.blobs import hash_of
from sessiond.store.base import Store
from support.any_store import STORES, store_of
from support.daemons import refusal, running, user
from support.stores import file_store

WORD = "q8)r$m0|Zt4x"
SECRET = f"DB_PASS={WORD}\n"


def scope_of(home: Path, *only: Path) -> Scope:
    locations = find_locations({"SESSIOND_HOME": str(home), "HOME": str(home)})
    return Scope(locations, Config(), only=list(map(str, only)))


def lines(session_id: str, *entries: dict[str, Any]) -> bytes:
    header = {"type": "session", "id": session_id, "timestamp": "2026-02-16T10:20:30Z", "cwd": "/work"}
    return b"".join(msgspec.json.encode(item) + b"\n" for item in (header, *entries))


def said(entry_id: str, text: str) -> dict[str, Any]:
    return {"type": "message", "id": entry_id, "parentId": None, "message": {"role": "user", "content": text}}


async def log(store: Store, session_id: str, *entries: dict[str, Any], draft: bool = False) -> None:
    timestamp = "2026-02-16T10:20:30Z"
    await store.add(
        session_id, cwd="/work", timestamp=timestamp, lines=lines(session_id, *entries), draft=draft
    )


def places(scope: Scope) -> list[tuple[str | None, Any, str | None]]:
    """The session, the entry and the blob of each secret."""
    found = [finding.finding for finding in scope.found if finding.finding.kind == "secretFound"]
    assert {finding.message for finding in found} <= {"Password"}
    assert WORD not in repr(found)
    return [(at.session_id, at.entry_id or None, at.blob) for at in (finding.location for finding in found)]


@pytest.mark.parametrize("kind", STORES)
async def test_secrets_are_found_in_every_store(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    async with store_of(kind, request, tmp_path) as store:
        named = await store.blobs.put(b"first\n" * 300_000 + SECRET.encode())
        alone = await store.blobs.put(SECRET.encode())
        picture = await store.blobs.put(b"\x89PNG\x00" + SECRET.encode())
        both = f"blob:sha256:{named.hash} blob:sha256:{picture.hash}"
        await log(store, "session1", said("clean", "Hello."), said("said", SECRET), said("refers", both))
        await log(store, "session2", said("again", both), said("gone", f"blob:sha256:{hash_of(b'gone')}"))
        await log(store, "a-draft1", said("drafted", SECRET), draft=True)
        await log(store, "deleted1", said("trashed", SECRET))
        await store.trash(await store.open("deleted1"), "test")
        scope = scope_of(tmp_path)
        await find_secrets(scope, [store])
    assert sorted(places(scope), key=str) == sorted(
        [
            ("session1", "said", None),
            ("session1", "refers", named.hash),
            ("session2", "again", named.hash),
            ("a-draft1", "drafted", None),
            ("deleted1", "trashed", None),
            (None, None, alone.hash),
        ],
        key=str,
    )
    assert {finding.finding.kind for finding in scope.found} == {"secretFound"}
    assert (scope.sessions, scope.blobs) == (4, 3)


async def test_secrets_are_found_in_what_is_left_beside_a_log_and_in_trashed_blobs(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        await log(store, "session1", said("e1", "Hello."))
        [stored] = await store.list()
        Path(f"{stored.ref}.torn-7").write_text('{"type":"mess","text":"' + SECRET, encoding="utf-8")
        blob = await store.blobs.put(SECRET.encode())
        await store.blobs.trash([blob.hash], older_than_ns=2**62, folder="blobs-1", reason="test")
        scope = scope_of(tmp_path)
        await find_secrets(scope, [store])
    assert places(scope) == [("session1", None, None), (None, None, blob.hash)]


@pytest.mark.parametrize("at", [0, (1 << 20) - 6, 5_000_000])
async def test_a_secret_anywhere_in_a_line_that_is_too_long_to_hold_is_found(tmp_path: Path, at: int) -> None:
    path = tmp_path / "long.jsonl"
    text = "words " * (10_000_000 // 6)
    entry = msgspec.json.encode(said("long", f"{text[:at]}\n{SECRET}{text[at:]}"))
    path.write_bytes(lines("session1", said("e1", "Hello.")) + entry + b"\n" + lines("s", said("e3", SECRET)))
    scope = scope_of(tmp_path, path)
    async with file_store(tmp_path) as store:
        await find_secrets(scope, [store])
    found = [finding.finding.location for finding in scope.found if finding.finding.kind == "secretFound"]
    assert [(finding.line, finding.session_id) for finding in found] == [(3, "session1"), (5, "session1")]


async def test_the_search_tells_how_far_it_is_and_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    entries = [said(f"e{number}", "words\n" * 200 + SECRET * (number == 150)) for number in range(300)]
    path.write_bytes(lines("one", *entries))
    scope = scope_of(tmp_path, path)
    told: list[int] = []
    async with file_store(tmp_path) as store:
        await find_secrets(scope, [store], lambda _, percentage: told.append(percentage))
    assert told == sorted(told)
    [found] = [finding.finding for finding in scope.found if finding.finding.kind == "secretFound"]
    assert (found.location.session_id, found.location.entry_id, found.location.line) == ("one", "e150", 152)


async def test_the_memory_of_the_search_does_not_grow_with_a_session(tmp_path: Path) -> None:
    async def peak(count: int) -> int:
        path = tmp_path / f"{count}.jsonl"
        path.write_bytes(
            lines("one", *(said(f"e{number}", "some words\n" * 10_000) for number in range(count)))
        )
        tracemalloc.reset_peak()
        async with file_store(tmp_path) as store:
            await find_secrets(scope_of(tmp_path, path), [store])
        return tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    try:
        await peak(2)  # modules are loaded, and expressions compiled
        small, large = await peak(4), await peak(40)
    finally:
        tracemalloc.stop()
    assert large < small * 1.5


async def test_secrets_in_prompts_and_in_sessions_in_memory_are_found_by_a_daemon(tmp_path: Path) -> None:
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        created = await peer.call("session/create", cwd="/work", id="passing1", ephemeral=True)
        await peer.append(created["session"]["sessionId"], user(SECRET))
        prompt = (await peer.call("history/add", prompt=SECRET, cwd="/work"))["promptId"]
        found = (await peer.call("server/doctor", secrets=True))["findings"]
    in_memory, in_prompt = [finding for finding in found if finding["kind"] == "secretFound"]
    assert (in_memory["location"]["sessionId"], in_memory["location"]["path"]) == ("passing1", None)
    assert prompt in in_prompt["message"]
    assert WORD not in repr(found)


async def test_nothing_is_fixed_while_secrets_are_looked_for(tmp_path: Path) -> None:
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        refused = await refusal(peer.call("server/doctor", secrets=True, fix=True))
    assert refused.kind == "invalidParams"


async def test_others_are_answered_while_the_search_goes_on_and_it_can_be_canceled(tmp_path: Path) -> None:
    async with running(tmp_path / "home") as daemon:
        peer, other = await daemon.attach(), await daemon.attach()
        await peer.call("session/create", cwd="/work", id="session1")
        await peer.append("session1", user(SECRET))
        store, _ = daemon.inside.hub.stores
        scan, gate = store.scan, threading.Event()

        def wait(ref: str, start: int = 0) -> Iterator[bytes]:
            gate.wait(60)
            yield from scan(ref, start)

        store.scan = wait  # type: ignore[method-assign]
        searching = asyncio.ensure_future(
            refusal(peer.call("server/doctor", secrets=True, workDoneToken="secrets-1"))
        )
        await peer.until(lambda client: bool(client.told("$/progress")))
        await other.call("server/status")
        assert not searching.done()
        peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
        assert (await searching).kind == "canceled"
        gate.set()
        assert [step["value"]["kind"] for step in peer.told("$/progress")][-1] == "end"
