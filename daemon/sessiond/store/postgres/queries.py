"""The named statements of `queries.sql`."""

from functools import cache
from pathlib import Path
from typing import Final

_NAME: Final = "-- name: "


@cache
def _statements() -> dict[str, str]:
    text = Path(__file__).with_name("queries.sql").read_text("utf-8")
    parts = (part.split("\n", 1) for part in text.split(_NAME)[1:])
    return {name.strip(): statement.strip().removesuffix(";") for name, statement in parts}


def query(name: str) -> str:
    """Return the statement with this name in `queries.sql`. Raises `KeyError`."""
    return _statements()[name]
