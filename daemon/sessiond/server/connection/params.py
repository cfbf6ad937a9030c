"""Decodes the params of a request. Unknown names are refused, and the error suggests the nearest known ones.

Params that decode need no further work. Only if decoding fails, the names in the objects are compared with the
types.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import get_annotations
from typing import Any, Final, TypeVar, get_args

import msgspec
from msgspec import Raw, inspect

from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.violations import problem_of, struct_in
from sessiond.server.errors import InvalidParams
from sessiond.text import one_line

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)

_MAX_NAMED: Final = 5
"""Unknown names that one error lists."""
_NAME_CHARACTERS: Final = 80  # characters of a name that are compared and shown
_NEAR: Final = 0.45
"""Least similarity for a suggestion, from 0 to 1."""
_AS_NEAR: Final = 0.1
"""Maximum difference between the similarity of a further suggestion and that of the best one."""

_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_array = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ParamsReader:
    """The decoders for the params of one method.

    Attributes:
        decode: Decodes params without extensions. Raises `msgspec.DecodeError`, `RecursionError` or `InvalidParams`.
        decode_slowly: Decodes params for which `decode` raised one of the first two errors. It removes `_meta` and
            names that begin with `x-`. Raises `InvalidParams`.

    """

    decode: Callable[[bytes], Any]
    decode_slowly: Callable[[bytes], Any]


@dataclass(frozen=True, slots=True)
class _Unknown:
    """An unknown name in an object: the path of the object, the name, and the known names."""

    place: str
    name: str
    possible: list[str]


def reader_of(method: m.Method[P, R]) -> ParamsReader:
    """Return the decoders for the params of `method`."""
    decode = msgspec.json.Decoder(method.params).decode

    def decode_slowly(body: bytes) -> P:
        kind = inspect.type_info(method.params)
        unknown: list[_Unknown] = []
        try:
            known = _without_extensions(Raw(body), kind, "$", unknown)
            if unknown:
                raise _refusal(method.name, unknown)
            return decode(known)
        except msgspec.DecodeError as error:
            raise InvalidParams(method.name, *problem_of(str(error), kind)) from None
        except RecursionError:
            raise InvalidParams(method.name, "params are nested too deeply") from None

    # Types that results also use ignore unknown names, so `decode` alone would not report them.
    return ParamsReader(decode_slowly if _ignores_names(method.params) else decode, decode_slowly)


def is_extension(name: str) -> bool:
    """Return whether the protocol reserves a name for its users: `_meta`, and names that begin with `x-`."""
    return name == "_meta" or name.startswith("x-")


def _without_extensions(body: Raw, kind: inspect.Type, place: str, unknown: list[_Unknown]) -> Raw:
    """Return `body` without the names reserved for users, as bytes. Unknown names are added to `unknown`."""
    struct = struct_in(kind)
    item = _item_in(kind)
    try:
        if struct is not None:
            return _object(body, struct, place, unknown)
        if item is not None:
            items = enumerate(_decode_array(body))
            return Raw(
                _encode([_without_extensions(value, item, f"{place}[{i}]", unknown) for i, value in items])
            )
    except msgspec.ValidationError:
        pass  # neither an object nor an array: the decoder of the type reports it
    return body


def _object(body: Raw, struct: inspect.StructType, place: str, unknown: list[_Unknown]) -> Raw:
    fields = {field.encode_name: field.type for field in struct.fields}
    known: dict[str, Raw] = {}
    given = _decode_object(body)
    for name, value in given.items():
        if name in fields:
            known[name] = _without_extensions(value, fields[name], f"{place}.{name}", unknown)
        elif not is_extension(name):
            unknown.append(
                _Unknown(place, name, [field for field in fields if field not in given] or [*fields])
            )
    return Raw(_encode(known))


def _item_in(kind: inspect.Type) -> inspect.Type | None:
    """Return the type of an array's items, if they are objects with known names."""
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    items = (other.item_type for other in kinds if isinstance(other, inspect.ListType))
    return next((item for item in items if struct_in(item) is not None), None)


def _ignores_names(kind: object) -> bool:
    """Return whether a type, or a type that it refers to, ignores unknown names when it decodes objects."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return any(map(_ignores_names, get_args(kind)))
    named = (annotation for base in kind.__mro__ for annotation in get_annotations(base).values())
    return not kind.__struct_config__.forbid_unknown_fields or any(map(_ignores_names, named))


def _refusal(method: str, unknown: list[_Unknown]) -> InvalidParams:
    first = unknown[0]
    of_first = [other for other in unknown if other.place == first.place][:_MAX_NAMED]
    suggestions = list(
        dict.fromkeys(name for other in of_first for name in nearest(other.name, other.possible))
    )
    names = ", ".join(f"`{_shown(other.name)}`" for other in of_first)
    where = "" if first.place == "$" else f" in `{first.place[2:]}`"
    problem = f"unknown parameter{'s' if len(of_first) > 1 else ''} {names}{where}"
    listed = ", ".join(f"`{name}`" for name in suggestions or first.possible)
    hint = (
        f"Did you mean {listed}?"
        if suggestions
        else f"Parameters are {listed}."
        if listed
        else "There are none."
    )
    return InvalidParams(method, problem, f"{first.place}.{_shown(first.name)}", suggestions, hint)


def nearest(name: str, possible: list[str]) -> list[str]:
    """Return up to three of the `possible` names that are similar to `name`, ignoring case. Empty if none is."""
    by_lower: Mapping[str, str] = {name.lower(): name for name in possible}
    target = name[:_NAME_CHARACTERS].lower()
    import difflib  # only errors need it

    suggestions = difflib.get_close_matches(target, by_lower, 3, _NEAR)
    likeness = [difflib.SequenceMatcher(None, suggestion, target).ratio() for suggestion in suggestions]
    return [
        by_lower[suggestion]
        for suggestion, ratio in zip(suggestions, likeness, strict=True)
        if ratio > likeness[0] - _AS_NEAR
    ]


def _shown(name: str) -> str:
    return one_line(name)[:_NAME_CHARACTERS]
