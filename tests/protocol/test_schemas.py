"""The machine-readable descriptions of the protocol are what their standards say, and accept what clients send."""

import re
from typing import Annotated, Any, Literal, get_args

import jsonschema
import msgspec
import pytest
from msgspec import Meta
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from scripts.gen_protocol import ROOT
from scripts.protocol import metamodel, openrpc
from scripts.protocol.examples import Example, examples

from sessiond.protocol.enum_schema import UnnamedEnumeration, definitions_of_enumerations
from sessiond.protocol.methods import CLIENT_METHODS, METHODS, NOTIFICATIONS, PROGRESS
from sessiond.protocol.schema import definitions, schema, whole_schema
from sessiond.protocol.types import Wire
from sessiond.session.tree.problems import Severity

TABLES = schema()
WHOLE = whole_schema()
VALIDATOR = jsonschema.Draft202012Validator(WHOLE)
PARAMS = {method.params.__name__ for method in METHODS.values()}
LSP = {"initialize", "initialized", "shutdown", "exit"}


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def in_the_tables() -> list[Example]:
    """The messages of the documents but those of LSP and those that show a mistake."""
    wrong = {example.message["id"] for example in examples() if "error" in example.message}
    of_lsp = {example.message.get("id") for example in examples() if example.message.get("method") in LSP} - {
        None
    }
    found = []
    for example in examples():
        is_of_lsp = example.message.get("method") in LSP or example.message.get("id") in of_lsp
        is_request = example.from_client and example.message.get("id") in wrong
        if not is_of_lsp and not is_request:
            found.append(example)
    return found


# --- JSON Schema --------------------------------------------------------------------------------------------------


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(WHOLE)


@pytest.mark.parametrize("example", in_the_tables(), ids=lambda item: item.where)
def test_every_example_of_the_document_is_a_message(example: Example) -> None:
    VALIDATOR.validate(example.message)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "1.0", "id": 1, "method": "server/status"},
        message("session/apend", sessionId="s", entries=[{}]),
        message("session/info"),
        message("session/info", sessionId=7),
        message("session/info", sessionId="s", colors="red"),
        message("session/append", sessionId="s", entries=[{"type": "message"}], durability="maybe"),
    ],
    ids=str,
)
def test_a_value_that_is_no_message_is_refused(wrong: Any) -> None:
    assert not VALIDATOR.is_valid(wrong)


@pytest.mark.parametrize(
    ("kind", "details", "is_valid"),
    [
        ("invalidParams", {"path": "$.limit", "didYouMean": []}, True),
        ("invalidParams", {"path": 7, "didYouMean": []}, False),
        ("invalidParams", {"path": "$.limit"}, False),
        ("invalidParams", None, False),
        ("cursorExpired", None, True),
        ("cursorExpired", {"path": "$"}, False),
        ("newKind", {"anything": 1}, True),
    ],
)
def test_an_error_has_the_details_of_its_kind(kind: str, details: Any, is_valid: bool) -> None:
    data = {"kind": kind, "retryable": False, "details": details}
    error = {"code": -32602, "message": "No.", "data": data}
    assert VALIDATOR.is_valid({"jsonrpc": "2.0", "id": 1, "error": error}) is is_valid


def test_private_fields_are_accepted_everywhere() -> None:
    assert VALIDATOR.is_valid(message("session/info", sessionId="s", _meta={"trace": 1}, **{"x-mine": True}))


def test_a_value_of_an_open_enumeration_may_be_new() -> None:
    origin = {"$ref": "#/$defs/Origin", "$defs": WHOLE["$defs"]}
    known = dict.fromkeys(WHOLE["$defs"]["Origin"]["properties"]) | {"kind": "client"}
    for kind in ("client", "peer"):
        jsonschema.Draft202012Validator(origin).validate(known | {"kind": kind})


def test_every_field_of_a_message_is_described() -> None:
    without = [
        f"{name}.{field}"
        for name, definition in TABLES["$defs"].items()
        if definition.get("additionalProperties") is not True
        for field, item in definition.get("properties", {}).items()
        if not item.get("description")
    ]
    assert without == []


