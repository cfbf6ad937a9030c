"""Export to NOVA: the working state as `SessionState.to_dict` has it. It holds no conversation."""

from typing import Any

from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, Whole


def to_nova(whole: Whole, state: dict[str, Any], losses: ConversionLosses) -> bytes:
    """The file: the given state, without what is null, as NOVA leaves it out."""
    for entry in whole.entries:
        if entry.get("customType") not in ("sessiond.state", "sessiond.tags"):
            losses.lose(f"{fields.type_of(entry) or 'unnamed'} entry")
    return fields.dumps({name: value for name, value in state.items() if value is not None}) + b"\n"
