"""The whole protocol as one JSON Schema document (draft 2020-12), generated from the tables and types.

`sessiond schema` prints it. Documents, TypeScript and Lua are rendered from it. Applied to a value, the document
accepts a message of this protocol. The daemon itself decodes messages with the types.
"""

import inspect
from collections.abc import Iterable
from types import ModuleType, NoneType
from typing import Any, Final, get_args

import msgspec

from sessiond.error_text import TemplatedError
from sessiond.protocol import error_details, errors, methods, types
from sessiond.protocol.advice import ADVICE
from sessiond.protocol.comments import field_comments
from sessiond.protocol.common_fields import COMMON_FIELDS
from sessiond.protocol.enum_schema import definitions_of_enumerations, name_enumerations
from sessiond.protocol.envelopes import envelopes
from sessiond.session.tree import entries

JsonSchema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_BESIDE_METHODS = (types.InitializeOptions, errors.ErrorData)
_ENTRIES = get_args(entries.AnyPayload)


class Undocumented(TemplatedError):
    """Raised when the schema is generated from types without docstrings."""

    sentence = "{names}: no docstring."
    advice = "It crosses the wire, so say in its class what it is."

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names=", ".join(names))


def schema() -> JsonSchema:
    """Return methods, notifications, error kinds and, under `$defs`, every type.

    Raises:
        Undocumented: A type has no docstring.
    """
    return {
        "$schema": DIALECT,
        "$id": f"urn:sessiond:protocol:{methods.PROTOCOL_VERSION}",
        "title": "sessiond protocol",
        "description": (
            "JSON-RPC 2.0 between a client and the daemon. The daemon refuses unknown params, except `_meta` and "
            "names that begin with `x-`; a client ignores unknown fields."
        ),
        "protocolVersion": methods.PROTOCOL_VERSION,
        "methods": {method.name: _method(method) for method in methods.METHODS.values()},
        "clientMethods": {method.name: _client_method(method) for method in methods.CLIENT_METHODS.values()},
        "notifications": {
            notification.name: _notification(notification) for notification in methods.NOTIFICATIONS.values()
        },
        "bothWays": {
            methods.PROGRESS: _notification(methods.Notification(methods.PROGRESS, types.ProgressNote))
        },
        "errors": {kind.name: _error(kind) for kind in errors.KINDS.values()},
        "$defs": definitions(
            (
                *(
                    kind
                    for table in (methods.METHODS, methods.CLIENT_METHODS)
                    for method in table.values()
                    for kind in (method.params, method.result)
                ),
                *(note.params for note in methods.NOTIFICATIONS.values()),
                types.ProgressNote,
                *_BESIDE_METHODS,
                *(kind.details for kind in errors.KINDS.values() if kind.details is not NoneType),
            )
        ),
    }


def whole_schema() -> JsonSchema:
    """Return `schema()` with the envelopes of messages. The root accepts any message.

    Raises:
        Undocumented: A type has no docstring.
    """
    tables = schema()
    return tables | {"$ref": "#/$defs/Message", "$defs": tables["$defs"] | envelopes(tables)}


def definitions(wire: Iterable[type]) -> JsonSchema:
    """Return the definitions of these types, of all types they use, and of entries and drafts.

    Raises:
        Undocumented: A type has no docstring.
    """
    found = _components(wire) | _entry_definitions()
    enumerations = definitions_of_enumerations()
    found = {name: name_enumerations(schema, enumerations) for name, schema in found.items()} | enumerations
    comments = _comments(*_modules(types), entries, errors, error_details)
    undocumented = [name for name, definition in found.items() if not definition.get("description")]
    if undocumented:
        raise Undocumented(undocumented)
    for name, definition in found.items():
        if definition.get("type") == "object" and definition.get("additionalProperties") is not True:
            definition["patternProperties"] = {"^(_meta$|x-)": {}}
        definition["description"] = inspect.cleandoc(definition["description"])
        is_line = definition.get("additionalProperties") is True
        for field, schema in definition.get("properties", {}).items():
            if comment := comments.get(name, {}).get(field):
                schema["description"] = comment
            elif not is_line and (
                common := COMMON_FIELDS.get(field) or _enumeration_of(schema, enumerations)
            ):
                schema.setdefault("description", common)
            if field.endswith("At") and not is_line:
                _add_format(schema, "date-time")
    return found


def _enumeration_of(field: JsonSchema, enumerations: JsonSchema) -> str:
    """Return the description of the enumeration whose values a field has; empty if it has none."""
    for option in (field, *field.get("anyOf", ())):
        if found := enumerations.get(option.get("$ref", "").rpartition("/")[2]):
            return str(found["description"]).rstrip(".")
    return ""


