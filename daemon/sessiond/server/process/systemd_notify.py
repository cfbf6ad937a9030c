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
        self._address = environ.pop("NOTIFY_SOCKET", "")
        watchdog, of = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
        ours = watchdog.isdecimal() and of in ("", str(os.getpid()))
        self.every = int(watchdog) / _MICRO / 2 if ours and int(watchdog) else None
        """Seconds between two keep-alive messages; None if systemd expects none."""

    def ready(self, status: str) -> None:
        """Notify that clients can connect."""
        self._send(f"READY=1\nSTATUS={status}\nMAINPID={os.getpid()}")

    def stopping(self, status: str) -> None:
        """Notify that the shutdown has begun."""
        self._send(f"STOPPING=1\nSTATUS={status}")

    async def send_keep_alives(self) -> None:
        """Send keep-alive messages while the event loop runs. A blocked loop sends none."""
        while self.every is not None and self._address:
            self._send("WATCHDOG=1")
            await asyncio.sleep(self.every)

    def _send(self, message: str) -> None:
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        # The daemon must neither end nor wait if its manager does not read.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(message.encode(), address)


def silent() -> SystemdNotifier:
    """Return a notifier that sends nothing."""
    return SystemdNotifier({})
