"""Creation of sessions without entries, and of forks."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from sessiond.hub import clock
from sessiond.hub.errors import IncompatibleParams, refuse_unless_absolute
from sessiond.hub.lineage import Lineage
from sessiond.hub.session import entry_placement
from sessiond.hub.session.blob_resolution import missing_of, name_blobs, resolve_images
from sessiond.hub.session.blobs import named_hashes
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.protocol import types as t
from sessiond.session.state import updates
from sessiond.session.tree import command_ids, entries, fork, steps
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.session.tree.header_title import with_title_space
from sessiond.session.tree.parents import name_of
from sessiond.session.tree.tree import ASSISTANT, NONE
from sessiond.store.base import Store


class ForkedSession(NamedTuple):
    """A session that a fork created, and the hashes of the blobs that its entries name and no store has."""

    live: LiveSession
    missing_blobs: list[str]


def new_session_id(command: CommandRecord | None) -> str:
    """Return the id for a session whose request names none: derived from the command, or random without one."""
    return clock.session_id() if command is None else command_ids.session_id_of(command.id)


class NewSessions:
    """Creates sessions in two stores and opens them.

    Args:
        files: The store of sessions on disk.
        memory: The store of ephemeral sessions.
        open_sessions: Opens the sessions that are created.
        lineage: Its cache of parents is cleared when a session is created.
    """

    def __init__(self, files: Store, memory: Store, open_sessions: OpenSessions, lineage: Lineage) -> None:
        self._files = files
        self._memory = memory
        self._open = open_sessions
        self._lineage = lineage

    async def create(self, params: t.CreateParams, command: CommandRecord | None = None) -> LiveSession:
        """Create a session without entries. It is durable when this returns.

        Args:
            params: The params of `session/create`.
            command: The command of the request, from which the id is derived; None without a command.

        Raises:
            Draining: The daemon is stopping.
            IncompatibleParams: The id, the working directory or the path of the parent is invalid.
            LogExists: A session with this id exists.
            SessionNotFound: The parent does not exist.
            SessionTrashed: The parent is in the trash.
        """
        self._open.refuse_when_draining()
        session_id = params.id or new_session_id(command)
        if not entries.valid_session_id(session_id):
            raise IncompatibleParams(
                "a session's id has 8 to 128 characters of A-Z a-z 0-9 _ -, the first a letter or digit"
            )
        refuse_unless_absolute(params.cwd, "cwd")
        parent = await self._parent(params)
        now = clock.timestamp()
        header = entries.Header(
            version=entries.CURRENT_VERSION, id=session_id, timestamp=now, cwd=params.cwd,
            title=params.title or None, parent_session=parent, tags=params.tags or None,
            sessiond_command=None if command is None else command.of_header(),
        )  # fmt: skip
        lines = with_title_space(msgspec.json.encode(header)) + b"\n"
        if params.title:  # pi reads the title from an entry only
            lines += fork.title_line(fork.Title(params.title, now), clock.entry_id(), None)
        store = self._memory if params.ephemeral else self._files
        make = partial(store.create, session_id, cwd=params.cwd, timestamp=now, lines=lines, draft=True)
        live = await self._open.create(session_id, make, ephemeral=params.ephemeral)
        self._lineage.forget()
        return live

    async def _parent(self, params: t.CreateParams) -> str | None:
        """Return the parent as the header names it, after checking that it exists. A path is not checked."""
        if params.parent_path is not None:
            if params.parent_session_id is not None:
                raise IncompatibleParams("parentSessionId and parentPath exclude each other")
            refuse_unless_absolute(params.parent_path, "parentPath")
            return params.parent_path
        if params.parent_session_id is None:
            return None
        return name_of(params.parent_session_id, await self._open.ref_of(params.parent_session_id))

    def fork(
        self, source: LiveSession, params: t.ForkParams, command: CommandRecord | None = None
    ) -> Callable[[], Awaitable[ForkedSession]]:
        """Prepare a session that is a copy of a path of `source`, or of its whole tree.

        Args:
            source: The session to copy, as it is now. Later appends are not copied.
            params: The params of `session/fork`.
            command: The command of the request, from which the id is derived; None without a command.

        Returns:
            A function that creates the session.

        Raises:
            Draining: The daemon is stopping.
            EntryNotFound: The source has no such entry.
            IncompatibleParams: The params contradict each other, or the working directory is not absolute.
        """
        self._open.refuse_when_draining()
        if params.whole and (params.leaf_id is not UNSET or params.position != "at"):
            raise IncompatibleParams("whole copies all branches, so it goes with neither leafId nor position")
        tree = source.tree
        row = source.row_at(params.leaf_id)
        if params.position == "before" and row != NONE:
            row = tree.parent(row)
        now, session_id = clock.timestamp(), new_session_id(command)
        header = entries.Header(
            version=entries.CURRENT_VERSION, id=session_id, timestamp=now,
            cwd=params.cwd or (tree.header.cwd if tree.header is not None else ""),
            title=params.title or tree.title, parent_session=source.log.path or source.session_id,
            tags=tree.header.tags if tree.header is not None else None,
            sessiond_command=None if command is None else command.of_header(),
        )  # fmt: skip
        refuse_unless_absolute(header.cwd, "the cwd of the fork")
        first = with_title_space(msgspec.json.encode(header))

        def new_id() -> str:
            return entry_placement.free_id(tree)

        if params.whole:
            title = fork.Title(params.title, now) if params.title else None
            cut = fork.copied_lines(tree, source.read_rows, header=first, new_id=new_id, title=title)
            return partial(self._forked, source, None, header, cut)
        cut = fork.fork_lines(
            tree, row, source.read_rows, header=first, new_id=new_id,
            title=fork.Title(header.title, now) if header.title else None,
            is_new_title=bool(params.title),
        )  # fmt: skip
        return partial(self._forked, source, row, header, cut)

    async def _forked(
        self, source: LiveSession, row: int | None, header: entries.Header, cut: steps.Steps[list[bytes]]
    ) -> ForkedSession:
        """Store the lines copied from `source`: of the path to `row`, or of the whole tree if `row` is None."""
        tree, session_id = source.tree, header.id
        forked = await source.drive(cut)
        store = self._memory if source.ephemeral else self._files
        has_blobs = await source.drive(name_blobs(forked))
        if has_blobs:
            if not source.ephemeral:
                forked = await resolve_images(forked, source.blobs)
            named = await asyncio.to_thread(named_hashes, forked)
            await source.blobs.carry(named, store.blobs)
        lines = await asyncio.to_thread(lambda: b"".join(entry_placement.ended(forked)))
        await source.drive(steps.clear_lists(forked))
        if row is None:
            has_assistant, state_rows = tree.has_assistant(), sorted(tree.state_rows)
        else:
            path = await source.drive(steps.path(tree, row))
            has_assistant = any(tree.role(step) == ASSISTANT for step in path)
            state_rows = sorted(tree.state_rows.intersection(path))
        has_state = any(map(updates.sets_state, source.read_rows(state_rows)))
        make = partial(
            store.create, session_id, cwd=header.cwd, timestamp=header.timestamp, lines=lines,
            draft=not (has_assistant or has_state),
        )  # fmt: skip
        live = await self._open.create(session_id, make, ephemeral=source.ephemeral)
        self._lineage.forget()
        return ForkedSession(live, await missing_of(live) if has_blobs else [])
