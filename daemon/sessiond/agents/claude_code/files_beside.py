"""The files that Claude Code writes beside a transcript.

`<project>/<session>/tool-results/<name>` has an output that was too long for the model, also one of a subagent.
`tasks/<session>/`, `todos/<session>-agent-….json` (earlier versions), `file-history/<session>/` (files before an
edit), `image-cache/<session>/` and `plans/<slug>.md` are in the folder with the settings.
"""

import re
from collections.abc import Iterator
from typing import Final

from sessiond.agents.attachments import PLAIN_NAME, AttachmentRules, FilePlace, OwnFiles, SessionOfFile

_RESULTS: Final = "tool-results"
_REFERENCE: Final = re.compile(rf"/({PLAIN_NAME})/{_RESULTS}/({PLAIN_NAME})(?![\w/])")
_SESSION: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PROJECTS: Final = "projects"
_TASK: Final = re.compile(r"[0-9]{1,9}\.json")
_SNAPSHOT: Final = re.compile(r"[0-9a-f]{8,64}@v[0-9]{1,9}")
_IMAGE: Final = re.compile(r"[0-9]{1,9}\.(?:png|jpe?g|gif|webp)")


def _project(path: str) -> str:
    """Return the folder of the project of a transcript, or of one of a subagent."""
    return path.partition("/subagents/")[0].rpartition("/")[0]


def _place(path: str, found: re.Match[str]) -> FilePlace | None:
    # A fork names the files of the session that it was forked from.
    return FilePlace(_project(path), (found[1], _RESULTS, found[2])) if _SESSION.fullmatch(found[1]) else None


def _own(session: SessionOfFile) -> Iterator[OwnFiles]:
    above, _, folder = _project(session.path).rpartition("/")[0].rpartition("/")
    if folder != _PROJECTS or not _SESSION.fullmatch(session.native_id):
        return  # a subagent, or a copy of a transcript elsewhere
    yield OwnFiles("tasks", FilePlace(above, ("tasks", session.native_id)), _TASK)
    yield OwnFiles("fileSnapshot", FilePlace(above, ("file-history", session.native_id)), _SNAPSHOT)
    yield OwnFiles("image", FilePlace(above, ("image-cache", session.native_id)), _IMAGE)
    todos = f"{session.native_id}-agent-{session.native_id}.json"
    yield OwnFiles("tasks", FilePlace(above, ("todos", todos)))
    for slug in session.marks:
        yield OwnFiles("plan", FilePlace(above, ("plans", f"{slug}.md")))


def _transcript_of(path: str) -> str | None:
    folder, found, name = path.rpartition(f"/{_RESULTS}/")
    return (
        f"{folder}.jsonl"
        if found and "/" not in name and _SESSION.fullmatch(folder.rpartition("/")[2])
        else None
    )


RULES: Final = AttachmentRules(
    reference=_REFERENCE,
    sign=_RESULTS.encode(),
    place=_place,
    own=_own,
    mark=re.compile(rb'"slug":"([a-z0-9][a-z0-9-]{0,79})"'),
    transcript_of=_transcript_of,
)
