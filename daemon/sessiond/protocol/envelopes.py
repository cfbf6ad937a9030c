"""The JSON Schema of whole messages: JSON-RPC's envelopes around the params and results of the tables."""

from typing import Any, Final

JsonSchema = dict[str, Any]

_ID: Final = {"type": ["integer", "string"]}


def envelopes(schema: JsonSchema) -> JsonSchema:
    """Return the definitions of requests, notifications and responses, and of `Message`: any of them.

    Args:
        schema: The tables of methods and notifications, as `schema.schema` returns them.
    """
    return {
        "Request": {
            "description": "A request to the server.",
            "oneOf": [_request(name, method) for name, method in schema["methods"].items()],
        },
        "ClientRequest": {
            "description": "A request of the server to a client.",
            "oneOf": [_request(name, method) for name, method in schema["clientMethods"].items()],
        },
        "Notification": {
            "description": "A notification of the server, or one that both sides send.",
            "oneOf": [
                _envelope({"method": {"const": name}, "params": notification["params"]})
                for name, notification in (schema["notifications"] | schema["bothWays"]).items()
            ],
        },
        "Response": {
            "description": "The result of a request. Its type depends on the method of the request.",
            **_envelope({"id": _ID, "result": {"type": "object"}}),
        },
        "ErrorResponse": {
            "description": "The error of a request. `id` is null if the server could not read the request.",
            **_envelope({"id": {"type": ["integer", "string", "null"]}, "error": _error(schema["errors"])}),
        },
        "Message": {
            "description": "Any message of this protocol. The messages of LSP itself are not in it.",
            "oneOf": [
                {"$ref": f"#/$defs/{name}"}
                for name in ("Request", "ClientRequest", "Notification", "Response", "ErrorResponse")
            ],
        },
    }


def _request(name: str, method: JsonSchema) -> JsonSchema:
    return _envelope({"id": _ID, "method": {"const": name}, "params": method["params"]}, optional="params")


def _error(kinds: JsonSchema) -> JsonSchema:
    properties = {
        "code": {"type": "integer"},
        "message": {"type": "string"},
        "data": {"$ref": "#/$defs/ErrorData"},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "allOf": [_with_details(kind, error["details"]) for kind, error in kinds.items()],
    }


def _with_details(kind: str, details: JsonSchema) -> JsonSchema:
    """Return the condition that an error of a kind has the details of that kind."""
    return {
        "if": {"properties": {"data": {"properties": {"kind": {"const": kind}}}}},
        "then": {"properties": {"data": {"properties": {"details": details}}}},
    }


def _envelope(properties: JsonSchema, *, optional: str = "") -> JsonSchema:
    """Return an object with these properties and `jsonrpc`, and no others."""
    all_ = {"jsonrpc": {"const": "2.0"}} | properties
    return {
        "type": "object",
        "properties": all_,
        "required": [name for name in all_ if name != optional],
        "additionalProperties": False,
    }
