"""Answers `text/redact`. The finders of secrets are loaded with the first request."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from sessiond.protocol import types as t

if TYPE_CHECKING:
    from sessiond.hub.redaction.provider_keys import ProviderKeys


class TextRedaction:
    """Removes secrets from texts of clients.

    Args:
        keys: Returns the finder of provider keys.
    """

    def __init__(self, keys: "Callable[[], Awaitable[ProviderKeys]]") -> None:
        self._keys = keys

    async def run(self, params: t.RedactParams) -> t.RedactResult:
        """Return the texts without secrets. The work is done in a thread."""
        return await asyncio.to_thread(_redacted, params, await self._keys())


def _redacted(params: t.RedactParams, keys: "ProviderKeys") -> t.RedactResult:
    from sessiond.hub.redaction.redactor import Redactor

    redactor = Redactor(keys)
    texts = [redactor.text(it, None) for it in params.texts]
    return t.RedactResult(
        texts=texts, redacted_count=redactor.found.total(), redaction_incomplete=not keys.load()
    )
