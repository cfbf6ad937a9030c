"""Requests about the daemon: status, clients, stop, drain, authenticate."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import Params, Terminal, Wire, WriteBlock


class StatusParams(Params, frozen=True):
    """Return the state of the daemon: version, process, sockets, sessions, memory."""


class BlockedSession(Wire, frozen=True):
    """An open session that accepts no writes."""

    session_id: str
    path: str | None
    write_block: WriteBlock


class StatusResult(Wire, frozen=True):
    """The state of the daemon. Sizes are in bytes, times in seconds or ISO 8601."""

    version: str
    pid: int
    epoch: str  # changes at each start of the daemon
    home: str
    socket: str | None
    started_at: str
    uptime_ms: int
    open_session_count: int
    client_count: int
    rss_bytes: int
    lsp_loaded: bool
    draining: bool
    blocked_sessions: list[BlockedSession] = msgspec.field(default_factory=list)
    free_bytes: int | None = None  # writable bytes where sessions are stored; null if unknown
    tcp: str | None = None  # host and port of the TCP listener, if it is open
    low_space: bool = False  # true if disk space is so low that writes will soon fail
    descriptor_count: int | None = None  # open files and sockets of the process
    task_count: int | None = None  # running and waiting tasks in the process
    in_flight_count: int | None = None  # requests in flight of all clients
    held_bytes: int | None = None  # size of these requests and of large incoming messages
    queued_bytes: int | None = None  # sent to clients, and not read by them yet


class ClientsParams(Params, frozen=True):
    """List the attached clients."""


class ClientInfo(Wire, frozen=True):
    """One attached connection."""

    client_id: str
    name: str | None
    version: str | None
    connected_at: str
    framing: Annotated[str, opened("Framing")]
    session_ids: list[str]
    subscribed_session_ids: list[str]
    queued_bytes: int
    terminal: Terminal | None = None
    summarizes: bool = False  # answers `client/summarize`


class ClientsResult(Wire, frozen=True):
    """All attached clients, including the one that asks."""

    clients: list[ClientInfo]


class StopParams(Params, frozen=True):
    """Stop the daemon after all data is on disk. The connections of other clients end; clients may start it again."""


class StopResult(Wire, frozen=True):
    """The process that is about to end."""

    pid: int


class AuthenticateParams(Params, frozen=True):
    """Authenticate a client on TCP with the token, in the first message. On the unix socket it has no effect."""

    token: Annotated[str, Meta(max_length=1_000)]  # the token of the daemon's TCP listener


class AuthenticateResult(Wire, frozen=True):
    """The client is authenticated."""


class DrainParams(Params, frozen=True):
    """Stop the daemon in favor of another one, for example of a newer version.

    The daemon refuses writes, finishes requests in flight, and ends. `timeoutMs` limits how long requests in flight
    may still take. Attached clients reconnect to the next daemon. `note` goes to the log.
    """

    note: Annotated[str, Meta(max_length=200)] | None = None  # why, in the words of the caller, for the log
    timeout_ms: Annotated[int, Meta(ge=0, le=600_000)] = 10_000  # milliseconds for the requests in flight


class DrainResult(Wire, frozen=True):
    """The process that ends, and its epoch."""

    pid: int
    epoch: str
