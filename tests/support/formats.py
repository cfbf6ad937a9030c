"""A log's context in a provider's format, as `session/context` returns it, checked by the rules of providers."""

import json  # noqa: TID251 - what is sent is read as another program reads it
from dataclasses import dataclass
from typing import Any

from sessiond.session.formats import explain
from sessiond.session.formats.drafts import drafts
from sessiond.session.formats.provider_messages import ProviderMessages
from sessiond.session.formats.request_data import request_data
from sessiond.session.formats.write import SEPARATE_PROMPT, write
from sessiond.session.tree import steps
from support.logs import Line, Loaded, loaded
from support.providers import PROVIDERS, Message, Provider, check

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture of one pixel, as base64."""


@dataclass(frozen=True)
class Sent:
    """Messages for a provider: `reasons` is entry -> reason, `places` entry -> index of its message."""

    messages: list[Message]
    system: Any
    entry_ids: list[str]
    reasons: dict[str, str]
    places: dict[str, int | None]
    written: ProviderMessages


def sent(log: Loaded, format: Provider, leaf_id: str | None = None) -> Sent:
    """The context of a log, which the provider would accept."""
    leaf = log.tree.leaf if leaf_id is None else log.row(leaf_id)
    context = log.context(leaf_id)
    found, prompt_id = steps.run(request_data(log.tree, leaf, context, log.read))
    written = steps.run(write(format, context.messages, found))
    prompt_id = prompt_id if SEPARATE_PROMPT in written.message_indexes else None
    messages = [json.loads(bytes(message)) for message in written.messages]
    system = None if written.system is None else json.loads(bytes(written.system))
    check(format, messages, system)
    rows = steps.run(explain.explain(log.tree, leaf, context, log.read, written, prompt_id))
    return Sent(
        messages,
        system,
        [
            prompt_id or "" if source == SEPARATE_PROMPT else context.entry_ids[source]
            for source in written.sources
        ],
        {row.entry_id: row.reason for row in rows},
        {row.entry_id: row.message_index for row in rows},
        written,
    )


def sent_to_all(*lines: Line | bytes) -> dict[Provider, Sent]:
    """The context of these lines for each provider."""
    log = loaded(*lines)
    return {format: sent(log, format) for format in PROVIDERS}


def stored(format: Provider, *items: Any) -> list[Line]:
    """The entries that an append of provider messages stores, without ids."""
    return [json.loads(bytes(draft)) for item in items for draft in drafts(format, json.dumps(item).encode())]


def there_and_back(format: Provider, *items: Any) -> list[Message]:
    """Append messages of a provider, and return them as `session/context` does."""
    lines = [{"timestamp": "2026-03-01T08:00:00.000Z", **line} for line in stored(format, *items)]
    ids = [f"m{number}" for number in range(len(lines))]
    chained = [
        line | {"id": entry_id, "parentId": above}
        for line, entry_id, above in zip(lines, ids, [None, *ids], strict=False)
    ]
    return sent(
        loaded({"type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": "/"}, *chained), format
    ).messages