def _method(method: methods.Method[Any, Any]) -> JsonSchema:
    return _client_method(method) | {"errors": list(method.errors)}


def _client_method(method: methods.Method[Any, Any]) -> JsonSchema:
    """Describe a request that a client answers. It has no error kinds of its own."""
    return {
        "description": inspect.getdoc(method.params),
        "params": {"$ref": f"#/$defs/{method.params.__name__}"},
        "result": {"$ref": f"#/$defs/{method.result.__name__}"},
        "stability": method.stability,
    }


def _notification(notification: methods.Notification[Any]) -> JsonSchema:
    params = notification.params
    return {
        "description": inspect.getdoc(params),
        "params": {"$ref": f"#/$defs/{params.__name__}"},
        "stability": notification.stability,
    }


def _error(kind: errors.ErrorKind[Any]) -> JsonSchema:
    advice = ADVICE[kind.name]
    has_details = kind.details is not NoneType
    return {
        "code": kind.code,
        "retryable": kind.retryable,
        "general": kind.general,
        "details": {"$ref": f"#/$defs/{kind.details.__name__}"} if has_details else {"type": "null"},
        "description": advice.means,
        "action": advice.action,
    }


def _components(kinds: Iterable[type]) -> JsonSchema:
    """Return the definitions of the types. If a struct sends its defaults, only its unset fields are optional."""
    found: JsonSchema = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")[1]
    for kind in _structs(kinds):
        definition = found[kind.__name__]
        if issubclass(kind, types.Wire) and not kind.__struct_config__.omit_defaults:
            unset = {
                field.encode_name for field in msgspec.structs.fields(kind) if field.default is msgspec.UNSET
            }
            definition["required"] = [name for name in definition["properties"] if name not in unset]
            for field in definition["properties"].values():
                field.pop("default", None)
    return found


def _structs(kinds: Iterable[Any]) -> set[type[msgspec.Struct]]:
    """Return the structs among types, and those in their fields."""
    found: set[type[msgspec.Struct]] = set()
    open_: list[Any] = list(kinds)
    while open_:
        kind = open_.pop()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            if kind not in found:
                found.add(kind)
                open_ += [field.type for field in msgspec.structs.fields(kind)]
        else:
            open_ += get_args(kind)
    return found


def _entry_definitions() -> JsonSchema:
    """Return `Entry` and `Draft` (`Raw` in the types), and each known entry type with its common fields.

    Lines keep fields that sessiond does not know, so the definitions state `additionalProperties`.
    """
    found = _components((*_ENTRIES, entries.EntryBase, entries.DraftHead))
    common = found["EntryBase"]
    for kind in _ENTRIES:
        known = found[kind.__name__]
        known["properties"] = common["properties"] | known["properties"]
        known["properties"]["type"] = {"const": known["properties"]["type"]["enum"][0]}
        known["required"] = list(dict.fromkeys((*common["required"], *known["required"])))
    draft = found.pop("DraftHead")
    draft["title"] = "Draft"
    draft["description"] = (
        "An entry before the daemon has given it what it lacks: it may be without `id`, `parentId` or "
        "`timestamp`. The other fields are those of its type."
    )
    for definition in (*found.values(), draft):
        definition["additionalProperties"] = True
    return found | {
        "KnownEntry": {
            "description": "An entry of a type that sessiond knows, as its owners write it.",
            "oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in _ENTRIES],
        },
        "Entry": {
            "description": "An entry as its line has it, unknown types and unknown fields included.",
            "anyOf": [{"$ref": "#/$defs/KnownEntry"}, {"$ref": "#/$defs/EntryBase"}],
        },
        "Draft": draft,
    }


def _modules(package: ModuleType) -> list[ModuleType]:
    return [module for module in vars(package).values() if isinstance(module, ModuleType)]


def _comments(*modules: ModuleType) -> dict[str, dict[str, str]]:
    """Return class name -> field name on the wire -> comment. Empty if Python has no source files."""
    found: dict[str, dict[str, str]] = {}
    for module in modules:
        try:
            source = inspect.getsource(module)
        except OSError:
            continue
        for name, by_field in field_comments(source).items():
            wire_names = {
                field.name: field.encode_name for field in msgspec.structs.fields(getattr(module, name))
            }
            found[name] = {wire_names[field]: comment for field, comment in by_field.items()}
    for kind in (var for module in modules for var in vars(module).values() if isinstance(var, type)):
        for base in kind.__mro__[1:]:
            found[kind.__name__] = found.get(base.__name__, {}) | found.get(kind.__name__, {})
    return found


def _add_format(field: JsonSchema, name: str) -> None:
    """Add a format to the strings of a field."""
    for option in field.get("anyOf", [field]):
        if option.get("type") == "string":
            option["format"] = name
