"""Computations in a process of their own: results and errors come back, and canceling ends the process."""

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from sessiond.hub.execution.child_process import ChildFailed, ChildNotStarted, run_in_child_process
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.transfer.export_conversion import Conversion, blocks_of, convert
from sessiond.session.dialects.exported import ExportedSession
from support.daemons import running, user
from support.shared import started
from support.waiting import until


async def test_a_result_comes_back_from_another_process() -> None:
    assert await run_in_child_process(os.getpid) != os.getpid()


async def test_an_exception_of_the_function_is_raised_here() -> None:
    with pytest.raises(FileNotFoundError):
        await run_in_child_process(os.stat, "/nowhere/at/all")


async def test_a_process_that_ends_without_a_result_is_an_error() -> None:
    with pytest.raises(ChildFailed):
        await run_in_child_process(os._exit, 3)


async def test_an_export_needs_no_process_where_the_system_allows_none(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, *(user("x" * 10_000) for _ in range(100)))
        texts = [await peer.call("session/export", sessionId=session_id, format="jsonl")]
        monkeypatch.setattr("sessiond.hub.execution.child_process._COMMAND", ("/nowhere/python",))
        with pytest.raises(ChildNotStarted):
            await run_in_child_process(os.getpid)
        texts.append(await peer.call("session/export", sessionId=session_id, format="jsonl"))
        assert texts[0] == texts[1]
        assert texts[0]["entryCount"] == 100


async def test_canceling_ends_the_process(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    work = asyncio.create_task(run_in_child_process(Path.read_bytes, fifo))
    writing: list[int] = []

    def is_read() -> bool:
        with contextlib.suppress(OSError):  # ENXIO: nobody reads it yet
            writing.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(writing)

    def is_not_read() -> bool:
        try:
            os.write(writing[0], b"x")
        except BrokenPipeError:
            return True
        return False

    await until(is_read)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await until(is_not_read)
    os.close(writing[0])


def test_lines_in_blocks_are_converted_as_they_were(tmp_path: Path) -> None:
    lines = [
        b'{"type":"custom","id":"%08x","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z",'
        b'"customType":"x","data":"%b"}' % (number, b"y" * 600)
        for number in range(4_000)
    ]
    blocks = blocks_of(lines)
    assert len(blocks) > 1
    assert b"\n".join(blocks).split(b"\n") == lines
    assert blocks_of([]) == []
    about = ExportedSession("s", "2026-01-01T00:00:00.000Z", "/w", None, (), None, [], f"{3_999:08x}")
    done = convert(Conversion(about, blocks, False, "jsonl", False, None, {}, ProviderKeys(None)))
    assert done.entries == 4_000
    assert done.data.split(b"\n")[1:4_001] == lines
