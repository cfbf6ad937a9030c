"""The frame of which a connection has received a part: for how long, and whether its owner knows that it is large."""

import asyncio

from sessiond.rpc.framing import Framer
from sessiond.rpc.receive_queue import LARGE_FRAME


class UnfinishedFrame:
    """Observes the framer of a connection after each read.

    Args:
        framer: Cuts the frames out of the stream.
        loop: Its clock measures how long a frame takes.

    """

    def __init__(self, framer: Framer, loop: asyncio.AbstractEventLoop) -> None:
        self.is_announced = False
        """Whether the frame is large and the owner of the connection knows of it."""
        self._framer = framer
        self._loop = loop
        self._began: float | None = None

    @property
    def seconds(self) -> float:
        """For how long the peer has been sending the frame; 0 while there is none."""
        return 0.0 if self._began is None else self._loop.time() - self._began

    def observe(self, *, has_cut: bool) -> None:
        """Take note of a read; `has_cut`: it completed a frame, so that the unfinished one is another."""
        if not self._framer.unfinished:
            self._began = None
        elif has_cut or self._began is None:
            self._began = self._loop.time()

    def restart(self) -> None:
        """Count from now: the time of a pause is not the peer's."""
        if self._began is not None:
            self._began = self._loop.time()

    def size_to_announce(self) -> int | None:
        """Return about how many bytes the frame will have, once and only if it is large; else None."""
        framer = self._framer
        if self._began is None or self.is_announced or framer.expects <= LARGE_FRAME:
            return None
        self.is_announced = True
        # How long a line will be, nobody knows.
        return framer.expects if framer.mode == "content-length" else framer.max_frame
