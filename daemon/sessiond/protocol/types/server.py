"""Requests about the daemon: status, clients, stop, drain, authenticate."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sessiond.protocol.enums import opened
from sessiond.protocol.types.handshake import Limits
from sessiond.protocol.types.shared import Params, Terminal, Wire, WriteBlock


class StatusParams(Params, frozen=True):
    """Return the state of the daemon: version, process, sockets, sessions, memory."""


class BlockedSession(Wire, frozen=True):
    """An open session that accepts no writes."""

    session_id: str  # the session
    path: str | None  # its file; null for an ephemeral session
    write_block: WriteBlock  # the reason


class FailedTask(Wire, frozen=True):
    """A part of the daemon that works in the background and ended with an error. It begins again after a pause."""

    name: str  # `sweep`, `index`, `watch`, `following` or `retention`; later versions may have others
    message: str  # the error
    failed_at: str  # when it ended last, ISO 8601, UTC
    failure_count: int  # how often it has ended in a row
    is_running: bool  # whether it has begun again


class StatusResult(Wire, frozen=True):
    """The state of the daemon."""

    version: str  # version of the program
    protocol_versions: list[int]  # versions of the protocol that it supports; at most 100
    server_id: str  # identifies the home of the daemon; durable
    epoch: str  # changes at each start of the daemon
    limits: Limits  # the limits of this client
    pid: int  # process id
    home: str  # the folder of all data; if there are several, that of the sessions
    socket: str | None  # path of the unix socket
    tcp: str | None  # host and port of the TCP listener, if it is open
    started_at: str  # ISO 8601, UTC
    uptime_ms: int  # milliseconds since the start, without those in which the machine was suspended
    draining: bool  # it refuses writes and is about to end
    open_session_count: int  # sessions that it has loaded
    client_count: int  # attached clients, including the one that asks
    # open sessions that accept no writes; at most 100
    blocked_sessions: list[BlockedSession]
    blocked_session_count: int  # the number of all these sessions
    lsp_loaded: bool  # an LSP client was connected since the start
    free_bytes: int | None  # writable bytes where sessions are stored; null if unknown
    low_space: bool  # disk space is so low that writes will soon fail
    rss_bytes: int  # resident memory of the process
    descriptor_count: int | None  # open files and sockets of the process
    task_count: int | None  # running and waiting tasks in the process
    in_flight_count: int | None  # requests in flight of all clients
    held_bytes: int | None  # size of these requests and of large incoming messages
    queued_bytes: int | None  # bytes that clients have not read yet
    user_home: str | None = None  # the home folder of the user, as the daemon has it
    # parts that work in the background and ended with an error in the last ten minutes of their work
    failed_tasks: list[FailedTask] = msgspec.field(default_factory=list)


class ClientsParams(Params, frozen=True):
    """List the attached clients."""


class ClientInfo(Wire, frozen=True):
    """One attached connection."""

    client_id: str  # the id that `origin` has in notifications
    name: str | None  # the name of the client program
    version: str | None  # the version of the client program
    connected_at: str  # ISO 8601, UTC
    framing: Annotated[str, opened("Framing")]  # how its messages are delimited
    session_ids: list[str]  # sessions that it has opened and not closed; at most 1,000
    session_count: int  # the number of all these sessions
    subscribed_session_ids: list[str]  # sessions that it is subscribed to; at most 1,000
    subscription_count: int  # the number of all these sessions
    queued_bytes: int  # bytes that it has not read yet
    terminal: Terminal | None = None  # the terminal that it declared
    summarizes: bool = False  # answers `client/summarize`


class ClientsResult(Wire, frozen=True):
    """All attached clients, including the one that asks."""

    clients: list[ClientInfo]  # at most `maxClients`


class StopParams(Params, frozen=True):
    """Stop the daemon after all data is on disk. The connections of other clients end; clients may start it again."""


class StopResult(Wire, frozen=True):
    """The process that is about to end."""

    pid: int  # process id


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


class DrainingNote(Wire, frozen=True):
    """The daemon is about to end. It refuses writes with `draining` from now on. Sent to every client.

    A client keeps its connection until the daemon closes it, then reconnects; the next daemon takes the writes.
    """

    deadline_at: str  # the time at which it ends at the latest, ISO 8601, UTC
    note: str | None  # the note of `server/drain`


class DrainResult(Wire, frozen=True):
    """The process that ends, and its epoch."""

    pid: int  # process id
    epoch: str  # the epoch of that process
