"""The daemon itself: status, clients, stop, drain."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sessiond.protocol.types.shared import Params, Terminal, Wire, WriteBlock


class StatusParams(Params, frozen=True):
    """How the daemon is: version, process, sockets, sessions, memory."""


class BlockedSession(Wire, frozen=True):
    """An open session that takes no writes."""

    session_id: str
    path: str | None
    write_block: WriteBlock


class StatusResult(Wire, frozen=True):
    """Sizes in bytes, times in seconds or ISO 8601."""

    version: str
    pid: int
    epoch: str  # one per start of the daemon
    home: str
    socket: str | None
    started_at: str
    uptime: float
    open_sessions: int
    clients: int
    rss_bytes: int
    lsp_loaded: bool
    draining: bool
    blocked_sessions: list[BlockedSession] = msgspec.field(default_factory=list)
    free_bytes: int | None = None  # that may still be written where sessions lie; null: unknown
    tcp: str | None = None  # host and port of the TCP listener, where it is open
    low_space: bool = False  # so little that writes will soon be refused
    descriptors: int | None = None  # open files and sockets of the process
    tasks: int | None = None  # what runs or waits inside it
    requests_in_work: int | None = None  # of all clients
    held_bytes: int | None = None  # of these requests, and of large messages that are still coming in
    queued_bytes: int | None = None  # sent to clients, and not read by them yet


class ClientsParams(Params, frozen=True):
    """Who is attached."""


class ClientInfo(Wire, frozen=True):
    """One attached connection."""

    client_id: str
    name: str | None
    version: str | None
    connected_at: str
    framing: Literal["content-length", "json-lines", "memory"]
    sessions: list[str]
    subscriptions: list[str]
    queued_bytes: int
    terminal: Terminal | None = None
    summarizes: bool = False  # answers `client/summarize`


class ClientsResult(Wire, frozen=True):
    """All attached clients, the asking one included."""

    clients: list[ClientInfo]


class StopParams(Params, frozen=True):
    """Stop the daemon once all is on disk. Other clients are cut off, and may start it again."""


class StopResult(Wire, frozen=True):
    """The process that is about to end."""

    pid: int


class AuthenticateParams(Params, frozen=True):
    """Show the token that lets a client in over TCP, in the first message. Over the unix socket it changes nothing."""

    token: str  # the token of the daemon's TCP listener


class AuthenticateResult(Wire, frozen=True):
    """The client is in."""


class DrainParams(Params, frozen=True):
    """Make room for another daemon, as of a newer version: take no more writes, finish what was begun, and end.

    `within` is how many seconds requests that are being answered may still take; whoever is attached connects again,
    to the daemon that comes next. `reason` is for the log.
    """

    reason: Annotated[str, Meta(max_length=200)] | None = None  # why, for the log
    within: Annotated[float, Meta(ge=0, le=600)] = 10.0  # seconds that requests in flight may still take


class DrainResult(Wire, frozen=True):
    """The process that ends, and which daemon that was."""

    pid: int
    epoch: str
