"""The resources: each session, and each entry of one, by its address `sessiond://session/…`."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit

from sessiond.mcp.daemon_access import reported_errors
from sessiond.mcp.errors import ToolError
from sessiond.mcp.quoting import cut, shown_id
from sessiond.session.content.entry_document import SCHEME, parse_entry_uri

if TYPE_CHECKING:
    from sessiond.mcp.tools.table import ToolCall

_PAGE: Final = 50
_TITLES_SECONDS: Final = 1.0
"""Seconds for which a list waits for its titles. Claude Code offers no tool until it has the list, and the
first redaction on a machine takes seconds."""
_MIME_TYPE: Final = "text/plain"

TEMPLATES: Final = (
    {
        "uriTemplate": f"{SCHEME}://session/{{id}}",
        "name": "session",
        "title": "A session of a coding agent",
        "description": "Its overview: title, files, decisions, tokens, branches, first and last message.",
        "mimeType": _MIME_TYPE,
    },
    {
        "uriTemplate": f"{SCHEME}://session/{{id}}/entry/{{entry}}.md",
        "name": "entry",
        "title": "An entry of a session",
        "description": "Its text, quoted line by line.",
        "mimeType": _MIME_TYPE,
    },
)


class UnknownResourceError(ToolError):
    """Raised when an address is not that of a session or an entry."""

    sentence = "There is no resource {uri}."
    advice = "Addresses have the form sessiond://session/ID."

    def __init__(self, uri: str) -> None:
        super().__init__(uri=uri)


async def listed(call: "ToolCall", cursor: str | None) -> Mapping[str, Any]:
    """Return a page of the sessions of the current project as resources. Raises `ToolError`."""
    from sessiond.mcp.tools.finding import agent_title, without_cut_word

    daemon = await call.access.daemon()
    project = await call.project.searched(all_projects=False)
    with reported_errors():
        found = await daemon.list_sessions(project=project, cursor=cursor, limit=_PAGE)
    titles = [
        session.title or without_cut_word(session.first_prompt) or "untitled" for session in found.sessions
    ]
    names: Sequence[str] = [""] * len(titles)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_TITLES_SECONDS):
            names = await call.access.cleaned(titles)
    resources = [
        {
            "uri": f"{SCHEME}://session/{quote(session.session_id, safe='')}",
            "name": f"session {shown_id(session.session_id)}",
            "title": cut(" ".join(name.split()), 120) or f"session of {session.updated_at[:10]}",
            "description": f"{agent_title(session.origin)}, last used {session.updated_at}",
            "mimeType": _MIME_TYPE,
        }
        for session, name in zip(found.sessions, names, strict=True)
    ]
    return {"resources": resources, **({"nextCursor": found.next_cursor} if found.next_cursor else {})}


async def read(call: "ToolCall", uri: str) -> Mapping[str, Any]:
    """Return the content of a resource. Raises `ToolError`."""
    entry = parse_entry_uri(uri)
    if entry is not None:
        from sessiond.mcp.tools import arguments as a, reading

        text = await reading.read(call, a.ReadArguments(session_id=entry[0], entry=entry[1]))
    else:
        from sessiond.mcp.tools import arguments as a, overview

        text = await overview.overview(call, a.OverviewArguments(session_id=_session_of(uri)))
    return {"contents": [{"uri": uri, "mimeType": _MIME_TYPE, "text": text}]}


def _session_of(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise UnknownResourceError(shown_id(uri)) from None
    match parts.path.split("/") if parts.scheme == SCHEME and parts.netloc == "session" else []:
        case ["", id] if id:
            return unquote(id)
    raise UnknownResourceError(shown_id(uri))
