"""A recorder inside a daemon under test: what it does to the files of its data, and what it tells its clients.

Put in before the daemon starts. It wraps the functions of `os` that the store uses, so it sees what the store
asked the system for, and when the answer came.
"""

import asyncio.selector_events
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

_LENGTH = 4


class Event(msgspec.Struct, array_like=True, frozen=True):
    """Something that began at one tick of a clock that counts, and had been done at another.

    `kind`: `open` (fd, path), `dup2` (fd, other), `write` (fd, data), `truncate` (fd, size), `sync` and
    `refused sync` (fd), `mkdir`, `unlink` (path), `rename`, `link` (path, other), `sent` (fd: which connection,
    data). Paths are relative to the data folder.
    """

    began: int
    done: int
    kind: str
    fd: int = 0
    path: str = ""
    other: str = ""
    size: int = 0
    data: bytes = b""


def events_of(record: Path) -> list[Event]:
    """Return the recorded events in order; half an event at the end is left out."""
    return list(_decoded(record.read_bytes()))


def _decoded(data: bytes) -> Iterator[Event]:
    at = 0
    while at + _LENGTH <= len(data):
        end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "big")
        if end > len(data):
            return
        yield msgspec.msgpack.decode(data[at + _LENGTH : end], type=Event)
        at = end


def record(home: Path) -> Path:
    """Where the recorder of a home writes."""
    return home / "state" / "record"


def put_in() -> None:
    """Record from now on, in this process."""
    home = Path(os.environ["SESSIOND_HOME"])
    _Recorder(home / "data", os.open(record(home), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)).put_in()


class _Recorder:
    def __init__(self, data: Path, out: int) -> None:
        self._data = os.path.realpath(data) + "/"
        self._out = out
        self._clock = itertools.count(1)
        self._lock = threading.Lock()
        self._write = os.write
        self._ours: set[int] = set()

    def put_in(self) -> None:
        from sessiond.store.files import store as module, syscalls

        for name in ("mkdir", "unlink"):
            self._wrap(name, lambda kind, path, *_: {"path": path, "kind": kind})
        for name in ("rename", "link"):
            self._wrap(name, lambda kind, path, other, *_: {"path": path, "other": other, "kind": kind})
        for name in ("fsync", "fdatasync"):
            self._wrap(name, lambda _, fd: {"fd": fd, "kind": "sync"})
        self._wrap("ftruncate", lambda _, fd, size: {"fd": fd, "size": size, "kind": "truncate"})
        self._wrap("write", lambda kind, fd, data: {"fd": fd, "data": bytes(data), "kind": kind})
        self._wrap("dup2", lambda kind, fd, other, *_: {"fd": fd, "size": other, "kind": kind})
        self._wrap_open_and_close()
        store: Any = module
        # The function of another fault stays; it calls the recorded one.
        calls = {"write": os.write, "ftruncate": os.ftruncate, **getattr(store.Syscalls, "keywords", {})}
        store.Syscalls = functools.partial(syscalls.Syscalls, **calls)
        transport: Any = asyncio.selector_events._SelectorSocketTransport  # type: ignore[attr-defined]  # noqa: SLF001
        send = transport.write

        def told(item: Any, data: Any) -> None:
            self._note(
                began=next(self._clock),
                kind="sent",
                fd=item.get_extra_info("socket").fileno(),
                data=bytes(data),
            )
            send(item, data)

        transport.write = told

    def _wrap(self, name: str, event: Callable[..., dict[str, Any]]) -> None:
        call = getattr(os, name)

        def recorded(*args: Any, **more: Any) -> Any:
            fields = event(name, *args)
            if not self._concerns_us(fields):
                return call(*args, **more)
            began = next(self._clock)
            try:
                result = call(*args, **more)
            except OSError:
                if fields["kind"] == "sync":
                    self._note(began=began, **{**fields, "kind": "refused sync"})
                raise
            if fields["kind"] == "write":
                fields["data"] = fields["data"][:result]
            if fields["kind"] == "dup2":
                self._ours.add(fields["size"])
            self._note(began=began, **fields)
            return result

        setattr(os, name, recorded)

    def _wrap_open_and_close(self) -> None:
        opened, closed = os.open, os.close

        def open_(path: Any, flags: int, *args: Any, **more: Any) -> int:
            began = next(self._clock)
            fd = opened(path, flags, *args, **more)
            fields = {"fd": fd, "path": path, "kind": "create" if flags & os.O_CREAT else "open"}
            self._ours.discard(fd)
            if self._concerns_us(fields):
                self._ours.add(fd)
                self._note(began=began, **fields)
            return fd

        def close(fd: int) -> None:
            self._ours.discard(fd)
            closed(fd)

        os.open, os.close = open_, close

    def _concerns_us(self, fields: dict[str, Any]) -> bool:
        """Whether it is about a file of the logs, blobs or trash; paths become relative on the way."""
        if "path" not in fields:
            return fields["fd"] in self._ours
        for name in ("path", "other"):
            if name in fields:
                path = os.fspath(fields[name])
                if not isinstance(path, str) or not f"{path}/".startswith(self._data):
                    return False
                fields[name] = path[len(self._data) :]
        return not fields["path"].startswith("history.db")

    def _note(self, began: int, **fields: Any) -> None:
        with self._lock:
            done = next(self._clock)
            coded = msgspec.msgpack.encode(Event(began, done, **fields))
            self._write(self._out, len(coded).to_bytes(_LENGTH, "big") + coded)