def test_every_list_in_params_has_a_bound() -> None:
    params = {name: item for name, item in WHOLE["$defs"].items() if name in PARAMS}
    without = [
        f"{name}.{field}"
        for name, definition in params.items()
        for field, item in definition["properties"].items()
        if any(
            option.get("type") == "array" and "maxItems" not in option
            for option in (item, *item.get("anyOf", ()))
        )
    ]
    assert without == []


def test_every_enumeration_and_each_of_its_values_is_described() -> None:
    for name, definition in definitions_of_enumerations().items():
        assert definition["description"], name
        assert all(definition["enumDescriptions"]), (name, definition["enumDescriptions"])


def test_the_severities_of_problems_are_those_that_problems_have() -> None:
    assert definitions_of_enumerations()["ProblemSeverity"]["enum"] == list(get_args(Severity))


def test_no_two_enumerations_have_the_same_values() -> None:
    values = [frozenset(definition["enum"]) for definition in definitions_of_enumerations().values()]
    assert len(set(values)) == len(values)


def test_a_field_whose_values_have_no_name_is_refused() -> None:
    class Paint(Wire, frozen=True):
        """A paint."""

        color: Literal["red", "green"]

    with pytest.raises(UnnamedEnumeration, match="green, red"):
        definitions([Paint])


def test_a_result_says_that_it_has_every_field() -> None:
    class Shown(Wire, frozen=True):
        """A thing with a default."""

        size: Annotated[int, Meta(ge=0)] = 0

    assert definitions([Shown])["Shown"]["required"] == ["size"]
    assert msgspec.json.encode(Shown()) == b'{"size":0}'


# --- LSP's meta model ---------------------------------------------------------------------------------------------


class Base(msgspec.Struct, tag_field="kind", tag="base", forbid_unknown_fields=True):
    name: Literal["string", "integer", "decimal", "boolean", "null"]


class Reference(msgspec.Struct, tag_field="kind", tag="reference", forbid_unknown_fields=True):
    name: str


class Array(msgspec.Struct, tag_field="kind", tag="array", forbid_unknown_fields=True):
    element: "Type"


class Map(msgspec.Struct, tag_field="kind", tag="map", forbid_unknown_fields=True):
    key: Base
    value: "Type"


class Or(msgspec.Struct, tag_field="kind", tag="or", forbid_unknown_fields=True):
    items: Annotated[list["Type"], Meta(min_length=2)]


class Tuple(msgspec.Struct, tag_field="kind", tag="tuple", forbid_unknown_fields=True):
    items: list["Type"]


class StringLiteral(msgspec.Struct, tag_field="kind", tag="stringLiteral", forbid_unknown_fields=True):
    value: str


Type = Base | Reference | Array | Map | Or | Tuple | StringLiteral


