"""Connects standard input and output with the daemon, for editors that start their server.

Messages pass whole, in order and unchanged, except that the terminal is added for clients that do not declare one
(`declaration.py`). If the daemon ends, a client that has made a handshake stays attached: the next request starts
a new daemon, which receives the editor's state (`conversation.py`). If the client has sent no handshake, as scripts
do, `attach` ends with `ConnectionLostError`.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from _socket import SHUT_WR
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from sessiond.client.backoff import pauses
from sessiond.client.blocking import BlockingDaemon
from sessiond.client.conversation import Conversation
from sessiond.client.daemon_socket import DaemonConnectionError, OlderDaemonError, find_socket, read_endpoint
from sessiond.client.declaration import Declaration
from sessiond.client.dial import connect, connect_if_running, connect_to_any
from sessiond.client.light_socket import LightSocket
from sessiond.client.terminal import here
from sessiond.client.wire import DaemonUnresponsiveError, DisconnectedError, InvalidResponseError, RpcError
from sessiond.error_text import TemplatedError
from sessiond.paths import Locations, UnsafeFolderError, find_locations
from sessiond.protocol import methods as m
from sessiond.rpc.framing import Framer, FramingError, encode_frame
from sessiond.rpc.large_texts import is_large_text

_MAX_BUFFERED_BYTES: Final = 1 << 20  # buffered bytes per direction above which reading pauses
_READ_BYTES: Final = 1 << 16
_WRITE_BYTES: Final = 4096  # PIPE_BUF: a writable pipe accepts this many bytes without blocking
FIRST_SECONDS: Final = 5.0
"""Seconds without a message after the first bytes to a daemon, or the end of the input, until it is checked."""
_MAX_PAUSE_SECONDS: Final = 2.0  # maximum seconds between two searches for a daemon
_MAX_USELESS_CONNECTIONS: Final = (
    10  # maximum number of successive daemons that end before they send a useful message
)

Report = Callable[[str], object]


class ConnectionLostError(TemplatedError):
    """Raised when the connection is lost and cannot be restored; `unsent_bytes` counts bytes of the input."""

    sentence = "The connection to the daemon was lost; {lost}."
    advice = "Attach again to continue."

    def __init__(self, unsent_bytes: int) -> None:
        super().__init__(
            lost=f"{unsent_bytes} bytes of the input were not sent"
            if unsent_bytes
            else "a response may be missing"
        )
        self.unsent_bytes = unsent_bytes


class NoDaemonThereError(DaemonConnectionError):
    """Raised when the program that listens as the daemon sends what no daemon sends, or nothing."""

    sentence = "The program that listens as the daemon is no sessiond: {reason}."
    advice = "Look for it with: sessiond doctor"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason.rstrip("."))


class UnframedInputError(TemplatedError):
    """Raised when standard input contains something other than frames."""

    sentence = "Standard input contains something other than framed messages: {reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


def attach(source: int, sink: int, report: Report) -> None:
    """Connect two descriptors with the daemon until either end closes. Starts the daemon if necessary.

    Returns when `sink` has no reader, or when the daemon closed this one connection (after `exit`, or after the end
    of `source`). Neither descriptor is made non-blocking, since other processes may share it.

    Args:
        source: The descriptor to read from.
        sink: The descriptor to write to.
        report: Called with a sentence when a daemon was lost or found.

    Raises:
        ConnectionLostError: The connection was lost and cannot be restored.
        HandshakeRefusedError: A new daemon refused the editor's handshake.
        UnframedInputError: `source` contains something other than frames.
        NoDaemonThereError: Another program listens as the daemon.
        DaemonConnectionError: There is no daemon, or it cannot be started.
    """
    locations = find_locations()
    _AttachLoop(source, sink, locations, _dial(locations), report).run()


def _dial(locations: Locations) -> LightSocket:
    """Connect, to an older daemon with other clients, too: the program at the other end knows what it needs."""
    try:
        return connect(locations)
    except OlderDaemonError:
        return connect_to_any(locations)


class _AttachLoop:
    """The loop between an editor and the current daemon."""

    def __init__(
        self, source: int, sink: int, locations: Locations, daemon: LightSocket, report: Report
    ) -> None:
        self._source = source
        self._sink = sink
        self._locations = locations
        self._report = report
        self._conversation = Conversation(declaration=Declaration(here()))
        self._from_client = Framer(skips=is_large_text)
        self._source_open = True
        self._unsent: deque[bytes] = deque()  # bodies that were sent to no daemon
        self._unsent_bytes = 0
        self._to_sink = bytearray()
        self._useless_connections = 0
        self._pauses = pauses(longest=_MAX_PAUSE_SECONDS)
        self._daemon: LightSocket | None = None
        self._use_connection(daemon)

    def _use_connection(self, daemon: LightSocket) -> None:
        daemon.setblocking(False)
        self._daemon = daemon
        self._epoch = read_endpoint(self._locations).get("epoch")
        self._from_daemon = Framer()
        self._first_by: float | None = None  # the time at which it must have sent its first message
        self._is_known = False
        self._outgoing = bytearray()  # bytes for the daemon that are not sent yet
        self._being_sent: bytes | None = None  # the body of these bytes, if it is a message of the editor
        self._daemon_reads = True

    def run(self) -> None:
        try:
            while self._step():
                pass
        finally:
            if self._daemon is not None:
                self._daemon.close()

    def _step(self) -> bool:
        """Wait for an event and handle it. Returns False when the loop ends."""
        if self._daemon is None:
            done = self._conversation.is_over or not self._source_open
            if done and not self._to_sink:
                return False
            if not done:
                self._connect_if_running()
        events = self._wait()
        if self._first_by is not None and time.monotonic() > self._first_by:
            self._check_daemon()
        if events.get(self._sink, 0) & (select.POLLERR | select.POLLNVAL):
            return False
        if self._sink in events and self._to_sink and not self._write_to_client():
            return False
        if self._source in events:
            self._read_from_client()
        if self._daemon is None:
            return True
        daemon_events = events.get(self._daemon.fileno(), 0)
        if daemon_events & ~select.POLLIN:
            self._write_to_daemon()
        if daemon_events & ~select.POLLOUT and not self._read_from_daemon():
            return self._handle_disconnect()
        return True

    def _wait(self) -> dict[int, int]:
        watched = select.poll()
        buffered = self._unsent_bytes + len(self._outgoing)
        if self._source_open and buffered < _MAX_BUFFERED_BYTES:
            watched.register(self._source, select.POLLIN)
        # poll reports the end of the sink even when no event is requested.
        watched.register(self._sink, select.POLLOUT * bool(self._to_sink))
        if self._daemon is None:
            return dict(watched.poll(1000 * next(self._pauses)))
        self._next_message()
        daemon_events = select.POLLIN * (len(self._to_sink) < _MAX_BUFFERED_BYTES) | select.POLLOUT * bool(
            self._outgoing
        )
        if daemon_events:
            watched.register(self._daemon, daemon_events)
        if self._first_by is None:
            return dict(watched.poll())
        return dict(watched.poll(1000 * max(0.0, self._first_by - time.monotonic()) + 1))

    # --- the editor ------------------------------------------------------------------------------------

    def _read_from_client(self) -> None:
        try:
            chunk = os.read(self._source, _READ_BYTES)
        except BlockingIOError:
            return
        try:
            bodies = self._from_client.feed(chunk) if chunk else self._from_client.eof()
        except FramingError as error:
            self._send_to_client([self._conversation.framing_error(error)])
            self._flush()
            raise UnframedInputError(str(error)) from None
        self._source_open = bool(chunk)
        for body in bodies:
            self._handle_client_message(body)

    def _handle_client_message(self, body: bytes) -> None:
        forwarded = self._conversation.to_daemon(body)
        if forwarded is None:
            return
        if self._daemon is None:
            response, needs_daemon = self._conversation.handle_offline(forwarded)
            if response is not None:
                self._send_to_client([response])
                return
            self._enqueue(forwarded)
            if needs_daemon:
                self._start_daemon()
        else:
            self._enqueue(forwarded)

    def _enqueue(self, body: bytes) -> None:
        self._unsent.append(body)
        self._unsent_bytes += len(body)

    def _send_to_client(self, bodies: Iterable[bytes]) -> None:
        for body in bodies:
            self._to_sink += encode_frame(body, self._from_client.mode or "contentLength")

    def _write_to_client(self) -> bool:
        try:
            del self._to_sink[: os.write(self._sink, self._to_sink[:_WRITE_BYTES])]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            return False
        return True

    # --- the daemon ------------------------------------------------------------------------------------

    def _next_message(self) -> None:
        """Begin to send the next message, if none is being sent and the daemon has accepted the handshake."""
        if (
            self._outgoing
            or not self._conversation.is_greeted
            or not self._daemon_reads
            or self._daemon is None
        ):
            return
        if self._unsent:
            self._being_sent = self._unsent.popleft()
            self._unsent_bytes -= len(self._being_sent)
            self._outgoing += encode_frame(self._being_sent, self._from_client.mode or "contentLength")
        elif not self._source_open:
            self._daemon_reads = False
            with contextlib.suppress(OSError):  # the daemon has closed already; the next read reports it
                self._daemon.shutdown(SHUT_WR)
            self._expect_first()

    def _send_first(self, bodies: Iterable[bytes]) -> None:
        for body in bodies:
            self._outgoing += encode_frame(body, self._from_client.mode or "contentLength")

    def _write_to_daemon(self) -> None:
        assert self._daemon is not None
        try:
            del self._outgoing[: self._daemon.send(self._outgoing[:_READ_BYTES])]
            self._expect_first()
        except (BlockingIOError, ConnectionError):
            return  # bytes that the daemon sent before it closed can still be read
        if not self._outgoing and self._being_sent is not None:
            body, self._being_sent = self._being_sent, None
            self._conversation.record_sent(body)

    def _read_from_daemon(self) -> bool:
        """Read bytes from the daemon. Returns False when it has closed."""
        assert self._daemon is not None
        try:
            chunk = self._daemon.recv(_READ_BYTES)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        was_greeted = self._conversation.is_greeted
        for body in self._bodies_in(chunk):
            forwarded = self._conversation.to_client(body)
            if forwarded is not None:
                self._send_to_client([forwarded])
        if self._conversation.is_greeted and not was_greeted:
            self._send_first(self._conversation.replayed_messages())
            self._send_to_client(self._conversation.change_messages())
            self._report("connected again")
        return bool(chunk)

    def _bodies_in(self, chunk: bytes) -> list[bytes]:
        """Return the whole messages that end in a piece. Raises `NoDaemonThereError`."""
        try:
            bodies = self._from_daemon.feed(chunk)
        except FramingError as error:
            self._flush()
            raise NoDaemonThereError(str(error)) from None
        if bodies:
            self._first_by, self._is_known = None, True
        return bodies

    def _check_daemon(self) -> None:
        """Check over another connection that a daemon listens: a first request may take long.

        Raises `NoDaemonThereError`.
        """
        try:
            with BlockingDaemon(lambda: connect_to_any(self._locations)) as other:
                other.call(m.STATUS.name)
        except (DaemonUnresponsiveError, InvalidResponseError, RpcError) as error:
            self._flush()
            raise NoDaemonThereError(str(error)) from None
        except (DaemonConnectionError, DisconnectedError):
            pass  # it has ended, which the next read reports
        self._first_by, self._is_known = None, True

    def _expect_first(self) -> None:
        if self._first_by is None and not self._is_known:
            self._first_by = time.monotonic() + FIRST_SECONDS

    def _handle_disconnect(self) -> bool:
        """Handle a connection that the daemon closed. Returns False if that was expected, and the loop ends."""
        assert self._daemon is not None
        self._daemon.close()
        self._daemon = None
        if self._conversation.is_over:
            return bool(self._to_sink)
        if not self._conversation.is_resumable or not self._source_open:
            unsent_bytes = self._unsent_bytes + len(self._outgoing)
            self._flush()
            is_unanswered = not self._is_known and self._conversation.has_unanswered_requests
            if unsent_bytes or is_unanswered or not self._daemon_still_runs():
                raise ConnectionLostError(unsent_bytes)
            return False
        self._useless_connections = 0 if self._conversation.message_count else self._useless_connections + 1
        if self._useless_connections > _MAX_USELESS_CONNECTIONS:
            self._flush()
            raise ConnectionLostError(self._unsent_bytes)
        if not self._useless_connections:
            self._report("the connection to the daemon was lost; the next request starts a new daemon")
        if self._being_sent is not None and self._conversation.refused_size:
            self._send_to_client(self._conversation.message_too_large(self._being_sent))
        elif self._being_sent is not None:  # the daemon received only a part of it, so it was not carried out
            self._unsent.appendleft(self._being_sent)
        self._send_to_client(self._conversation.daemon_lost())
        self._replace_unsent(body for body in self._unsent if self._conversation.is_for_next_daemon(body))
        if self._useless_connections:
            time.sleep(next(self._pauses))  # a daemon that is ending needs time
        else:
            self._pauses = pauses(longest=_MAX_PAUSE_SECONDS)
        if self._conversation.has_unanswered_requests or any(
            self._conversation.is_request(body) for body in self._unsent
        ):
            self._start_daemon()
        return True

    def _start_daemon(self) -> None:
        """Connect, and start a daemon if necessary. If that fails, the waiting requests get error responses."""
        try:
            self._begin_handshake(_dial(self._locations))
        except (DaemonConnectionError, UnsafeFolderError) as error:
            waiting, responses = self._conversation.daemon_unreachable(self._unsent, str(error))
            self._replace_unsent(waiting)
            self._send_to_client(responses)
            self._report(str(error))

    def _connect_if_running(self) -> None:
        """Connect if a daemon runs. None is started, since the user may have stopped it."""
        with contextlib.suppress(DaemonConnectionError):
            found = connect_if_running(self._locations)
            if found is not None:
                self._begin_handshake(found)

    def _begin_handshake(self, daemon: LightSocket) -> None:
        self._use_connection(daemon)
        self._send_first(self._conversation.handshake())

    def _replace_unsent(self, bodies: Iterable[bytes]) -> None:
        self._unsent = deque(bodies)
        self._unsent_bytes = sum(map(len, self._unsent))

    def _flush(self) -> None:
        while self._to_sink and self._write_to_client():
            pass

    def _daemon_still_runs(self) -> bool:
        """Return whether the daemon closed only this connection."""
        try:
            found = find_socket(self._locations, time.monotonic() + 1.0)
        except DaemonConnectionError:
            return False
        if found is None:
            return False
        found.close()
        return bool(read_endpoint(self._locations).get("epoch") == self._epoch)
