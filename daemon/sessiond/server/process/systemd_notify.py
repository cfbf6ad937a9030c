"""What the daemon tells systemd of itself (sd_notify(3)): ready, still alive, about to stop. Elsewhere, nothing."""

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
    """Sends to the socket that NOTIFY_SOCKET names; says nothing when there is none.

    The variables are taken out of the environment: a program that the daemon starts is not the daemon.
    """

    def __init__(self, environ: MutableMapping[str, str] = os.environ) -> None:
        self._to = environ.pop("NOTIFY_SOCKET", "")
        watchdog, of = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
        ours = watchdog.isdecimal() and of in ("", str(os.getpid()))
        self.every = int(watchdog) / _MICRO / 2 if ours and int(watchdog) else None
        """Seconds between two signs of life; None when nobody waits for them."""

    def ready(self, status: str) -> None:
        """Clients can connect."""
        self._say(f"READY=1\nSTATUS={status}\nMAINPID={os.getpid()}")

    def stopping(self, status: str) -> None:
        """The end has begun."""
        self._say(f"STOPPING=1\nSTATUS={status}")

    async def beat(self) -> None:
        """Give signs of life for as long as the loop turns, for ever. One that hangs gives none."""
        while self.every is not None and self._to:
            self._say("WATCHDOG=1")
            await asyncio.sleep(self.every)

    def _say(self, words: str) -> None:
        if not self._to:
            return
        address = "\0" + self._to[1:] if self._to.startswith("@") else self._to
        # Nobody is helped by a daemon that ends, or waits, because its manager does not listen.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as telling:
            telling.setblocking(False)
            telling.sendto(words.encode(), address)


def silent() -> SystemdNotifier:
    """One that tells nobody."""
    return SystemdNotifier({})
