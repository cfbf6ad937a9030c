"""The records of a journal: their session, their place, and their effect on a recorder."""

import msgspec
from msgspec import Raw

from sessiond.acp import jsonrpc
from sessiond.acp.recorder import SessionRecorder


class JournalHead(msgspec.Struct, rename="camel"):
    """The first record of a journal."""

    agent: str
    dialect: str
    native_id: str
    cwd: str


class JournalTurn(msgspec.Struct, rename="camel"):
    """The record with which a recorder begins."""

    key: str
    parent_id: str | None
    takes_titles: bool
    model: str | None = None
    counts_usage: bool = True
    is_placed: bool = True
    """Whether the parent is known, because the daemon returned the leaf."""


def apply(recorder: SessionRecorder, kind: str, raw: Raw) -> None:
    """Pass a message of a journal to a recorder."""
    match kind:
        case "prompt":
            recorder.prompt(jsonrpc.mapping(raw))
        case "update":
            recorder.update(jsonrpc.mapping(raw))
        case "permission":
            recorder.permission(jsonrpc.mapping(raw))
        case "answered":
            params, outcome = msgspec.json.decode(raw, type=tuple[Raw, Raw])
            recorder.answered(jsonrpc.mapping(params), jsonrpc.value(outcome))
        case "ended":
            recorder.ended(jsonrpc.mapping(raw))
        case "failed":
            recorder.ended(None, jsonrpc.value(raw))
