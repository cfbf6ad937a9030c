"""Describes a problem of a file of an agent: the kind of finding, which has the advice, and the line.

`sessiond agents` and `sessiond doctor` name the same problems, so both take them from here.
"""

from dataclasses import dataclass
from typing import Final

from sessiond.agents.folder_walk import LINK, UNREADABLE
from sessiond.hub.transfer import compressed, database_sources
from sessiond.hub.transfer.import_results import UNREMARKABLE
from sessiond.hub.transfer.importing import NO_FOLDER
from sessiond.hub.transfer.source_records import SourceRecord
from sessiond.protocol import types as t
from sessiond.protocol.findings import finding

FORBIDDEN: Final = f"{UNREADABLE}permission denied"


@dataclass(frozen=True, slots=True)
class AgentFileProblem:
    """A problem of a file or folder of an agent.

    Attributes:
        path: The file or folder.
        kind: The kind of finding (`protocol.findings.KINDS`).
        message: The problem, as a sentence.
        line: The first line with the problem, from 1; None if the problem is not in a line.
    """

    path: str
    kind: str
    message: str
    line: int | None = None

    def on_the_wire(self) -> t.AgentProblem:
        """Return the problem as a part of `agent/list`."""
        found = finding(self.kind, self.message, self.path, line=self.line)
        return t.AgentProblem(
            path=found.location.path or "", message=found.message, line=self.line, advice=found.advice
        )


def of_unread(path: str, reason: str) -> AgentFileProblem:
    """Return the problem of a file or folder that is not read for this reason."""
    if reason == LINK:
        return AgentFileProblem(path, "agentFileLinked", reason)
    return AgentFileProblem(path, "agentFileForbidden" if reason == FORBIDDEN else "agentFileSkipped", reason)


def of_record(path: str, record: SourceRecord) -> AgentFileProblem | None:
    """Return the problem that was found when a file was read; None if there was none that needs attention."""
    if record.skipped is not None:
        reason = record.skipped.message
        return None if reason in UNREMARKABLE else of_unread(path, reason)
    return None if record.session is None else _of_session(path, record.session)


def _of_session(path: str, session: t.ImportedSession) -> AgentFileProblem | None:
    listed = [problem for problem in session.problems if problem.message != NO_FOLDER]
    count = session.problem_count - (len(session.problems) - len(listed))
    if not listed:
        return None
    first = min(
        (problem for problem in listed if problem.line), key=lambda problem: problem.line, default=listed[0]
    )
    more = "" if count == 1 else f" ({count - 1:,} more in this file)"
    # No program shows a line of a compressed file or of a database.
    has_lines = not path.endswith(compressed.SUFFIX) and database_sources.parts_of(path) is None
    if not first.line or not has_lines:
        return AgentFileProblem(path, "agentFileDamaged", first.message + more)
    return AgentFileProblem(path, "agentLineDamaged", first.message + more, first.line)
