"""Lists the files that tool calls touched, by the tool names that pi and oh-my-pi share.

A `path` argument of `read` is a read file; one of `write` or `edit` is a modified file (decision 0019).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from sessiond.session.content.agent_message import AgentMessage
from sessiond.session.tree import payloads


@dataclass(frozen=True, slots=True)
class TouchedPaths:
    """Sorted paths without duplicates; a modified file is not in `read`."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()


class TouchedFiles:
    """Collects the files that messages and earlier summaries name."""

    def __init__(self) -> None:
        self._read: set[str] = set()
        self._modified: set[str] = set()

    def add_message(self, message: AgentMessage) -> None:
        """Add the files of an assistant message's calls, or of the calls that a tool made itself."""
        for name, path in _touched(message):
            if name == "read":
                self._read.add(path)
            elif name in ("write", "edit"):
                self._modified.add(path)

    def add_summary(self, entry: bytes) -> None:
        """Add the files in the `details` of a compaction or branch summary, unless an extension wrote it."""
        summary = payloads.part(_summary, entry)
        if summary is None or summary.from_extension is True or summary.from_hook is True:
            return
        details = summary.details if isinstance(summary.details, dict) else {}
        self._read.update(_paths(details.get("readFiles")))
        self._modified.update(_paths(details.get("modifiedFiles")))

    def operations(self) -> TouchedPaths:
        """Return the files that were added."""
        return TouchedPaths(tuple(sorted(self._read - self._modified)), tuple(sorted(self._modified)))


def file_operations(messages: Iterable[AgentMessage]) -> TouchedPaths:
    """Return the files that the tool calls of messages touched."""
    files = TouchedFiles()
    for message in messages:
        files.add_message(message)
    return files.operations()


class _Summary(msgspec.Struct, rename="camel"):
    details: Any = None
    from_extension: Any = None
    from_hook: Any = None


_summary = msgspec.json.Decoder(_Summary)


def _touched(message: AgentMessage) -> Iterator[tuple[object, str]]:
    for call in message.tool_calls:
        yield from _with_path(call.name, call.arguments)
    if message.role == "toolResult" and isinstance(message.nested_calls, dict):
        calls = message.nested_calls.get("calls")
        for nested in calls if isinstance(calls, list) else ():
            if isinstance(nested, dict):
                yield from _with_path(nested.get("name"), nested.get("arguments"))


def _with_path(name: object, arguments: object) -> Iterator[tuple[object, str]]:
    path = arguments.get("path") if isinstance(arguments, dict) else None
    if isinstance(path, str) and path:
        yield name, path


def _paths(value: object) -> list[str]:
    return [path for path in value if isinstance(path, str)] if isinstance(value, list) else []
