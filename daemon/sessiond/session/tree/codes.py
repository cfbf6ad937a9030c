"""Numeric codes for the types of entries and the roles of messages."""

from typing import Final

from sessiond.session.tree import entries

NONE: Final = -1
"""No row: the parent of a root, or the leaf before the first entry."""

KINDS: Final = ("bad", "other", "session", *entries.TYPES)
KIND: Final[dict[str, int]] = {name: code for code, name in enumerate(KINDS)}
BAD: Final = KIND["bad"]
OTHER: Final = KIND["other"]
HEADER: Final = KIND["session"]
MESSAGE: Final = KIND["message"]
LEAF: Final = KIND["leaf"]

ROLES: Final = ("", "other", "user", "assistant", "toolResult")
ROLE: Final[dict[str, int]] = {name: code for code, name in enumerate(ROLES) if name}
OTHER_ROLE: Final = ROLE["other"]
USER: Final = ROLE["user"]
ASSISTANT: Final = ROLE["assistant"]


class _Codes(dict[str, int]):
    """Codes by name, with a default for all other names."""

    def __init__(self, codes: dict[str, int], other: int) -> None:
        super().__init__(codes)
        self._other = other

    def __missing__(self, name: str) -> int:
        return self._other


KIND_OF: Final = _Codes({name: code for name, code in KIND.items() if code > HEADER}, OTHER)
"""The kind of an entry by its `type`; `OTHER` for an unknown one."""
ROLE_OF: Final = _Codes(ROLE, OTHER_ROLE)
"""The code of a message's role; `OTHER_ROLE` for an unknown one."""
