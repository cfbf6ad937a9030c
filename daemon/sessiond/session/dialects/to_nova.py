"""Writes NOVA's format: the working state as in `SessionState.to_dict`, without the conversation."""

from typing import Any

from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, Whole


def to_nova(whole: Whole, state: dict[str, Any], losses: ConversionLosses) -> bytes:
    """Return the contents of the file: the state without null values. The conversation is counted in `losses`."""
    for entry in whole.entries:
        if entry.get("customType") not in ("sessiond.state", "sessiond.tags"):
            losses.lose(f"{fields.type_of(entry) or 'unnamed'} entry")
    return fields.dumps({name: value for name, value in state.items() if value is not None}) + b"\n"
