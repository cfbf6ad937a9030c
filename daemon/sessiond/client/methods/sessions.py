"""Whole sessions: create, open, close, continue, list, search, info, stats, compare, fork, rename, tag, flush."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from sessiond.client.methods.base import Methods
from sessiond.protocol import methods as m, types as t


class SessionMethods(Methods):
    """What is asked of sessions as wholes. A `cwd` that is left out is the folder of this process."""

    async def create(
        self,
        cwd: str | None = None,
        *,
        id: str | None = None,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        parent_session: str | None = None,
        ephemeral: bool = False,
        command_id: str | None = None,
    ) -> t.SessionResult:
        params = t.CreateParams(
            cwd=cwd or str(Path.cwd()),
            id=id,
            title=title,
            tags=None if tags is None else list(tags),
            parent_session=parent_session,
            ephemeral=ephemeral,
            command_id=command_id,
        )
        return await self.call(m.CREATE, params)

    async def open(
        self, session_id: str | None = None, *, path: str | None = None, bind: bool = True
    ) -> t.SessionResult:
        return await self.call(m.OPEN, t.OpenParams(session_id=session_id, path=path, bind=bind))

    async def close(self, session_id: str) -> t.CloseResult:
        return await self.call(m.CLOSE, t.CloseParams(session_id=session_id))

    async def continue_session(
        self,
        cwd: str | None = None,
        *,
        create: bool = True,
        bind: bool | None = None,
        command_id: str | None = None,
    ) -> t.ContinueResult:
        params = t.ContinueParams(cwd=cwd or str(Path.cwd()), create=create, bind=bind, command_id=command_id)
        return await self.call(m.CONTINUE, params)

    async def list_sessions(
        self,
        cwd: str | None = None,
        *,
        all: bool = False,
        tags: Sequence[str] | None = None,
        query: str | None = None,
        sort: Literal["updated", "created", "title"] = "updated",
        cursor: str | None = None,
        limit: int = 50,
        drafts: bool = False,
    ) -> t.ListResult:
        params = t.ListParams(
            cwd=cwd,
            all=all,
            tags=None if tags is None else list(tags),
            query=query,
            sort=sort,
            cursor=cursor,
            limit=limit,
            drafts=drafts,
        )
        return await self.call(m.LIST, params)

    async def resolve(self, query: str, *, limit: int = 20) -> t.ResolveResult:
        return await self.call(m.RESOLVE, t.ResolveParams(query=query, limit=limit))

    async def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        cwd: str | None = None,
        role: str | None = None,
        tag: str | None = None,
        label: str | None = None,
        since: str | None = None,
        until: str | None = None,
        cursor: str | None = None,
        limit: int = 20,
    ) -> t.SearchResult:
        params = t.SearchParams(
            query=query,
            session_id=session_id,
            cwd=cwd,
            role=role,
            tag=tag,
            label=label,
            since=since,
            until=until,
            cursor=cursor,
            limit=limit,
        )
        return await self.call(m.SEARCH, params)

    async def info(self, session_id: str) -> t.SessionResult:
        return await self.call(m.INFO, t.InfoParams(session_id=session_id))

    async def stats(self, session_id: str, leaf_id: str | UnsetType | None = UNSET) -> t.StatsResult:
        return await self.call(m.STATS, t.StatsParams(session_id=session_id, leaf_id=leaf_id))

    async def compare(
        self, session_id: str, left_id: str, right_id: str | UnsetType | None = UNSET
    ) -> t.CompareResult:
        return await self.call(
            m.COMPARE, t.CompareParams(session_id=session_id, left_id=left_id, right_id=right_id)
        )

    async def fork(
        self,
        session_id: str | None = None,
        *,
        path: str | None = None,
        leaf_id: str | UnsetType | None = UNSET,
        position: Literal["at", "before"] = "at",
        whole: bool = False,
        cwd: str | None = None,
        title: str | None = None,
        command_id: str | None = None,
    ) -> t.SessionResult:
        params = t.ForkParams(
            session_id=session_id,
            path=path,
            leaf_id=leaf_id,
            position=position,
            whole=whole,
            cwd=cwd,
            title=title,
            command_id=command_id,
        )
        return await self.call(m.FORK, params)

    async def move(self, session_id: str, cwd: str, *, command_id: str | None = None) -> t.SessionResult:
        return await self.call(m.MOVE, t.MoveParams(session_id=session_id, cwd=cwd, command_id=command_id))

    async def rename(self, session_id: str, title: str, *, command_id: str | None = None) -> t.ChangeResult:
        return await self.call(
            m.RENAME, t.RenameParams(session_id=session_id, title=title, command_id=command_id)
        )

    async def tag(
        self,
        session_id: str,
        *,
        add: Sequence[str] | None = None,
        remove: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        command_id: str | None = None,
    ) -> t.ChangeResult:
        lists = {"add": add, "remove": remove, "tags": tags}
        given: dict[str, Any] = {name: list(words) for name, words in lists.items() if words is not None}
        return await self.call(m.TAG, t.TagParams(session_id=session_id, **given, command_id=command_id))

    async def flush(self, session_id: str | None = None) -> t.FlushResult:
        return await self.call(m.FLUSH, t.FlushParams(session_id=session_id))
