"""Reading a body that was refused for its size, only to discard it.

A peer that is still sending would otherwise get a broken pipe instead of the error.
"""

import asyncio
from typing import Final

_DISCARD_SECONDS: Final = 5.0
"""How long a refused body is read and discarded before the connection closes."""


class RefusedBody:
    """Closes the transport when the rest of the body has come, or after `_DISCARD_SECONDS`.

    Args:
        transport: Nothing more is written to it.
        size: Bytes of the body that are still to come. 0: that is not known.

    """

    def __init__(self, transport: asyncio.Transport, size: int) -> None:
        self._transport = transport
        self._size = size
        if transport.can_write_eof():
            transport.write_eof()
        transport.resume_reading()
        asyncio.get_running_loop().call_later(_DISCARD_SECONDS, transport.close)

    def discard(self, size: int) -> None:
        """Take note that so many bytes have come."""
        if self._size:
            self._size = max(self._size - size, 0)
            if not self._size:
                self._transport.close()
