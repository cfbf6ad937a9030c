"""Decodes `initialize`: the name of the client, its sessiond options, and whether it is an LSP client."""

from dataclasses import dataclass

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.protocol import types as t, versions
from sessiond.server import errors
from sessiond.server.connection.violations import problem_of


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
    """What a client declares in `initialize`.

    Attributes:
        name: The name of the client program.
        version: The version of the client program.
        ours: The options for sessiond. None: it declares none.
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
        said = _decode_initialize(params)
        ours = _ours(said.initialization_options)
    except msgspec.DecodeError as error:
        raise errors.InvalidParams("initialize", *problem_of(str(error))) from None
    except RecursionError:
        raise errors.InvalidParams("initialize", "params are nested too deeply") from None
    version = versions.NEWEST if ours is None else versions.common(ours.protocol_versions)
    if version is None:
        raise errors.UnsupportedProtocol(ours.protocol_versions if ours else [])
    who = said.client_info or _ClientInfo()
    return Greeting(who.name or None, who.version, ours, bool(said.capabilities) or ours is None, version)


def _ours(options: Raw | UnsetType) -> t.InitializeOptions | None:
    if options is UNSET or not bytes(options).startswith(b"{"):
        return None  # options for other servers have any type
    return _decode_options(options).sessiond
