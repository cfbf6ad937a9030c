"""Notifies systemd that the daemon is ready, alive or stopping (sd_notify(3)). Does nothing elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_MICRO: Final = 1_000_000


class SystemdNotifier:
    """Sends to the socket in NOTIFY_SOCKET. Without that variable it sends nothing.

    The variables are removed from the environment, so that programs that the daemon starts do not notify systemd.
    """

    def __init__(self, environ: MutableMapping[str, str] = os.environ) -> None:
        self._to = environ.pop("NOTIFY_SOCKET", "")
        watchdog, of = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
        ours = watchdog.isdecimal() and of in ("", str(os.getpid()))
        self.every = int(watchdog) / _MICRO / 2 if ours and int(watchdog) else None
        """Seconds between two keep-alive messages. None: systemd expects none."""

    def ready(self, status: str) -> None:
        """Notify that clients can connect."""
        self._say(f"READY=1\nSTATUS={status}\nMAINPID={os.getpid()}")

    def stopping(self, status: str) -> None:
        """Notify that the shutdown has begun."""
        self._say(f"STOPPING=1\nSTATUS={status}")

    async def beat(self) -> None:
        """Send keep-alive messages while the event loop runs. A blocked loop sends none."""
        while self.every is not None and self._to:
            self._say("WATCHDOG=1")
            await asyncio.sleep(self.every)

    def _say(self, words: str) -> None:
        if not self._to:
            return
        address = "\0" + self._to[1:] if self._to.startswith("@") else self._to
        # The daemon must neither end nor wait if its manager does not read.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as telling:
            telling.setblocking(False)
            telling.sendto(words.encode(), address)


def silent() -> SystemdNotifier:
    """Return a notifier that sends nothing."""
    return SystemdNotifier({})
