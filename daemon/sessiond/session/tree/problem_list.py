"""The problems that were found in one log."""

from typing import Final

from sessiond.session.tree.problems import LineProblem, ProblemKind

MAX_PROBLEMS: Final = 1_000
"""Limit of the problems that are listed of one log. A file that is not a session has one in every line."""


class ProblemList:
    """Collects the problems of one log.

    Attributes:
        torn: The problem of the bytes after the last row, or None. It is removed when those bytes have been set aside.

    """

    def __init__(self) -> None:
        self.torn: LineProblem | None = None
        self._found: list[LineProblem] = []

    @property
    def is_full(self) -> bool:
        """Whether `add` ignores further problems."""
        return len(self._found) > MAX_PROBLEMS

    def add(self, problem: LineProblem) -> None:
        """Add a problem. After `MAX_PROBLEMS` problems, `moreProblems` is added once and all others are ignored."""
        if len(self._found) == MAX_PROBLEMS:
            reason = f"after {MAX_PROBLEMS:,} problems no more are listed"
            self._found.append(LineProblem("moreProblems", problem.line, problem.offset, reason))
        elif not self.is_full:
            self._found.append(problem)

    def note(self, problem: LineProblem) -> None:
        """Add a problem of the first lines, regardless of the limit."""
        self._found.append(problem)

    def has(self, kind: ProblemKind) -> bool:
        """Return whether the list has a problem of this kind."""
        return any(it.kind == kind for it in self._found)

    def is_last_at(self, offset: int) -> bool:
        """Return whether the last problem belongs to the line at this byte offset."""
        return bool(self._found) and self._found[-1].offset == offset

    def in_order(self) -> list[LineProblem]:
        """Return all problems in log order."""
        found = sorted(self._found, key=lambda it: (it.kind == "moreProblems", it.line))
        return found if self.torn is None else [*found, self.torn]
