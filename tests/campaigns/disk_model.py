"""A disk that loses power: out of what a daemon did, every content that a file system might have kept.

A file keeps what was synced; of what was not, any prefix, a torn piece, or pages with holes of NULs between. A
name keeps if its folder was synced after it was given; otherwise it may, each by itself (`scattered`), or only
together with all names that were given before (`journalled`, as ext4 and XFS do it). A rename is one act.
With `least` only what must keep does, with `all` everything.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from campaigns.recording import Event

PAGE = 4096
Names = Literal["least", "all", "journalled", "scattered"]
Content = Literal["synced only", "all", "prefix", "torn", "holes"]


@dataclass
class _File:
    """The writes to one file, in order; `synced` of them are durable."""

    done: list[tuple[int, int, bytes]] = field(
        default_factory=list
    )  # tick, offset, data; offset -1: cut to size
    synced: int = 0
    size: int = 0
    lost: set[int] = field(default_factory=set)


@dataclass
class _Change:
    """One act on names. `gives` and `takes` are (folder, name); `what` is what gets the name."""

    tick: int
    gives: tuple[int, str] | None
    takes: tuple[int, str] | None
    what: int
    durable: bool = False


class Disk:
    """The steps of a daemon up to a moment, split into durable ones and those that may be on the disk."""

    def __init__(self, before: Path, events: Iterable[Event]) -> None:
        self._files: dict[int, _File] = {}
        self._folders: dict[int, dict[str, int]] = {0: {}}
        self._changes: list[_Change] = []
        self._opened: dict[int, int] = {}
        self._last = 0
        self._begin_with(before, 0)
        for event in events:
            self._take(event)

    def image(self, names: Names, content: Content, chance: random.Random) -> dict[str, bytes | None]:
        """One content of the disk: the bytes of each file by its path, None for folders."""
        tree: dict[int, dict[str, int]] = {number: {} for number in self._folders}
        for change in self._kept(names, chance):
            if change.takes is not None:
                folder, name = change.takes
                if tree[folder].get(name) == change.what:
                    del tree[folder][name]
            if change.gives is not None:
                folder, name = change.gives
                tree[folder][name] = change.what
        found: dict[str, bytes | None] = {}
        self._walk(tree, 0, "", content, chance, found)
        return found

    def _kept(self, names: Names, chance: random.Random) -> list[_Change]:
        if names == "least":
            return [change for change in self._changes if change.durable]
        if names == "all":
            return self._changes
        if names == "scattered":
            return [change for change in self._changes if change.durable or chance.random() < 0.5]
        least = max((at for at, change in enumerate(self._changes) if change.durable), default=-1) + 1
        return self._changes[: chance.randint(least, len(self._changes))]

    def _walk(
        self,
        tree: dict[int, dict[str, int]],
        folder: int,
        path: str,
        content: Content,
        chance: random.Random,
        found: dict[str, bytes | None],
    ) -> None:
        for name, what in tree[folder].items():
            where = f"{path}{name}"
            if what in self._folders:
                found[where] = None
                self._walk(tree, what, f"{where}/", content, chance, found)
            else:
                found[where] = _bytes(self._files[what], content, chance)

    # --- taking in what was done -------------------------------------------------------------------------------

    def _begin_with(self, folder: Path, number: int) -> None:
        for path in sorted(folder.iterdir()) if folder.exists() else ():
            what = self._new()
            if path.is_dir():
                self._folders[what] = {}
                self._begin_with(path, what)
            else:
                data = path.read_bytes()
                self._files[what] = _File([(0, 0, data)], synced=1, size=len(data))
            self._folders[number][path.name] = what
            self._changes.append(_Change(0, (number, path.name), None, what, durable=True))

    def _new(self) -> int:
        self._last += 1
        return self._last

    def _take(self, event: Event) -> None:
        match event.kind:
            case "open" | "create":
                self._open(event)
            case "dup2":
                self._opened[event.size] = self._opened[event.fd]
            case "write" | "truncate":
                self._write(self._files[self._opened[event.fd]], event)
            case "sync":
                self._sync(self._opened[event.fd], event.began)
            case "refused sync":
                file = self._files[self._opened[event.fd]]
                file.lost.update(range(file.synced, len(file.done)))
            case "mkdir":
                what = self._new()
                self._folders[what] = {}
                self._name(event.done, self._place(event.path), None, what)
            case "unlink":
                place = self._place(event.path)
                self._name(event.done, None, place, self._folders[place[0]][place[1]])
            case "rename":
                place = self._place(event.path)
                what = self._folders[place[0]][place[1]]
                self._name(event.done, self._place(event.other), place, what)
            case "link":
                place = self._place(event.path)
                self._name(event.done, self._place(event.other), None, self._folders[place[0]][place[1]])

    def _open(self, event: Event) -> None:
        if not event.path:
            self._opened[event.fd] = 0
            return
        folder, name = self._place(event.path)
        if name not in self._folders[folder]:
            what = self._new()
            self._files[what] = _File()
            self._name(event.done, (folder, name), None, what)
        self._opened[event.fd] = self._folders[folder][name]

    def _write(self, file: _File, event: Event) -> None:
        if event.kind == "truncate":
            file.done.append((event.done, -1, event.size.to_bytes(8, "big")))
            file.size = event.size
        else:
            file.done.append((event.done, file.size, event.data))
            file.size += len(event.data)

    def _sync(self, what: int, began: int) -> None:
        if what in self._files:
            file = self._files[what]
            while file.synced < len(file.done) and file.done[file.synced][0] <= began:
                file.synced += 1
            return
        for change in self._changes:
            places = (change.gives, change.takes)
            if change.tick <= began and any(place is not None and place[0] == what for place in places):
                change.durable = True

    def _name(
        self, tick: int, gives: tuple[int, str] | None, takes: tuple[int, str] | None, what: int
    ) -> None:
        if takes is not None:
            self._folders[takes[0]].pop(takes[1], None)
        if gives is not None:
            self._folders[gives[0]][gives[1]] = what
        self._changes.append(_Change(tick, gives, takes, what))

    def _place(self, path: str) -> tuple[int, str]:
        *parents, name = path.split("/")
        folder = 0
        for parent in parents:
            folder = self._folders[folder][parent]
        return folder, name


def _bytes(file: _File, content: Content, chance: random.Random) -> bytes:
    data = bytearray()
    for at in range(file.synced):
        _do(data, file, at)
    rest = range(file.synced, len(file.done))
    match content:
        case "all":
            for at in rest:
                _do(data, file, at)
        case "prefix" | "torn":
            for at in rest[: chance.randint(0, len(rest))]:
                _do(data, file, at)
            following = len(rest) and rest[0] + chance.randrange(len(rest))
            if content == "torn" and following and file.done[following][1] == len(data):
                piece = file.done[following][2]
                data += piece[: chance.randrange(len(piece) + 1)]
        case "holes":
            _with_holes(data, file, rest, chance)
    return bytes(data)


def _with_holes(data: bytearray, file: _File, rest: range, chance: random.Random) -> None:
    """The file has its full length, but of what was not synced only some pages are there."""
    whole = bytearray(data)
    for at in rest:
        _do(whole, file, at)
    synced = len(data)
    if len(whole) <= synced:
        data[:] = whole
        return
    data += bytes(len(whole) - synced)
    for start in range(synced - synced % PAGE, len(whole), PAGE):
        if chance.random() < 0.5:
            page = slice(max(start, synced), min(start + PAGE, len(whole)))
            data[page] = whole[page]


def _do(data: bytearray, file: _File, at: int) -> None:
    _, offset, piece = file.done[at]
    if offset < 0:
        size = int.from_bytes(piece, "big")
        del data[size:]
        data.extend(bytes(size - len(data)))
    elif at not in file.lost:
        data[offset : offset + len(piece)] = piece
    else:  # the system has dropped it, whatever it says of later syncs
        data.extend(bytes(max(0, offset + len(piece) - len(data))))
