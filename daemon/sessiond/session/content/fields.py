"""Reading fields that other programs wrote: a value of the type one asks for, or nothing. Nothing can fail."""

import hashlib
import json  # noqa: TID251 - numbers that msgspec refuses to write
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from sessiond.session.tree import entries, lines

_OF_EVERY_ENTRY: Final = ("type", "id", "parentId", "timestamp")


def text(value: object) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def mapping(value: object) -> dict[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """An array, or an empty one."""
    return value if isinstance(value, list) else []


def number(value: object) -> int | float:
    """A number, or 0."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def first(value: dict[str, Any], *names: str) -> Any:
    """The first of these fields that is there and not null."""
    return next((value[name] for name in names if value.get(name) is not None), None)


def model_change(provider: object, model: object) -> dict[str, str]:
    """The fields of a `model_change` in the forms of pi and oh-my-pi; without a provider the model stands alone."""
    name, owner = as_text(model), text(provider)
    return (
        {"model": f"{owner}/{name}", "provider": owner, "modelId": name}
        if owner
        else {"model": name, "modelId": name}
    )


def model_parts(change: dict[str, Any]) -> tuple[str, str]:
    """Provider and model of a `model_change`; the provider is empty where none is named."""
    model = text(change.get("modelId"))
    if model is not None and (
        text(change.get("provider")) is not None or text(change.get("model")) in (None, model)
    ):
        return as_text(change.get("provider")), model
    provider, slash, name = as_text(change.get("model")).partition("/")
    return (provider, name) if slash else ("", provider)


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """The fields but these."""
    return {name: it for name, it in value.items() if name not in names}


def payload_of(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without what all entries have."""
    return without(entry, *_OF_EVERY_ENTRY)


def type_of(entry: dict[str, Any]) -> str:
    """An entry's type; nothing for one that has none."""
    return as_text(entry.get("type"))


def time(value: object, *, unit: float = 1.0) -> str | None:
    """A time as ISO 8601: a text as it is, a number of units of so many seconds since 1970."""
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
    """An ISO 8601 time as seconds since 1970; a number as it is."""
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
    """An ISO 8601 time as milliseconds since 1970, as messages carry it."""
    at = seconds(value)
    return None if at is None else round(at * 1000)


def entry_id(name: str) -> str:
    """An id that an entry here may have: the name itself where it can be one, else made from it."""
    return name if entries.valid_entry_id(name) else f"x-{digest(name)}"


def digest(*parts: str) -> str:
    """16 hex characters that always follow from the same texts."""
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:16]


def dumps(value: object) -> bytes:
    """Compact JSON of one line, also of what msgspec refuses: integers of any length, halves of pairs."""
    try:
        return lines.dumps(value)
    except OverflowError:
        return json.dumps(value, separators=(",", ":")).encode()


def as_text(value: object) -> str:
    """A text as it is, anything else as JSON; nothing for null."""
    if value is None or isinstance(value, str):
        return value or ""
    return dumps(value).decode()


def arguments(value: object) -> dict[str, Any]:
    """The arguments of a tool call: an object, or a text that holds one; anything else as `input`."""
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
