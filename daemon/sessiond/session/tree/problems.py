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
    "tornTail",
    "cutOffBatch",
    "badParent",
    "ownParent",
    "lostParent",
    "parentLoop",
    "sameId",
    "lostLeaf",
    "moreProblems",
]

PROBLEMS: Final[dict[ProblemKind, tuple[Severity, str]]] = {
    "emptyLog": ("error", "The file has no byte, or only a title slot. Nothing can be written to it."),
    "damagedHeader": (
        "error",
        "The first line is no session header. What entries there are can be read, nothing can be written.",
    ),
    "damagedLine": ("error", "The line is not JSON. It is skipped, and stays as it is."),
    "nulBytes": (
        "error",
        "The line holds NUL bytes, as a power cut leaves them. It is skipped, and stays as it is.",
    ),
    "notAnEntry": (
        "error",
        "The line is JSON, but no entry: no object, or one without a type or a usable id.",
    ),
    "invalidUtf8": (
        "warning",
        "The line holds bytes that are not UTF-8. They are read as U+FFFD, and stay as they are in the file.",
    ),
    "tornTail": (
        "error",
        "The last line is cut short, as a crash leaves it. It is moved beside the file before the next append.",
    ),
    "cutOffBatch": (
        "error",
        "The last append was cut short between its lines, and nobody was told that it is stored. What there is of "
        "it is moved beside the file before the next append.",
    ),
    "badParent": ("error", "`parentId` is neither text nor null. The entry is taken as a root."),
    "ownParent": ("error", "The entry names itself as its parent. It is taken as a root."),
    "lostParent": ("warning", "The parent that the entry names is not in the file. It is taken as a root."),
    "parentLoop": ("error", "The entry is among its own ancestors. A path ends where it would begin again."),
    "sameId": ("warning", "An earlier entry has the same id. The later one counts."),
    "lostLeaf": (
        "error",
        "The `leaf` line names an entry that is not before it. The leaf stays where it was.",
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
