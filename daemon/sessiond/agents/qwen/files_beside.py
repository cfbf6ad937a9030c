"""The files that Qwen Code writes beside a transcript, which is in `<home>/projects/<project>/chats`.

`<home>/tmp/<hash of the project>/<tool>_….output` has an output that was too long for the model, and
`<home>/todos/<session>.json` the to-do list of a session.
"""

import re
from collections.abc import Iterator
from typing import Final

from sessiond.agents.attachments import AttachmentRules, FilePlace, OwnFiles, SessionOfFile

_REFERENCE: Final = re.compile(
    r"[\\/]tmp[\\/]([0-9a-f]{64})[\\/]([A-Za-z0-9_][A-Za-z0-9_.-]{0,200}\.output)(?![\w/])"
)
_SESSION: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")


def _home(path: str) -> str | None:
    """Return the folder of the settings, for the path of a transcript in it."""
    project, chats, _ = path.rpartition("/chats/")
    home, projects, _ = project.rpartition("/projects/")
    return home if chats and projects else None


def _place(path: str, found: re.Match[str]) -> FilePlace | None:
    home = _home(path)
    return None if home is None else FilePlace(home, ("tmp", found[1], found[2]))


def _own(session: SessionOfFile) -> Iterator[OwnFiles]:
    home = _home(session.path)
    if home is not None and _SESSION.fullmatch(session.native_id):
        yield OwnFiles("tasks", FilePlace(home, ("todos", f"{session.native_id}.json")))


RULES: Final = AttachmentRules(reference=_REFERENCE, sign=b".output", place=_place, own=_own)
