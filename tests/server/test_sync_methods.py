"""Positions, ids, lines and put: what two stores need of each other to hold the same lines."""

import base64
import contextlib
import errno
import json  # noqa: TID251 - the tests' own reader is not the daemon's
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.store.files.store import FileStore
from sessiond.store.records import Stored
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.disk import Disk


@contextlib.asynccontextmanager
async def two_daemons(folder: Path) -> AsyncIterator[tuple[Running, Peer, Running, Peer]]:
    """Two daemons with homes of their own, and a client of each."""
    async with running(folder / "here") as here, running(folder / "there") as there:
        yield here, await here.attach(), there, await there.attach()


async def talked(peer: Peer, cwd: str = "/work/p", **params: Any) -> str:
    session_id: str = (await peer.call("session/create", cwd=cwd, **params))["session"]["sessionId"]
    await peer.append(session_id, user("hello"), assistant("hi"))
    return session_id


async def positions(peer: Peer, **params: Any) -> dict[str, dict[str, Any]]:
    found = await peer.call("sync/positions", **params)
    return {session["sessionId"]: session for session in found["sessions"]}


async def lines_of(peer: Peer, session_id: str, **params: Any) -> list[bytes]:
    page = await peer.call("sync/lines", sessionId=session_id, **params)
    return base64.b64decode(page["lines"]).splitlines()


async def copy(source: Peer, target: Peer, session_id: str, **params: Any) -> Any:
    page = await source.call("sync/lines", sessionId=session_id)
    return await target.call(
        "sync/put", sessionId=session_id, head=page["head"], lines=page["lines"], **params
    )


def encoded(*lines: bytes) -> str:
    return base64.b64encode(b"".join(line + b"\n" for line in lines)).decode()


async def test_a_copied_session_has_the_same_lines_and_the_same_digest(tmp_path: Path) -> None:
    async with two_daemons(tmp_path) as (here, peer, there, other):
        session_id = await talked(peer, title="Plans")
        await peer.call("session/tag", sessionId=session_id, add=["a"])
        result = await copy(peer, other, session_id)
        assert (result["isNew"], result["addedCount"]) == (True, 4)
        assert here.files()[0].read_bytes().replace(b"\t}\n", b"}\n") == there.files()[0].read_bytes()
        assert await positions(peer) == await positions(other)
        info = (await other.call("session/info", sessionId=session_id))["session"]
        assert (info["title"], info["tags"], info["isDraft"]) == ("Plans", ["a"], False)


async def test_the_digest_of_equal_stores_is_enough(tmp_path: Path) -> None:
    async with two_daemons(tmp_path) as (_, peer, _there, other):
        session_id = await talked(peer)
        await copy(peer, other, session_id)
        digest = (await peer.call("sync/positions"))["digest"]
        same = await other.call("sync/positions", digestOnly=True)
        assert same == {"digest": digest, "sessionCount": 1, "sessions": [], "folders": [], "leftOut": []}
        await other.append(session_id, user("more"))
        changed = await other.call("sync/positions")
        assert changed["digest"] != digest
        assert changed["sessions"][0]["lineCount"] == 3


async def test_the_position_of_a_new_session_is_that_of_its_file(tmp_path: Path) -> None:
    async with two_daemons(tmp_path) as (_, peer, there, other):
        session_id = await talked(peer)
        await copy(peer, other, session_id)
        [recorded] = (await other.call("sync/positions"))["sessions"]
        assert recorded == (await peer.call("sync/positions"))["sessions"][0]
        [path] = there.home.rglob("*.jsonl")
        with path.open("ab") as file:
            file.write(b'{"type":"custom","id":"added","parentId":null,"timestamp":"","customType":"x"}\n')
        [changed] = (await other.call("sync/positions"))["sessions"]
        assert changed["lineCount"] == recorded["lineCount"] + 1


