"""Derives the ids of a native session from the session, the leaf and the agent.

No id is random: the same entries give the same file, byte for byte, so that a repeated write gives the same session.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_VARIANT: Final = "89ab"


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


def uuid(*names: str) -> str:
    """Return a UUID, with the bits of version 4, that depends only on the names."""
    digits = _digest(*names).hex()
    variant = _VARIANT[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def letters(count: int, *names: str) -> str:
    """Return `count` (at most 32) letters and digits that depend only on the names."""
    return "".join(_LETTERS[byte % 62] for byte in _digest(*names)[:count])


def _digest(*names: str) -> bytes:
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).digest()
