"""Lists the files that tool calls touched, by the tool names that pi and oh-my-pi share.

A `path` given to `read` was read; one given to `write` or `edit` was modified (decision 0019).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from sessiond.session.content.agent_message import AgentMessage
from sessiond.session.tree import payloads


@dataclass(frozen=True, slots=True)
class TouchedPaths:
    """Paths, each once, sorted; a modified file is not in `read`."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()


class TouchedFiles:
    """Collects what messages and earlier summaries say of files."""

    def __init__(self) -> None:
        self._read: set[str] = set()
        self._modified: set[str] = set()

    def add_message(self, message: AgentMessage) -> None:
        """Take in the calls of an assistant's message, or those that a tool made in turn."""
        for name, path in _touched(message):
            if name == "read":
                self._read.add(path)
            elif name in ("write", "edit"):
                self._modified.add(path)

    def add_summary(self, entry: bytes) -> None:
        """Take in the files in the `details` of a compaction or branch summary; an extension's are its own."""
        summary = payloads.part(_summary, entry)
        if summary is None or summary.from_extension is True or summary.from_hook is True:
            return
        details = summary.details if isinstance(summary.details, dict) else {}
        self._read.update(_paths(details.get("readFiles")))
        self._modified.update(_paths(details.get("modifiedFiles")))

    def operations(self) -> TouchedPaths:
        return TouchedPaths(tuple(sorted(self._read - self._modified)), tuple(sorted(self._modified)))


def file_operations(messages: Iterable[AgentMessage]) -> TouchedPaths:
    """The files that the calls in some messages touched."""
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
