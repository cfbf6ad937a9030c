"""Compares two meta models of the protocol: whether programs that were written for the first work with the second."""

from collections.abc import Iterator
from typing import Any

Model = dict[str, Any]

SENT, RECEIVED = "sent", "received"
"""Whether a client sends a value, or receives it."""

_OPTIONS = ("InitializeOptions", "LspOptions")


class Growth:
    """The comparison of two models. `broken` yields a sentence for each promise that the second does not keep."""

    def __init__(self, old: Model, new: Model) -> None:
        self._old, self._new = _named(old), _named(new)
        self._messages = [
            (
                {notification["method"]: notification for notification in old[part]},
                {notification["method"]: notification for notification in new[part]},
            )
            for part in ("requests", "notifications")
        ]
        self._compared: set[tuple[str, str]] = set()

    def broken(self) -> Iterator[str]:
        for old, new in self._messages:
            for name, message in old.items():
                if message.get("proposed"):  # experimental: a version may change the message
                    continue
                if name not in new:
                    yield f"{name} is gone"
                    continue
                is_sent = message["messageDirection"] != "serverToClient"
                for part, way in (
                    ("params", SENT if is_sent else RECEIVED),
                    ("result", RECEIVED),
                    ("errorData", RECEIVED),
                ):
                    if part in message:
                        yield from self._type(message[part], new[name].get(part), way, f"{name} {part}")

        # No message refers to these types: LSP and the kinds of errors do.
        for name in self._old:
            if name in _OPTIONS or name.endswith("Details"):
                yield from self._named(name, name, SENT if name in _OPTIONS else RECEIVED)

    def _type(self, old: Model, new: Model | None, way: str, where: str) -> Iterator[str]:
        if new is None:
            yield f"{where} is gone"
            return
        # The server has to accept each type that a client sends; a client has to know each type that it receives.
        these, those = (_options(old), _options(new)) if way == SENT else (_options(new), _options(old))
        for item in these:
            matches = [other for other in those if _shape(item) == _shape(other)]
            if not matches:
                yield f"{where} was {_shown(old)} and is {_shown(new)}"
                continue
            before, after = (item, matches[0]) if way == SENT else (matches[0], item)
            yield from self._inside(before, after, way, where)

    def _inside(self, old: Model, new: Model, way: str, where: str) -> Iterator[str]:
        match old["kind"]:
            case "array":
                yield from self._type(old["element"], new["element"], way, f"an item of {where}")
            case "map":
                yield from self._type(old["value"], new["value"], way, f"a value of {where}")
            case "reference":
                yield from self._named(old["name"], new["name"], way)

    def _named(self, old: str, new: str, way: str) -> Iterator[str]:
        if (old, way) in self._compared or old not in self._old:
            return
        self._compared.add((old, way))
        before, after = self._old[old], self._new.get(new)
        if after is None:
            yield f"{old} is gone"
        elif "values" in before:
            known = {value["value"] for value in after.get("values", ())}
            yield from (
                f"{old} has no {value['value']}" for value in before["values"] if value["value"] not in known
            )
        elif "properties" in before:
            yield from self._properties(old, before, after, way)
        else:
            yield from self._type(before["type"], after.get("type"), way, old)

    def _properties(self, name: str, old: Model, new: Model, way: str) -> Iterator[str]:
        before = {item["name"]: item for item in old["properties"]}
        after = {item["name"]: item for item in new.get("properties", ())}
        for key, field in before.items():
            if key not in after:
                yield f"{name}.{key} is gone"
                continue
            yield from self._type(field["type"], after[key]["type"], way, f"{name}.{key}")
            is_optional, was_optional = after[key].get("optional", False), field.get("optional", False)
            if way == SENT and was_optional and not is_optional:
                yield f"{name}.{key} is required"
            if way == RECEIVED and is_optional and not was_optional:
                yield f"{name}.{key} may be absent"
        if way == SENT:
            yield from (
                f"{name}.{key} is new and required"
                for key, field in after.items()
                if key not in before and not field.get("optional")
            )


def _named(model: Model) -> dict[str, Model]:
    parts = ("structures", "enumerations", "typeAliases")
    return {item["name"]: item for part in parts for item in model[part]}


def _options(kind: Model) -> list[Model]:
    return kind["items"] if kind["kind"] == "or" else [kind]


def _shape(kind: Model) -> tuple[str, str]:
    """Types with the same shape are compared by their parts."""
    return kind["kind"], str(kind.get("value", "")) if kind["kind"] == "stringLiteral" else kind.get(
        "name", ""
    )


def _shown(kind: Model) -> str:
    return " or ".join(
        str(option.get("name") or option.get("value") or option["kind"]) for option in _options(kind)
    )
