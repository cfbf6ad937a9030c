"""One session as the rows of a page, kept up to date from the daemon: what there is now, then what comes."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec

from sessiond.client.daemon import Daemon
from sessiond.export import html
from sessiond.export.rows import Rows
from sessiond.protocol import types as t
from sessiond.session.tree import KIND, Tree

Tell: TypeAlias = Callable[[Callable[[], Callable[[], dict[str, Any]]]], None]
"""Makes a change while nobody looks, and says what it answers (`LivePage.tell`)."""

_QUIET = 0.02
"""Seconds without an entry after which what has come is shown: bursts are shown as one."""


class Followed:
    """A session, as `html.page` wants it.

    `page` and what is given to `tell` look at the tree, and may be called from any thread, but one at a time: `tell`
    sees to that.
    """

    def __init__(self, info: t.SessionInfo, tell: Tell) -> None:
        self._tell = tell
        self._log = bytearray()
        self._tree = Tree()
        self._rows = Rows(self._tree, self._read)
        header = {
            "type": "session", "version": 3, "id": info.session_id, "timestamp": info.created_at, "cwd": info.cwd,
            "title": info.title, "tags": info.tags, "parentSession": info.parent_session,
        }  # fmt: skip
        self._take([msgspec.json.encode({name: it for name, it in header.items() if it is not None})])

    def page(self, known: int) -> dict[str, Any]:
        """What a page begins with that has so many entries already."""
        return {"session": self._about(), "entries": self._rows.behind(known)}

    async def follow(self, daemon: Daemon, session_id: str, ready: Callable[[], None]) -> None:
        """Take in every entry, for ever; `ready` is called when those that were there are in.

        Raises `RpcError` when the session is gone.
        """
        entries: asyncio.Queue[dict[str, Any]] = asyncio.Queue(1_000)
        reading = asyncio.create_task(_read_into(entries, daemon, session_id))
        lines: list[bytes] = []
        begun = False
        try:
            while not reading.done() or not entries.empty():
                try:
                    entry = await asyncio.wait_for(entries.get(), _QUIET)
                except TimeoutError:
                    if lines:
                        await asyncio.to_thread(self._tell, partial(self._take, lines))
                        lines = []
                    elif not begun:
                        begun = True
                        ready()
                    continue
                lines.append(await _whole(daemon, session_id, entry))
            await reading
        finally:
            reading.cancel()

    def _take(self, lines: Sequence[bytes]) -> Callable[[], dict[str, Any]]:
        """Take in some lines; the answer makes the news of them."""
        first = len(self._tree)
        block = b"".join(line + b"\n" for line in lines)
        self._log += block
        self._tree.read(block)
        self._tree.finish()
        return partial(self._news, [row for row in range(first, len(self._tree)) if self._tree.is_entry(row)])

    def _news(self, new: Sequence[int]) -> dict[str, Any]:
        """The new rows, and those that have another label now."""
        relabelled = [row for it in new if self._tree.kind(it) == KIND["label"] for row in self._target(it)]
        return {"entries": self._rows.of(new), "changed": self._rows.of(relabelled), "session": self._about()}

    def _target(self, row: int) -> list[int]:
        said = msgspec.json.decode(self._read([row])[0], type=dict[str, Any])
        target = said.get("targetId")
        found = self._tree.row(target) if isinstance(target, str) else None
        return [] if found is None else [found]

    def _about(self) -> dict[str, Any]:
        return html.about(self._tree, self._read)

    def _read(self, rows: Sequence[int]) -> list[bytes]:
        return [self._tree.entry(row, bytes(self._log[slice(*self._tree.span(row))])) for row in rows]


async def _read_into(entries: asyncio.Queue[dict[str, Any]], daemon: Daemon, session_id: str) -> None:
    async for entry in daemon.subscribe(session_id, after=0):
        await entries.put(entry)


async def _whole(daemon: Daemon, session_id: str, entry: dict[str, Any]) -> bytes:
    """An entry as a line, with its blobs put back."""
    line = msgspec.json.encode(entry)
    if b"blob:sha256:" not in line or not isinstance(entry.get("id"), str):
        return line
    found = await daemon.entries(session_id, ids=[entry["id"]], resolve_blobs=True)
    return msgspec.json.encode(found.entries[0]) if found.entries else line
