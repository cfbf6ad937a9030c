"""Reads fields that other programs wrote: a value of the requested type, or a default. Nothing here raises."""

import hashlib
import json  # noqa: TID251 - numbers that msgspec refuses to write
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from sessiond.session.tree import entries, lines

_OF_EVERY_ENTRY: Final = ("type", "id", "parentId", "timestamp")


def text(value: object) -> str | None:
    """Return a string that is not empty, or None."""
    return value if isinstance(value, str) and value else None


def mapping(value: object) -> dict[str, Any]:
    """Return an object, or {} for any other value."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return an array, or [] for any other value."""
    return value if isinstance(value, list) else []


def number(value: object) -> int | float:
    """Return a number, or 0 for any other value."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def first(value: dict[str, Any], *names: str) -> Any:
    """Return the value of the first of these fields that is present and not null, or None."""
    return next((value[name] for name in names if value.get(name) is not None), None)


def model_change(provider: object, model: object) -> dict[str, str]:
    """Return the fields of a `model_change` in the forms of pi and oh-my-pi; without a provider, only the model."""
    name, owner = as_text(model), text(provider)
    return (
        {"model": f"{owner}/{name}", "provider": owner, "modelId": name}
        if owner
        else {"model": name, "modelId": name}
    )


def model_parts(change: dict[str, Any]) -> tuple[str, str]:
    """Return the provider and the model of a `model_change`; the provider is "" if there is none."""
    model = text(change.get("modelId"))
    if model is not None and (
        text(change.get("provider")) is not None or text(change.get("model")) in (None, model)
    ):
        return as_text(change.get("provider")), model
    provider, separator, name = as_text(change.get("model")).partition("/")
    return (provider, name) if separator else ("", provider)


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the fields except these."""
    return {name: field for name, field in value.items() if name not in names}


def payload_of(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry without the fields that all entries have."""
    return without(entry, *_OF_EVERY_ENTRY)


def type_of(entry: dict[str, Any]) -> str:
    """Return an entry's type, or ""."""
    return as_text(entry.get("type"))


def time(value: object, *, unit: float = 1.0) -> str | None:
    """Return a time as ISO 8601, or None. A non-empty string is returned unchanged.

    Args:
        value: A string, or a number of units since 1970.
        unit: The length of a unit in seconds.

    """
    if isinstance(value, str) and value:
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        moment = datetime.fromtimestamp(value * unit, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(value: object) -> float | None:
    """Return an ISO 8601 time as seconds since 1970, a number unchanged, and None for any other value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def milliseconds(value: object) -> int | None:
    """Return an ISO 8601 time in milliseconds since 1970, as in messages; a number is multiplied by 1000."""
    time_seconds = seconds(value)
    return None if time_seconds is None else round(time_seconds * 1000)


def entry_id(name: str) -> str:
    """Return a valid entry id: the name itself if it is one, or else an id derived from it."""
    return name if entries.valid_entry_id(name) else f"x-{digest(name)}"


def digest(*parts: str) -> str:
    """Return 16 hexadecimal digits that depend only on the texts."""
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:16]


def dumps(value: object) -> bytes:
    """Return compact JSON on one line. Integers of any length and lone surrogates are accepted, unlike by msgspec."""
    try:
        return lines.dumps(value)
    except OverflowError:
        return json.dumps(value, separators=(",", ":")).encode()


def as_text(value: object) -> str:
    """Return a string unchanged, "" for None, and any other value as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return dumps(value).decode()


def arguments(value: object) -> dict[str, Any]:
    """Return the arguments of a tool call: an object, or a string that holds one; any other value becomes `input`."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        try:
            decoded = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            decoded = None
        if isinstance(decoded, dict):
            return decoded
    return {} if value is None or value == "" else {"input": value}
