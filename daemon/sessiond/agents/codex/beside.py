"""Finds the titles of Codex sessions, which one index file holds for all of them: `session_index.jsonl`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from sessiond.agents import regular_files

_INDEX: Final = "session_index.jsonl"


class Titles:
    """The titles of Codex sessions. An index file is read once. A call blocks."""

    def __init__(self) -> None:
        self._by_file: dict[str, dict[str, str]] = {}

    def __call__(self, path: str) -> dict[str, str]:
        """Return the last title of a rollout file, found by the id in its file name, if it has one."""
        home = next((parent for parent in Path(path).parents if (parent / _INDEX).is_file()), None)
        if home is None:
            return {}
        index = str(home / _INDEX)
        if index not in self._by_file:
            self._by_file[index] = dict(_names(index))
        title = self._by_file[index].get(Path(path).name.partition(".jsonl")[0][-36:])
        return {} if title is None else {"title": title}


def _names(index: str) -> Iterator[tuple[str, str]]:
    try:
        data = regular_files.content(index)
    except OSError:
        return
    for line in data.split(b"\n"):
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(value, dict):
            session, name = value.get("id"), value.get("thread_name")
            if isinstance(session, str) and isinstance(name, str):
                yield session, name
