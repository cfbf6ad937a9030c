"""Builds the parts of the results of an import: the report on a file, and the reason why a file was skipped."""

from collections import Counter
from typing import Any, Final

from sessiond.agents.folder_walk import UNREADABLE
from sessiond.hub.transfer.foreign_files import NO_ENTRIES, NotImported
from sessiond.protocol import types as t
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.tree import lines

NOT_THERE: Final = "there is no such file or folder"
OWN_SESSION: Final = "it is a session of sessiond already"
BEING_RECORDED: Final = "its present turn is being recorded by sessiond acp"
UNTOUCHED_COPY: Final = "it is a copy of a session that is here, and its agent has not gone on with it"
FORGOTTEN: Final = "its session was forgotten here; `sessiond forget --revoke ID` allows it again"
EXCLUDED: Final = "its folder is excluded from following, or private"
RECONSIDERED: Final = frozenset((FORGOTTEN, EXCLUDED))
"""Reasons to skip a file that the user may take back, so that an unchanged file is read again."""
UNREMARKABLE: Final = frozenset(
    (NO_ENTRIES, NOT_THERE, OWN_SESSION, BEING_RECORDED, UNTOUCHED_COPY, FORGOTTEN, EXCLUDED)
)
"""Reasons to skip a file of an agent that need no attention, for example a session that has just begun."""
MAX_KINDS: Final = 100
"""Limit of types and of kinds of lines that a result lists for a file."""
MAX_KIND_LENGTH: Final = 100
"""Limit of the name of a kind, in characters."""
MAX_PROBLEMS: Final = 20
"""Limit of problems that a result lists for a file."""


def report_fields(imported: Imported, path: str) -> dict[str, Any]:
    """Return the import report of a file as fields of `ImportedSession`."""
    report = imported.report
    return {
        "path": lines.valid_text(path), "format": imported.dialect, "converted_lines": _most_frequent(report.converted),
        "preserved_lines": _most_frequent(report.preserved),
        "held_back_count": report.held_back_count, "problem_count": report.problem_count,
        "problems": [
            t.ImportProblem(line=problem.line, message=lines.valid_text(problem.message))
            for problem in report.problems[:MAX_PROBLEMS]
        ],
    }  # fmt: skip


def _most_frequent(counts: Counter[str]) -> dict[str, int]:
    """Return the counts of the most frequent kinds, in the order in which they were found."""
    listed = {kind for kind, _ in counts.most_common(MAX_KINDS)}
    return {
        lines.valid_text(kind[:MAX_KIND_LENGTH]): count for kind, count in counts.items() if kind in listed
    }


def reason_of(refusal: Exception) -> str:
    """Return why a file was skipped, as a message."""
    match refusal:
        case NotImported():
            return refusal.reason
        case FileNotFoundError():
            return NOT_THERE
        case OSError(strerror=str(strerror)):
            return f"{UNREADABLE}{strerror.lower()}"
        case _:
            return str(refusal)
