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

from sessiond.hub.summaries.summarizer import Assignment, ReportProgress, SummaryFailed
from sessiond.protocol import types as t

MAX_BYTES: Final = 8 * 1024 * 1024
"""Limit of the output. A command that writes more is killed."""
TAIL_BYTES: Final = 2_000
"""The number of bytes from the end of stderr that the error message includes."""

_CHUNK_BYTES: Final = 64 * 1024
_EXIT_SECONDS: Final = 5.0
_decode = msgspec.json.Decoder(t.SummarizeResult).decode


class SummarizerCommand:
    """Runs a program to write a summary. `command_line` are the program and its arguments."""

    kind: Literal["command"] = "command"

    def __init__(self, command_line: Sequence[str]) -> None:
        self.name = f"the command {Path(command_line[0]).name}"
        self._command_line = command_line

    async def write(self, assignment: Assignment, report_progress: ReportProgress) -> t.SummarizeResult:
        """Run the command and return its output. Raises `SummaryFailed` if it fails or cannot be run."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command_line, cwd=Path.home(), start_new_session=True,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise SummaryFailed(f"it cannot be run: {error.strerror or error}") from None
        try:
            return await _run_to_end(process, assignment.prompt)
        except BaseException:
            _kill(process)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EXIT_SECONDS):
                    await process.communicate()  # read to the end of the pipes, so that they are closed
            raise


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill the command and its children, which may outlive it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _run_to_end(process: asyncio.subprocess.Process, prompt: str) -> t.SummarizeResult:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    output, tail, _ = await asyncio.gather(
        _read_output(process, process.stdout),
        _tail(process.stderr),
        _feed(process.stdin, prompt.encode("utf-8", "replace")),
    )
    status = await process.wait()
    if len(output) > MAX_BYTES:
        raise SummaryFailed(f"it wrote more than {MAX_BYTES:,} bytes")
    if status != 0:
        failure = (
            f"it was terminated by signal {-status}" if status < 0 else f"it exited with status {status}"
        )
        raise SummaryFailed(f"{failure}: {tail}" if tail else failure)
    return _read(output)


def _read(output: bytes) -> t.SummarizeResult:
    """Decode the output: a JSON object with `summary` as a client's result, anything else as the summary itself.

    Raises `SummaryFailed` if it is not UTF-8.
    """
    try:
        text = output.decode()
    except UnicodeDecodeError:
        raise SummaryFailed("its output is not UTF-8") from None
    if text.lstrip().startswith("{"):
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            return _decode(output)
    return t.SummarizeResult(summary=text)


async def _feed(stdin: asyncio.StreamWriter, prompt: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # the command may close stdin early
        stdin.write(prompt)
        await stdin.drain()
    stdin.close()
    with contextlib.suppress(ConnectionError):
        await stdin.wait_closed()


async def _read_output(process: asyncio.subprocess.Process, stdout: asyncio.StreamReader) -> bytes:
    output = bytearray()
    while chunk := await stdout.read(_CHUNK_BYTES):
        output += chunk
        if len(output) > MAX_BYTES:
            _kill(process)
            break
    return bytes(output)


async def _tail(stderr: asyncio.StreamReader) -> str:
    """Return the last `TAIL_BYTES` of stderr as one line."""
    tail = b""
    while chunk := await stderr.read(_CHUNK_BYTES):
        tail = (tail + chunk)[-TAIL_BYTES:]
    return " ".join(tail.decode(errors="replace").split())
