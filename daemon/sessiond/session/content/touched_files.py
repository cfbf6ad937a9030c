"""Lists the files that tool calls of messages touched, by the tool names of common agents.

The list is for people and is wider than that of `pi_touched_files`, which has to agree with the summaries of the
peers. Unknown tools and shells may have touched any file; only patches in their arguments are read.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sessiond.session.content.agent_message import AgentMessage
from sessiond.session.content.pi_touched_files import TouchedPaths

_READ_TOOLS: Final = frozenset(("read", "readfile", "notebookread", "view", "viewimage", "openfile"))
_WRITE_TOOLS: Final = frozenset((
    "write", "writefile", "edit", "editfile", "multiedit", "notebookedit", "createfile", "strreplace", "insert",
    "searchreplace", "applydiff", "deletefile", "replacefilecontent",
))  # fmt: skip
_READ_OR_WRITE_TOOLS: Final = frozenset(("strreplaceeditor", "strreplacebasededittool"))
"""Tools with several commands: all but `view` modify the file."""
_PATH_ARGUMENTS: Final = ("path", "file_path", "filePath", "notebook_path", "target_file", "filename")
_PATCH_LINES: Final = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
_PATCH_MARKER: Final = "*** Begin Patch"


def touched(messages: Iterable[AgentMessage]) -> TouchedPaths:
    """Return the files that the tool calls of messages name."""
    read: set[str] = set()
    modified: set[str] = set()
    for message in messages:
        for call in message.tool_calls:
            name = re.sub(r"[^a-z]", "", str(call.name).lower())
            arguments: dict[str, Any] = call.arguments if isinstance(call.arguments, dict) else {}
            modified.update(_patched_files(arguments))
            path = next(
                (value for key in _PATH_ARGUMENTS if isinstance(value := arguments.get(key), str) and value),
                None,
            )
            if path is None:
                continue
            if name in _READ_TOOLS or (name in _READ_OR_WRITE_TOOLS and arguments.get("command") == "view"):
                read.add(path)
            elif name in _WRITE_TOOLS | _READ_OR_WRITE_TOOLS:
                modified.add(path)
    return TouchedPaths(tuple(sorted(read - modified)), tuple(sorted(modified)))


def _patched_files(arguments: dict[str, Any]) -> Iterator[str]:
    """Yield the files of a patch in an argument: a text, such as a shell command, or a list of texts."""
    for value in arguments.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and _PATCH_MARKER in text:
                yield from filter(None, map(str.strip, _PATCH_LINES.findall(text)))
