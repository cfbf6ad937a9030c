"""Every kind of error the daemon can answer with is met here once, and every exception has a kind."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import NoneType
from typing import Any
from unittest import mock

import msgspec
import pytest

from sessiond.hub import errors as hub
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import errors as kinds
from sessiond.protocol.error_details import StorageDetails
from sessiond.protocol.errors import CODES, KINDS, STORAGE_FAILED, ErrorKind
from sessiond.server import errors
from sessiond.store import errors as store
from support import logs
from support.columns import seqs_of
from support.daemons import Peer, Refused, Running, assistant, refusal, running, user
from support.dialect_files import DATA
from support.disk import Disk
from support.sample_errors import sample
from support.shared import started
from support.summarizers import SMALL, summarizing, talk

ELSEWHERE = {
    "parse", "tooLarge", "overloaded", "unauthenticated", "unreachable", "outcomeUnknown", "storeUnreachable",
}  # fmt: skip
"""Kinds that no client inside can be refused with: about frames (see test_bad_input), under too much load
(test_overload), at the TCP listener (test_tcp), what `attach` says while it is between two daemons
(test_attach_outlives_daemons), and what a daemon says that has lost its store (test_several_daemons)."""


class OnADisk:
    """A daemon on a disk that refuses when it is told to."""

    def __init__(self, daemon: Running, disk: Disk) -> None:
        self.daemon = daemon
        self.disk = disk


@pytest.fixture
async def on_a_disk(tmp_path: Path) -> AsyncIterator[OnADisk]:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        yield OnADisk(daemon, disk)


async def refused_with(kind: str, at: OnADisk, cwd: str, tmp_path: Path) -> Refused:
    peer, session_id = await started(at.daemon, cwd)
    await peer.append(session_id, user("1", id="a"), assistant("2", id="b"))
    path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])

    async def append(*drafts: Any, **params: Any) -> Refused:
        return await refusal(peer.append(session_id, *drafts, **params))

    match kind:
        case "invalidRequest":
            await peer.call("initialize", initializationOptions={"sessiond": {}})
            return await refusal(peer.call("initialize", initializationOptions={"sessiond": {}}))
        case "methodNotFound":
            return await refusal(peer.call("no/such"))
        case "invalidParams":
            return await refusal(peer.call("session/append", sessionId=session_id))
        case "internal":
            return await internal(at, peer, session_id)
        case "notInitialized":
            return await refusal(peer.call("textDocument/hover"))
        case "canceled":
            return await canceled(at, peer)
        case "sessionNotFound":
            return await refusal(peer.call("session/info", sessionId="nothing-there"))
        case "sessionTrashed":
            await peer.call("session/delete", sessionId=session_id)
            return await append(user("x"))
        case "entryNotFound":
            return await append(user("x"), parentId="nobody")
        case "blobNotFound":
            return await refusal(peer.call("blob/get", hash="0" * 64))
        case "leafConflict":
            return await append(user("x"), expectedLeafId="a")
        case "idReused":
            return await append(user("other", id="a"))
        case "alreadyExists":
            return await refusal(peer.call("session/create", cwd=cwd, id=session_id))
        case "cursorExpired":
            return await refusal(peer.call("session/list", cursor="x"))
        case "wouldBreakTree":
            return await append(
                {"type": "compaction", "summary": "s", "firstKeptEntryId": "x", "tokensBefore": 1}
            )
        case "nothingToCompact":
            return await refusal(peer.call("session/compact", sessionId=session_id))
        case "noSummarizer":
            peer, session_id = await talk(at.daemon, cwd)
            return await refusal(peer.call("session/compact", sessionId=session_id, settings=SMALL))
        case "summarizerFailed":
            return await summarizer_failed(at, cwd)
        case "invalidEntry":
            return await append({"type": "message"})
        case "foreignWriter":
            path.unlink()
            return await append(user("x"))
        case "readOnly":
            headless = tmp_path / "headless.jsonl"
            headless.write_bytes(logs.log(logs.user("x", parent=None)))
            opened = (await peer.call("session/open", path=str(headless)))["session"]
            return await refusal(peer.append(opened["sessionId"], user("x")))
        case "unsupportedVersion":
            return await refusal(
                peer.call("initialize", initializationOptions={"sessiond": {"protocolVersions": [9]}})
            )
        case "draining":
            assert at.daemon.hub is not None
            at.daemon.hub.sessions.draining = True
            return await append(user("x"))
        case "sessionDamaged":
            (tmp_path / "none.jsonl").write_bytes(b"")
            return await refusal(peer.call("session/open", path=str(tmp_path / "none.jsonl")))
        case "blobDamaged":
            stored = await peer.call("blob/put", data="R0lGODlh")
            blob = at.daemon.home / "data" / "blobs" / stored["hash"]
            blob.write_bytes(b"x")
            return await refusal(peer.call("blob/get", hash=stored["hash"]))
        case "foreignDialect":
            theirs = tmp_path / "go.jsonl"
            theirs.write_bytes((DATA / "go.jsonl").read_bytes())
            return await refusal(peer.call("session/open", path=str(theirs)))
        case "storageFull":
            at.disk.refuse("write", 1, error=errno.ENOSPC)
            return await append(user("x"))
        case "storageFailed":
            at.disk.refuse("write", 1)
            return await append(user("x"))
    raise AssertionError(f"nobody knows how to be refused with {kind}")


async def internal(at: OnADisk, peer: Peer, session_id: str) -> Refused:
    assert at.daemon.hub is not None
    with mock.patch.object(LiveSession, "outline", None):  # what must not happen
        return await refusal(peer.call("session/tree", sessionId=session_id))


async def summarizer_failed(at: OnADisk, cwd: str) -> Refused:
    peer, session_id = await talk(at.daemon, cwd)
    writer = await summarizing(at.daemon)
    asked = asyncio.ensure_future(peer.call("session/compact", sessionId=session_id, settings=SMALL))
    await writer.asked()
    writer.refuse()
    return await refusal(asked)


async def canceled(at: OnADisk, peer: Peer) -> Refused:
    calls = [peer.call("session/list") for _ in range(3)]
    asking = asyncio.gather(*calls, return_exceptions=True)
    await asyncio.sleep(0)
    peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
    async with asyncio.timeout(10):
        results = await asking
    [refused] = [result for result in results if isinstance(result, Refused)]
    return refused


@pytest.mark.parametrize("kind", sorted(CODES.keys() - ELSEWHERE))
async def test_a_kind_comes_with_its_code_its_advice_and_a_sentence(
    on_a_disk: OnADisk, cwd: str, tmp_path: Path, kind: str
) -> None:
    refused = await refused_with(kind, on_a_disk, cwd, tmp_path)
    assert (refused.kind, refused.code) == (kind, CODES[kind])
    assert refused.data["retryable"] == KINDS[kind].retryable
    assert_exactly(refused.data, kind)
    assert not refused.message[0].islower() or refused.message.startswith("session/")  # a method's name
    assert refused.message.rstrip("`").endswith((".", "?"))
    assert len(refused.message) < 500


def assert_exactly(data: dict[str, Any], kind: str) -> None:
    """The details are those of the kind, field for field, and a client reads them as their type."""
    details = KINDS[kind].read(data)
    assert msgspec.to_builtins(details) == data["details"]
    assert (details is None) is (KINDS[kind].details is NoneType)


async def test_after_a_refusal_of_the_disk_the_same_append_succeeds(on_a_disk: OnADisk, cwd: str) -> None:
    peer, session_id = await started(on_a_disk.daemon, cwd)
    await peer.append(session_id, user("1", id="a"), assistant("2", id="b"))
    other, other_id = await started(on_a_disk.daemon, cwd)
    on_a_disk.disk.refuse("write", 1, error=errno.ENOSPC)
    drafts = [user("3", id="c"), user("4", id="d")]
    refused = await asyncio.gather(
        peer.append(session_id, *drafts),
        peer.append(session_id, user("5", parentId="d", id="e")),
        peer.append(session_id, *drafts),
        return_exceptions=True,
    )
    assert [getattr(item, "kind", item) for item in refused] == ["storageFull"] * 3
    assert (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 2
    assert (await other.append(other_id, user("unharmed")))["lastSeq"] == 1
    assert (await peer.append(session_id, *drafts))["lastSeq"] == 4
    assert peer.seqs() == [1, 2, 3, 4]


async def test_a_draft_that_cannot_be_moved_stays_a_draft_and_is_moved_later(
    on_a_disk: OnADisk, cwd: str
) -> None:
    peer, session_id = await started(on_a_disk.daemon, cwd)
    on_a_disk.disk.refuse("fsync", error=errno.EIO)
    assert (await refusal(peer.append(session_id, assistant("1")))).kind == "storageFailed"
    on_a_disk.disk.allow("fsync")
    assert (await peer.append(session_id, assistant("1")))["lastSeq"] == 1
    assert [session["sessionId"] for session in (await peer.call("session/list"))["sessions"]] == [session_id]


async def test_writes_are_refused_while_the_daemon_ends_and_reads_are_not(
    on_a_disk: OnADisk, cwd: str
) -> None:
    peer, session_id = await started(on_a_disk.daemon, cwd)
    await peer.append(session_id, user("1", id="a"))
    assert on_a_disk.daemon.hub is not None
    on_a_disk.daemon.hub.sessions.draining = True
    writes: dict[str, dict[str, Any]] = {
        "append": {"entries": [user("x")]}, "branch": {"entryId": None},
        "label": {"entryId": "a", "label": "x"}, "rename": {"title": "x"}, "tag": {"add": ["x"]}, "fork": {},
    }  # fmt: skip
    for method, params in writes.items():
        refused = await refusal(peer.call(f"session/{method}", sessionId=session_id, **params))
        assert (refused.kind, refused.details["retryAfterMs"] > 0) == ("draining", True)
    for params in ({"cwd": cwd}, {"cwd": cwd, "ephemeral": True}):
        assert (await refusal(peer.call("session/create", **params))).kind == "draining"
    assert seqs_of(await peer.call("session/path", sessionId=session_id)) == [1]
    assert (await peer.call("server/status"))["draining"]


# --- canceling --------------------------------------------------------------------------------------------


async def test_a_write_that_is_canceled_is_finished_and_answered(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)

    async def and_cancel(call: Any) -> Any:
        asking = asyncio.ensure_future(call)
        await asyncio.sleep(0)
        peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
        return await asking

    assert (await and_cancel(peer.append(session_id, user("1", id="a"))))["lastSeq"] == 1
    assert (await and_cancel(peer.call("session/rename", sessionId=session_id, title="T")))["seq"] == 2
    assert (await and_cancel(peer.call("session/tag", sessionId=session_id, add=["t"])))["seq"] == 3
    assert (await and_cancel(peer.call("session/branch", sessionId=session_id, entryId="a")))["leafId"] == "a"
    made = await and_cancel(peer.call("session/create", cwd=cwd))
    assert (await and_cancel(peer.call("session/close", sessionId=made["session"]["sessionId"])))["trashId"]


async def test_a_client_that_leaves_in_the_middle_of_creating_leaves_a_draft_that_nobody_holds(
    memory: Running, cwd: str
) -> None:
    peer = await memory.attach()
    asking = asyncio.ensure_future(peer.call("session/create", cwd=cwd, id="left-alone"))
    for _ in range(10):
        await asyncio.sleep(0)  # so many ticks bring the request to the disk, and too few to bring it back
    peer.connection.abort()
    await asyncio.gather(asking, return_exceptions=True)
    other = await memory.attach()
    async with asyncio.timeout(10):
        while not (  # noqa: ASYNC110 - only the daemon knows when
            listed := (await other.call("session/list", includeDrafts=True))["sessions"]
        ):
            await asyncio.sleep(0.001)
    assert [session["sessionId"] for session in listed] == ["left-alone"]
    await other.call("session/open", sessionId="left-alone")
    assert (await other.call("session/close", sessionId="left-alone"))["trashId"]


@pytest.mark.parametrize("params", [None, {}, {"id": None}, {"id": 1.5}, {"id": "nobody"}, [], 5])
async def test_a_cancellation_of_nothing_is_nothing(memory: Running, params: Any) -> None:
    peer = await memory.attach()
    peer.connection.notify("$/cancelRequest", params)
    await peer.call("server/status")


# --- the table ---------------------------------------------------------------------------------------------


def exceptions(module: Any) -> list[type[Exception]]:
    classes = [var for var in vars(module).values() if isinstance(var, type) and issubclass(var, Exception)]
    return [item for item in classes if item.__module__ == module.__name__ and hasattr(item, "sentence")]


@pytest.mark.parametrize("kind", [*exceptions(hub), *exceptions(store), *exceptions(errors)])
def test_every_exception_that_a_caller_may_meet_has_a_kind(kind: type[Exception]) -> None:
    code, message, data = errors.explain(sample(kind))
    assert data.kind != "internal"
    assert code == CODES[data.kind]
    assert data.retryable == KINDS[data.kind].retryable
    assert isinstance(data.details, KINDS[data.kind].details)
    assert message


def test_every_error_kind_of_the_module_is_one_that_a_client_may_receive() -> None:
    assert [kind.name for kind in KINDS.values()] == list(KINDS)
    assert len(set(KINDS)) == sum(
        name.isupper() and isinstance(value, ErrorKind) for name, value in vars(kinds).items()
    )


def test_an_unforeseen_error_is_reported_under_an_id_that_the_log_has(
    caplog: pytest.LogCaptureFixture,
) -> None:
    code, message, data = errors.explain(ZeroDivisionError("secret"))
    assert (code, data.kind) == (CODES["internal"], "internal")
    assert data.details.report_id
    assert data.details.report_id in caplog.text
    assert data.details.report_id in message
    assert "secret" not in message


def test_an_error_of_the_system_is_one_of_the_storage() -> None:
    code, _, data = errors.explain(PermissionError(errno.EACCES, "no", "/x"))
    assert (code, data) == (
        1507,
        STORAGE_FAILED.data(StorageDetails(path="/x", errno=errno.EACCES)),
    )
    _, message, data = errors.explain(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert (data.kind, data.details.errno) == ("storageFull", errno.ENOSPC)
    assert "Errno" not in message
