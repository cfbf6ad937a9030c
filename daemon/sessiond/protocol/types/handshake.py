"""`initialize`: who the client is, and what the daemon can do."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sessiond.protocol import versions
from sessiond.protocol.types.shared import Terminal, Wire


class SummarizeCapability(Wire, frozen=True):
    """The client answers `client/summarize`. Nothing is to be said about how, so far."""


class ClientCapabilities(Wire, frozen=True):
    """What the daemon may ask of a client."""

    summarize: SummarizeCapability | None = None


class LspOptions(Wire, frozen=True):
    """What an editor wants shown in session files beside what it asks for."""

    code_lens: bool = False  # "branch here", "fork here" above each user message
    inlay_hints: bool = True  # role, time, tokens and marks before each line
    diagnostics: bool = True  # what is wrong with the file


class InitializeOptions(Wire, frozen=True):
    """`initializationOptions.sessiond` of the LSP `initialize`: who the client is, and what it wants."""

    protocol_versions: list[int] = msgspec.field(default_factory=versions.spoken)
    client_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    terminal: Terminal | None = None
    opt_out: list[str] = msgspec.field(default_factory=list)  # notifications this client does not want
    capabilities: ClientCapabilities = ClientCapabilities()
    token: str | None = None  # lets a client in over TCP
    lsp: LspOptions = LspOptions()  # for an editor


class Limits(Wire, frozen=True):
    """Bounds a client should know instead of finding out."""

    max_frame_bytes: int
    max_page: int
    max_batch: int
    max_in_flight: int  # requests without an answer; who sends more is not read meanwhile
    max_bytes_in_flight: int | None = None  # of their bodies
    max_clients: int | None = None  # attached at a time; whoever else comes is told `overloaded`


class Handshake(Wire, frozen=True):
    """`capabilities.experimental.sessiond` of the reply to `initialize`."""

    protocol_version: int  # the newest that both sides speak
    epoch: str
    client_id: str
    methods: list[str]
    limits: Limits
