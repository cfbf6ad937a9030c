"""Reports in words of sessions that were copied from one store to another."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sessiond import human
from sessiond.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessiond.sync.report import SessionProblem, Transferred

_MAX_PROBLEMS = 20


def amount_of(moved: Transferred) -> str:
    """Return what one side received: `12 lines, 1 new session, 3.1 kB`."""
    parts = [human.count(moved.line_count, "line")]
    if moved.session_count:
        parts.append(human.count(moved.session_count, "new session"))
    if moved.blob_count:
        parts.append(human.count(moved.blob_count, "blob"))
    return ", ".join([*parts, human.size(moved.byte_count)] if moved.byte_count else parts)


def print_problems(problems: Sequence[SessionProblem], outcome: str) -> None:
    """Print the first problems on standard error, each with the session and the outcome."""
    for problem in problems[:_MAX_PROBLEMS]:
        print(f"{one_line(problem.session_id)} {outcome}: {one_line(problem.message)}", file=sys.stderr)
    if len(problems) > _MAX_PROBLEMS:
        print(f"{len(problems) - _MAX_PROBLEMS:,} more problems: --json lists all", file=sys.stderr)
