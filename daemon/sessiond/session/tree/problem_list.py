"""The problems that were found in one log."""

from typing import Final

from sessiond.session.tree.problems import LineProblem, ProblemKind

MAX_PROBLEMS: Final = 1_000
"""Limit of the problems that are listed of one log. A file that is not a session has one in every line."""


class ProblemList:
    """Collects the problems of one log.

    Attributes:
        torn: The problem of the bytes after the last row, or None. It is removed
            when those bytes have been moved out of the log.

    """

    def __init__(self) -> None:
        self.torn: LineProblem | None = None
        self._problems: list[LineProblem] = []

    @property
    def is_full(self) -> bool:
        """Whether `add` ignores further problems."""
        return len(self._problems) > MAX_PROBLEMS

    def add(self, problem: LineProblem) -> None:
        """Add a problem. After `MAX_PROBLEMS` problems, `moreProblems` is added once and all others are ignored."""
        if len(self._problems) == MAX_PROBLEMS:
            reason = f"only the first {MAX_PROBLEMS:,} problems are listed"
            self._problems.append(LineProblem("moreProblems", problem.line, problem.offset, reason))
        elif not self.is_full:
            self._problems.append(problem)

    def add_always(self, problem: LineProblem) -> None:
        """Add a problem of the first lines, regardless of the limit."""
        self._problems.append(problem)

    def has(self, kind: ProblemKind) -> bool:
        """Return whether the list has a problem of this kind."""
        return any(problem.kind == kind for problem in self._problems)

    def is_last_at(self, offset: int) -> bool:
        """Return whether the last problem belongs to the line at this byte offset."""
        return bool(self._problems) and self._problems[-1].offset == offset

    def in_order(self) -> list[LineProblem]:
        """Return all problems in log order."""
        found = sorted(self._problems, key=lambda problem: (problem.kind == "moreProblems", problem.line))
        return found if self.torn is None else [*found, self.torn]
