"""`daemon/schema/metaModel.json`: the protocol in the form of LSP's meta model, for generators of clients.

It is the main machine-readable description: it has the direction of each message, the types, the enumerations and the
stability. Types that LSP's form cannot express (bounds, patterns) are in the JSON Schema.
"""

from typing import Any

from scripts.protocol.notes import JsonSchema, is_enumeration, is_open, notes, without_null

MetaModel = dict[str, Any]

_BASE = {"string": "string", "integer": "integer", "number": "decimal", "boolean": "boolean", "null": "null"}
_ANY = {"kind": "reference", "name": "LSPAny"}


def render(schema: JsonSchema) -> MetaModel:
    """Return the meta model."""
    definitions = schema["$defs"]
    return {
        "metaData": {"version": str(schema["protocolVersion"])},
        "requests": [
            *(_request(name, method, "clientToServer") for name, method in schema["methods"].items()),
            *(_request(name, schema, "serverToClient") for name, schema in schema["clientMethods"].items()),
        ],
        "notifications": [
            *(
                _notification(name, schema, "serverToClient")
                for name, schema in schema["notifications"].items()
            ),
            *(_notification(name, schema, "both") for name, schema in schema["bothWays"].items()),
        ],
        "structures": [
            _structure(name, definition)
            for name, definition in definitions.items()
            if "properties" in definition
        ],
        "enumerations": [
            _enumeration(name, definition, definitions)
            for name, definition in definitions.items()
            if is_enumeration(definition)
        ],
        "typeAliases": [
            {"name": name, "type": type_of(definition), "documentation": definition["description"]}
            for name, definition in definitions.items()
            if "properties" not in definition and not is_enumeration(definition)
        ],
    }


def type_of(field: JsonSchema) -> MetaModel:
    """Return a field's type in the form of the meta model."""
    if is_open(field):
        (reference,) = (schema for schema in without_null(field) if "$ref" in schema)
        options = [reference, *(schema for schema in field["anyOf"] if schema.get("type") == "null")]
        return _or([type_of(schema) for schema in options])
    match field:
        case {"$ref": target}:
            return {"kind": "reference", "name": str(target).rpartition("/")[2]}
        case {"anyOf": options} | {"oneOf": options}:
            return _or([type_of(option) for option in options])
        case {"const": value}:
            return {"kind": "stringLiteral", "value": value}
        case {"type": "array", "prefixItems": list() as items}:
            return {"kind": "tuple", "items": [type_of(item) for item in items]}
        case {"type": "array", "items": items}:
            return {"kind": "array", "element": type_of(items)}
        case {"type": "object", "additionalProperties": dict() as values}:
            key = {"kind": "base", "name": "string"}
            return {"kind": "map", "key": key, "value": type_of(values)}
        case {"type": "object"}:
            return {"kind": "reference", "name": "LSPObject"}
        case {"type": str() as kind}:
            return {"kind": "base", "name": _BASE[kind]}
        case _:
            return dict(_ANY)


def _or(options: list[MetaModel]) -> MetaModel:
    different = [schema for place, schema in enumerate(options) if schema not in options[:place]]
    return different[0] if len(different) == 1 else {"kind": "or", "items": different}


def _request(name: str, method: JsonSchema, direction: str) -> MetaModel:
    error = {"errorData": {"kind": "reference", "name": "ErrorData"}} if "errors" in method else {}
    return {
        "method": name,
        "typeName": method["params"]["$ref"].rpartition("/")[2].removesuffix("Params") + "Request",
        "messageDirection": direction,
        "params": type_of(method["params"]),
        "result": type_of(method["result"]),
        **error,
        **_remarks(method),
    }


def _notification(name: str, note: JsonSchema, direction: str) -> MetaModel:
    return {
        "method": name,
        "typeName": note["params"]["$ref"].rpartition("/")[2].removesuffix("Note") + "Notification",
        "messageDirection": direction,
        "params": type_of(note["params"]),
        **_remarks(note),
    }


def _remarks(message: JsonSchema) -> MetaModel:
    """Return the documentation of a message, and `proposed` if it may still change."""
    proposed = {"proposed": True} if message.get("stability") == "experimental" else {}
    return {"documentation": message["description"], **proposed}


def _structure(name: str, definition: JsonSchema) -> MetaModel:
    properties = []
    for field, schema in definition["properties"].items():
        optional = {} if field in definition["required"] else {"optional": True}
        documentation = {"documentation": text} if (text := notes(schema)) else {}
        properties.append({"name": field, "type": type_of(schema), **optional, **documentation})
    return {"name": name, "properties": properties, "documentation": definition["description"]}


def _enumeration(name: str, definition: JsonSchema, definitions: JsonSchema) -> MetaModel:
    described = zip(definition["enum"], definition["enumDescriptions"], strict=True)
    custom = {"supportsCustomValues": True} if _is_open_somewhere(name, definitions) else {}
    return {
        "name": name,
        "type": {"kind": "base", "name": "string"},
        "values": [
            {"name": value, "value": value, **({"documentation": means} if means else {})}
            for value, means in described
        ],
        "documentation": definition["description"],
        **custom,
    }


def _is_open_somewhere(name: str, part: object) -> bool:
    """Return whether a result or a notification has values of the enumeration, so that others may follow later."""
    if isinstance(part, dict):
        if is_open(part) and {"$ref": f"#/$defs/{name}"} in part["anyOf"]:
            return True
        return any(_is_open_somewhere(name, schema) for schema in part.values())
    return isinstance(part, list) and any(_is_open_somewhere(name, schema) for schema in part)
