"""Recognizes the history that Gemini CLI copies when it shortens old results at a resume.

Each copy is a line with another id. The first one has the program's context and the first prompt, the others the
calls and results that are known by their ids, and the texts. When the session is resumed once more, the copies are its
history, without the first prompt.
"""

from sessiond.agents.gemini.messages import Message, Slot, is_context_with_prompt


class Copies:
    """The copies of one session, by their ids.

    Attributes:
        next_place: The place in the history that the next copy may repeat; None if no history is being copied.
    """

    def __init__(self) -> None:
        self.next_place: int | None = None
        self._slots: dict[str, Slot] = {}

    def add(self, message: Message, slot: Slot) -> None:
        """Note that a message is a copy of another one."""
        self._slots[message.id] = slot

    def take(self, message: Message, history: list[Slot]) -> bool:
        """Return whether a message with a text is the next copy of a history."""
        if is_context_with_prompt(message):
            self.next_place = 0
        if self.next_place is None:
            return False
        place = self.next_place
        while place < len(history) and not history[place].is_spoken:
            place += 1
        is_copy = place < len(history) and history[place].is_copied_by(message)
        self.next_place = place + 1 if is_copy else None
        if is_copy:
            self.add(message, history[place])
        return is_copy

    def place_after(self, message: Message, history: list[Slot], place: int) -> int | None:
        """Return the place after the message that a copy repeats, from `place` on; None if it repeats none."""
        slot = self._slots.get(message.id)
        return history.index(slot, place) + 1 if slot is not None and slot in history[place:] else None

    def removed(self, message: Message, dropped: list[Slot], tip: str | None) -> list[Slot]:
        """Return the removed messages that follow `tip`, up to the one that a copy repeats; none if it repeats none.

        They include the prompt that the program left out.
        """
        slot = self._slots.get(message.id)
        if slot is None or slot not in dropped:
            return []
        chain = [slot]
        while slot.before != tip:
            before = next((other for other in dropped if other.end == chain[0].before), None)
            if before is None or before in chain:
                return []
            slot = before
            chain.insert(0, slot)
        return chain
