"""Writes NOVA's format: the working state as in `SessionState.to_dict`, without the conversation."""

from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession

_NAMES: Final = {"updated_at": "last_updated", "parent_session_id": "fork_parent_id"}
"""The names of NOVA for fields of the working state that have other names here."""


def to_nova(whole: ExportedSession, state: dict[str, Any], losses: ConversionLosses) -> bytes:
    """Return the contents of the file: the state without null values. The conversation is counted in `losses`."""
    for entry in whole.entries:
        if entry.get("customType") not in ("sessiond.state", "sessiond.tags"):
            losses.lose(f"{fields.type_of(entry) or 'unnamed'} entry")
    return (
        fields.dumps({_NAMES.get(name, name): value for name, value in state.items() if value is not None})
        + b"\n"
    )
