"""Converts the error messages of msgspec into sentences about a parameter.

Nothing is decoded here. The types supply only the facts that a message omits, such as the possible values.
"""

import re
from typing import Final

from msgspec import inspect

_KINDS: Final = {
    "int": "an integer", "float": "a number", "str": "a string", "bool": "true or false",
    "array": "an array", "object": "an object", "null": "null",
}  # fmt: skip
_UNITS: Final = {"str": "character", "array": "item", "object": "name", "bytes": "byte"}
_BOUNDS: Final = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than", "==": "exactly"}

_place = re.compile(r" - at `(?:key` in `)?\$(.*)`$", re.DOTALL).search
_step = re.compile(r"\.([^.\[]+)|\[[^\]]*\]").finditer
_wrong_kind = re.compile(r"Expected `(.+)`, got `(.+)`").fullmatch
_out_of_range = re.compile(r"Expected `(?:int|float)` ([<>]=?) (.+)").fullmatch
_wrong_length = re.compile(r"Expected `(\w+)` of length ([<>=]=?) (\d+)").fullmatch
_no_match = re.compile(r"Expected `str` matching regex (.+)", re.DOTALL).fullmatch
_no_such_value = re.compile(r"Invalid enum value (.+)", re.DOTALL).fullmatch
_missing = re.compile(r"Object missing required field `(.+)`").fullmatch


def problem_of(message: str, kind: inspect.Type | None = None) -> tuple[str, str]:
    """Return a sentence about the error in msgspec's `message`, and the JSON path of the value.

    Args:
        message: The message of a `msgspec.DecodeError`.
        kind: The expected type of the value. If it is given, the sentence lists the possible values.

    Returns:
        The sentence without its period ("`limit` must be at least 1"), and the path ("$.limit").

    """
    found = _place(message)
    description, inside = (message[: found.start()], found[1]) if found else (message, "")
    name = f"`{inside.lstrip('.')}`" if inside else "params"
    if missing := _missing(description):
        where = f" in {name}" if inside else ""
        return f"missing parameter `{missing[1]}`{where}", f"${inside}"
    return f"{name} {_requirement(description, _kind_at(kind, inside))}", f"${inside}"


def struct_in(kind: inspect.Type) -> inspect.StructType | None:
    """Return the object type that a value of this `kind` may have, if there is one."""
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return next((member for member in kinds if isinstance(member, inspect.StructType)), None)


def _requirement(description: str, kind: inspect.Type | None) -> str:
    if wrong := _wrong_kind(description):
        return f"must be {_named(wrong[1])}, not {_named(wrong[2])}"
    if bound := _out_of_range(description):
        return f"must be {_BOUNDS[bound[1]]} {_number(bound[2])}"
    if length := _wrong_length(description):
        unit = _UNITS.get(length[1], length[1])
        return f"must have {_BOUNDS[length[2]]} {_number(length[3])} {unit}{'' if length[3] == '1' else 's'}"
    if pattern := _no_match(description):
        return f"must match the regular expression {pattern[1]}"
    if value := _no_such_value(description):
        possible = ", ".join(f"`{allowed}`" for allowed in _values_of(kind))
        return (
            f"must be one of {possible}, not {value[1]:.80}"
            if possible
            else f"has the invalid value {value[1]:.80}"
        )
    return f"is invalid: {description[:1].lower()}{description[1:]:.200}"


def _named(kinds: str) -> str:
    return " or ".join(_KINDS.get(kind, kind) for kind in kinds.split(" | "))


def _number(digits: str) -> str:
    return f"{int(digits):,}" if digits.lstrip("-").isdecimal() else digits


def _kind_at(kind: inspect.Type | None, place: str) -> inspect.Type | None:
    """Return the type at a place below a value of this `kind`."""
    for step in _step(place):
        kind = _below(kind, step[1])
    return kind


def _below(kind: inspect.Type | None, name: str | None) -> inspect.Type | None:
    """Return the type of the field `name`, or of an item if `name` is None."""
    if kind is None:
        return None
    if name is not None:
        struct = struct_in(kind)
        return (
            next((field.type for field in struct.fields if field.encode_name == name), None)
            if struct
            else None
        )
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    for member in kinds:
        if isinstance(member, inspect.ListType):
            return member.item_type
        if isinstance(member, inspect.DictType):
            return member.value_type
    return None


def _values_of(kind: inspect.Type | None) -> list[object]:
    if kind is None:
        return []
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [value for member in kinds if isinstance(member, inspect.LiteralType) for value in member.values]
