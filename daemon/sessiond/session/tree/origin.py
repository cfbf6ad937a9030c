"""The origin of a session: the agent whose session it was read from, as entries of the log name it.

The entry `sessiond.origin` names the source. The last entry `sessiond.originState` says whether its file still exists,
and may name another file that has the same session of the agent (decision 0038).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from sessiond.unicode import valid_unicode

MAX_NAME_LENGTH: Final = 128
"""Limit of the characters of an agent's name and of a version. Longer values are ignored."""
_MAX_ID_LENGTH: Final = 512
_MAX_PATH_LENGTH: Final = 8192
LINEAGE: Final = "lineage"
"""The name of the sessions that a session continues, in the origin and in files that are written for agents."""
HERE: Final = "sessiond"
"""The agent's name in a lineage for a session that was read from no agent."""
MISSING_HISTORY: Final = "missingHistory"
"""The name of the history that a fork lacks, in the origin."""
_MAX_STEPS: Final = 100
_MAX_LINES: Final = 2**53


@dataclass(frozen=True, slots=True)
class OriginStep:
    """A session that was handed over to another agent: the agent in which it was held, and its id here."""

    agent: str
    session_id: str


@dataclass(frozen=True, slots=True)
class ForkHistory:
    """The history that a fork does not repeat: the agent's id of the session that has it, and its number of lines."""

    session_id: str
    line_count: int


FileState: TypeAlias = Literal["present", "archived", "gone"]
"""The state of the agent's file: it is among the agent's sessions, among its archived ones, or nowhere."""


@dataclass(frozen=True, slots=True)
class LogOrigin:
    """The origin of a session.

    Attributes:
        agent: The name of the agent, or of the format of the source if the agent is not known.
        session_id: The id of the session in the agent.
        path: The absolute path of the agent's file; None if it is not known.
        version: The version of the agent that began the session; None if it is not known.
        lineage: The sessions from which it was handed over, the first one first.
        automated: Whether a program gave the prompts, and no person.
        missing_history: The history before the session that is not in it; None if it is whole.
    """

    agent: str
    session_id: str
    path: str | None
    version: str | None
    lineage: tuple[OriginStep, ...] = ()
    automated: bool = False
    missing_history: ForkHistory | None = None


def origin_of(data: object) -> LogOrigin | None:
    """Return the origin in the `data` of an entry `sessiond.origin`; None if it names no source."""
    if not isinstance(data, Mapping):
        return None
    agent = _text(data, "agent", MAX_NAME_LENGTH) or _text(data, "source", MAX_NAME_LENGTH)
    session_id = _text(data, "sourceId", _MAX_ID_LENGTH)
    if agent is None or session_id is None:
        return None
    version = _text(data, "sourceVersion", MAX_NAME_LENGTH)
    path, is_automated = path_in(data), data.get("automated") is True
    missing = _missing_history(data.get(MISSING_HISTORY))
    return LogOrigin(agent, session_id, path, version, lineage_of(data), is_automated, missing)


def path_in(data: Mapping[str, Any]) -> str | None:
    """Return the path of the agent's file in the `data` of an entry; None if it names none."""
    return _text(data, "sourcePath", _MAX_PATH_LENGTH)


def at_path_in(origin: LogOrigin | None, data: Mapping[str, Any]) -> LogOrigin | None:
    """Return the origin with the path that the `data` of a later entry names, if it names one."""
    path = path_in(data)
    return origin if origin is None or path is None else replace(origin, path=path)


def taken_over(origin: LogOrigin | None, taker: str) -> LogOrigin | None:
    """Return the origin of a session whose prompts a `person` or a `program` gives from now on."""
    return None if origin is None else replace(origin, automated=taker == "program")


def lineage_of(data: Mapping[str, Any]) -> tuple[OriginStep, ...]:
    """Return the sessions that `data` names as those from which a session was handed over; () if it names none."""
    steps = data.get(LINEAGE)
    found: list[OriginStep] = []
    for step in steps[-_MAX_STEPS:] if isinstance(steps, list) else ():
        if not isinstance(step, Mapping):
            return ()
        agent, session_id = _text(step, "agent", MAX_NAME_LENGTH), _text(step, "sessionId", _MAX_ID_LENGTH)
        if agent is None or session_id is None:
            return ()
        found.append(OriginStep(agent, session_id))
    return tuple(found)


def _missing_history(data: object) -> ForkHistory | None:
    if not isinstance(data, Mapping):
        return None
    session_id, count = _text(data, "sessionId", _MAX_ID_LENGTH), data.get("lineCount")
    if (
        session_id is None
        or not isinstance(count, int)
        or isinstance(count, bool)
        or not 0 <= count <= _MAX_LINES
    ):
        return None
    return ForkHistory(session_id, count)


def _text(data: Mapping[str, Any], name: str, max_length: int) -> str | None:
    value = data.get(name)
    return valid_unicode(value) if isinstance(value, str) and 0 < len(value) <= max_length else None
