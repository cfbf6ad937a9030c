"""`daemon/schema/openrpc.json`: the requests in the form of OpenRPC 1.3, with the examples of its documents.

The document has no external references. OpenRPC has no notifications from the server and no requests
to the client; they are in the meta model.
"""

from typing import Any

from scripts.protocol.examples import Answered, answered
from scripts.protocol.notes import JsonSchema

_SCHEMAS = "#/components/schemas/"


def render(schema: JsonSchema) -> dict[str, Any]:
    """Return the OpenRPC document."""
    examples = [answer for answer in answered() if answer.method in schema["methods"]]
    return {
        "openrpc": "1.3.2",
        "info": {
            "title": schema["title"],
            "version": f"{schema['protocolVersion']}.0.0",
            "description": schema["description"],
        },
        "methods": [_method(name, method, schema, examples) for name, method in schema["methods"].items()],
        "components": {
            "schemas": {name: _moved(schema) for name, schema in schema["$defs"].items()},
            "errors": {kind: _error(kind, schema) for kind, schema in schema["errors"].items()},
        },
    }


def _method(name: str, method: JsonSchema, schema: JsonSchema, examples: list[Answered]) -> dict[str, Any]:
    params = schema["$defs"][method["params"]["$ref"].rpartition("/")[2]]
    summary, _, description = method["description"].partition("\n\n")
    kinds = [*method["errors"], *(kind for kind, schema in schema["errors"].items() if schema["general"])]
    stability = {"x-stability": method["stability"]} if "stability" in method else {}
    return {
        "name": name,
        "summary": " ".join(summary.split()),
        "description": description or summary,
        "paramStructure": "by-name",
        "params": [
            {"name": field, "required": field in params["required"], "schema": _moved(item)}
            for field, item in params["properties"].items()
        ],
        "result": {"name": method["result"]["$ref"].rpartition("/")[2], "schema": _moved(method["result"])},
        "errors": [{"$ref": f"#/components/errors/{kind}"} for kind in dict.fromkeys(kinds)],
        "examples": [
            _example(example)
            for example in examples
            if example.method == name and "result" in example.reply.message
        ],
        **stability,
    }


def _example(exchange: Answered) -> dict[str, Any]:
    params = exchange.request.message.get("params", {})
    return {
        "name": f"{exchange.method} {exchange.request.message['id']}",
        "params": [{"name": name, "value": value} for name, value in params.items()],
        "result": {"name": "result", "value": exchange.reply.message["result"]},
    }


def _error(kind: str, error: JsonSchema) -> dict[str, Any]:
    return {"code": error["code"], "message": error["description"], "data": {"kind": kind}}


def _moved(part: Any) -> Any:
    """Return a schema whose references lead to the components of the document."""
    if isinstance(part, list):
        return [_moved(schema) for schema in part]
    if not isinstance(part, dict):
        return part
    return {
        key: schema.replace("#/$defs/", _SCHEMAS) if key == "$ref" else _moved(schema)
        for key, schema in part.items()
    }
