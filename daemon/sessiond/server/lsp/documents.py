"""The session files that an editor reads: from disk, from an open session, or from the text being edited.

If a text equals the start of its file, the file is used: entries that others have added since then are included,
although the editor does not show them yet. If a text differs, the text itself is read, and no file is used.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit
from weakref import WeakValueDictionary

from lsprotocol import types

from sessiond.agents.recognition import ForeignProgram, foreign_program_of
from sessiond.hub.errors import ForeignDialect, HubError
from sessiond.hub.hub import Hub
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import LogReader, ReadableSession
from sessiond.server.lsp import position
from sessiond.server.lsp.position import Encoding
from sessiond.server.lsp.texts import OpenText
from sessiond.session.tree.recognition import is_session
from sessiond.session.tree.tree import Tree
from sessiond.session.views.outline import Outline
from sessiond.store.errors import LogNotFound, StorageFailed
from sessiond.store.memory import MemoryStore

MAX_CACHED: Final = 4
"""Files whose rows stay in memory between two requests of one editor."""

_Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _CachedFile:
    stamp: _Stamp
    tree: Tree
    outline: Outline


class Document:
    """One session file, for the duration of one request."""

    def __init__(
        self,
        uri: str,
        session: ReadableSession,
        encoding: Encoding,
        *,
        text: OpenText | None,
        path: str | None,
    ) -> None:
        self.uri = uri
        self.session = session
        self.path = path
        """The file that the editor shows. None if the text differs from the file."""
        self.encoding = encoding
        self._text = text

    @property
    def tree(self) -> Tree:
        """The tree of the log. A rewrite replaces it by one with the same rows, also during the request."""
        return self.session.tree

    @property
    def session_id(self) -> str:
        """The id in the header, or else in the file's name."""
        if isinstance(self.session, LiveSession):
            return self.session.session_id
        header = self.tree.header
        return header.id if header is not None else self.session.log.session_id

    @property
    def version(self) -> object:
        """A value that stays equal as long as the rows, the leaf and the text do not change."""
        tree = self.tree
        return tree, tree.committed, tree.leaf, tree.end, None if self._text is None else self._text.version

    @property
    def rows(self) -> int:
        """The number of rows that the editor can show. Rows after the end of its text are not counted."""
        if self._text is None or self._text.data is None or self.path is None:
            return self.tree.committed
        shown = len(self._text.data)
        low, high = 0, self.tree.committed
        while low < high:
            middle = (low + high) // 2
            if self.tree.span(middle)[0] < shown:
                low = middle + 1
            else:
                high = middle
        return low

    def row_at(self, line: int) -> int | None:
        """Return the row on a line. The header and damaged lines are rows, too."""
        if self._text is not None and self._text.data is not None:
            if not 0 <= line < len(self._text.starts):
                return None
            line = self._text.line_feeds_before(line)
        row = line - self.tree.line(0)
        return row if 0 <= row < self.rows and (row or self.tree.header is not None) else None

    def line_of(self, row: int) -> int:
        """Return the line of a row."""
        if self._text is not None and self._text.data is not None:
            return self._text.line_at(self.tree.span(row)[0])
        return self.tree.line(row)

    def raw(self, row: int) -> bytes:
        """Return the line of a row in bytes, without its line end."""
        start, end = self.tree.span(row)
        return position.without_end(self.session.read_bytes(start, end))

    def raw_line(self, line: int) -> bytes:
        """Return a line in bytes. The line need not be an entry."""
        if self._text is not None and self._text.data is not None:
            return self._text.line(line)
        row = line - self.tree.line(0)
        if 0 <= row < self.tree.committed:
            return self.raw(row)
        return position.without_end(self.tree.tail) if row == self.tree.committed else b""

    def range_in(self, row: int, start: int, end: int) -> types.Range:
        """Return the range of the bytes from `start` to `end` in a row's line."""
        return self.range_on(self.line_of(row), self.raw(row), start, end)

    def range_on(self, line: int, raw: bytes, start: int, end: int) -> types.Range:
        """Return the range of the bytes from `start` to `end` in a line."""
        return types.Range(
            types.Position(line, position.character(raw, start, self.encoding)),
            types.Position(line, position.character(raw, end, self.encoding)),
        )

    def range_of(self, row: int) -> types.Range:
        """Return the range of a row's whole line."""
        raw = self.raw(row)
        return self.range_on(self.line_of(row), raw, 0, len(raw))

    def offset(self, raw: bytes, character: int) -> int:
        """Return the byte offset of a character in a line."""
        return position.byte(raw, character, self.encoding)


