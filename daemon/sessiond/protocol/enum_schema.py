"""The JSON Schema of the enumerations, and the references to them."""

import inspect
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args, get_origin

from sessiond.error_text import TemplatedError
from sessiond.protocol import enums
from sessiond.protocol.advice import ADVICE
from sessiond.protocol.comments import alias_documentation
from sessiond.protocol.findings import KINDS
from sessiond.session.formats.reasons import REASONS
from sessiond.session.tree.problems import PROBLEMS

JsonSchema = dict[str, Any]

_VALUE: Final = re.compile(r"^- `([^`]+)`: (.+?)(?=^- |\Z)", re.MULTILINE | re.DOTALL)
_FROM_TABLES: Final[dict[str, tuple[str, Mapping[str, str]]]] = {
    "ErrorKind": (
        "The stable name of an error. Clients match it, never the message.",
        {kind: advice.means for kind, advice in ADVICE.items()},
    ),
    "ProblemKind": (
        "The stable name of a problem in a session file.",
        {kind: means for kind, (_, means) in PROBLEMS.items()},
    ),
    "ProblemSeverity": (
        "The severity of a problem in a session file.",
        {"error": "A part of the file is lost or unusable.", "warning": "Nothing is lost."},
    ),
    "FindingKind": (
        "The stable name of a finding of the doctor.",
        {kind: finding.means for kind, finding in KINDS.items()},
    ),
    "ContextReason": (
        "Why an entry of the path is in the context or not.",
        {reason: sentence for reason, (_, sentence) in REASONS.items()},
    ),
}


class UnnamedEnumeration(TemplatedError):
    """Raised when a field has values that no enumeration has."""

    sentence = "No enumeration has the values {values}."
    advice = "Add one to protocol/enums.py."

    def __init__(self, values: list[str]) -> None:
        super().__init__(values=", ".join(values))


def definitions_of_enumerations() -> JsonSchema:
    """Return the definition of each enumeration: its values in order, and the meaning of each."""
    documents = _documents()
    aliases = {name: value for name, value in vars(enums).items() if _is_literal(value)}
    return {
        **{
            name: _definition(documents.get(name, (name, {})), list(get_args(alias)))
            for name, alias in aliases.items()
        },
        **{name: _definition(table, list(table[1])) for name, table in _FROM_TABLES.items()},
    }


def name_enumerations(field: Any, enumerations: JsonSchema) -> Any:
    """Return a schema in which each list of values is a reference to its enumeration.

    An open enumeration becomes the reference or any string.

    Raises:
        UnnamedEnumeration: No enumeration has these values.
    """
    if isinstance(field, list):
        return [name_enumerations(part, enumerations) for part in field]
    if not isinstance(field, dict):
        return field
    rest = {
        key: name_enumerations(part, enumerations)
        for key, part in field.items()
        if key not in ("enum", "x-enum")
    }
    if "x-enum" in field:
        del rest["type"]
        return {"anyOf": [_reference(field["x-enum"]), {"type": "string"}]} | rest
    if len(field.get("enum", ())) > 1:
        values = set(field["enum"])
        names = [name for name, enumeration in enumerations.items() if set(enumeration["enum"]) == values]
        if not names:
            raise UnnamedEnumeration(sorted(values))
        return _reference(names[0]) | rest
    return rest | ({"enum": field["enum"]} if "enum" in field else {})


def _is_literal(annotation: object) -> bool:
    return get_origin(annotation) is Literal


def _reference(name: str) -> JsonSchema:
    return {"$ref": f"#/$defs/{name}"}


def _definition(document: tuple[str, Mapping[str, str]], values: list[str]) -> JsonSchema:
    description, meanings = document
    return {
        "description": description,
        "type": "string",
        "enum": values,
        "enumDescriptions": [meanings.get(value, "") for value in values],
    }


def _documents() -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return name -> (sentence, value -> meaning) of `enums`. Empty if Python has no source files."""
    try:
        source = inspect.getsource(enums)
    except OSError:
        return {}
    found: dict[str, tuple[str, Mapping[str, str]]] = {}
    for name, text in alias_documentation(source).items():
        sentence = text.partition("\n\n")[0].strip()
        found[name] = (sentence, {value: " ".join(means.split()) for value, means in _VALUE.findall(text)})
    return found
