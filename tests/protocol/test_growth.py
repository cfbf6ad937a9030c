"""The protocol only grows: programs that were written for the last release work with this version."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scripts import gen_protocol
from scripts.protocol import metamodel

import sessiond
from sessiond.protocol import versions
from sessiond.protocol.schema import schema
from support.protocol_growth import Growth, Model

[RELEASED] = gen_protocol.RELEASED.glob("metaModel-*.json")
LAST: Model = msgspec.json.decode(RELEASED.read_bytes())
NOW: Model = metamodel.render(schema())


def the_structure(model: Model, name: str) -> dict[str, Any]:
    return next(structure for structure in model["structures"] if structure["name"] == name)


def a_field(model: Model, name: str, key: str) -> dict[str, Any]:
    return next(item for item in the_structure(model, name)["properties"] if item["name"] == key)


def test_the_kept_protocol_is_that_of_a_release_with_the_same_number() -> None:
    assert LAST["metaData"]["version"] == NOW["metaData"]["version"] == str(versions.NEWEST)
    released = RELEASED.stem.removeprefix("metaModel-")
    assert not versions.is_older(sessiond.__version__, released)
    assert f"\n## {released} (" in (gen_protocol.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_nothing_that_the_last_release_had_is_gone_or_means_something_else() -> None:
    assert [*Growth(LAST, NOW).broken()] == []


def test_a_model_is_kept_as_it_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gen_protocol, "RELEASED", tmp_path)
    monkeypatch.setattr(gen_protocol, "ROOT", tmp_path)
    (tmp_path / "metaModel-0.1.0.json").write_text("{}", encoding="utf-8")
    gen_protocol.keep_released()
    [kept] = tmp_path.iterdir()
    model = msgspec.json.decode(kept.read_bytes())
    assert [*Growth(model, NOW).broken()] == [*Growth(NOW, model).broken()] == []


def without(part: str, key: str, name: str) -> Callable[[Model], None]:
    def change(model: Model) -> None:
        model[part] = [item for item in model[part] if item[key] != name]

    return change


def field_gone(name: str, key: str) -> Callable[[Model], None]:
    def change(model: Model) -> None:
        the_structure(model, name)["properties"].remove(a_field(model, name, key))

    return change


def field_as(name: str, key: str, **change_of: Any) -> Callable[[Model], None]:
    return lambda model: a_field(model, name, key).update(change_of)


def new_field(name: str, **rest: Any) -> Callable[[Model], None]:
    field = {"name": "added", "type": {"kind": "base", "name": "string"}, **rest}
    return lambda model: the_structure(model, name)["properties"].append(field)


def value_gone(name: str) -> Callable[[Model], None]:
    return lambda model: next(
        enumeration for enumeration in model["enumerations"] if enumeration["name"] == name
    )["values"].pop()


INTEGER = {"kind": "base", "name": "integer"}
STRING_OR_NULL = {
    "kind": "or",
    "items": [{"kind": "base", "name": "string"}, {"kind": "base", "name": "null"}],
}


@pytest.mark.parametrize(
    "change",
    [
        without("requests", "method", "session/append"), without("notifications", "method", "session/appended"),
        field_gone("AppendParams", "parentId"), field_gone("AppendResult", "leafId"),
        field_gone("AppendedNote", "items"), field_gone("InitializeOptions", "clientId"),
        field_gone("SessionInfo", "title"), field_gone("LeafConflictDetails", "lastSeq"),
        field_as("CreateParams", "title", optional=False), field_as("CreateParams", "cwd", type=INTEGER),
        field_as("AppendResult", "logId", type=STRING_OR_NULL), field_as("AppendResult", "lastSeq", optional=True),
        new_field("AppendParams"), value_gone("Durability"), value_gone("ErrorKind"),
    ],
)  # fmt: skip
def test_a_change_that_would_mislead_an_older_program_is_found(change: Callable[[Model], None]) -> None:
    changed = copy.deepcopy(NOW)
    change(changed)
    assert [*Growth(NOW, changed).broken()] != []


@pytest.mark.parametrize(
    "change",
    [
        new_field("AppendParams", optional=True), new_field("AppendResult"), new_field("AppendedNote"),
        field_as("CreateParams", "cwd", type=STRING_OR_NULL), without("requests", "method", "view/page"),
    ],
)  # fmt: skip
def test_a_protocol_that_grew_serves_older_programs(change: Callable[[Model], None]) -> None:
    changed = copy.deepcopy(NOW)
    change(changed)
    assert [*Growth(NOW, changed).broken()] == []
