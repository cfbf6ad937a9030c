"""The history with which a fork begins, if it is in the files of other sessions of its agent. All functions block."""

import re
from collections.abc import Callable
from typing import Final

from sessiond.agents.table import AGENTS
from sessiond.protocol import types as t
from sessiond.session.dialects.import_builder import MISSING_HISTORY

_HISTORIES: Final = {
    agent.dialect: agent.load_forks() for agent in AGENTS.values() if agent.load_forks is not None
}
"""Finds the history, by dialect."""
_MISSING: Final = re.compile(re.escape(MISSING_HISTORY).replace(re.escape("{source}"), "(.*)"))


def inherited(path: str, dialect: str, data: bytes, read: Callable[[str], bytes | None]) -> bytes:
    """Return the lines that precede those of a file, oldest first; empty for most files.

    If a file was not found, they are those of the sessions after it: their first line names it.
    """
    history = _HISTORIES.get(dialect)
    return b"" if history is None else history.inherited(path, data, read)


def inherited_size(path: str) -> int:
    """Return about how many bytes come before those of a file. Reading it reports an error."""
    return sum(history.inherited_size(path) for history in _HISTORIES.values())


def lacking(session: t.ImportedSession) -> str | None:
    """Return the session whose file was not found when a fork was read; None for any other session."""
    found = (_MISSING.fullmatch(problem.message) for problem in session.problems)
    return next((match[1] for match in found if match is not None), None)


def has_appeared(path: str, session: t.ImportedSession) -> bool:
    """Return whether a file exists now that was not found when a fork was read."""
    source, history = lacking(session), _HISTORIES.get(session.format)
    return (
        source is not None and history is not None and next(history.files_of(path, source), None) is not None
    )
