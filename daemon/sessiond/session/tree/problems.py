"""The closed list of problems that a log can have, with a severity and a description for each."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning"]
ProblemKind: TypeAlias = Literal[
    "emptyLog",
    "damagedHeader",
    "damagedLine",
    "nulBytes",
    "notAnEntry",
    "invalidUtf8",
    "tornLine",
    "incompleteBatch",
    "invalidParent",
    "selfParent",
    "missingParent",
    "parentCycle",
    "duplicateEntryId",
    "missingLeaf",
    "moreProblems",
]

PROBLEMS: Final[dict[ProblemKind, tuple[Severity, str]]] = {
    "emptyLog": ("error", "The file has no byte, or only a title slot. Nothing can be written to it."),
    "damagedHeader": (
        "error",
        "The first line is not a session header, and nothing can be written; or it has version 1, which its entries "
        "do not have. The entries can be read.",
    ),
    "damagedLine": ("error", "The line is not JSON. It is skipped, and is unchanged in the file."),
    "nulBytes": (
        "error",
        "The line has NUL bytes, as after a power cut. It is skipped, and is unchanged in the file.",
    ),
    "notAnEntry": (
        "error",
        "The line is JSON, but not an entry: it is not an object, or has no type or no valid id.",
    ),
    "invalidUtf8": (
        "warning",
        "The line has bytes that are not UTF-8. They are read as U+FFFD, and are unchanged in the file.",
    ),
    "tornLine": (
        "error",
        "The last line is incomplete, as after a crash. It is moved to a file beside the log before the next append.",
    ),
    "incompleteBatch": (
        "error",
        "The last append is incomplete and was not acknowledged. Its lines are moved to a file beside the log "
        "before the next append.",
    ),
    "invalidParent": ("error", "`parentId` is neither a string nor null. The entry becomes a root."),
    "selfParent": ("error", "The entry names itself as its parent. It becomes a root."),
    "missingParent": ("warning", "The parent that the entry names is not in the file. It becomes a root."),
    "parentCycle": ("error", "The entry is among its own ancestors. A path ends where it would begin again."),
    "duplicateEntryId": ("warning", "An earlier entry has the same id. The later entry has precedence."),
    "missingLeaf": (
        "error",
        "The `leaf` line names an entry that is not before it. The leaf does not move.",
    ),
    "moreProblems": ("warning", "There are more problems than are listed."),
}
"""Every kind with its severity and description. A new kind is a change of the protocol."""


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A problem in one line of a log.

    Attributes:
        kind: The kind; `PROBLEMS` describes it.
        line: The number of the physical line, from 1.
        offset: The offset of the line's first byte.
        reason: The description for this line.

    """

    kind: ProblemKind
    line: int
    offset: int
    reason: str

    @property
    def severity(self) -> Severity:
        """The severity of the problem's kind."""
        return PROBLEMS[self.kind][0]