class Documented(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    documentation: str = ""
    proposed: bool = False


class Property(Documented):
    name: str
    type: Type
    optional: bool = False


class Structure(Documented):
    name: str
    properties: list[Property]


class Value(Documented):
    name: str
    value: str


class Enumeration(Documented):
    name: str
    type: Base
    values: list[Value]
    supports_custom_values: bool = False


class Alias(Documented):
    name: str
    type: Type


class NotificationModel(Documented):
    method: str
    type_name: str
    message_direction: Literal["clientToServer", "serverToClient", "both"]
    params: Reference


class RequestModel(NotificationModel):
    result: Reference
    error_data: Reference | None = None


class MetaData(msgspec.Struct):
    version: str


class Model(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The form of LSP's meta model, as far as the protocol uses it."""

    meta_data: MetaData
    requests: list[RequestModel]
    notifications: list[NotificationModel]
    structures: list[Structure]
    enumerations: list[Enumeration]
    type_aliases: list[Alias]


def model() -> Model:
    return msgspec.convert(metamodel.render(TABLES), Model)


def test_the_meta_model_has_every_message_and_its_direction() -> None:
    directions = {
        model.method: model.message_direction for model in (*model().requests, *model().notifications)
    }
    assert directions == {
        **dict.fromkeys(METHODS, "clientToServer"),
        **dict.fromkeys((*CLIENT_METHODS, *NOTIFICATIONS), "serverToClient"),
        PROGRESS: "both",
    }


def test_every_type_that_the_meta_model_names_is_in_it_or_in_lsp() -> None:
    found = model()
    types: list[Structure | Enumeration | Alias] = [
        *found.structures,
        *found.enumerations,
        *found.type_aliases,
    ]
    known = {alias.name for alias in types}
    text = msgspec.json.decode(msgspec.json.encode(metamodel.render(TABLES)))
    assert _named(text) - known <= {"LSPAny", "LSPObject"}


def _named(part: Any) -> set[str]:
    if isinstance(part, list):
        return set().union(*(_named(item) for item in part))
    if not isinstance(part, dict):
        return set()
    own = {part["name"]} if part.get("kind") == "reference" else set()
    return own.union(*(_named(item) for item in part.values()))


def test_an_enumeration_of_results_supports_custom_values_and_one_of_params_alone_does_not() -> None:
    custom = {enumeration.name: enumeration.supports_custom_values for enumeration in model().enumerations}
    assert custom["OriginKind"]
    assert not custom["OnConflict"]


# --- OpenRPC ------------------------------------------------------------------------------------------------------


def test_openrpc_has_every_method_with_an_example_and_its_errors() -> None:
    document = openrpc.render(TABLES)
    by_name = {method["name"]: method for method in document["methods"]}
    assert by_name.keys() == METHODS.keys()
    for name, item in by_name.items():
        assert item["examples"], name
        kinds = {error["$ref"].rpartition("/")[2] for error in item["errors"]}
        assert set(METHODS[name].errors) <= kinds <= document["components"]["errors"].keys()


def test_every_reference_of_openrpc_leads_to_a_part_of_the_document() -> None:
    document = openrpc.render(TABLES)
    for target in _references(document):
        file, _, steps = target.partition("#/")
        assert file == ""
        place: Any = document
        for step in steps.split("/"):
            place = place[step]


def test_the_schemas_of_openrpc_accept_its_examples_and_need_no_other_file() -> None:
    document = openrpc.render(TABLES)
    whole = Registry().with_resource("urn:openrpc", DRAFT202012.create_resource(document))
    validators: dict[str, jsonschema.Draft202012Validator] = {}

    def validate(value: object, place: str) -> None:
        if place not in validators:
            schema = {"$ref": f"urn:openrpc#{place}"}
            validators[place] = jsonschema.Draft202012Validator(schema, registry=whole)
        validators[place].validate(value)

    for number, method in enumerate(document["methods"]):
        numbers = {param["name"]: at for at, param in enumerate(method["params"])}
        for example in method["examples"]:
            validate(example["result"]["value"], f"/methods/{number}/result/schema")
            for param in example["params"]:
                if not param["name"].startswith(("x-", "_meta")):
                    validate(param["value"], f"/methods/{number}/params/{numbers[param['name']]}/schema")
    with pytest.raises(jsonschema.ValidationError):
        validate({"sessionId": 5}, "/components/schemas/SessionInfo")


def test_the_document_names_the_params_in_which_null_is_a_value() -> None:
    text = (ROOT / "protocol.md").read_text(encoding="utf-8")
    section = text.partition("### Absent and null\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    own = {
        field.encode_name
        for method in METHODS.values()
        for field in msgspec.structs.fields(method.params)
        if field.default is msgspec.UNSET and _accepts_null(field.type)
    }
    always = {"entryId"}  # is required where null is a value
    assert set(listed) == own | always


def _accepts_null(kind: Any) -> bool:
    try:
        msgspec.json.decode(b"null", type=kind)
    except msgspec.ValidationError:
        return False
    return True


def _references(part: Any) -> set[str]:
    if isinstance(part, list):
        return set().union(*(_references(item) for item in part))
    if not isinstance(part, dict):
        return set()
    own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
    return own.union(*(_references(item) for item in part.values()))
