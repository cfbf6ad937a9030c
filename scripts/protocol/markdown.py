"""The generated parts of protocol.md, from `<!-- generated: NAME -->` to `<!-- end -->`."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scripts.protocol.notes import JsonSchema, bounds, is_enumeration, is_open, notes

from sessiond.error_text import TemplatedError
from sessiond.protocol.findings import KINDS
from sessiond.session.formats.reasons import REASONS
from sessiond.session.tree.problems import PROBLEMS

_TABLES_ELSEWHERE = {
    "ErrorKind": "errorkind",
    "ProblemKind": "damage",
    "FindingKind": "serverdoctor",
    "ContextReason": "why-an-entry-is-in-or-out",
}
"""Enumerations whose values have a separate table in the prose -> its heading."""

_EXPLAINED_BY_HAND = frozenset(("Entry", "Draft"))
"""Types with a separate heading in the prose. The headings of the other types say "shape": `session/info` and
`SessionInfo` would share an anchor."""

_BOUNDED_IN_PROSE = frozenset(
    (
        "sessionId", "commandId", "workDoneToken", "entryId", "leafId", "expectedLeafId", "aroundId", "rootId",
        "trashId", "project",
    )
)  # fmt: skip
"""Fields of many messages, whose bounds are in the prose."""

_EXAMPLES = {"client.py": "python", "client.mjs": "javascript", "client.sh": "bash"}
"""The programs that protocol.md shows -> the language that colors them."""
_EXAMPLE_FOLDER = Path(__file__).resolve().parents[1] / "examples"

_PART = re.compile(r"(<!-- generated: (?P<name>\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


class UnknownPart(TemplatedError):
    """Raised when protocol.md names a generated part that is not among `parts`."""

    sentence = "protocol.md asks for a generated part that does not exist: {name}."

    def __init__(self, name: str) -> None:
        super().__init__(name=name)


def render(document: str, schema: JsonSchema) -> str:
    """The document with all generated parts updated. Raises `UnknownPart`."""
    available = parts(schema)

    def part(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in available:
            raise UnknownPart(name)
        return f"{match[1]}\n{available[name]}\n\n{match[3]}"

    return _PART.sub(part, document)


def parts(schema: JsonSchema) -> dict[str, str]:
    """Every part that protocol.md may ask for: overviews, and one for each message."""
    definitions = schema["$defs"]
    methods = {
        name: _method(method, definitions)
        for name, method in (schema["methods"] | schema["clientMethods"]).items()
    }
    notifications = {
        name: f"{_described(note)}\n\n{_fields(_target(note['params'], definitions))}"
        for name, note in (schema["notifications"] | schema["bothWays"]).items()
    }
    return {
        **{name: _example(name, language) for name, language in _EXAMPLES.items()},
        "methods": _overview(schema["methods"], "method"),
        "clientMethods": _overview(schema["clientMethods"], "what the daemon asks"),
        "notifications": _overview(schema["notifications"], "notification"),
        "errors": _errors(schema["errors"]),
        "problems": _problems(),
        "findings": _findings(),
        "reasons": _reasons(),
        "entries": _entries(definitions),
        "shapes": "\n\n".join(_shape(name, definitions[name]) for name in _shapes(definitions)),
        "errorDetails": "\n\n".join(_shape(name, definitions[name]) for name in _details(schema["errors"])),
        **methods,
        **notifications,
    }


def _example(name: str, language: str) -> str:
    text = (_EXAMPLE_FOLDER / name).read_text(encoding="utf-8")
    return f"```{language}\n{text}```"


def type_name(field: JsonSchema) -> str:
    """A field's type for a person: `string or null`, `list of Entry`, `"synced" or "written"`."""
    match field:
        case {"$ref": target}:
            name = target.rpartition("/")[2]
            if name in _TABLES_ELSEWHERE:
                return f"[{name}](#{_TABLES_ELSEWHERE[name]})"
            return f"[{name}](#{name.lower()}{'' if name in _EXPLAINED_BY_HAND else '-shape'})"
        case {"anyOf": options} | {"oneOf": options}:
            if is_open(field):  # the section "Versions and growth" says that a client accepts other strings
                options = [option for option in options if option != {"type": "string"}]
            return " or ".join(dict.fromkeys(type_name(option) for option in options))
        case {"enum": values}:
            return " or ".join(f'`"{value}"`' for value in values)
        case {"type": "array", "items": items}:
            return f"list of {type_name(items)}"
        case {"type": "object", "additionalProperties": dict() as values}:
            return f"object of {type_name(values)}"
        case {"type": kind}:
            return str(kind)
        case _:
            return "any JSON"


def _overview(messages: JsonSchema, title: str) -> str:
    rows = (
        f"| [`{name}`](#{_anchor(name)}) | {_first_sentence(message['description'])}{_marked(message)} |"
        for name, message in messages.items()
    )
    return _table((title, "what it does"), rows)


