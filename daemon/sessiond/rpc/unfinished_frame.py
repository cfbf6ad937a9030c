"""Measures the frame that is being received: its duration, and whether its size was announced."""

import asyncio

from sessiond.rpc.framing import Framer
from sessiond.rpc.receive_queue import LARGE_FRAME


class UnfinishedFrame:
    """Observes the framer of a connection after each read.

    Args:
        framer: The framer of the connection.
        loop: Its clock measures the duration of a frame.

    """

    def __init__(self, framer: Framer, loop: asyncio.AbstractEventLoop) -> None:
        self.is_announced = False
        """Whether the frame is large and was announced to the owner of the connection."""
        self._framer = framer
        self._loop = loop
        self._began: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the frame began. 0 while there is no unfinished frame."""
        return 0.0 if self._began is None else self._loop.time() - self._began

    def observe(self, *, has_cut: bool) -> None:
        """Update the state after a read.

        Args:
            has_cut: Whether the read completed a frame, so that the unfinished one is another.

        """
        if not self._framer.unfinished:
            self._began = None
        elif has_cut or self._began is None:
            self._began = self._loop.time()

    def restart(self) -> None:
        """Restart the measurement, because the peer is not responsible for the duration of a pause."""
        if self._began is not None:
            self._began = self._loop.time()

    def size_to_announce(self) -> int | None:
        """Return the approximate size of the frame in bytes, once for each large frame; otherwise None."""
        framer = self._framer
        if self._began is None or self.is_announced or framer.expects <= LARGE_FRAME:
            return None
        self.is_announced = True
        # The length of a line is unknown until it ends.
        return framer.expects if framer.mode == "contentLength" else framer.max_frame
