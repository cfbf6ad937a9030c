"""The entries of a session: append, entries, path, tree, label."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.client.methods.base import TWICE, Methods
from sessiond.client.results import Entries
from sessiond.protocol import methods as m, types as t


class EntryMethods(Methods):
    """What is asked of the tree: adding to it, and reading it in several orders."""

    async def append(
        self,
        session_id: str,
        entries: Sequence[Mapping[str, Any]],
        *,
        format: t.Format = "agent",
        parent_id: str | UnsetType | None = UNSET,
        expected_leaf: str | UnsetType | None = UNSET,
        on_conflict: Literal["reject", "branch"] = "reject",
        advance: bool = True,
        durability: t.Durability = "synced",
    ) -> t.AppendResult:
        """session/append. What has no id gets one here, so that a lost answer never doubles an entry."""
        params = t.AppendParams(
            session_id=session_id,
            entries=[Raw(msgspec.json.encode(_identified(entry))) for entry in entries],
            format=format,
            parent_id=parent_id,
            expected_leaf=expected_leaf,
            on_conflict=on_conflict,
            advance=advance,
            durability=durability,
        )
        return await self.call(m.APPEND, params, attempts=TWICE)

    async def entries(
        self,
        session_id: str,
        *,
        after: t.After | None = None,
        around: str | None = None,
        ids: Sequence[str] | None = None,
        cursor: str | None = None,
        limit: int = 200,
        resolve_blobs: bool = False,
    ) -> Entries:
        params = t.EntriesParams(
            session_id=session_id,
            after=after,
            around=around,
            ids=None if ids is None else list(ids),
            cursor=cursor,
            limit=limit,
            resolve_blobs=resolve_blobs,
        )
        return await self._decoded(m.ENTRIES, params, Entries)

    async def path(
        self,
        session_id: str,
        leaf_id: str | UnsetType | None = UNSET,
        *,
        cursor: str | None = None,
        limit: int = 10_000,
        resolve_blobs: bool = False,
    ) -> Entries:
        params = t.PathParams(
            session_id=session_id, leaf_id=leaf_id, cursor=cursor, limit=limit, resolve_blobs=resolve_blobs
        )
        return await self._decoded(m.PATH, params, Entries)

    async def tree(
        self,
        session_id: str,
        *,
        filter: t.Filter = "default",
        query: str | None = None,
        root_id: str | None = None,
        around: str | None = None,
        cursor: str | None = None,
        limit: int = 1_000,
    ) -> t.TreeResult:
        params = t.TreeParams(
            session_id=session_id, filter=filter, query=query, root_id=root_id, around=around, cursor=cursor,
            limit=limit,
        )  # fmt: skip
        return await self.call(m.TREE, params)

    async def entry_document(self, session_id: str, entry_id: str) -> t.EntryDocumentResult:
        params = t.EntryDocumentParams(session_id=session_id, entry_id=entry_id)
        return await self.call(m.ENTRY_DOCUMENT, params)

    async def page(self, session_id: str, *, after: t.After | None = None, limit: int = 500) -> t.PageResult:
        return await self.call(m.PAGE, t.PageParams(session_id=session_id, after=after, limit=limit))

    async def page_document(self, nonce: str) -> str:
        """The HTML in which a webview shows the rows of `page`."""
        return (await self.call(m.PAGE_DOCUMENT, t.PageDocumentParams(nonce=nonce))).html

    async def label(
        self, session_id: str, target_id: str, label: str | None, *, command_id: str | None = None
    ) -> t.ChangeResult:
        return await self.call(
            m.LABEL,
            t.LabelParams(session_id=session_id, target_id=target_id, label=label, command_id=command_id),
        )


def _identified(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry with an id; what is a provider's message alone becomes the message of one."""
    if "type" not in entry and "role" in entry:
        entry = {"type": "message", "message": entry}
    return entry if "id" in entry else {"id": secrets.token_hex(4), **entry}
