"""Notes of the schema on a field beyond its type, in the same few words for each target."""

from typing import Any

import msgspec

JsonSchema = dict[str, Any]

_NO_NUL = r"^[^\x00]+$"
"""The pattern of texts in which only NUL is not allowed."""


def notes(field: JsonSchema) -> str:
    """The field's comment, its bounds and its default, each as a sentence; empty when there is none."""
    parts = (field.get("description"), bounds(field), _default(field))
    return " ".join(f"{part[0].upper()}{part[1:].rstrip('.')}." for part in parts if part)


def is_nullable(field: JsonSchema) -> bool:
    """Whether null is one of the field's values."""
    return any(option.get("type") == "null" for option in _options(field))


def without_null(field: JsonSchema) -> list[JsonSchema]:
    """The alternatives of a field without null; a plain type is the only alternative."""
    return [option for option in _options(field) or [field] if option.get("type") != "null"]


def _options(field: JsonSchema) -> list[JsonSchema]:
    """Return the alternatives of a field; none if it has one plain type."""
    found: list[JsonSchema] = field.get("anyOf") or field.get("oneOf") or []
    return found


def is_open(field: JsonSchema) -> bool:
    """Whether the field has an enumeration's values and may have any other string."""
    options = field.get("anyOf", ())
    return {"type": "string"} in options and any("$ref" in option for option in options)


def is_enumeration(definition: JsonSchema) -> bool:
    """Whether a definition is that of an enumeration."""
    return "enumDescriptions" in definition


def repeatable(schema: JsonSchema) -> list[str]:
    """The methods whose params take a `commandId`."""
    params = {name: method["params"]["$ref"].rpartition("/")[2] for name, method in schema["methods"].items()}
    return [name for name, value in params.items() if "commandId" in schema["$defs"][value]["properties"]]


def constant(name: str) -> str:
    """The identifier of a message in code: `session/leafMoved` is `sessionLeafMoved`, `$/progress` `progress`."""
    noun, *rest = name.removeprefix("$/").split("/")
    return noun + "".join(word[0].upper() + word[1:] for word in rest)


def literal(value: object) -> str:
    """A value as JSON writes it, which TypeScript reads, and Lua too when it is a string."""
    return msgspec.json.encode(value).decode()


def bounds(field: JsonSchema) -> str:
    """The bounds of a field's length or number; empty if it has no bounds."""
    for option in without_null(field):
        if "minLength" in option or "maxLength" in option:
            words = f"{_range(option.get('minLength'), option.get('maxLength'))} characters"
            pattern = option.get("pattern")
            if pattern == _NO_NUL:
                return f"{words} without NUL"
            return words if pattern is None else f"{words} matching `{pattern}`"
        if "minItems" in option or "maxItems" in option:
            return f"{_range(option.get('minItems'), option.get('maxItems'))} items"
        if "minimum" in option or "maximum" in option:
            return _range(option.get("minimum"), option.get("maximum"))
    return ""


def _range(least: int | None, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    if least is None:
        return f"at most {most}"
    return f"{least} to {most}"


def _default(field: JsonSchema) -> str:
    if field.get("default") is None:
        return ""
    return f"default `{literal(field['default'])}`"
