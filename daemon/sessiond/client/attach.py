"""Connects standard input and output with the daemon, for editors that start their server.

Messages pass whole, in order and unchanged, except that the terminal is added for clients that do not declare one
(`declaration.py`). If the daemon ends, a client that has made a handshake stays attached: the next request starts
a new daemon, which receives the editor's state (`conversation.py`). If the client has sent no handshake, as scripts
do, `attach` ends with `DaemonWentAway`.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from sessiond.client.backoff import pauses
from sessiond.client.conversation import Conversation
from sessiond.client.daemon_socket import CannotConnect, knock, read_endpoint
from sessiond.client.declaration import Declaration
from sessiond.client.dial import connect, look
from sessiond.client.terminal import here
from sessiond.error_text import TemplatedError
from sessiond.paths import Locations, UnsafeFolder, places
from sessiond.rpc.framing import Framer, FramingError, encode_frame
from sessiond.rpc.large_texts import is_large_text

_HELD: Final = 1 << 20  # buffered bytes per direction above which reading pauses
_READ: Final = 1 << 16
_WRITE: Final = 4096  # PIPE_BUF: a writable pipe accepts this many bytes without blocking
_ANY_LENGTH: Final = 10**9  # no limit for the daemon's messages here; the editor has its own
_LONGEST_PAUSE: Final = 2.0  # maximum seconds between two searches for a daemon
_IN_VAIN: Final = 10  # maximum number of successive daemons that end before they send a useful message

Say = Callable[[str], object]


class DaemonWentAway(TemplatedError):
    """Raised when the connection is lost and cannot be restored; `undelivered` counts bytes of the input."""

    sentence = "The connection to the daemon was lost; {lost}."
    advice = "Attach again to continue."

    def __init__(self, undelivered: int) -> None:
        super().__init__(
            lost=f"{undelivered} bytes of the input were not sent"
            if undelivered
            else "a response may be missing"
        )
        self.undelivered = undelivered


class NotMessages(TemplatedError):
    """Raised when standard input contains something other than frames."""

    sentence = "Standard input contains something other than framed messages: {reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


def attach(source: int, sink: int, say: Say) -> None:
    """Connect two descriptors with the daemon until either end closes. Starts the daemon if necessary.

    Returns when `sink` has no reader, or when the daemon closed this one connection (after `exit`, or after the end
    of `source`). Neither descriptor is made non-blocking, since other processes may share it.

    Args:
        source: The descriptor to read from.
        sink: The descriptor to write to.
        say: Called with a sentence when a daemon was lost or found.

    Raises:
        DaemonWentAway: The connection was lost and cannot be restored.
        GreetingRefused: A new daemon refused the editor's handshake.
        NotMessages: `source` contains something other than frames.
        CannotConnect: There is no daemon, or it cannot be started.
    """
    where = places()
    _Attached(source, sink, where, connect(where), say).run()


class _Attached:
    """The loop between an editor and the current daemon."""

    def __init__(self, source: int, sink: int, where: Locations, daemon: socket.socket, say: Say) -> None:
        self._source = source
        self._sink = sink
        self._where = where
        self._say = say
        self._talk = Conversation(declaration=Declaration(here()))
        self._from_editor = Framer(skips=is_large_text)
        self._source_open = True
        self._waiting: deque[bytes] = deque()  # bodies that were sent to no daemon
        self._waiting_bytes = 0
        self._to_sink = bytearray()
        self._in_vain = 0
        self._pauses = pauses(longest=_LONGEST_PAUSE)
        self._daemon: socket.socket | None = None
        self._meet(daemon)

    def _meet(self, daemon: socket.socket) -> None:
        daemon.setblocking(False)
        self._daemon = daemon
        self._epoch = read_endpoint(self._where).get("epoch")
        self._from_daemon = Framer(max_frame=_ANY_LENGTH)
        self._outgoing = bytearray()  # bytes for the daemon that are not sent yet
        self._under_way: bytes | None = None  # the body of these bytes, if it is a message of the editor
        self._daemon_listens = True

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
            done = self._talk.is_over or not self._source_open
            if done and not self._to_sink:
                return False
            if not done:
                self._look()
        happened = self._wait()
        if happened.get(self._sink, 0) & (select.POLLERR | select.POLLNVAL):
            return False
        if self._sink in happened and self._to_sink and not self._write():
            return False
        if self._source in happened:
            self._read()
        if self._daemon is None:
            return True
        events = happened.get(self._daemon.fileno(), 0)
        if events & ~select.POLLIN:
            self._send()
        if events & ~select.POLLOUT and not self._receive():
            return self._part()
        return True

    def _wait(self) -> dict[int, int]:
        watched = select.poll()
        held = self._waiting_bytes + len(self._outgoing)
        if self._source_open and held < _HELD:
            watched.register(self._source, select.POLLIN)
        # poll reports the end of the sink even when no event is requested.
        watched.register(self._sink, select.POLLOUT * bool(self._to_sink))
        if self._daemon is None:
            return dict(watched.poll(1000 * next(self._pauses)))
        self._next_frame()
        events = select.POLLIN * (len(self._to_sink) < _HELD) | select.POLLOUT * bool(self._outgoing)
        if events:
            watched.register(self._daemon, events)
        return dict(watched.poll())

    # --- the editor ------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            piece = os.read(self._source, _READ)
        except BlockingIOError:
            return
        try:
            bodies = self._from_editor.feed(piece) if piece else self._from_editor.eof()
        except FramingError as error:
            self._tell([self._talk.unframed(error)])
            self._flush()
            raise NotMessages(str(error)) from None
        self._source_open = bool(piece)
        for body in bodies:
            self._hear(body)

    def _hear(self, body: bytes) -> None:
        passing = self._talk.to_daemon(body)
        if passing is None:
            return
        if self._daemon is None:
            answer, needs_daemon = self._talk.without_daemon(passing)
            if answer is not None:
                self._tell([answer])
                return
            self._wait_for(passing)
            if needs_daemon:
                self._start()
        else:
            self._wait_for(passing)

    def _wait_for(self, body: bytes) -> None:
        self._waiting.append(body)
        self._waiting_bytes += len(body)

    def _tell(self, bodies: Iterable[bytes]) -> None:
        for body in bodies:
            self._to_sink += encode_frame(body, self._from_editor.mode or "contentLength")

    def _write(self) -> bool:
        try:
            del self._to_sink[: os.write(self._sink, self._to_sink[:_WRITE])]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            return False
        return True

    # --- the daemon ------------------------------------------------------------------------------------

    def _next_frame(self) -> None:
        """Begin to send the next message, if none is being sent and the daemon has accepted the handshake."""
        if self._outgoing or not self._talk.greeted or not self._daemon_listens or self._daemon is None:
            return
        if self._waiting:
            self._under_way = self._waiting.popleft()
            self._waiting_bytes -= len(self._under_way)
            self._outgoing += encode_frame(self._under_way, self._from_editor.mode or "contentLength")
        elif not self._source_open:
            self._daemon_listens = False
            with contextlib.suppress(OSError):  # the daemon has closed already; the next read reports it
                self._daemon.shutdown(socket.SHUT_WR)

    def _say_first(self, bodies: Iterable[bytes]) -> None:
        for body in bodies:
            self._outgoing += encode_frame(body, self._from_editor.mode or "contentLength")

    def _send(self) -> None:
        assert self._daemon is not None
        try:
            del self._outgoing[: self._daemon.send(self._outgoing[:_READ])]
        except (BlockingIOError, ConnectionError):
            return  # bytes that the daemon sent before it closed can still be read
        if not self._outgoing and self._under_way is not None:
            body, self._under_way = self._under_way, None
            self._talk.sent(body)

    def _receive(self) -> bool:
        """Read bytes from the daemon. Returns False when it has closed."""
        assert self._daemon is not None
        try:
            piece = self._daemon.recv(_READ)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        greeted = self._talk.greeted
        for body in self._from_daemon.feed(piece):
            passing = self._talk.to_editor(body)
            if passing is not None:
                self._tell([passing])
        if self._talk.greeted and not greeted:
            self._say_first(self._talk.catching_up())
            self._tell(self._talk.news())
            self._say("connected again")
        return bool(piece)

    def _part(self) -> bool:
        """Handle a connection that the daemon closed. Returns False if that was expected, and the loop ends."""
        assert self._daemon is not None
        self._daemon.close()
        self._daemon = None
        if self._talk.is_over:
            return bool(self._to_sink)
        if not self._talk.may_go_on or not self._source_open:
            undelivered = self._waiting_bytes + len(self._outgoing)
            self._flush()
            if undelivered or not self._still_runs():
                raise DaemonWentAway(undelivered)
            return False
        self._in_vain = 0 if self._talk.answers else self._in_vain + 1
        if self._in_vain > _IN_VAIN:
            self._flush()
            raise DaemonWentAway(self._waiting_bytes)
        if not self._in_vain:
            self._say("the connection to the daemon was lost; the next request starts a new daemon")
        if self._under_way is not None and self._talk.refused_size:
            self._tell(self._talk.too_large(self._under_way))
        elif self._under_way is not None:  # the daemon received only a part of it, so it was not carried out
            self._waiting.appendleft(self._under_way)
        self._tell(self._talk.lost())
        self._keep(body for body in self._waiting if self._talk.outlasts(body))
        if self._in_vain:
            time.sleep(next(self._pauses))  # a daemon that is ending needs time
        else:
            self._pauses = pauses(longest=_LONGEST_PAUSE)
        if self._talk.waits or any(self._talk.asks(body) for body in self._waiting):
            self._start()
        return True

    def _start(self) -> None:
        """Connect, and start a daemon if necessary. If that fails, the waiting requests get error responses."""
        try:
            self._greet(connect(self._where))
        except (CannotConnect, UnsafeFolder) as error:
            kept, told = self._talk.unreachable(self._waiting, str(error))
            self._keep(kept)
            self._tell(told)
            self._say(str(error))

    def _look(self) -> None:
        """Connect if a daemon runs. None is started, since the user may have stopped it."""
        with contextlib.suppress(CannotConnect):
            found = look(self._where)
            if found is not None:
                self._greet(found)

    def _greet(self, daemon: socket.socket) -> None:
        self._meet(daemon)
        self._say_first(self._talk.greeting())

    def _keep(self, bodies: Iterable[bytes]) -> None:
        self._waiting = deque(bodies)
        self._waiting_bytes = sum(map(len, self._waiting))

    def _flush(self) -> None:
        while self._to_sink and self._write():
            pass

    def _still_runs(self) -> bool:
        """Return whether the daemon closed only this connection."""
        try:
            found = knock(self._where, time.monotonic() + 1.0)
        except CannotConnect:
            return False
        if found is None:
            return False
        found.close()
        return bool(read_endpoint(self._where).get("epoch") == self._epoch)
