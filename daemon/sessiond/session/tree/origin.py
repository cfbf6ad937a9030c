"""The origin of a session: the agent whose session it was read from, as entries of the log name it.

The entry `sessiond.origin` names the source. The last entry `sessiond.originState` says whether its file still exists
(decision 0038).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sessiond.unicode import valid_unicode

MAX_NAME_LENGTH: Final = 128
"""Limit of the characters of an agent's name and of a version. Longer values are ignored."""
_MAX_ID_LENGTH: Final = 512
_MAX_PATH_LENGTH: Final = 8192


@dataclass(frozen=True, slots=True)
class LogOrigin:
    """Where a session comes from.

    Attributes:
        agent: The name of the agent, or of the format of the source if the agent is not known.
        session_id: The id of the session in the agent.
        path: The absolute path of the agent's file; None if it is not known.
        version: The version of the agent that began the session; None if it is not known.
    """

    agent: str
    session_id: str
    path: str | None
    version: str | None


def origin_of(data: object) -> LogOrigin | None:
    """Return the origin in the `data` of an entry `sessiond.origin`; None if it names no source."""
    if not isinstance(data, Mapping):
        return None
    agent = _text(data, "agent", MAX_NAME_LENGTH) or _text(data, "source", MAX_NAME_LENGTH)
    session_id = _text(data, "sourceId", _MAX_ID_LENGTH)
    if agent is None or session_id is None:
        return None
    path = _text(data, "sourcePath", _MAX_PATH_LENGTH)
    return LogOrigin(agent, session_id, path, _text(data, "sourceVersion", MAX_NAME_LENGTH))


def _text(data: Mapping[str, Any], name: str, max_length: int) -> str | None:
    value = data.get(name)
    return valid_unicode(value) if isinstance(value, str) and 0 < len(value) <= max_length else None
