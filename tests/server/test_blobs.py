"""Images and long texts of a session: into blobs on their way in, back on their way out."""

import asyncio
import base64
import errno
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.columns import entries_of, messages_of
from support.daemons import MODES, Mode, Peer, Running, assistant, refusal, running, user
from support.disk import Disk
from support.images import image_block, png
from support.shared import lines_of

IMAGE = png(60, 60)
HASH = hashlib.sha256(IMAGE).hexdigest()
REFERENCE = f"blob:sha256:{HASH}"
LONG = "word " * 120_000
NOTICE = "\n\n[Session persistence truncated large content]"


@pytest.fixture(params=MODES)
async def daemon(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Running]:
    mode: Mode = request.param
    async with running(tmp_path, mode, image_blobs=True) as daemon:
        yield daemon


@pytest.fixture
async def near(tmp_path: Path) -> AsyncIterator[Running]:
    """A daemon in this process, where the way that it is reached does not matter."""
    async with running(tmp_path, image_blobs=True) as daemon:
        yield daemon


async def session(peer: Peer, **params: Any) -> str:
    created = await peer.call("session/create", cwd="/work/blobs", **params)
    session_id: str = created["session"]["sessionId"]
    return session_id


def shows(data: bytes = IMAGE, **more: Any) -> dict[str, Any]:
    """A draft of a question with a picture."""
    content = [{"type": "text", "text": "What is this?"}, image_block(data)]
    return {"type": "message", "message": {"role": "user", "content": content}, **more}


async def stored(peer: Peer, session_id: str) -> list[dict[str, Any]]:
    page = await peer.call("session/entries", sessionId=session_id)
    entries: list[dict[str, Any]] = entries_of(page)
    return entries


def blobs_of(daemon: Running) -> dict[str, bytes]:
    folder = daemon.home / "data" / "blobs"
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


# --- in ----------------------------------------------------------------------------------------------------


async def test_an_image_is_a_blob_that_the_line_names(daemon: Running) -> None:
    peer = await daemon.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(), assistant("A picture."))
    (file,) = daemon.files()
    assert lines_of(file)[1]["message"]["content"][1]["data"] == REFERENCE
    assert blobs_of(daemon) == {HASH: IMAGE}


async def test_a_context_has_its_images_and_whole_texts_again(daemon: Running) -> None:
    peer = await daemon.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(), assistant(LONG))
    context = await peer.call("session/context", sessionId=session_id)
    assert messages_of(context)[0] == shows()["message"]
    assert messages_of(context)[1]["content"][0]["text"] == LONG
    assert not context["missingBlobs"]


async def test_a_context_may_be_had_as_it_is_stored(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(), assistant(LONG))
    context = await peer.call("session/context", sessionId=session_id, resolveBlobs=False)
    assert messages_of(context)[0]["content"][1]["data"] == REFERENCE
    assert messages_of(context)[1]["content"][0]["text"].endswith(NOTICE)


@pytest.mark.parametrize("method", ["session/entries", "session/path"])
async def test_entries_travel_as_stored_unless_their_blobs_are_asked_for(near: Running, method: str) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(), assistant(LONG))
    as_stored = await peer.call(method, sessionId=session_id)
    whole = await peer.call(method, sessionId=session_id, resolveBlobs=True)
    assert entries_of(as_stored)[0]["message"]["content"][1]["data"] == REFERENCE
    assert list(entries_of(as_stored)[1]["sessiondBlobs"]) == ["/message/content/0/text"]
    assert [entry["message"] for entry in entries_of(whole)] == [
        shows()["message"], assistant(LONG)["message"]
    ]  # fmt: skip
    assert "sessiondBlobs" not in entries_of(whole)[1]


