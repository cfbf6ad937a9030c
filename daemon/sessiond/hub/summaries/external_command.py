"""The configured command as a summarizer: the prompt on its stdin, the summary on its stdout, no shell.

It runs in the user's home folder, in a process group of its own, which is killed when nobody waits any more.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from sessiond.hub.summaries.summarizer import Assignment, Tell, Unwritten
from sessiond.protocol import types as t

MAX_BYTES: Final = 8 * 1024 * 1024
"""What is read of an answer; who writes more has lost its way."""
TAIL_BYTES: Final = 2_000
"""What is kept of the end of stderr, for the message that says why there is no summary."""

_PIECE: Final = 64 * 1024
_FAREWELL_SECONDS: Final = 5.0
_decode = msgspec.json.Decoder(t.SummarizeResult).decode


class SummarizerCommand:
    """A program with its arguments."""

    kind: Literal["command"] = "command"

    def __init__(self, words: Sequence[str]) -> None:
        self.name = f"the command {Path(words[0]).name}"
        self._words = words

    async def write(self, assignment: Assignment, tell: Tell) -> t.SummarizeResult:
        """Run it to its end."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words, cwd=Path.home(), start_new_session=True,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise Unwritten(f"it cannot be run: {error.strerror or error}") from None
        try:
            return await _talk(process, assignment.prompt)
        except BaseException:
            _kill(process)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL_SECONDS):
                    await process.communicate()  # to the end of its pipes, so that nothing is left open
            raise


def _kill(process: asyncio.subprocess.Process) -> None:
    """End it and what it has started, which may live on when it has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _talk(process: asyncio.subprocess.Process, prompt: str) -> t.SummarizeResult:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    answer, tail, _ = await asyncio.gather(
        _whole(process, process.stdout),
        _tail(process.stderr),
        _feed(process.stdin, prompt.encode("utf-8", "replace")),
    )
    status = await process.wait()
    if len(answer) > MAX_BYTES:
        raise Unwritten(f"it wrote more than {MAX_BYTES:,} bytes")
    if status != 0:
        ended = f"it was ended by signal {-status}" if status < 0 else f"it ended with status {status}"
        raise Unwritten(f"{ended}: {tail}" if tail else ended)
    return _read(answer)


def _read(answer: bytes) -> t.SummarizeResult:
    """Text is the summary; a JSON object with `summary` is read as a client's answer would be."""
    try:
        text = answer.decode()
    except UnicodeDecodeError:
        raise Unwritten("what it wrote is not UTF-8") from None
    if text.lstrip().startswith("{"):
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            return _decode(answer)
    return t.SummarizeResult(summary=text)


async def _feed(stdin: asyncio.StreamWriter, prompt: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # one that has read enough may close its end
        stdin.write(prompt)
        await stdin.drain()
    stdin.close()
    with contextlib.suppress(ConnectionError):
        await stdin.wait_closed()


async def _whole(process: asyncio.subprocess.Process, stdout: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while piece := await stdout.read(_PIECE):
        answer += piece
        if len(answer) > MAX_BYTES:
            _kill(process)
            break
    return bytes(answer)


async def _tail(stderr: asyncio.StreamReader) -> str:
    """The end of what it complained of, on one line."""
    tail = b""
    while piece := await stderr.read(_PIECE):
        tail = (tail + piece)[-TAIL_BYTES:]
    return " ".join(tail.decode(errors="replace").split())