async def test_lines_that_were_put_are_live_for_subscribers_and_move_the_leaf_as_they_say(
    tmp_path: Path,
) -> None:
    async with two_daemons(tmp_path) as (_, peer, _there, other):
        session_id = await talked(peer)
        await copy(peer, other, session_id)
        await other.call("session/subscribe", sessionId=session_id)
        await peer.append(session_id, user("more"), assistant("yes"))
        lines = await lines_of(peer, session_id, after=2)
        assert len(lines) == 2
        there_at = await other.position(session_id, 2)
        result = await other.call("sync/put", sessionId=session_id, lines=encoded(*lines), expected=there_at)
        assert (result["addedCount"], result["isNew"]) == (2, False)
        await other.until(lambda client: client.seqs() == [3, 4])
        assert await positions(peer) == await positions(other)
        leaves = [
            (await client.call("session/info", sessionId=session_id))["session"]["leafId"]
            for client in (peer, other)
        ]
        assert leaves[0] == leaves[1]
        await other.append(session_id, user("continued there"))


async def test_lines_that_are_there_are_not_written_again(tmp_path: Path) -> None:
    async with two_daemons(tmp_path) as (_, peer, there, other):
        session_id = await talked(peer)
        await copy(peer, other, session_id)
        before = there.files()[0].read_bytes()
        again = await copy(peer, other, session_id)
        assert (again["addedCount"], again["duplicateCount"], again["isNew"]) == (0, 2, False)
        assert there.files()[0].read_bytes() == before


async def test_a_line_with_a_known_id_and_other_content_is_refused_and_the_others_are_stored(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        session_id = await talked(peer)
        [_, line] = await lines_of(peer, session_id)
        name = json.loads(line)["id"]
        other = line.replace(b'"hi"', b'"bye"')
        new = b'{"type":"message","id":"new-one","parentId":"%b","timestamp":"t"}' % name.encode()
        result = await peer.call("sync/put", sessionId=session_id, lines=encoded(other, new))
        assert (result["addedCount"], [entry["id"] for entry in result["refused"]]) == (1, [name])
        assert (await lines_of(peer, session_id))[1:] == [line, new]
        taken = await peer.call("sync/put", sessionId=session_id, lines=encoded(other), superseding=[name])
        assert taken["addedCount"] == 1


async def test_lines_that_nobody_understands_are_stored_as_they_are_if_they_are_json(tmp_path: Path) -> None:
    odd = [
        b'{"type": "x",  "id":"spaced" , "parentId":null}', b'{"id":"\xff","type":"bytes"}',
        b'{"type":"label","id":"l1","targetId":"absent","label":"x","parentId":"nowhere"}', b'["a list"]',
    ]  # fmt: skip
    async with two_daemons(tmp_path) as (_, peer, _there, other):
        session_id = await talked(peer)
        put = await peer.call("sync/put", sessionId=session_id, lines=encoded(b"not json at all", *odd))
        assert put["addedCount"] == len(odd)
        assert (await lines_of(peer, session_id))[2:] == odd
        await copy(peer, other, session_id)
        assert await positions(peer) == await positions(other)
        assert (await copy(peer, other, session_id))["duplicateCount"] == 6


async def test_nothing_is_written_if_the_session_has_another_last_line_than_expected(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        session_id = await talked(peer)
        new = encoded(b'{"type":"x","id":"new-one","parentId":null,"timestamp":"t"}')
        result = await peer.call(
            "sync/put", sessionId=session_id, lines=new, expected=await peer.position(session_id, 1)
        )
        assert (result["isOutdated"], result["addedCount"]) == (True, 0)
        assert len(await lines_of(peer, session_id)) == 2


async def test_the_folder_of_a_new_session_can_be_mapped_and_the_rest_of_its_header_stays(
    tmp_path: Path,
) -> None:
    async with two_daemons(tmp_path) as (here, peer, there, other):
        session_id = await talked(peer, cwd="/home/a/p")
        await copy(peer, other, session_id, cwd="/Users/a/p")
        mine, copied = (json.loads(item.files()[0].read_bytes().splitlines()[0]) for item in (here, there))
        assert mine["cwd"] == "/home/a/p"
        assert copied == {**mine, "cwd": "/Users/a/p"}
        assert [
            session["sessionId"]
            for session in (await other.call("session/list", cwd="/Users/a/p"))["sessions"]
        ] == [session_id]


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"no header\n", "invalidParams"),
        (b'{"type":"session","version":3,"id":"another-id","timestamp":"2026","cwd":"/"}\n', "invalidParams"),
        (b'{"type":"session","version":3,"id":"../../etc","timestamp":"2026","cwd":"/"}\n', "invalidParams"),
        (b'{"type":"session","id":"ancient-one","timestamp":"2026","cwd":"/"}\n', "invalidParams"),
    ],
)
async def test_a_head_that_is_not_the_header_of_the_session_is_refused(
    tmp_path: Path, head: bytes, kind: str
) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        name = "../../etc" if b".." in head else "ancient-one"
        refused = await refusal(
            peer.call("sync/put", sessionId=name, head=base64.b64encode(head).decode(), lines="")
        )
        assert refused.kind == kind
        assert daemon.files() == []


