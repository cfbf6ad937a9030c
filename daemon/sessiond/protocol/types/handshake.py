"""The types of `initialize`: identity and capabilities of the client and of the daemon."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sessiond.protocol import versions
from sessiond.protocol.types.shared import Sent, Terminal, Wire


class SummarizeCapability(Sent, frozen=True):
    """The client answers `client/summarize`. It has no options at present."""


class ClientCapabilities(Sent, frozen=True):
    """The requests that the server may send to the client."""

    summarize: SummarizeCapability | None = None


class LspOptions(Sent, frozen=True):
    """The annotations that an editor shows in session files."""

    code_lens: bool = False  # "branch here", "fork here" above each user message
    inlay_hints: bool = True  # role, time, tokens and marks before each line
    diagnostics: bool = True  # problems of the file


class InitializeOptions(Sent, frozen=True):
    """`initializationOptions.sessiond` of the LSP `initialize`: the identity and the options of the client."""

    protocol_versions: list[int] = msgspec.field(default_factory=versions.spoken)
    client_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    terminal: Terminal | None = None
    opt_out_notifications: Annotated[list[str], Meta(max_length=100)] = msgspec.field(
        default_factory=list
    )  # names of notifications that the client does not want; unknown names have no effect
    capabilities: ClientCapabilities = ClientCapabilities()
    lsp: LspOptions = LspOptions()  # only for an editor


class Limits(Wire, frozen=True):
    """The limits of the server."""

    max_frame_bytes: int
    max_page: int
    max_batch: int
    max_in_flight: int  # requests without a response; at this limit the server stops reading
    max_bytes_in_flight: int | None = None  # total size of their bodies, in bytes
    max_clients: int | None = None  # attached clients; a further one is refused with `overloaded`


class Handshake(Wire, frozen=True):
    """`capabilities.experimental.sessiond` of the response to `initialize`."""

    protocol_version: int  # the newest version that both sides support
    epoch: str
    client_id: str
    methods: list[str]
    limits: Limits
