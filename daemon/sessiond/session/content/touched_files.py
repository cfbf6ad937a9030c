"""Which files the tool calls of some messages touched, by the names that the usual agents have for their tools.

Wider than `files`, which is as narrow as the peers whose summaries it has to agree with: this is for people. A tool
that nobody knows, and a shell, may have touched anything; only a patch in it is read.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sessiond.session.content.agent_message import AgentMessage
from sessiond.session.content.pi_touched_files import TouchedPaths

_READS: Final = frozenset(("read", "readfile", "notebookread", "view", "viewimage", "openfile"))
_WRITES: Final = frozenset((
    "write", "writefile", "edit", "editfile", "multiedit", "notebookedit", "createfile", "strreplace", "insert",
    "searchreplace", "applydiff", "deletefile", "replacefilecontent",
))  # fmt: skip
_EITHER: Final = frozenset(("strreplaceeditor", "strreplacebasededittool"))
"""Tools of several commands, of which `view` only reads."""
_PATHS: Final = ("path", "file_path", "filePath", "notebook_path", "target_file", "filename")
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_PATCH: Final = "*** Begin Patch"


def touched(messages: Iterable[AgentMessage]) -> TouchedPaths:
    """The files that calls in some messages name."""
    read: set[str] = set()
    modified: set[str] = set()
    for message in messages:
        for call in message.tool_calls:
            name = re.sub(r"[^a-z]", "", str(call.name).lower())
            arguments: dict[str, Any] = call.arguments if isinstance(call.arguments, dict) else {}
            modified.update(_patched(arguments))
            path = next((it for key in _PATHS if isinstance(it := arguments.get(key), str) and it), None)
            if path is None:
                continue
            if name in _READS or (name in _EITHER and arguments.get("command") == "view"):
                read.add(path)
            elif name in _WRITES | _EITHER:
                modified.add(path)
    return TouchedPaths(tuple(sorted(read - modified)), tuple(sorted(modified)))


def _patched(arguments: dict[str, Any]) -> Iterator[str]:
    """The files of a patch in one of the arguments, be it a command of a shell or a list of its words."""
    for value in arguments.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and _PATCH in text:
                yield from _PATCHED.findall(text)
