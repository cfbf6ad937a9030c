"""Copies bytes between standard input and output and a daemon in the same process, for `serve --stdio`.

It does not parse the bytes and ends with either end. `attach.py` is the counterpart that survives the daemon.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket

_HELD = 1 << 20  # buffered bytes per direction above which reading pauses
_READ = 1 << 16
_WRITE = 4096  # PIPE_BUF: a writable pipe accepts this many bytes without blocking


def pump(source: int, sink: int, daemon: socket.socket) -> int | None:
    """Copy bytes both ways until `sink` has no reader (returns None), or the daemon has closed.

    If the daemon has closed, everything that it sent has been written, and the number of bytes that it did not receive
    is returned. The end of `source` is passed on, and the remaining responses are written. Neither descriptor is made
    non-blocking, since other processes may share it.
    """
    daemon.setblocking(False)
    to_daemon, to_sink = bytearray(), bytearray()
    source_open = daemon_open = daemon_listens = True
    while daemon_open or to_sink:
        reads_source = source_open and daemon_open and len(to_daemon) < _HELD
        reads_daemon = daemon_open and len(to_sink) < _HELD
        writes_daemon = daemon_open and daemon_listens and bool(to_daemon)
        happened = _wait(
            {
                source: select.POLLIN * reads_source,
                daemon.fileno(): select.POLLIN * reads_daemon | select.POLLOUT * writes_daemon,
            },
            sink,
            select.POLLOUT * bool(to_sink),
        )
        if happened.get(sink, 0) & (select.POLLERR | select.POLLNVAL):
            return None
        if sink in happened and to_sink and not _write(sink, to_sink):
            return None
        if source in happened:
            source_open = _read(source, to_daemon)
        if writes_daemon and daemon.fileno() in happened:
            daemon_listens = _send(daemon, to_daemon)
        if reads_daemon and daemon.fileno() in happened:
            daemon_open = _receive(daemon, to_sink)
        if not source_open and not to_daemon and daemon_listens:
            daemon_listens = False
            with contextlib.suppress(OSError):  # the daemon has closed already; the next read reports it
                daemon.shutdown(socket.SHUT_WR)
    return len(to_daemon)


def _wait(wanted: dict[int, int], sink: int, of_sink: int) -> dict[int, int]:
    """Wait for events. Only the sink is always watched for its end: the end of a source would be repeated."""
    watched = select.poll()
    for descriptor, events in wanted.items():
        if events:
            watched.register(descriptor, events)
    watched.register(sink, of_sink)
    return dict(watched.poll())


def _read(source: int, to_daemon: bytearray) -> bool:
    try:
        piece = os.read(source, _READ)
    except BlockingIOError:
        return True
    to_daemon += piece
    return bool(piece)


def _write(sink: int, to_sink: bytearray) -> bool:
    try:
        del to_sink[: os.write(sink, to_sink[:_WRITE])]
    except BlockingIOError:
        pass
    except BrokenPipeError:
        return False
    return True


def _send(daemon: socket.socket, to_daemon: bytearray) -> bool:
    try:
        del to_daemon[: daemon.send(to_daemon[:_READ])]
    except BlockingIOError:
        pass
    except ConnectionError:
        return False  # bytes that the daemon sent before it closed can still be read
    return True


def _receive(daemon: socket.socket, to_sink: bytearray) -> bool:
    try:
        piece = daemon.recv(_READ)
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    to_sink += piece
    return bool(piece)
