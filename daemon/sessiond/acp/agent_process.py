"""The agent: a process in a group of its own, which ends with the proxy."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from typing import Final

from sessiond.acp.errors import AgentNotStarted
from sessiond.acp.streams import READ_BYTES, LinePeer

WATCHDOG: Final = ("/bin/sh", "-c", 'read -r _; kill -s KILL -- "-$1"', "sh")
"""Kills a process group when its input ends. The input ends when the process at the other end ends for any reason.

dash takes `--` only after `-s`.
"""
END_SECONDS: Final = 2.0
"""Time that an agent has to end by itself after the end of its input. Some ignore the end."""


class AgentProcess:
    """A running agent. `peer` sends and receives its lines; its standard error is that of this process.

    A second small process kills the group of the agent if this process is killed: some agents ignore the end of their
    input, and their wrappers leave children alive.
    """

    def __init__(
        self, program: str, process: asyncio.subprocess.Process, watchdog: asyncio.subprocess.Process
    ) -> None:
        assert process.stdout is not None
        assert process.stdin is not None
        self.program = program
        self.peer = LinePeer(f"The agent {program!r}", process.stdout, process.stdin)
        self._process = process
        self._watchdog = watchdog

    @classmethod
    async def start(cls, command: Sequence[str]) -> "AgentProcess":
        """Start an agent. Raises `AgentNotStarted`."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=READ_BYTES,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise AgentNotStarted(command[0], "there is no such program") from None
        except (OSError, ValueError) as error:
            raise AgentNotStarted(command[0], getattr(error, "strerror", None) or str(error)) from None
        try:
            watchdog = await asyncio.create_subprocess_exec(
                *WATCHDOG, str(process.pid), stdin=asyncio.subprocess.PIPE, start_new_session=True
            )
        except BaseException as error:  # without it, an agent could outlive this process
            _signal_group(process, signal.SIGKILL)
            await process.wait()
            if isinstance(error, OSError):
                raise AgentNotStarted(command[0], f"its watchdog cannot run: {error.strerror}") from None
            raise
        return cls(command[0], process, watchdog)

    @property
    def status(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.returncode

    async def ended(self, seconds: float = END_SECONDS) -> int | None:
        """Wait for the exit status; None if the process does not end in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._process.wait()
        return None

    async def stop(self) -> None:
        """End the agent and every process of its group."""
        self.peer.close()
        if await self.ended() is None:
            _signal_group(self._process, signal.SIGTERM)
            await self.ended()
        _signal_group(self._process, signal.SIGKILL)  # children of a wrapper that has ended
        await self._process.wait()
        with contextlib.suppress(ProcessLookupError):
            self._watchdog.kill()
        await self._watchdog.wait()


def _signal_group(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