def _errors(errors: JsonSchema) -> str:
    rows = []
    for kind, error in errors.items():
        again = "yes" if error["retryable"] else "no"
        details = type_name(error["details"]) if "$ref" in error["details"] else ""
        rows.append(
            f"| `{kind}` | {error['code']} | {again} | {error['description']} | {error['action']} | {details} |"
        )
    general = ", ".join(f"`{kind}`" for kind, error in errors.items() if error["general"])
    return (
        _table(("kind", "code", "retryable", "means", "what to do", "details"), rows)
        + f"\n\nAny request may fail with {general}. The further errors of a method are listed with it."
    )


def _reasons() -> str:
    rows = (f"| `{reason}` | {fate} | {because} |" for reason, (fate, because) in REASONS.items())
    return _table(("reason", "fate", "meaning"), rows)


def _problems() -> str:
    rows = (f"| `{kind}` | {severity} | {means} |" for kind, (severity, means) in PROBLEMS.items())
    return _table(("kind", "severity", "means"), rows)


def _findings() -> str:
    rows = (
        f"| `{kind}` | {of_kind.severity} | {of_kind.means} |"
        + (f" {of_kind.fixes} |" if of_kind.fixes else "")
        for kind, of_kind in KINDS.items()
    )
    return _table(("kind", "severity", "means", "`fix`"), rows)


def _entries(definitions: JsonSchema) -> str:
    common = definitions["EntryBase"]["properties"]
    rows = []
    for option in definitions["KnownEntry"]["oneOf"]:
        known = _target(option, definitions)
        own = [_label(name, known) for name in known["properties"] if name not in common]
        type_ = known["properties"]["type"]["const"]
        rows.append(f"| `{type_}` | {', '.join(own)} | {_line(known['description'])} |")
    return _table(("type", "fields", "what it is"), rows)


def _method(method: JsonSchema, definitions: JsonSchema) -> str:
    params, result = _target(method["params"], definitions), _target(method["result"], definitions)
    blocks = [_described(method)]
    if params["properties"]:
        blocks += ["**Params**", _fields(params)]
    blocks += [f"**Result.** {result['description']}", _fields(result)]
    if own := ", ".join(f"`{kind}`" for kind in method.get("errors", ())):
        blocks.append(f"**Errors:** {own}.")
    return "\n\n".join(blocks)


def _described(message: JsonSchema) -> str:
    """The description of a message, with a warning if it is not stable."""
    warning = f"\n\n*[{message['stability'].capitalize()}](#stability).*"
    return f"{message['description']}{'' if message['stability'] == 'stable' else warning}"


def _marked(message: JsonSchema) -> str:
    return "" if message["stability"] == "stable" else f" *{message['stability'].capitalize()}.*"


def _details(errors: JsonSchema) -> list[str]:
    """The types of the details of errors, each once."""
    references = [error["details"]["$ref"] for error in errors.values() if "$ref" in error["details"]]
    return [reference.rpartition("/")[2] for reference in dict.fromkeys(references)]


def _shapes(definitions: JsonSchema) -> list[str]:
    """The types that several messages share: all types that are not a message or an entry."""
    return [
        name
        for name, definition in definitions.items()
        if (is_enumeration(definition) and name not in _TABLES_ELSEWHERE)
        or (
            "properties" in definition
            and not name.endswith(("Params", "Result", "Note", "Details"))
            and not definition.get("additionalProperties")
        )
    ]


def _shape(name: str, definition: JsonSchema) -> str:
    if is_enumeration(definition):
        described = zip(definition["enum"], definition["enumDescriptions"], strict=True)
        rows = (f"| `{value}` | {means} |" for value, means in described)
        return f"#### {name} shape\n\n{definition['description']}\n\n{_table(('value', 'meaning'), rows)}"
    return f"#### {name} shape\n\n{definition['description']}\n\n{_fields(definition)}"


def _fields(definition: JsonSchema) -> str:
    rows = (
        f"| {_label(name, definition)} | {type_name(field)} | {_notes(name, field)} |"
        for name, field in definition["properties"].items()
    )
    return _table(("field", "type", ""), rows)


def _notes(name: str, field: JsonSchema) -> str:
    """The notes of a field, without bounds that "Limits and pages" has for all fields of this name."""
    said = notes(field)
    return said.removesuffix(f" {bounds(field)}.") if name in _BOUNDED_IN_PROSE else said


def _label(name: str, definition: JsonSchema) -> str:
    return f"`{name}`" if name in definition["required"] else f"`{name}?`"


def _target(reference: JsonSchema, definitions: JsonSchema) -> JsonSchema:
    found: dict[str, Any] = definitions[reference["$ref"].rpartition("/")[2]]
    return found


def _table(titles: tuple[str, ...], rows: Iterable[str]) -> str:
    return "\n".join((f"| {' | '.join(titles)} |", "|-" * len(titles) + "|", *rows))


def _anchor(name: str) -> str:
    return name.replace("/", "").replace("$", "").lower()


def _first_sentence(description: str) -> str:
    return re.split(r"(?<=\.) ", _line(description), maxsplit=1)[0]


def _line(text: str) -> str:
    return " ".join(text.split())
