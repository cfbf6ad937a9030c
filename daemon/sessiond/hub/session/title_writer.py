"""Writes the title of a session into the header of its file, where oh-my-pi reads it."""

import asyncio
import logging
from typing import Final

from sessiond.hub import clock
from sessiond.hub.session.log_maintenance import LogMaintenance
from sessiond.hub.session.log_reader import LogReader
from sessiond.hub.session.write_block import WriteBlockMonitor
from sessiond.session.tree.header_title import title_change
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)

HEAD_BYTES: Final = 64 * 1024
"""The bytes at the start of a log that are searched for the header."""


class TitleWriter:
    """Writes the title in the background."""

    def __init__(
        self, reader: LogReader, maintenance: LogMaintenance, write_block: WriteBlockMonitor
    ) -> None:
        self._reader = reader
        self._write_block = write_block
        self._maintenance = maintenance
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Write the current title, unless a task that will do so has not begun yet."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def finish(self) -> None:
        """Wait until the title is written."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _write(self) -> None:
        reader, maintenance = self._reader, self._maintenance
        try:
            async with maintenance.exclusive():
                self._task = None  # a later title change starts another task
                if maintenance.closing_error is None and self._write_block.read_only is None:
                    head = reader.log.read(0, min(reader.log.size, HEAD_BYTES))
                    change = title_change(head, reader.tree.title, clock.timestamp())
                    if change is not None:
                        await reader.log.overwrite(*change)
                        reader.indexed_size = 0  # the index has a checksum of the first lines
        except (LogReplaced, StorageFailed) as error:
            log.warning("session %s: the title is not in the header: %s", reader.log.session_id, error)