class Documents:
    """The texts that one editor has open, and a cache of the files that it requests."""

    def __init__(self, hub: Hub) -> None:
        self.texts: dict[str, OpenText] = {}
        self.encoding: Encoding = "utf-16"
        self._hub = hub
        self._cached: dict[str, _CachedFile] = {}
        self._buffers: dict[str, tuple[object, LogReader]] = {}
        self._matched: dict[str, tuple[object, Tree]] = {}
        self._loading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def at(self, uri: str) -> AsyncIterator[Document | None]:
        """Yield the session at a URI, for reading only. None if there is no session."""
        text = self.texts.get(uri)
        path = path_of(uri)
        if text is not None and text.data is None and text.changed:
            yield None  # the text is not in memory because it is too large, and it differs from the file
            return
        async with contextlib.AsyncExitStack() as stack:
            found = await self._on_disk(stack, uri, path, text)
            if found is None and text is not None and text.data is not None:
                with contextlib.suppress(ForeignDialect):
                    session = await self._as_edited(uri, text)
                    found = Document(uri, session, self.encoding, text=text, path=None)
            if found is not None and not is_session(found.tree):
                found = None
            yield found

    async def foreign_program(self, uri: str) -> ForeignProgram | None:
        """Return the program whose session file an editor shows. None for a session, and for any other text."""
        text, path = self.texts.get(uri), path_of(uri)
        if text is not None and text.data is not None:
            data = text.data
            return foreign_program_of(lambda size: data[:size])
        if path is None or not os.path.isfile(path):  # noqa: PTH113 - bytes that are no text are a path, too
            return None
        with contextlib.suppress(OSError):
            return await asyncio.to_thread(_program_of, path)
        return None

    async def _on_disk(
        self, stack: contextlib.AsyncExitStack, uri: str, path: str | None, text: OpenText | None
    ) -> Document | None:
        if path is None or not os.path.isfile(path):  # noqa: PTH113 - bytes that are no text are a path, too
            return None
        try:
            session = await stack.enter_async_context(self._hub.sessions.open_for_reading(path, self._load))
        except (HubError, LogNotFound, StorageFailed, OSError):
            return None
        document = Document(uri, session, self.encoding, text=text, path=path)
        return document if text is None or text.data is None or self._shows(uri, text, session) else None

    def _shows(self, uri: str, text: OpenText, session: ReadableSession) -> bool:
        """Return whether a text equals the start of the file. A last newline that the editor added is ignored."""
        tree, data = session.tree, text.data or b""
        matched = self._matched.get(uri)
        if matched is None or matched[0] is not text.version or matched[1] is not tree:
            stored = session.read_bytes(0, len(data))
            if stored != data and stored + b"\n" != data:
                self._matched.pop(uri, None)
                return False
            self._matched[uri] = text.version, tree
        return True

    async def _load(self, session: LogReader) -> None:
        """Load a session that is not open, unless its file has not changed since the last time."""
        ref = session.log.ref
        stamp = _stamp(ref)
        one_at_a_time = self._loading.setdefault(ref, asyncio.Lock())
        async with one_at_a_time:
            cached = self._cached.pop(ref, None)
            if cached is None or cached.stamp != stamp:
                await session.load()
                cached = _CachedFile(stamp, session.tree, session.outline)
            self._cached[ref] = cached
            while len(self._cached) > MAX_CACHED:
                del self._cached[next(iter(self._cached))]
        session.tree, session.outline = cached.tree, cached.outline

    async def _as_edited(self, uri: str, text: OpenText) -> LogReader:
        version, data = text.version, text.data or b""
        known = self._buffers.get(uri)
        if known is None or known[0] is not version:
            log = await MemoryStore().create("buffer", cwd="", timestamp="", lines=data, draft=False)
            session = LogReader(log)
            await session.load()
            known = self._buffers[uri] = version, session
        return known[1]

    def forget(self, uri: str) -> None:
        """The editor has closed a text: release it."""
        self.texts.pop(uri, None)
        self._buffers.pop(uri, None)
        self._matched.pop(uri, None)


def _program_of(path: str) -> ForeignProgram | None:
    with open(path, "rb") as file:
        return foreign_program_of(lambda size: os.pread(file.fileno(), size, 0))


def path_of(uri: str) -> str | None:
    """Return the path of a `file` URI, or None for any other."""
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path, errors="surrogateescape") if parts.scheme == "file" else ""
    except ValueError:
        return None
    return path if path.startswith("/") and "\0" not in path else None


def uri_of(path: str) -> str:
    """Return the `file` URI of an absolute path."""
    return Path(path).as_uri()


def _stamp(path: str) -> _Stamp:
    at = os.stat(path)  # noqa: PTH116 - faster, for four numbers
    return at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns
