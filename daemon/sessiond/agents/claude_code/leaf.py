"""Finds the leaf of a Claude Code session, by the rule of its SDK and the pointer that later versions write.

The last visible message of the main conversation is the leaf. `last-prompt` names the leaf until a later message is
written. An explicit pointer stays valid until a message follows below it (decision 0023).
"""

from collections.abc import Callable, Container
from typing import Any

import msgspec

from sessiond.session.content import fields


class LeafState(msgspec.Struct):
    """The lines that decide on the leaf, as uuids.

    Attributes:
        newest: The last visible message.
        pointer: The line that the last pointer names.
        is_explicit: Whether a person chose the pointer.
        has_later: Whether a visible message came after the pointer.
        newest_below: The last of these that is below the line that the pointer names.
        is_below: Whether each line after an explicit pointer is below that line.
    """

    newest: str | None = None
    pointer: str | None = None
    is_explicit: bool = False
    has_later: bool = False
    newest_below: str | None = None
    is_below: dict[str, bool] = {}

    def take_pointer(self, value: dict[str, Any]) -> None:
        """Take a line that is not a link of the chain."""
        if value.get("type") != "last-prompt" or "leafUuid" not in value:
            return
        named, is_explicit = fields.text(value["leafUuid"]), value.get("explicit") is True
        if named is not None or is_explicit:
            self.pointer, self.is_explicit = named, is_explicit
            self.has_later, self.newest_below, self.is_below = False, None, {}

    def take_link(self, uuid: str, parent_of: Callable[[str], str | None], *, is_visible: bool) -> None:
        """Take a link of the chain. `parent_of` returns the parent of a line that was taken."""
        if self.is_explicit:
            self.is_below[uuid] = self._leads_to_pointer(uuid, parent_of)
        if not is_visible:
            return
        self.newest, self.has_later = uuid, True
        if self.is_below.get(uuid):
            self.newest_below = uuid

    def leaf(self, known: Container[str]) -> str | None:
        """Return the leaf. `known` has the uuids of the lines that were taken."""
        if self.pointer is None or self.pointer not in known:
            return self.newest
        if not self.has_later:
            return self.pointer
        return (self.newest_below or self.pointer) if self.is_explicit else self.newest

    def _leads_to_pointer(self, uuid: str, parent_of: Callable[[str], str | None]) -> bool:
        at = parent_of(uuid)
        while at is not None:
            if at == self.pointer:
                return True
            if (is_below := self.is_below.get(at)) is not None:
                return is_below
            at = parent_of(at)
        return False
