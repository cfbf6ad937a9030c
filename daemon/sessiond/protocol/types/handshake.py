"""The types of the handshake, by `server/hello` or `initialize`: identity and capabilities of both sides."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sessiond.protocol import versions
from sessiond.protocol.enums import PositionEncoding, opened
from sessiond.protocol.types.shared import Sent, Terminal, Wire


class SummarizeCapability(Sent, frozen=True):
    """The client answers `client/summarize`. It has no options at present."""


class ClientCapabilities(Sent, frozen=True):
    """The requests that the server may send to the client."""

    summarize: SummarizeCapability | None = None  # the client writes summaries


class LspOptions(Sent, frozen=True):
    """The annotations that an editor shows in session files."""

    code_lens: bool = False  # "branch here", "fork here" above each user message
    inlay_hints: bool = True  # role, time, tokens and marks before each line
    diagnostics: bool = True  # problems of the file


class ClientOptions(Sent, frozen=True):
    """The identity and the options of a client, in both forms of the handshake."""

    # protocol versions that the client supports
    protocol_versions: Annotated[list[int], Meta(max_length=100)] = msgspec.field(
        default_factory=versions.spoken
    )
    # an id that the client keeps; default: the server generates one for the connection
    client_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    terminal: Terminal | None = None  # the terminal in which the client runs
    # names of notifications that the client does not want; unknown names have no effect
    opt_out_notifications: Annotated[list[str], Meta(max_length=100)] = msgspec.field(default_factory=list)
    # position encodings that the client supports, the preferred one first; default: that of LSP, or `utf-16`
    position_encodings: Annotated[list[PositionEncoding], Meta(max_length=10)] | None = None
    capabilities: ClientCapabilities = ClientCapabilities()  # the requests that the server may send


class InitializeOptions(ClientOptions, frozen=True):
    """`initializationOptions.sessiond` of the LSP `initialize`: the identity and the options of the client."""

    lsp: LspOptions = LspOptions()  # only for an editor


class ClientProgram(Sent, frozen=True):
    """The name and the version of a client program."""

    name: Annotated[str, Meta(max_length=200)]  # such as `sessiond.nvim`
    version: Annotated[str, Meta(max_length=100)] | None = None  # such as `0.2.0`


class HelloParams(ClientOptions, frozen=True, forbid_unknown_fields=True):
    """Introduce a client without LSP. An LSP client sends `initialize` with the same options instead.

    A connection has one handshake. It may be the first message or come later, and applies to the messages after it. A
    client that sends none has a generated id, no terminal, UTF-16 ranges, and receives all notifications.
    """

    client_info: ClientProgram | None = None  # the program, as LSP names it


class Limits(Wire, frozen=True):
    """The limits of the server."""

    max_frame_bytes: int  # size of a message
    max_page: int  # items in a page of a result
    max_batch: int  # entries in an append
    max_in_flight: int  # requests without a response; at this limit the server stops reading
    max_bytes_in_flight: int | None = None  # total size of their bodies, in bytes
    max_clients: int | None = None  # attached clients; a further one is refused with `overloaded`


class ContextCapability(Wire, frozen=True):
    """`session/context` and `session/append` convert messages."""

    formats: list[Annotated[str, opened("Format")]]  # at most 100


class ImportCapability(Wire, frozen=True):
    """`session/import` reads sessions of other programs."""

    formats: list[Annotated[str, opened("Dialect")]]  # at most 100


class ExportCapability(Wire, frozen=True):
    """`session/export` writes a session in other formats."""

    formats: list[Annotated[str, opened("ExportFormat")]]  # at most 100


class SubscribeCapability(Wire, frozen=True):
    """`session/subscribe` sends new entries, and resumes after a position."""


class WatchCapability(Wire, frozen=True):
    """`server/watch` sends the changed rows of a list, and continues after a position."""

    max_watches: int  # watches of one client


class SearchCapability(Wire, frozen=True):
    """`session/search` finds entries by their words."""


class HistoryCapability(Wire, frozen=True):
    """`history/*` stores the prompts of all sessions."""


class BlobsCapability(Wire, frozen=True):
    """`blob/*` stores data beside the sessions."""


class SummaryCapability(Wire, frozen=True):
    """`session/compact` and `session/branch` can have summaries written."""

    summarizers: list[
        Annotated[str, opened("Summarizer")]
    ]  # `command` only if one is configured; at most 100


class ServerCapabilities(Wire, frozen=True):
    """Abilities of the server beyond its list of methods. A capability that it does not have is null.

    Later versions add capabilities, and fields to their objects.
    """

    context: ContextCapability | None  # conversion of messages
    import_: ImportCapability | None = msgspec.field(name="import")  # sessions of other programs
    export: ExportCapability | None  # formats of exports
    subscribe: SubscribeCapability | None  # subscriptions to sessions
    watch: WatchCapability | None  # watches of the list of sessions
    search: SearchCapability | None  # full-text search
    history: HistoryCapability | None  # the history of prompts
    blobs: BlobsCapability | None  # data beside the sessions
    summarize: SummaryCapability | None  # summaries that others write


class HelloResult(Wire, frozen=True):
    """Identity, capabilities and limits of the server. It is the result of `server/hello`.

    The response to `initialize` has it as `capabilities.experimental.sessiond`.
    """

    protocol_version: int  # the newest version that both sides support
    server_id: str  # identifies the home of the daemon; durable, and the `serverId` of an `origin`
    epoch: str  # changes at each start of the daemon
    client_id: str  # the id of this client, with a suffix if another client has the requested id
    methods: list[str]  # all methods of the server; at most 1,000
    notifications: list[str]  # all notifications that the server may send; at most 1,000
    experimental: list[str]  # methods that may still change in an incompatible way; at most 1,000
    capabilities: ServerCapabilities  # abilities of the server beyond its methods
    access: list[Annotated[str, opened("Access")]]  # the permissions of this client; at most 100
    position_encoding: Annotated[
        str, opened("PositionEncoding")
    ]  # the unit of ranges in results to this client
    limits: Limits  # the limits of the server
