"""Handlers of the session page: its rows in parts, and the HTML document that shows them."""

import asyncio

from sessiond.hub.session import pages
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.server.connection.client import Client


async def page(_client: Client, live: LiveSession, params: t.PageParams) -> t.PageResult:
    return await pages.part(live, params.after, params.limit)


async def document(_client: Client, params: t.PageDocumentParams) -> t.PageDocumentResult:
    return t.PageDocumentResult(html=await asyncio.to_thread(pages.document, params.nonce))
