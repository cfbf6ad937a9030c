"""Reads sessions that OpenCode kept in files before it had a database, as the documents that its export writes.

A session is a file `storage/session/<project>/<id>.json`. Each of its messages is a file in `storage/message/<id>/`,
and each part of one a file in `storage/part/<id of the message>/`. The files are only read. All functions block.
"""

import os
from math import inf
from typing import Any, Final

import msgspec

from sessiond.agents import regular_files
from sessiond.agents.opencode.order import MessagePlace, in_order
from sessiond.agents.session_database import SessionFiles

FOLDER: Final = "storage"
_SUFFIX: Final = ".json"
_MAX_BYTES: Final = 1 << 30
"""The maximum size of a file with a session, a message or a part."""


def storage_in(folder: str) -> str:
    """Return the path of the storage in a folder of OpenCode."""
    return f"{folder}/{FOLDER}"


def storage_of(path: str) -> str | None:
    """Return the folder `storage` for the path of a session's file in it; None for another path."""
    head, _, name = path.rpartition("/")
    above, _, session = head.rpartition("/")[0].rpartition("/")
    is_session = session == "session" and above.endswith(f"/{FOLDER}") and name.startswith("ses")
    return above if is_session and name.endswith(_SUFFIX) else None


def names_in(folder: str) -> list[str] | None:
    """Return the name of the folder with files of sessions in a storage of OpenCode; None for another folder."""
    is_storage = all(os.path.isdir(f"{folder}/{name}") for name in ("session", "message", "part"))  # noqa: PTH112
    return ["session"] if is_storage else None


def session_paths(storage: str) -> list[str]:
    """Return the paths of the files of all sessions. Raises `OSError`."""
    found: list[str] = []
    with os.scandir(f"{storage}/session") as projects:
        for item in projects:
            if item.is_dir(follow_symlinks=False):
                found += [session.path for session in _entries(item.path)]
    return [path for path in found if storage_of(path) is not None]


def files_of(path: str) -> SessionFiles | None:
    """Return facts about the files of the session with its file at a path; None if it is gone. Raises `OSError`."""
    storage = storage_of(path)
    try:
        file = os.stat(path)  # noqa: PTH116 - for each of many files, and pathlib is slow
    except FileNotFoundError:
        return None
    folder, newest, size = f"{storage}/message/{_name(path)}", file.st_mtime_ns, 0
    for message in _entries(folder):
        status = message.stat()
        newest, size = max(newest, status.st_mtime_ns), size + status.st_size
        try:
            parts = os.stat(f"{storage}/part/{_name(message.path)}")  # noqa: PTH116 - as above
        except FileNotFoundError:
            continue
        newest = max(newest, parts.st_mtime_ns)
    return SessionFiles(folder, file, newest, size)


def document(path: str) -> bytes | None:
    """Return a session as one JSON document `{info, messages: [{info, parts}]}`; None if it is gone.

    Raises:
        OSError: One of its files cannot be read.
    """
    storage = storage_of(path)
    info = _decoded(path)
    if info is None or storage is None:
        return None
    messages: list[dict[str, Any]] = [
        {"info": {**found, "id": _name(item.path)}, "parts": _parts(f"{storage}/part/{_name(item.path)}")}
        for item in _entries(f"{storage}/message/{_name(path)}")
        if (found := _decoded(item.path)) is not None
    ]
    # The files are in the order of the ids, which has no meaning.
    messages.sort(key=lambda message: inf if (at := _place(message["info"]).created) is None else at)
    order = in_order([_place(message["info"]) for message in messages])
    whole = {"info": {**info, "id": _name(path)}, "messages": [messages[index] for index in order]}
    return msgspec.json.encode(whole) + b"\n"


def _parts(folder: str) -> list[dict[str, Any]]:
    """Return the parts of a message in order.

    A part that says when it began has the place of that time. Only their ids show the place of the other parts.
    """
    found = [
        {**part, "id": _name(item.path)}
        for item in _entries(folder)
        if (part := _decoded(item.path)) is not None
    ]
    last, keys = float("-inf"), list[float]()
    for value in found:
        began = _begun(value)
        last = last if began is None else began
        keys.append(last)
    return [found[number] for number in sorted(range(len(found)), key=keys.__getitem__)]


def _begun(part: dict[str, Any]) -> float | None:
    state = part.get("state")
    for holder in (part, state):
        time = holder.get("time") if isinstance(holder, dict) else None
        start = time.get("start") if isinstance(time, dict) else None
        if isinstance(start, int | float) and not isinstance(start, bool):
            return start
    return None


def _place(info: dict[str, Any]) -> MessagePlace:
    time, parent = info.get("time"), info.get("parentID")
    created = time.get("created") if isinstance(time, dict) else None
    is_time = isinstance(created, int | float) and not isinstance(created, bool)
    return MessagePlace(info["id"], parent if isinstance(parent, str) else None, created if is_time else None)


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    """Return the JSON files in a folder, by name; none if it does not exist."""
    try:
        with os.scandir(folder) as found:
            return sorted((item for item in found if item.name.endswith(_SUFFIX)), key=lambda item: item.name)
    except FileNotFoundError:
        return []


def _decoded(path: str) -> dict[str, Any] | None:
    """Return the object in a file; None if the file is gone. Other content becomes an object that keeps it."""
    try:
        data = regular_files.content(path, _MAX_BYTES)
    except FileNotFoundError:
        return None
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = None
    return (
        value if isinstance(value, dict) else {"type": "unreadable", "raw": data.decode("utf-8", "replace")}
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(_SUFFIX)
