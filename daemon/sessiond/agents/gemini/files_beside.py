"""The files that Gemini CLI writes beside a transcript, which is in `<home>/tmp/<project>/chats`.

`<project>/tool-outputs/session-<id>/` has outputs that were too long for the model, `<project>/<id>/plans/` and
`<project>/<id>/tasks/` plans and tasks.
"""

import re
from collections.abc import Iterator
from typing import Final

from sessiond.agents.attachments import PLAIN_NAME, AttachmentRules, FilePlace, OwnFiles, SessionOfFile

_OUTPUTS: Final = "tool-outputs"
_REFERENCE: Final = re.compile(
    rf"[\\/]{_OUTPUTS}[\\/](?:(session-{PLAIN_NAME})[\\/])?({PLAIN_NAME})(?![\w/])"
)
_SESSION: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLAN: Final = re.compile(r"[\w][\w.-]{0,200}\.md", re.ASCII)
_TASK: Final = re.compile(r"[\w][\w.-]{0,200}\.json", re.ASCII)
_CHATS: Final = "/chats/"


def _place(path: str, found: re.Match[str]) -> FilePlace | None:
    project, chats, _ = path.rpartition(_CHATS)
    names = (_OUTPUTS, *filter(None, found.groups()))
    return FilePlace(project, names) if chats else None


def _own(session: SessionOfFile) -> Iterator[OwnFiles]:
    project, chats, _ = session.path.rpartition(_CHATS)
    if chats and _SESSION.fullmatch(session.native_id):
        yield OwnFiles("plan", FilePlace(project, (session.native_id, "plans")), _PLAN)
        for name in ("tasks", "tracker"):
            yield OwnFiles("tasks", FilePlace(project, (session.native_id, name)), _TASK)


RULES: Final = AttachmentRules(reference=_REFERENCE, sign=_OUTPUTS.encode(), place=_place, own=_own)
