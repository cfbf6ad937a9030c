"""The files that pi and oh-my-pi write beside a session file.

pi writes an output that was too long for the model into the system's folder for temporary files. oh-my-pi has a folder
of the same name as the session file, with `<number>.<tool>.log` for each, and `<agent>.md` for answers of subagents.
"""

import re
from collections.abc import Iterator
from typing import Final

from sessiond.agents.attachments import (
    AttachmentRules,
    FilePlace,
    OwnFiles,
    SessionOfFile,
    in_temporary_folder,
)

_REFERENCE: Final = re.compile(r"pi-[a-z-]{1,40}-[0-9a-f]{16}\.(?:log|txt)(?![\w/])")
_ARTIFACT: Final = re.compile(r"[0-9]{1,9}\.[A-Za-z0-9_-]{1,64}\.(?:log|md)|[A-Za-z0-9_-]{1,64}\.md")


def _place(_path: str, found: re.Match[str]) -> FilePlace | None:
    return in_temporary_folder(found)


def _own(session: SessionOfFile) -> Iterator[OwnFiles]:
    folder, _, name = session.path.rpartition("/")
    if name.endswith(".jsonl"):
        yield OwnFiles("toolOutput", FilePlace(folder, (name.removesuffix(".jsonl"),)), _ARTIFACT)


RULES: Final = AttachmentRules(reference=_REFERENCE, sign=b"ull output", place=_place, own=_own)
