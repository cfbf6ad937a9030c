"""The summarizer that runs a configured command: it reads the prompt from stdin and writes the summary to stdout.

The command runs without a shell, in the user's home folder and in its own process group. The group is killed when the
request is canceled or times out.
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
"""Limit of the output. A command that writes more is killed."""
TAIL_BYTES: Final = 2_000
"""How many bytes from the end of stderr the error message includes."""

_PIECE: Final = 64 * 1024
_FAREWELL_SECONDS: Final = 5.0
_decode = msgspec.json.Decoder(t.SummarizeResult).decode


class SummarizerCommand:
    """Runs a program to write a summary. `words` are the program and its arguments."""

    kind: Literal["command"] = "command"

    def __init__(self, words: Sequence[str]) -> None:
        self.name = f"the command {Path(words[0]).name}"
        self._words = words

    async def write(self, assignment: Assignment, tell: Tell) -> t.SummarizeResult:
        """Run the command and return its output. Raises `Unwritten` if it fails or cannot be run."""
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
                    await process.communicate()  # read to the end of the pipes, so that they are closed
            raise


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill the command and its children, which may outlive it."""
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
    """Decode the output: a JSON object with `summary` as a client's result, anything else as the summary itself.

    Raises `Unwritten` if it is not UTF-8.
    """
    try:
        text = answer.decode()
    except UnicodeDecodeError:
        raise Unwritten("what it wrote is not UTF-8") from None
    if text.lstrip().startswith("{"):
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            return _decode(answer)
    return t.SummarizeResult(summary=text)


async def _feed(stdin: asyncio.StreamWriter, prompt: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # the command may close stdin early
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
    """Return the last `TAIL_BYTES` of stderr as one line."""
    tail = b""
    while piece := await stderr.read(_PIECE):
        tail = (tail + piece)[-TAIL_BYTES:]
    return " ".join(tail.decode(errors="replace").split())
