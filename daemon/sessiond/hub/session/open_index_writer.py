"""Writes the open index of a session in the background, so that the session opens without reading its log again."""

import asyncio
import logging

from sessiond.hub.session.log_reader import MIN_INDEXED_BYTES, LogReader
from sessiond.session.tree import open_index
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)


class OpenIndexWriter:
    """Keeps the open index of one session nearly complete: at most `MIN_INDEXED_BYTES` of the log are not in it."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Write the index in the background if it is due."""
        if self._is_due:
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def finish(self) -> None:
        """Wait for the index that is being written, and write it again if it is due. Called before the log closes."""
        if self._task is not None:
            await asyncio.wait([self._task])
        if self._is_due:
            await self._write()

    @property
    def _is_due(self) -> bool:
        reader = self._reader
        return reader.log.path is not None and reader.tree.end - reader.indexed_size >= MIN_INDEXED_BYTES

    async def _write(self) -> None:
        reader, tree = self._reader, self._reader.tree
        size = tree.end
        try:
            # The first page of the tree needs these rows, and the next daemon finds them in the index.
            silent = reader.silent_turns
            await reader.drive(silent.extend(tree, reader.read_rows, reader.read_stored))
            parts = await reader.drive(open_index.encode(tree, silent, reader.log.read))
        except (StorageFailed, LogReplaced) as error:
            log.warning("no open index of session %s: %s", reader.log.session_id, error)
            return
        if parts is not None and reader.tree is tree:
            await reader.log.write_open_index(parts)
        reader.indexed_size = size
