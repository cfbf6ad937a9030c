"""Both sides of the handshake: decodes `initialize`, and describes the server in the result.

`server/hello` has the same result, and params that need no such decoding.
"""

from dataclasses import dataclass
from typing import Final, get_args

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.hub.index.watches import MAX_WATCHES
from sessiond.protocol import enums, methods as m, types as t, versions
from sessiond.server import errors
from sessiond.server.connection.read_throttle import MAX_IN_FLIGHT
from sessiond.server.connection.violations import problem_of

_MAX_PAGE: Final = 10_000  # the limit of the type `Limit` and of the entries of `session/append`


class _Options(msgspec.Struct):
    sessiond: t.InitializeOptions | None = None


class _ClientInfo(msgspec.Struct):
    name: str = ""
    version: str | None = None


class _Initialize(msgspec.Struct, rename="camel"):
    capabilities: dict[str, Raw] | None = None
    initialization_options: Raw | UnsetType = UNSET
    client_info: _ClientInfo | None = None


_decode_initialize = msgspec.json.Decoder(_Initialize).decode
_decode_options = msgspec.json.Decoder(_Options).decode


@dataclass(frozen=True, slots=True)
class Greeting:
    """The declarations of a client in `initialize`.

    Attributes:
        name: The name of the client program.
        version: The version of the client program.
        ours: The options for sessiond; None if it declares none.
        speaks_lsp: Whether the client is served as an LSP client.
        protocol_version: The newest version that both sides support.

    """

    name: str | None
    version: str | None
    ours: t.InitializeOptions | None
    speaks_lsp: bool
    protocol_version: int


def read_greeting(params: bytes | Raw) -> Greeting:
    """Decode the params of `initialize`. Raises `InvalidParams` or `UnsupportedProtocol`."""
    try:
        decoded = _decode_initialize(params)
        ours = _ours(decoded.initialization_options)
    except msgspec.DecodeError as error:
        raise errors.InvalidParams("initialize", *problem_of(str(error))) from None
    except RecursionError:
        raise errors.InvalidParams("initialize", "params are nested too deeply") from None
    version = versions.NEWEST if ours is None else common_version(ours)
    client = decoded.client_info or _ClientInfo()
    return Greeting(
        client.name or None, client.version, ours, bool(decoded.capabilities) or ours is None, version
    )


def common_version(options: t.ClientOptions) -> int:
    """Return the newest version that both sides support. Raises `UnsupportedProtocol`."""
    version = versions.common(options.protocol_versions)
    if version is None:
        raise errors.UnsupportedProtocol(options.protocol_versions)
    return version


def capabilities(*, has_command: bool) -> t.ServerCapabilities:
    """Return the capabilities of the server.

    Args:
        has_command: Whether a command that writes summaries is configured.

    """
    summarizers = [arg for arg in get_args(enums.Summarizer) if arg != "command" or has_command]
    return t.ServerCapabilities(
        context=t.ContextCapability(formats=list(get_args(enums.Format))),
        import_=t.ImportCapability(formats=list(get_args(enums.Dialect))),
        export=t.ExportCapability(formats=list(get_args(enums.ExportFormat))),
        subscribe=t.SubscribeCapability(),
        watch=t.WatchCapability(max_watches=MAX_WATCHES),
        search=t.SearchCapability(),
        history=t.HistoryCapability(),
        blobs=t.BlobsCapability(),
        summarize=t.SummaryCapability(summarizers=summarizers),
    )


def limits(max_frame: int, max_clients: int) -> t.Limits:
    """Return the limits that one client has."""
    return t.Limits(
        max_frame_bytes=max_frame, max_page=_MAX_PAGE, max_batch=_MAX_PAGE,
        max_in_flight=MAX_IN_FLIGHT, max_bytes_in_flight=max_frame, max_clients=max_clients,
    )  # fmt: skip


EXPERIMENTAL: Final = [method.name for method in m.METHODS.values() if method.stability == "experimental"]
"""Methods that may still change in an incompatible way."""


def _ours(options: Raw | UnsetType) -> t.InitializeOptions | None:
    if options is UNSET or not bytes(options).startswith(b"{"):
        return None  # options for other servers have any type
    return _decode_options(options).sessiond