async def test_a_summary_and_a_custom_message_are_whole_in_a_context(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    custom = {
        "type": "custom_message",
        "customType": "shot",
        "content": [image_block(IMAGE)],
        "display": True,
    }
    await peer.append(session_id, user("hello", id="u1"), assistant("hi"), custom)
    summary = {"type": "compaction", "summary": LONG, "firstKeptEntryId": "u1", "tokensBefore": 9}
    await peer.append(session_id, summary)
    context = await peer.call("session/context", sessionId=session_id)
    assert messages_of(context)[0]["summary"] == LONG
    assert messages_of(context)[3]["content"] == [image_block(IMAGE)]


async def test_an_edited_message_has_the_images_of_its_edit(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    other = image_block(png(50, 50))
    edit = {
        "type": "context_edit",
        "targetId": "u1",
        "replacement": {"content": [other, {"type": "text", "text": LONG}]},
    }
    await peer.append(session_id, shows(id="u1"), assistant("hi"), edit)
    context = await peer.call("session/context", sessionId=session_id)
    assert messages_of(context)[0]["content"] == [other, {"type": "text", "text": LONG}]


async def test_a_provider_is_given_the_image_itself(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(), assistant("A picture."))
    context = await peer.call("session/context", sessionId=session_id, format="anthropic")
    source = messages_of(context)[0]["content"][1]["source"]
    assert base64.b64decode(source["data"]) == IMAGE


async def test_subscribers_receive_the_lines_as_they_are_stored(near: Running) -> None:
    peer, subscriber = await near.attach(), await near.attach()
    session_id = await session(peer)
    await subscriber.call("session/subscribe", sessionId=session_id)
    await peer.append(session_id, shows())
    await subscriber.until(lambda client: bool(client.told("session/appended")))
    (note,) = subscriber.told("session/appended")
    assert entries_of(note)[0]["message"]["content"][1]["data"] == REFERENCE


async def test_appends_with_and_without_images_keep_their_order(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    drafts = [shows(png(40, 40, seed=n)) if n % 3 == 0 else user(f"{n}") for n in range(30)]
    await asyncio.gather(
        *(peer.append(session_id, {**draft, "id": f"e{n}"}) for n, draft in enumerate(drafts))
    )
    entries = await stored(peer, session_id)
    assert [entry["id"] for entry in entries] == [f"e{n}" for n in range(30)]
    assert [entry["parentId"] for entry in entries] == [None, *(f"e{n}" for n in range(29))]


async def test_a_retry_with_an_image_is_a_duplicate(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    draft = {**shows(id="q1"), "note": LONG}
    first = await peer.append(session_id, draft)
    again = await peer.append(session_id, draft)
    assert [first["entries"][0]["status"], again["entries"][0]["status"]] == ["created", "duplicate"]
    other = await refusal(peer.append(session_id, shows(png(61, 61), id="q1")))
    assert other.kind == "idReused"


async def test_transient_fields_are_not_stored_and_do_not_spoil_a_retry(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    draft = assistant("hi", id="a1")
    draft["message"]["content"].append(
        {"type": "toolCall", "id": "c", "name": "ls", "arguments": {}, "partialJson": "{"}
    )
    await peer.append(session_id, draft)
    assert (await peer.append(session_id, draft))["entries"][0]["status"] == "duplicate"
    assert "partialJson" not in repr(await stored(peer, session_id))


async def test_a_draft_with_an_image_is_promoted_like_any_other(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    message = assistant("Here.")
    message["message"]["content"].append(image_block(IMAGE))
    await peer.append(session_id, shows(), message)
    assert len(near.files("sessions")) == 1


async def test_a_fork_names_the_blobs_of_its_source(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(), assistant(LONG))
    fork = (await peer.call("session/fork", sessionId=session_id))["session"]["sessionId"]
    context = await peer.call("session/context", sessionId=fork)
    assert messages_of(context) == [shows()["message"], assistant(LONG)["message"]]


async def test_a_session_in_memory_keeps_its_blobs_there(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer, ephemeral=True)
    await peer.append(session_id, shows(), assistant(LONG))
    fork = (await peer.call("session/fork", sessionId=session_id))["session"]["sessionId"]
    for name in (session_id, fork):
        context = await peer.call("session/context", sessionId=name)
        assert messages_of(context) == [shows()["message"], assistant(LONG)["message"]]
    assert blobs_of(near) == {}


# --- what is missing, damaged or refused -------------------------------------------------------------------


async def test_a_missing_blob_leaves_its_reference_and_is_reported(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(), assistant("?"))
    (near.home / "data" / "blobs" / HASH).unlink()
    context = await peer.call("session/context", sessionId=session_id)
    page = await peer.call("session/entries", sessionId=session_id, resolveBlobs=True)
    assert messages_of(context)[0]["content"][1]["data"] == REFERENCE
    assert entries_of(page)[0]["message"]["content"][1]["data"] == REFERENCE
    assert context["missingBlobs"] == page["missingBlobs"] == [HASH]


async def test_a_provider_is_not_given_a_reference(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(), assistant("?"))
    (near.home / "data" / "blobs" / HASH).unlink()
    for provider in ("openai", "openai-responses", "anthropic", "google"):
        context = await peer.call("session/context", sessionId=session_id, format=provider)
        assert REFERENCE not in repr(messages_of(context))
        assert context["missingBlobs"] == [HASH]


async def test_a_damaged_blob_is_not_served_as_good(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    await peer.append(session_id, shows(), assistant("?"))
    (near.home / "data" / "blobs" / HASH).write_bytes(b"x" * len(IMAGE))
    context = await peer.call("session/context", sessionId=session_id)
    assert messages_of(context)[0]["content"][1]["data"] == REFERENCE
    assert context["missingBlobs"] == [HASH]


@pytest.mark.parametrize(("error", "kind"), [(errno.ENOSPC, "storageFull"), (errno.EIO, "storageFailed")])
async def test_a_disk_that_refuses_the_blob_refuses_the_append(tmp_path: Path, error: int, kind: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls, image_blobs=True) as daemon:
        peer = await daemon.attach()
        one, other = await session(peer), await session(peer)
        await peer.append(one, user("hello"))
        disk.before_next("fsync", lambda: disk.refuse("fsync", 1, error=error))
        sent = asyncio.gather(refusal(peer.append(one, shows(id="q1"))), peer.append(other, user("fine")))
        refused, fine = await sent
        assert refused.kind == kind
        assert fine["entries"][0]["status"] == "created"
        assert [entry.get("id") for entry in await stored(peer, one)] == [(await stored(peer, one))[0]["id"]]
        assert (await peer.append(one, shows(id="q1")))["entries"][0]["status"] == "created"


async def test_the_blob_is_durable_before_its_line_is_written(tmp_path: Path) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls, image_blobs=True) as daemon:
        peer = await daemon.attach()
        session_id = await session(peer)
        await peer.append(session_id, shows(png(41, 41)))
        disk.trace.clear()
        await peer.append(session_id, shows())
        blob, line = disk.trace.index("rename"), len(disk.trace) - 1 - disk.trace[::-1].index("write")
        assert disk.trace[blob + 1] == "fsync"
        assert line > blob + 1


async def test_an_entry_that_no_reply_could_hold_is_refused_whole(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    huge = {"type": "custom", "customType": "x", "data": "x" * (48 * 1024 * 1024)}
    assert (await refusal(peer.append(session_id, huge))).kind == "tooLarge"
    assert blobs_of(near) == {}


async def test_a_blob_that_would_not_fit_into_a_reply_is_refused_with_advice(near: Running) -> None:
    peer = await near.attach()
    session_id = await session(peer)
    data = os.urandom(17_000_000)
    await peer.append(session_id, shows(data))
    for _ in range(2):
        await peer.append(session_id, shows(data))
    assert (await refusal(peer.call("session/context", sessionId=session_id))).kind == "tooLarge"
    pages = [await peer.call("session/entries", sessionId=session_id, resolveBlobs=True)]
    while pages[-1]["nextCursor"] is not None:
        pages.append(
            await peer.call(
                "session/entries", sessionId=session_id, resolveBlobs=True, cursor=pages[-1]["nextCursor"]
            )
        )
    assert [len(entries_of(page)) for page in pages] == [1, 1, 1]
    assert all(entries_of(page)[0]["message"] == shows(data)["message"] for page in pages)


# --- other programs' sessions ------------------------------------------------------------------------------


def omp_session(home: Path, *lines: bytes) -> Path:
    """A session file as oh-my-pi keeps it, with its blobs beside."""
    agent = home / ".omp" / "agent"
    file = agent / "sessions" / "-work" / "2026-03-01T08-00-00-000Z_0f8b6f5e.jsonl"
    file.parent.mkdir(parents=True)
    (agent / "blobs").mkdir()
    (agent / "blobs" / HASH).write_bytes(IMAGE)
    header = b'{"type":"session","version":3,"id":"0f8b6f5e-omp","timestamp":"2026-03-01T08:00:00.000Z","cwd":"/work"}'
    file.write_bytes(b"".join(line + b"\n" for line in (header, *lines)))
    return file


OMP_LINE = (
    b'{"type":"message","id":"m1","parentId":null,"timestamp":"2026-03-01T08:00:01.000Z","message":{"role":"user",'
    b'"content":[{"type":"image","mimeType":"image/png","data":"%b"}]}}' % REFERENCE.encode()
)


async def test_a_session_of_oh_my_pi_shows_the_images_that_it_keeps_beside(near: Running) -> None:
    peer = await near.attach()
    file = omp_session(near.home, OMP_LINE)
    opened = await peer.call("session/open", path=str(file))
    context = await peer.call("session/context", sessionId=opened["session"]["sessionId"])
    assert messages_of(context)[0]["content"] == [image_block(IMAGE)]
    assert blobs_of(near) == {}


async def test_another_programs_session_is_written_without_blobs(near: Running) -> None:
    peer = await near.attach()
    file = omp_session(near.home, OMP_LINE)
    session_id = (await peer.call("session/open", path=str(file)))["session"]["sessionId"]
    await peer.append(session_id, shows(png(45, 45)))
    assert lines_of(file)[-1]["message"] == shows(png(45, 45))["message"]
    assert blobs_of(near) == {}


async def test_a_fork_of_another_programs_session_has_its_images_in_its_lines(near: Running) -> None:
    peer = await near.attach()
    file = omp_session(near.home, OMP_LINE)
    session_id = (await peer.call("session/open", path=str(file)))["session"]["sessionId"]
    fork = (await peer.call("session/fork", sessionId=session_id))["session"]["sessionId"]
    (near.home / ".omp" / "agent" / "blobs" / HASH).unlink()
    context = await peer.call("session/context", sessionId=fork)
    assert messages_of(context)[0]["content"] == [image_block(IMAGE)]


async def test_an_imported_session_of_oh_my_pi_has_its_images_in_its_lines(near: Running) -> None:
    peer = await near.attach()
    file = omp_session(near.home, OMP_LINE)
    (made,) = (await peer.call("session/import", path=str(file)))["sessions"]
    (near.home / ".omp" / "agent" / "blobs" / HASH).unlink()
    context = await peer.call("session/context", sessionId=made["sessionId"])
    assert messages_of(context)[0]["content"] == [image_block(IMAGE)]


async def test_entries_added_to_an_imported_session_have_their_images_in_their_lines_too(
    near: Running,
) -> None:
    peer = await near.attach()
    file = omp_session(near.home, OMP_LINE)
    await peer.call("session/import", path=str(file))
    other = png(44, 44)
    digest = hashlib.sha256(other).hexdigest()
    (near.home / ".omp" / "agent" / "blobs" / digest).write_bytes(other)
    with file.open("ab") as log:
        log.write(
            OMP_LINE.replace(HASH.encode(), digest.encode())
            .replace(b'"m1"', b'"m2"')
            .replace(b"null", b'"m1"')
            + b"\n"
        )
    (grown,) = (await peer.call("session/import", path=str(file)))["sessions"]
    assert grown["status"] == "grown"
    for name in (HASH, digest):
        (near.home / ".omp" / "agent" / "blobs" / name).unlink()
    context = await peer.call("session/context", sessionId=grown["sessionId"])
    assert [message["content"] for message in messages_of(context)] == [
        [image_block(IMAGE)],
        [image_block(other)],
    ]


# --- where images stay in the line -------------------------------------------------------------------------


async def test_an_image_stays_in_a_session_that_pi_may_read(tmp_path: Path) -> None:
    async with running(tmp_path) as plain:
        peer = await plain.attach()
        name = await session(peer)
        block = image_block(png(60, 60))
        drafts = [
            {"type": "message", "id": "p", "message": {"role": "user", "content": [block]}},
            assistant("ok"),
        ]
        for status in ("created", "duplicate"):
            made = await peer.append(name, *drafts[:1])
            assert made["entries"][0]["status"] == status
        await peer.append(name, *drafts[1:])
        path = (await peer.call("session/info", sessionId=name))["session"]["path"]
        assert block["data"] in Path(path).read_text(encoding="utf-8")
        assert not list((tmp_path / "data" / "blobs").glob("*"))
        fork = (await peer.call("session/fork", sessionId=name))["session"]
        assert block["data"] in Path(fork["path"]).read_text(encoding="utf-8")


async def test_an_image_larger_than_a_text_may_be_is_not_cut(tmp_path: Path) -> None:
    async with running(tmp_path) as plain:
        peer = await plain.attach()
        name = await session(peer)
        block = {"type": "image", "mimeType": "image/png", "data": "A" * 600_000}
        await peer.append(
            name, {"type": "message", "message": {"role": "user", "content": [block]}}, user("x" * 600_000)
        )
        seen = entries_of(await peer.call("session/entries", sessionId=name, resolveBlobs=False))
        assert seen[0]["message"]["content"] == [block]
        assert len(seen[1]["message"]["content"]) == 500_000


async def test_a_session_with_images_in_blobs_stays_readable_when_images_stay_in_lines(
    tmp_path: Path,
) -> None:
    block = image_block(png(60, 60))
    draft = {"type": "message", "id": "p", "message": {"role": "user", "content": [block]}}
    async with running(tmp_path, image_blobs=True) as before:
        peer = await before.attach()
        name = await session(peer)
        await peer.append(name, draft, assistant("ok"))
    async with running(tmp_path) as now:
        peer = await now.attach()
        await peer.append(name, {**draft, "id": "q"})
        stored = entries_of(await peer.call("session/entries", sessionId=name, resolveBlobs=False))
        images = [entry["message"]["content"][0]["data"] for entry in stored if entry["id"] in ("p", "q")]
        assert (images[0].startswith("blob:sha256:"), images[1]) == (True, block["data"])
        seen = messages_of(await peer.call("session/context", sessionId=name))
        assert [message["content"][0] for message in seen if message["role"] == "user"] == [block, block]


@pytest.mark.parametrize("kind", ["in memory", "with a title slot"])
async def test_an_image_becomes_a_blob_where_pi_cannot_read_the_session(tmp_path: Path, kind: str) -> None:
    async with running(tmp_path) as plain:
        peer = await plain.attach()
        name = await session(peer, ephemeral=kind == "in memory")
        if kind == "with a title slot":
            await peer.append(name, user("q"), assistant("a"))
            path = Path((await peer.call("session/info", sessionId=name))["session"]["path"])
            await peer.call("session/close", sessionId=name)
            file = path.with_name(f"2026-01-01T00-00-00-000Z_{name}x.jsonl")
            slot = b'{"type":"title","v":1,"title":"x","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}\n'
            file.write_bytes(slot + path.read_bytes().replace(name.encode(), f"{name}x".encode()))
            name = (await peer.call("session/open", path=str(file)))["session"]["sessionId"]
        block = image_block(png(60, 60))
        await peer.append(name, {"type": "message", "message": {"role": "user", "content": [block]}})
        stored = entries_of(await peer.call("session/entries", sessionId=name, resolveBlobs=False))
        assert stored[-1]["message"]["content"][0]["data"].startswith("blob:sha256:")


@pytest.mark.parametrize("make", ["fork", "whole fork", "import"])
async def test_a_session_taken_from_oh_my_pi_has_its_images_in_its_lines(tmp_path: Path, make: str) -> None:
    async with running(tmp_path) as plain:
        peer = await plain.attach()
        source = omp_session(tmp_path, OMP_LINE)
        match make:
            case "import":
                (made,) = (await peer.call("session/import", path=str(source)))["sessions"]
                assert made["problems"] == []
            case _:
                opened = (await peer.call("session/open", path=str(source)))["session"]
                whole = make == "whole fork"
                forked = await peer.call("session/fork", sessionId=opened["sessionId"], whole=whole)
                made = forked["session"]
                assert not forked["missingBlobs"]
        path = (await peer.call("session/info", sessionId=made["sessionId"]))["session"]["path"]
        stored = next(line for line in lines_of(Path(path)) if line.get("type") == "message")
        assert stored["message"]["content"] == [image_block(IMAGE)]
        assert blobs_of(plain) == {}
        assert REFERENCE in source.read_text(encoding="utf-8")


async def test_an_import_with_images_in_its_lines_grows_and_is_known_again(tmp_path: Path) -> None:
    async with running(tmp_path) as plain:
        peer = await plain.attach()
        file = omp_session(tmp_path, OMP_LINE)
        (made,) = (await peer.call("session/import", path=str(file)))["sessions"]
        with file.open("ab") as log:
            log.write(OMP_LINE.replace(b'"m1"', b'"m2"').replace(b"null", b'"m1"') + b"\n")
        (grown,) = (await peer.call("session/import", path=str(file)))["sessions"]
        assert (grown["status"], grown["sessionId"]) == ("grown", made["sessionId"])
        (tmp_path / ".omp/agent/blobs" / HASH).unlink()
        (again,) = (await peer.call("session/import", path=str(file)))["sessions"]
        assert (again["status"], again["sessionId"]) == ("unchanged", made["sessionId"])
        context = await peer.call("session/context", sessionId=made["sessionId"])
        assert [message["content"] for message in messages_of(context)] == [[image_block(IMAGE)]] * 2
        assert blobs_of(plain) == {}


async def test_an_image_that_nobody_has_keeps_its_reference_and_is_named(tmp_path: Path) -> None:
    async with running(tmp_path) as plain:
        peer = await plain.attach()
        file = omp_session(tmp_path, OMP_LINE)
        (tmp_path / ".omp/agent/blobs" / HASH).unlink()
        opened = (await peer.call("session/open", path=str(file)))["session"]
        for _ in range(2):
            forked = await peer.call("session/fork", sessionId=opened["sessionId"], commandId="once")
            assert forked["missingBlobs"] == [HASH]
        assert REFERENCE in Path(forked["session"]["path"]).read_text(encoding="utf-8")
        (made,) = (await peer.call("session/import", path=str(file)))["sessions"]
        assert [REFERENCE in problem["message"] for problem in made["problems"]] == [True]


async def test_a_fork_puts_images_into_its_lines_and_leaves_cut_texts_cut(tmp_path: Path) -> None:
    image = image_block(png(60, 60))
    message = {"role": "user", "content": [image, {"type": "text", "text": "x" * 600_000}]}
    async with running(tmp_path, image_blobs=True) as before:
        peer = await before.attach()
        name = await session(peer)
        await peer.append(name, {"type": "message", "id": "p", "message": message}, assistant("ok"))
    async with running(tmp_path) as now:
        peer = await now.attach()
        fork = (await peer.call("session/fork", sessionId=name))["session"]
        stored = next(line for line in lines_of(Path(fork["path"])) if line.get("id") == "p")
        seen, cut = stored["message"]["content"]
        assert seen == image
        assert len(cut["text"]) == 500_000
        assert list(stored["sessiondBlobs"]) == ["/message/content/1/text"]
        context = await peer.call("session/context", sessionId=fork["sessionId"])
        assert messages_of(context)[0]["content"] == message["content"]
