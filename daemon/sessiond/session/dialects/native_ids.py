"""Derives the ids of a native session from the session, the leaf and the agent.

No id is random: the same entries give the same file, byte for byte, so that writing twice gives one session.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from sessiond.session.content import fields
from sessiond.session.dialects.exported import ExportedSession

OPENCODE: Final = "opencode"

_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_VARIANT: Final = "89ab"
_TIME_BITS: Final = 48
_IDS_A_MILLISECOND: Final = 4096


@dataclass(frozen=True, slots=True)
class NativeTarget:
    """The native session that a writer writes.

    Attributes:
        session_id: The id of the native session.
        seed: The text from which the ids of its messages derive.
        model: A model that the user's agent has, as `provider/model`, for agents that resume with the model of the
            last message. Without one, the model of the source is written.
        version: The version of the agent that writes sessions here; None if it is not known.
    """

    session_id: str
    seed: str
    model: str | None = None
    version: str | None = None

    @property
    def version_field(self) -> dict[str, str]:
        """The version as a field of a line; {} if it is not known."""
        return {} if self.version is None else {"version": self.version}


def target_of(
    agent: str,
    whole: ExportedSession,
    *,
    generation: int = 0,
    model: str | None = None,
    version: str | None = None,
) -> NativeTarget:
    """Return the native session for the path to the leaf of a session.

    Args:
        agent: The name of the agent.
        whole: The session.
        generation: The number of native sessions of this path that the agent has continued. Each gives another id.
        model: See `NativeTarget`.
        version: See `NativeTarget`.
    """
    seed = "\0".join((agent, whole.session_id, whole.leaf or "", str(generation)))
    if agent == OPENCODE:
        started = fields.milliseconds(whole.timestamp) or 0
        return NativeTarget(opencode_id("ses", started, 0, seed, descending=True), seed, model, version)
    return NativeTarget(uuid(seed), seed, model, version)


def uuid(*names: str) -> str:
    """Return a UUID, with the bits of version 4, that depends only on the names."""
    digits = _digest(*names).hex()
    variant = _VARIANT[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def letters(count: int, *names: str) -> str:
    """Return `count` (at most 32) letters and digits that depend only on the names."""
    return "".join(_LETTERS[byte % 62] for byte in _digest(*names)[:count])


def opencode_id(kind: str, time_ms: int, number: int, seed: str, *, descending: bool = False) -> str:
    """Return an id of OpenCode, which sorts by its time, and by its number within one millisecond.

    Args:
        kind: `ses`, `msg` or `prt`.
        time_ms: The time in milliseconds since 1970.
        number: Its number among the ids of the same time.
        seed: The text from which the rest of the id derives.
        descending: Whether later ids sort first, as those of sessions do.
    """
    value = (time_ms * _IDS_A_MILLISECOND + number) % (1 << _TIME_BITS)
    if descending:
        value = (1 << _TIME_BITS) - 1 - value
    return f"{kind}_{value:012x}{letters(14, seed, kind, str(time_ms), str(number))}"


def _digest(*names: str) -> bytes:
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).digest()
