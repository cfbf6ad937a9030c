"""Texts that count their living references, to detect texts that are kept in memory too long or too often."""

import gc
import weakref


class _Text(str):
    __slots__ = ("__weakref__",)


class HeldTexts:
    """Texts that are different objects even if they are equal."""

    def __init__(self) -> None:
        self._texts: list[weakref.ref[str]] = []

    def text(self, content: str) -> str:
        """Make a text without keeping a reference to it."""
        made = _Text(content)
        self._texts.append(weakref.ref(made))
        return made

    def __len__(self) -> int:
        """The number of texts that are still in memory."""
        gc.collect()
        self._texts = [text for text in self._texts if text() is not None]
        return len(self._texts)
