"""Items of an SDK as entries: the text of an item for people and models, and the item itself.

The item is stored as a JSON text, because a session moves images out of JSON objects and drops some of their fields.
"""

import json  # noqa: TID251 - an item may have half of a surrogate pair and integers of any length
import secrets
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sessiond.session.content import fields
from sessiond.unicode import valid_json

ITEM_FIELD: Final = "sdkItem"
"""The field of an entry that has an item as a JSON text."""

Entry = dict[str, Any]
Item = dict[str, Any]


def new_name() -> str:
    """Return a name for an item without one: 16 hexadecimal digits."""
    return secrets.token_hex(8)


def entries_of(item: Item, shown: Sequence[Entry], *, custom_type: str, name: str) -> list[Entry]:
    """Return the entries of an item.

    Args:
        item: The item.
        shown: Entries with the text of the item that people and models read. The first one gets the item.
        custom_type: The type of the custom entry for an item without shown text.
        name: The id of the first entry, if it is valid, or what its id is derived from.
    """
    entry_id, text = fields.entry_id(name), json.dumps(item, separators=(",", ":"))
    if not shown:
        return [{"type": "custom", "id": entry_id, "customType": custom_type, "data": text}]
    ids = [entry_id, *(f"{entry_id[:58]}-{number}" for number in range(1, len(shown)))]
    found = [{**valid_json(entry), "id": entry_id} for entry, entry_id in zip(shown, ids, strict=True)]
    found[0][ITEM_FIELD] = text
    return found


def without_shown(entries: Sequence[Entry], *, custom_type: str) -> list[Entry]:
    """Return the one entry that stores the item of these entries without showing it."""
    first = entries[0]
    text = first.get(ITEM_FIELD, first.get("data"))
    return [{"type": "custom", "id": first["id"], "customType": custom_type, "data": text}]


def item_of(entry: Entry, *, custom_type: str) -> Item | None:
    """Return the item of an entry, or None if it has none."""
    text = entry.get(ITEM_FIELD)
    if text is None and entry.get("type") == "custom" and entry.get("customType") == custom_type:
        text = entry.get("data")
    try:
        item = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return item if isinstance(item, dict) else None


def items_of(entries: Iterable[Entry], *, custom_type: str) -> list[Item]:
    """Return the items of entries, in their order."""
    found = (item_of(entry, custom_type=custom_type) for entry in entries)
    return [item for item in found if item is not None]
