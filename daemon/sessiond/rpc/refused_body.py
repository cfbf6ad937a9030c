"""Reads and discards the rest of a body that was refused for its size.

Without this, a peer that is still sending gets a broken pipe instead of the error.
"""

import asyncio
from typing import Final

_DISCARD_SECONDS: Final = 5.0
"""Limit of the time in which a refused body is discarded before the connection closes."""


class RefusedBody:
    """Closes the transport when the rest of the body has arrived, or after `_DISCARD_SECONDS`.

    Args:
        transport: The transport. Nothing more is written to it.
        size: Bytes of the body that have not arrived. 0 if unknown.

    """

    def __init__(self, transport: asyncio.Transport, size: int) -> None:
        self._transport = transport
        self._size = size
        if transport.can_write_eof():
            transport.write_eof()
        transport.resume_reading()
        asyncio.get_running_loop().call_later(_DISCARD_SECONDS, transport.close)

    def discard(self, size: int) -> None:
        """Count `size` discarded bytes."""
        if self._size:
            self._size = max(self._size - size, 0)
            if not self._size:
                self._transport.close()
