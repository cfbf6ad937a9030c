"""The files that Copilot CLI writes beside the log of events, in the folder of a session.

An output that was too long for the model is elsewhere, in the system's folder for temporary files. The program deletes
it when it ends, so that only following finds it.
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

_SIGN: Final = "-copilot-tool-output-"
_REFERENCE: Final = re.compile(
    rf"[0-9]{{1,20}}{_SIGN}[0-9]{{1,20}}-[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\.txt(?![\w/])"
)
_DOCUMENT: Final = re.compile(r"[\w][\w.-]{0,200}", re.ASCII)
_CHECKPOINT: Final = re.compile(r"[\w][\w.-]{0,200}\.md", re.ASCII)
_SNAPSHOT: Final = re.compile(r"[0-9a-f]{64}|(?:index|tracking)\.json")


def _place(_path: str, found: re.Match[str]) -> FilePlace | None:
    return in_temporary_folder(found)


def _own(session: SessionOfFile) -> Iterator[OwnFiles]:
    folder, _, name = session.path.rpartition("/")
    if name != "events.jsonl":
        return
    yield OwnFiles("plan", FilePlace(folder, ("plan.md",)))
    yield OwnFiles("file", FilePlace(folder, ("checkpoints",)), _CHECKPOINT)
    for below in ("files", "research"):
        yield OwnFiles("file", FilePlace(folder, (below,)), _DOCUMENT)
    yield OwnFiles("fileSnapshot", FilePlace(folder, ("rewind-file-snapshots",)), _SNAPSHOT)
    yield OwnFiles("fileSnapshot", FilePlace(folder, ("rewind-file-snapshots", "backups")), _SNAPSHOT)


RULES: Final = AttachmentRules(reference=_REFERENCE, sign=_SIGN.encode(), place=_place, own=_own)
