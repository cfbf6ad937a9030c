"""`blob/put`, `blob/get`, `blob/collect`: bytes by themselves, and what becomes of those that nobody names."""

import asyncio
import base64
import contextlib
import hashlib
import json  # noqa: TID251 - a note is read as any program would
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.protocol import types
from support.columns import messages_of
from support.daemons import MODES, Mode, Peer, Running, assistant, refusal, running, user
from support.images import image_block, png

DATA = bytes(range(256)) * 40
HASH = hashlib.sha256(DATA).hexdigest()
LONG_AGO = time.time() - 30 * 86_400


@pytest.fixture(params=MODES)
async def daemon(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Running]:
    mode: Mode = request.param
    async with running(tmp_path, mode, image_blobs=True) as daemon:
        yield daemon


@pytest.fixture
async def near(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(tmp_path, image_blobs=True) as daemon:
        yield daemon


async def put(peer: Peer, data: bytes) -> str:
    name: str = (await peer.call("blob/put", data=base64.b64encode(data).decode()))["hash"]
    return name


async def session(peer: Peer, **params: Any) -> str:
    created = await peer.call("session/create", cwd="/work/blobs", **params)
    session_id: str = created["session"]["sessionId"]
    return session_id


def shows(digest: str, **more: Any) -> dict[str, Any]:
    """A draft that names a blob."""
    image = {"type": "image", "mimeType": "image/png", "data": f"blob:sha256:{digest}"}
    return {"type": "message", "message": {"role": "user", "content": [image]}, **more}


def blob_file(daemon: Running, digest: str) -> Path:
    return daemon.home / "data" / "blobs" / digest


def make_old(daemon: Running, *digests: str) -> None:
    for digest in digests:
        os.utime(blob_file(daemon, digest), (LONG_AGO, LONG_AGO))


async def removed(peer: Peer, **params: Any) -> list[str]:
    return [item["hash"] for item in (await peer.call("blob/collect", **params))["removed"]]


# --- put and get -------------------------------------------------------------------------------------------


async def test_bytes_come_back_by_their_hash_or_their_reference(daemon: Running) -> None:
    peer = await daemon.attach()
    kept = await peer.call("blob/put", data=base64.b64encode(DATA).decode())
    assert kept == {"hash": HASH, "ref": f"blob:sha256:{HASH}", "sizeBytes": len(DATA), "created": True}
    for name in (HASH, kept["ref"]):
        got = await peer.call("blob/get", hash=name)
        assert got == {"data": base64.b64encode(DATA).decode(), "sizeBytes": len(DATA), "nextOffset": None}
    assert blob_file(daemon, HASH).read_bytes() == DATA


async def test_the_same_bytes_are_kept_once(near: Running) -> None:
    peer = await near.attach()
    await put(peer, DATA)
    assert (await peer.call("blob/put", data=base64.b64encode(DATA).decode()))["created"] is False


async def test_a_blob_is_read_in_parts(near: Running) -> None:
    peer = await near.attach()
    await put(peer, DATA)
    parts: list[bytes] = []
    offset: int | None = 0
    while offset is not None:
        got = await peer.call("blob/get", hash=HASH, offset=offset, limit=3000)
        parts.append(base64.b64decode(got["data"]))
        offset = got["nextOffset"]
    assert b"".join(parts) == DATA
    assert max(map(len, parts)) == 3000
    beyond = await peer.call("blob/get", hash=HASH, offset=len(DATA) + 1)
    assert beyond == {"data": "", "sizeBytes": len(DATA), "nextOffset": None}


@pytest.mark.parametrize("data", ["?", "QQ", "QUJD\n", "é"])
async def test_data_that_is_not_base64_is_refused(near: Running, data: str) -> None:
    peer = await near.attach()
    assert (await refusal(peer.call("blob/put", data=data))).kind == "invalidParams"


async def test_an_absent_blob_is_not_found(near: Running) -> None:
    peer = await near.attach()
    refused = await refusal(peer.call("blob/get", hash="0" * 64))
    assert (refused.kind, refused.details["hash"]) == ("blobNotFound", "0" * 64)


@pytest.mark.parametrize("name", ["", "x", "../" + "0" * 61, "0" * 63, "0" * 65, "blob:sha256:"])
async def test_only_a_hash_names_a_blob(near: Running, name: str) -> None:
    peer = await near.attach()
    assert (await refusal(peer.call("blob/get", hash=name))).kind == "invalidParams"


async def test_a_damaged_blob_is_told_as_damaged(near: Running) -> None:
    peer = await near.attach()
    await put(peer, DATA)
    blob_file(near, HASH).write_bytes(b"x" * len(DATA))
    refused = await refusal(peer.call("blob/get", hash=HASH))
    assert (refused.kind, refused.details["path"]) == ("blobDamaged", str(blob_file(near, HASH)))


async def test_an_entry_may_name_what_was_put(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(await put(peer, DATA)))
    context = await peer.call("session/context", sessionId=session_id)
    assert messages_of(context)[0]["content"] == [image_block(DATA)]


async def test_an_ephemeral_session_may_name_what_was_put(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer, ephemeral=True)
    await peer.append(session_id, shows(await put(peer, DATA)))
    context = await peer.call("session/context", sessionId=session_id)
    assert messages_of(context)[0]["content"] == [image_block(DATA)]


# --- collect -----------------------------------------------------------------------------------------------


async def test_a_dry_run_says_what_would_go_and_moves_nothing(daemon: Running) -> None:
    peer = await daemon.attach()
    session_id = await session(peer)
    named, unnamed = await put(peer, b"named"), await put(peer, DATA)
    await peer.append(session_id, shows(named), assistant("fine"))
    make_old(daemon, named, unnamed)
    found = await peer.call("blob/collect")
    (gone,) = found["removed"]
    assert (gone["hash"], gone["sizeBytes"], gone["modifiedAt"][:4]) == (
        HASH,
        len(DATA),
        time.strftime("%Y", time.gmtime(LONG_AGO)),
    )
    assert {name: blob for name, blob in found.items() if name not in ("removed", "duplicate")} == {
        "removedCount": 1, "removedBytes": len(DATA), "keptCount": 1, "keptBytes": 5, "missing": [],
        "missingCount": 0, "truncated": False, "trashPath": None, "dryRun": True,
    }  # fmt: skip
    assert blob_file(daemon, HASH).exists()


async def test_a_collection_of_many_names_the_first_and_counts_all(
    near: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(types, "MAX_REPORTED", 2)
    peer = await near.attach()
    lost = [await put(peer, f"lost {number}".encode()) for number in range(3)]
    session_id = await session(peer)
    await peer.append(session_id, *map(shows, lost), assistant("yes"))
    for digest in lost:
        blob_file(near, digest).unlink()
    unnamed = [await put(peer, f"unnamed {number}".encode()) for number in range(3)]
    make_old(near, *unnamed)
    for dry_run in (True, False):
        found = await peer.call("blob/collect", graceMs=0, dryRun=dry_run)
        assert (len(found["removed"]), found["removedCount"], found["removedBytes"]) == (2, 3, 27)
        assert (len(found["missing"]), found["missingCount"], found["truncated"]) == (2, 3, True)
    assert not any(blob_file(near, text).exists() for text in unnamed)


async def test_collected_blobs_lie_in_the_trash_with_a_note(daemon: Running) -> None:
    peer = await daemon.attach()
    await put(peer, DATA)
    make_old(daemon, HASH)
    found = await peer.call("blob/collect", dryRun=False)
    folder = Path(found["trashPath"])
    assert not blob_file(daemon, HASH).exists()
    assert (folder / HASH).read_bytes() == DATA
    assert json.loads((folder / "note.json").read_text(encoding="utf-8"))["reason"] == "no session names them"
    assert (await refusal(peer.call("blob/get", hash=HASH))).kind == "blobNotFound"


async def test_young_blobs_stay_for_the_line_that_will_name_them(near: Running) -> None:
    peer = await near.attach()
    await put(peer, DATA)
    assert await removed(peer, dryRun=False) == []
    assert await removed(peer, dryRun=False, graceMs=0) == [HASH]


async def test_blobs_that_drafts_the_trash_and_leftovers_name_stay(near: Running) -> None:
    peer = await near.attach()
    names = [await put(peer, b"%d" % n * 100) for n in range(4)]
    draft, trashed, stored = await session(peer), await session(peer), await session(peer)
    await peer.append(draft, shows(names[0]))
    await peer.append(trashed, shows(names[1]))
    await peer.call("session/close", sessionId=trashed)
    await peer.append(stored, user("hello"), assistant("hi"))
    (file,) = near.files()
    file.with_name(f"{file.name}.torn-7").write_bytes(b'{"data":"blob:sha256:' + names[2].encode())
    file.with_name(f"{file.name}.v1.bak").write_bytes(b'{"data":"blob:sha256:%b"}' % names[3].encode())
    make_old(near, *names)
    assert await removed(peer, dryRun=False) == []


async def test_a_reference_across_two_slices_of_a_log_is_found(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    await peer.append(session_id, user("hello"), assistant("hi"))
    (file,) = near.files()
    names = []
    for number in range(80):
        name = await put(peer, b"%d" % number)
        names.append(name)
        size = file.stat().st_size
        text = "x" * (64 * 1024 - (size % (64 * 1024)) - 120 - number % 80)
        await peer.append(session_id, {"type": "custom", "customType": text, "data": f"blob:sha256:{name}"})
    make_old(near, *names)
    assert await removed(peer) == []


async def test_sessions_in_memory_and_elsewhere_count_while_they_are_open(near: Running) -> None:
    peer = await near.attach()
    names = [await put(peer, b"%d" % n * 100) for n in range(2)]
    await peer.append(await session(peer, ephemeral=True), shows(names[0]))
    elsewhere = near.home / "elsewhere.jsonl"
    elsewhere.write_bytes(
        b'{"type":"session","version":3,"id":"elsewhere","timestamp":"2026-03-01T08:00:00.000Z","cwd":"/w"}\n'
        b'{"type":"custom","id":"a","parentId":null,"customType":"x","data":"blob:sha256:%b"}\n'
        % names[1].encode()
    )
    await peer.call("session/open", path=str(elsewhere))
    make_old(near, *names)
    assert await removed(peer) == []


async def test_a_missing_blob_is_listed_with_its_session(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(HASH), assistant("?"))
    path = (await peer.call("session/info", sessionId=session_id))["session"]["path"]
    assert (await peer.call("blob/collect"))["missing"] == [{"hash": HASH, "sessionPath": path}]


async def test_progress_is_told_to_who_brings_a_token(daemon: Running) -> None:
    peer = await daemon.attach()
    await session(peer)
    await peer.call("blob/collect", workDoneToken="blobs-1")
    steps = peer.told("$/progress")
    assert {step["token"] for step in steps} == {"blobs-1"}
    assert [step["value"]["kind"] for step in steps][:1] == ["begin"]
    assert [step["value"]["kind"] for step in steps][-1:] == ["end"]
    assert peer.order.index("reply", 1) > peer.order.index("$/progress")


async def test_a_log_that_cannot_be_read_stops_the_collection(near: Running) -> None:
    peer = await near.attach()
    await put(peer, DATA)
    make_old(near, HASH)
    await peer.append(await session(peer), user("hello"), assistant("hi"))
    (file,) = near.files()
    (file.with_name(f"{file.name}.torn-1")).write_bytes(b"x")
    store, _ = near.inside.hub.stores
    scan = store.scan

    def refuse(ref: str, start: int = 0) -> Any:
        if ref.endswith(".torn-1"):
            raise PermissionError(13, "Permission denied", ref)
        return scan(ref, start)

    store.scan = refuse  # type: ignore[method-assign]
    assert (await refusal(peer.call("blob/collect", dryRun=False))).kind == "storageFailed"
    assert blob_file(near, HASH).exists()


async def test_no_blob_that_is_named_is_collected_while_others_append(near: Running) -> None:
    peer, collector = await near.attach(), await near.attach()
    sessions = [await session(peer) for _ in range(3)]
    for session_id in sessions:
        await peer.append(session_id, user("hello"), assistant("hi"))
    pictures = [png(30, 30, seed=n) for n in range(12)]
    names = [hashlib.sha256(picture).hexdigest() for picture in pictures]
    for picture in pictures:
        await put(peer, picture)
    done = False

    async def append() -> None:
        nonlocal done
        for number, picture in enumerate(pictures):
            for digest in names[number:]:  # but none that was just named: a collection is under way
                with contextlib.suppress(FileNotFoundError):  # it is collected by now
                    make_old(near, digest)
            content = [image_block(picture)]
            draft = {"type": "message", "message": {"role": "user", "content": content}}
            if number % 2:  # named already, by the one before
                draft = shows(names[number - 1])
            await peer.append(sessions[number % 3], draft)
        done = True

    async def collect() -> None:
        while not done:
            await removed(collector, dryRun=False, graceMs=60 * 1_000)
            await asyncio.sleep(0)

    await asyncio.gather(append(), collect())
    for session_id in sessions:
        context = await peer.call("session/context", sessionId=session_id)
        assert not context["missingBlobs"]
    assert (await peer.call("blob/collect", graceMs=0))["missing"] == []


async def test_a_collection_that_is_given_up_moves_nothing(near: Running) -> None:
    peer = await near.attach()
    await put(peer, DATA)
    make_old(near, HASH)
    await peer.append(await session(peer), user("hello"), assistant("hi"))
    store, _ = near.inside.hub.stores
    scan, gate = store.scan, threading.Event()

    def wait(ref: str, start: int = 0) -> Iterator[bytes]:
        gate.wait(60)
        yield from scan(ref, start)

    store.scan = wait  # type: ignore[method-assign]
    collecting = asyncio.ensure_future(
        refusal(peer.call("blob/collect", dryRun=False, workDoneToken="blobs-1"))
    )
    await peer.until(lambda client: len(client.told("$/progress")) > 1)
    peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
    assert (await collecting).kind == "canceled"
    gate.set()
    assert [step["value"]["kind"] for step in peer.told("$/progress")][-1] == "end"
    assert blob_file(near, HASH).exists()
