"""Converts between the agents' format, in which sessions are stored, and the formats of providers."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from sessiond.hub.errors import InvalidEntry
from sessiond.hub.session.live import LiveSession
from sessiond.session.context.context import Context
from sessiond.session.formats.build import UnreadableMessage
from sessiond.session.formats.drafts import drafts
from sessiond.session.formats.provider_messages import ProviderMessages
from sessiond.session.formats.request_data import request_data
from sessiond.session.formats.write import SEPARATE_PROMPT, Provider, write


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """A context in a provider's format.

    Attributes:
        written: The messages, the system prompt, and the origin of each.
        prompt_id: The entry of the system prompt that was added to the context, if any.
        entry_ids: The entry that each message came from; "" without one.
    """

    written: ProviderMessages
    prompt_id: str | None
    entry_ids: list[str]


def to_drafts(format: Provider, items: Sequence[bytes | Raw]) -> list[Raw]:
    """Return the drafts of items in a provider's format. Raises `InvalidEntry`."""
    found: list[Raw] = []
    for index, item in enumerate(items):
        try:
            found += map(Raw, drafts(format, item))
        except RecursionError:
            raise InvalidEntry(index, "it is nested too deeply") from None
        except (UnreadableMessage, msgspec.DecodeError) as error:
            raise InvalidEntry(index, str(error)) from None
    return found


async def from_context(
    live: LiveSession, leaf_row: int, context: Context, format: Provider
) -> ProviderContext:
    """Return the context of a row in a provider's format."""
    added, prompt_id = await live.drive(request_data(live.tree, leaf_row, context, live.read_rows))
    written = await live.drive(write(format, context.messages, added))
    if SEPARATE_PROMPT not in written.message_indexes:
        prompt_id = None
    entry_ids = [
        prompt_id or "" if source == SEPARATE_PROMPT else context.entry_ids[source]
        for source in written.sources
    ]
    return ProviderContext(written, prompt_id, entry_ids)
