"""Answers `text/redact`. The finders of secrets are loaded with the first request."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from sessiond.protocol import types as t

if TYPE_CHECKING:
    from sessiond.hub.redaction.provider_keys import ProviderKeys
    from sessiond.hub.redaction.redactor import Redactor


class TextRedaction:
    """Removes secrets from texts of clients.

    Args:
        keys: Returns the finder of provider keys.
    """

    def __init__(self, keys: "Callable[[], Awaitable[ProviderKeys]]") -> None:
        self._keys = keys

    async def run(self, params: t.RedactParams) -> t.RedactResult:
        """Return the texts without secrets. Each is searched in a thread, so a cancellation takes effect after one."""
        keys = await self._keys()
        redactor = await asyncio.to_thread(_redactor, keys)
        texts = [await asyncio.to_thread(redactor.text, text, None) for text in params.texts]
        is_incomplete = not await asyncio.to_thread(keys.load)
        return t.RedactResult(
            texts=texts, redacted_count=redactor.found.total(), redaction_incomplete=is_incomplete
        )

    async def cleaner(self) -> Callable[[str], str]:
        """Return a function that removes the secrets from a text, with all rules loaded. Call it in a thread."""
        keys = await self._keys()
        await asyncio.to_thread(keys.load)
        redactor = await asyncio.to_thread(_redactor, keys)
        return lambda text: redactor.text(text, None)


def _redactor(keys: "ProviderKeys") -> "Redactor":
    from sessiond.hub.redaction.redactor import Redactor

    return Redactor(keys)
