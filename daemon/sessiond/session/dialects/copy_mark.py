"""Marks a session that `session/resume` wrote for an agent with the sessions from which it goes on.

The mark is a field of the first line, which agents ignore (of OpenCode, which stores only fields that it knows, the
metadata of the first part). So a copy tells its lineage on any machine. The mark also has the number of lines, by which
a copy is recognized that its agent has not gone on with: it has nothing that its source lacks.
"""

from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects.exported import ExportedSession
from sessiond.session.tree.origin import LINEAGE, lineage_of

MARK: Final = "sessiond"
"""The name of the field."""
_COUNT: Final = "count"


def mark(whole: ExportedSession, count: int) -> dict[str, Any]:
    """Return the mark of a session that is written, as a field; {} for one that is exported.

    Args:
        whole: The session.
        count: The number of lines of the file, or of messages of a document.
    """
    if not whole.lineage:
        return {}
    steps = [{"agent": step.agent, "sessionId": step.session_id} for step in whole.lineage]
    return {MARK: {LINEAGE: steps, _COUNT: count}}


def origin_fields(value: object) -> dict[str, Any]:
    """Return the fields that a mark adds to the origin of a session that is read; {} without a mark."""
    found = fields.mapping(value).get(LINEAGE)
    return {LINEAGE: found} if lineage_of({LINEAGE: found}) else {}


def untouched_copy_of(value: object, count: int) -> str | None:
    """Return the session that a marked one with so many lines is a mere copy of; None if its agent continued it."""
    lineage = lineage_of(fields.mapping(value))
    return lineage[-1].session_id if lineage and fields.mapping(value).get(_COUNT) == count else None
