"""Texts that tell how many of them something still holds: what is kept too long, or too often, is seen in memory."""

import gc
import weakref


class _Text(str):
    __slots__ = ("__weakref__",)


class HeldTexts:
    """Texts of which each is another object, also if it is equal."""

    def __init__(self) -> None:
        self._texts: list[weakref.ref[str]] = []

    def text(self, content: str) -> str:
        """Make a text, and hold it no longer than the receiver does."""
        made = _Text(content)
        self._texts.append(weakref.ref(made))
        return made

    def __len__(self) -> int:
        """The number of texts that are still held."""
        gc.collect()
        self._texts = [text for text in self._texts if text() is not None]
        return len(self._texts)
