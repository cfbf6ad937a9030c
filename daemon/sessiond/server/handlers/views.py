"""Handlers of views for people: a session as a page in parts, the document around it, and one entry as Markdown."""

import asyncio
from itertools import islice

from sessiond.hub.errors import EntryTooLarge
from sessiond.hub.session import blob_resolution, pages
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import ReadableSession
from sessiond.protocol import types as t
from sessiond.server.connection.client import MAX_REPLY_BYTES, Client
from sessiond.session.content.entry_document import LANGUAGE, EntrySurroundings, entry_document, entry_uri
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE

MAX_CHILDREN = 100


async def page(_client: Client, live: LiveSession, params: t.ViewPageParams) -> t.ViewPageResult:
    """Return a part of the session's page with `pages.part`. Raises `CursorExpired`."""
    return await pages.part(live, params.after, params.limit)


async def path(_client: Client, live: LiveSession, params: t.ViewPathParams) -> t.ViewPathResult:
    """Return the rows of the path around an entry with `pages.around`. Raises `EntryNotFound`."""
    return await pages.around(live, params.entry_id, params.limit)


async def document(_client: Client, params: t.ViewDocumentParams) -> t.ViewDocumentResult:
    """Return the HTML document that shows the parts of a page, with `pages.document`."""
    return t.ViewDocumentResult(html=await asyncio.to_thread(pages.document, params.nonce))


async def entry(_client: Client, live: LiveSession, params: t.ViewEntryParams) -> t.ViewEntryResult:
    """Return an entry as Markdown with `entry_document`. Blobs are resolved unless the result is too large."""
    row = live.row(params.entry_id)
    body = live.read(row)
    try:
        page = await blob_resolution.resolve_entries(
            [body], live.blobs, page_bytes=MAX_REPLY_BYTES // 4, max_bytes=MAX_REPLY_BYTES // 4
        )
        [body] = page.entries
    except EntryTooLarge:
        pass  # the document marks the truncated parts
    around = await surroundings(live, live.session_id, row)
    return t.ViewEntryResult(
        uri=entry_uri(live.session_id, params.entry_id), language_id=LANGUAGE,
        text=entry_document(body, around),
    )  # fmt: skip


async def surroundings(live: ReadableSession, session_id: str, row: int) -> EntrySurroundings:
    """Return the session's title and the label, the parent and the children of an entry, for its document."""
    tree = live.tree
    path = await live.drive(steps.path(tree, tree.leaf))
    await live.drive(live.outline.extend_chains(tree))
    label = tree.labels.get(tree.id(row) or "")
    parent = tree.parent(row)
    children = islice(live.outline.chains.children(row), MAX_CHILDREN)
    return EntrySurroundings(
        session=tree.title or session_id,
        label=None if label is None else label.text,
        parent_id=None if parent == NONE else tree.id(parent),
        children=tuple(tree.id(child) or "" for child in children),
        on_path=row in path,
        attachments=tuple(
            tree.id(attached) or "" for attached in tree.attachments.get(tree.id(row) or " ", ())
        ),
    )
