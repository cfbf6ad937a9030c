"""The problems that were found in one log."""

from typing import Final

from sessiond.session.tree.problems import LineProblem, ProblemKind

MAX_PROBLEMS: Final = 1_000
"""Problems that are listed of one log. A file that is no session has one in every line; more help nobody."""


class ProblemList:
    """Collects the problems of one log.

    Attributes:
        torn: The problem of what follows the last row; None for none. It goes when that has been put aside.

    """

    def __init__(self) -> None:
        self.torn: LineProblem | None = None
        self._found: list[LineProblem] = []

    @property
    def is_full(self) -> bool:
        """Whether `add` adds no more."""
        return len(self._found) > MAX_PROBLEMS

    def add(self, problem: LineProblem) -> None:
        """Add a problem; behind `MAX_PROBLEMS` of them one that says that there are more, and then none."""
        if len(self._found) == MAX_PROBLEMS:
            reason = f"after {MAX_PROBLEMS:,} problems no more are listed"
            self._found.append(LineProblem("moreProblems", problem.line, problem.offset, reason))
        elif not self.is_full:
            self._found.append(problem)

    def note(self, problem: LineProblem) -> None:
        """Add a problem of the first lines, however many there are."""
        self._found.append(problem)

    def has(self, kind: ProblemKind) -> bool:
        """Return whether a problem of this kind was found."""
        return any(it.kind == kind for it in self._found)

    def is_last_at(self, offset: int) -> bool:
        """Return whether the last problem that was found is that of the line at this offset."""
        return bool(self._found) and self._found[-1].offset == offset

    def in_order(self) -> list[LineProblem]:
        """Return all problems in the order of the log."""
        found = sorted(self._found, key=lambda it: (it.kind == "moreProblems", it.line))
        return found if self.torn is None else [*found, self.torn]
