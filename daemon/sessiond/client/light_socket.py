"""The socket of the thin client: the C part of `socket`, as a context manager.

Importing `socket` imports `enum` and `selectors`, which takes as long as half a Python start (decision 0031).
"""

from __future__ import annotations

from _socket import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class LightSocket(socket):
    """A connection to the daemon. `socket.socket(fileno=connection.detach())` makes it a socket for asyncio."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
