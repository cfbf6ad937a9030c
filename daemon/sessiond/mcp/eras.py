"""The two eras of MCP: versions that begin with a handshake, and versions in which each request stands alone.

Until 2025-11-25, a client sends `initialize`, and what both sides agreed on holds for the connection. From 2026-07-28
on, each request has the version and the capabilities of the client in `_meta`. The first request that is understood
decides the era of a connection.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond import __version__
from sessiond.error_text import TemplatedError
from sessiond.mcp.errors import INVALID_PARAMS, INVALID_REQUEST, ProtocolError

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS: Final = ("2026-07-28",)
UNSUPPORTED_VERSION: Final = -32022

Era = Literal["handshake", "stateless"]

SERVER_INFO: Final = {"name": "sessiond", "title": "Sessions of coding agents", "version": __version__}

_LIST_MS: Final = 60 * 60 * 1000
"""Milliseconds for which a client may cache a list that changes only with the version or the options of this server."""


class RequestMeta(msgspec.Struct, frozen=True):
    """The members of `_meta` that this server reads."""

    protocol_version: str | UnsetType = msgspec.field(
        name="io.modelcontextprotocol/protocolVersion", default=UNSET
    )
    client_capabilities: dict[str, Any] | UnsetType = msgspec.field(
        name="io.modelcontextprotocol/clientCapabilities", default=UNSET
    )
    log_level: str | None = msgspec.field(name="io.modelcontextprotocol/logLevel", default=None)
    progress_token: str | int | None = msgspec.field(name="progressToken", default=None)


class _WithMeta(msgspec.Struct, frozen=True):
    meta: RequestMeta = msgspec.field(name="_meta", default_factory=RequestMeta)


class UnreadableMetaError(TemplatedError):
    """Raised when `_meta` of a request has another shape than the protocol says."""

    sentence = "The params, or their `_meta`, cannot be read: {reason}."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


_decode_meta = msgspec.json.Decoder(_WithMeta).decode


def meta_of(params: Raw | UnsetType) -> RequestMeta:
    """Return `_meta` of a request. Raises `ProtocolError`."""
    if params is UNSET:
        return RequestMeta()
    try:
        return _decode_meta(params).meta
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtocolError(INVALID_PARAMS, str(UnreadableMetaError(str(error)))) from None


def negotiated(version: str) -> str:
    """Return the version of a handshake: that of the client if it is known, else the newest one with a handshake."""
    return version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]


def check_stateless(meta: RequestMeta) -> None:
    """Check the members of `_meta` that each request of the stateless era has. Raises `ProtocolError`."""
    missing = [
        f"io.modelcontextprotocol/{name}"
        for name, value in (
            ("protocolVersion", meta.protocol_version),
            ("clientCapabilities", meta.client_capabilities),
        )
        if value is UNSET
    ]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"params._meta has no {' and no '.join(missing)}.")
    if meta.protocol_version not in STATELESS_VERSIONS:
        raise unsupported(meta.protocol_version)


def unsupported(requested: object) -> ProtocolError:
    """Return the error for a version that this connection does not serve."""
    data = {"supported": list(STATELESS_VERSIONS), "requested": requested}
    return ProtocolError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def wrong_era() -> ProtocolError:
    """Return the error for a stateless request on a connection that began with a handshake."""
    return ProtocolError(
        INVALID_REQUEST, "This connection began with initialize, so its requests have no version in _meta."
    )


def finished(result: Mapping[str, Any], era: Era, *, cached_ms: int | None = None) -> Mapping[str, Any]:
    """Return a result as the era of its connection requires it.

    Args:
        result: The result.
        era: The era.
        cached_ms: How long the client may cache the result. If None, the result has no such field.
    """
    if era == "handshake":
        return result
    cache = {} if cached_ms is None else {"ttlMs": cached_ms, "cacheScope": "private"}
    meta = {"io.modelcontextprotocol/serverInfo": SERVER_INFO}
    return {**result, "resultType": "complete", **cache, "_meta": meta}


CACHED_MS: Final[Mapping[str, int]] = {
    "server/discover": _LIST_MS,
    "tools/list": _LIST_MS,
    "prompts/list": _LIST_MS,
    "resources/templates/list": _LIST_MS,
    "resources/list": 0,
    "resources/read": 0,
}
"""Milliseconds for which a client may cache the results, by method."""