async def test_a_full_disk_stores_nothing_of_the_lines_and_the_next_put_completes_them(
    tmp_path: Path,
) -> None:
    disk = Disk()
    async with running(tmp_path / "here") as here, running(tmp_path / "there", calls=disk.calls) as there:
        peer, other = await here.attach(), await there.attach()
        session_id = await talked(peer)
        await copy(peer, other, session_id)
        await peer.append(session_id, user("more"), assistant("yes"))
        before = there.files()[0].read_bytes()
        disk.refuse("write", error=errno.ENOSPC)
        refused = await refusal(copy(peer, other, session_id))
        disk.allow("write")
        assert refused.kind == "storageFull"
        assert there.files()[0].read_bytes() == before
        assert (await copy(peer, other, session_id))["addedCount"] == 2
        assert await positions(peer) == await positions(other)


async def test_deleted_and_purged_sessions_have_positions(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        session_id = await talked(peer)
        stored = (await positions(peer))[session_id]
        trash_id = (await peer.call("session/delete", sessionId=session_id))["trashId"]
        trashed = (await positions(peer))[session_id]
        assert trashed == {**stored, "state": "trashed", "trashId": trash_id}
        ids = await peer.call("sync/ids", sessionId=session_id, trashId=trash_id)
        assert len(ids["ids"]) == 2
        await peer.call("trash/purge", trashId=trash_id, dryRun=False)
        purged = (await positions(peer))[session_id]
        assert (purged["state"], purged["digest"], purged["cwd"]) == ("purged", stored["digest"], None)


async def test_draft_sessions_have_positions_only_on_request(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        session_id = (await peer.call("session/create", cwd="/work/p"))["session"]["sessionId"]
        await peer.append(session_id, user("a draft"))
        assert await positions(peer) == {}
        assert (await positions(peer, includeDrafts=True))[session_id]["isDraft"]


async def test_a_draft_session_becomes_a_session_by_an_answer_that_was_put(tmp_path: Path) -> None:
    async with two_daemons(tmp_path) as (_, peer, there, other):
        session_id = (await peer.call("session/create", cwd="/work/p"))["session"]["sessionId"]
        await peer.append(session_id, user("a draft"))
        await copy(peer, other, session_id, isDraft=True)
        assert (len(there.files()), len(there.files("drafts"))) == (0, 1)
        await peer.append(session_id, assistant("an answer"))
        await copy(peer, other, session_id)
        assert (len(there.files()), len(there.files("drafts"))) == (1, 0)
        assert not (await other.call("session/info", sessionId=session_id))["session"]["isDraft"]


async def test_pages_of_ids_and_lines_have_every_line_once(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        session_id = await talked(peer)
        for number in range(10):
            await peer.append(session_id, user(f"message {number}"))
        whole = await peer.call("sync/ids", sessionId=session_id)
        seqs: list[int] = []
        after: int | None = 0
        while after is not None:
            page = await peer.call("sync/ids", sessionId=session_id, after=after, limit=5)
            seqs += page["seqs"]
            after = page["nextAfter"]
        assert seqs == whole["seqs"] == list(range(1, 13))
        assert whole["parents"] == [-1, *range(1, 12)]
        lines: list[bytes] = []
        after = 0
        while after is not None:
            page = await peer.call("sync/lines", sessionId=session_id, after=after, limitBytes=300)
            lines += base64.b64decode(page["lines"]).splitlines()
            after = page["nextAfter"]
        assert lines == await lines_of(peer, session_id)
        assert await lines_of(peer, session_id, seqs=[2, 5]) == [lines[1], lines[4]]


async def test_missing_blobs_are_named(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        stored = await peer.call("blob/put", data=base64.b64encode(b"bytes").decode())
        absent = "0" * 64
        missing = await peer.call("blob/missing", hashes=[stored["ref"], absent, absent])
        assert missing["hashes"] == [absent]


async def test_folders_in_a_git_repository_with_a_remote_are_named_without_credentials(
    tmp_path: Path,
) -> None:
    project = tmp_path / "p"
    (project / ".git").mkdir(parents=True)
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (project / ".git/config").write_text(
        '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://ada:secret@Example.com/ada/p.git\n',
        encoding="utf-8",
    )
    (project / "sub").mkdir()
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await talked(peer, cwd=str(project / "sub"))
        await talked(peer, cwd="/elsewhere")
        [folder] = (await peer.call("sync/positions"))["folders"]
        assert folder == {
            "cwd": str(project / "sub"), "root": os.path.realpath(project), "remote": "example.com/ada/p",
        }  # fmt: skip


@pytest.mark.parametrize("read", ["sync/ids", "sync/lines", "sync/positions"])
async def test_lines_that_are_read_while_their_session_moves_are_those_of_its_log(
    read: str, tmp_path: Path
) -> None:
    async with running(tmp_path / "here") as here:
        peer, mover = await here.attach(), await here.attach()
        session_id = await talked(peer)
        await peer.append(session_id, *(user(f"{number} {'words ' * 200}") for number in range(2_000)))
        about = {} if read == "sync/positions" else {"sessionId": session_id}
        undisturbed = _without_folder(await peer.call(read, **about))
        for length in range(1, 12):
            asked = peer.send(read, **about)
            await mover.call("session/move", sessionId=session_id, cwd="/work/" + "p" * length)
            assert _without_folder(await asked) == undisturbed


async def test_the_other_sessions_are_read_once_if_one_is_gone_after_the_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as before:
        writer = await before.attach()
        kept, gone = [await talked(writer) for _ in range(2)]
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        scan, scanned = FileStore.scan, list[str]()

        def removed_or_scanned(store: FileStore, ref: str, start: int = 0) -> Iterator[bytes]:
            scanned.append(ref)
            if gone in ref:
                Path(ref).unlink()
            return scan(store, ref, start)

        monkeypatch.setattr(FileStore, "scan", removed_or_scanned)
        assert list(await positions(peer)) == [kept]
        assert sum(kept in ref for ref in scanned) == 1
        assert list(await positions(peer)) == [kept]
        assert sum(kept in ref for ref in scanned) == 1


async def test_sessions_are_listed_once_while_one_outside_of_the_folder_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        kept = await talked(peer)
        outside = tmp_path / "outside.jsonl"
        outside.write_bytes(daemon.files()[0].read_bytes().replace(kept.encode(), b"outside-1"))
        await peer.call("session/open", path=str(outside))
        listed, count = FileStore.list, list[int]()

        async def listed_and_counted(store: FileStore) -> list[Stored]:
            count.append(1)
            return await listed(store)

        monkeypatch.setattr(FileStore, "list", listed_and_counted)
        assert list(await positions(peer)) == [kept]
        assert len(count) == 1


def _without_folder(result: dict[str, Any]) -> dict[str, Any]:
    """The fields of a result that a move does not change."""
    for session in result.get("sessions", ()):
        del session["cwd"]
    return {name: value for name, value in result.items() if name not in ("head", "folders", "digest")}
