"""The text of each error stands once, as the template of its class, and is read from there."""

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from sessiond.error_text import TemplatedError
from sessiond.protocol.advice import ADVICE
from support.sample_errors import exceptions, sample

ROOT = Path(__file__).parents[1]
OUTSIDE = ("sessiond.server.lsp.editor.Refused", "sessiond.config_values.InvalidValueError")
"""Exceptions that are no templates: an error of pygls, which is made from one of ours, and the parts of another one."""
BASES = {
    "TemplatedError",
    "HubError",
    "KnownError",
    "DaemonConnectionError",
    "FramingError",
    "ToolError",
    "BundleError",
    "PeerError",
}
"""Errors that are caught and never raised, so that they have no sentence."""


def name(kind: type[Exception]) -> str:
    return f"{kind.__module__}.{kind.__name__}"


PUBLIC = [
    exception
    for exception in exceptions()
    if not exception.__name__.startswith("_") and not name(exception).startswith(OUTSIDE)
]
RAISED = [item for item in PUBLIC if issubclass(item, TemplatedError) and item.__name__ not in BASES]


def literals(kind: type[TemplatedError]) -> Iterator[str]:
    """The phrases of a template that hold no value, without full stops: those of four words and more."""
    for text, *_ in Formatter().parse(kind.template()):
        for phrase in re.split(r"[.;:]\s", text):
            if len(phrase.split()) >= 4:
                yield phrase.strip(" .:;,")


def placeholders(kind: type[TemplatedError]) -> set[str]:
    return {field for _, field, *_ in Formatter().parse(kind.template()) if field is not None}


def flowing(text: str) -> str:
    """A text as one line."""
    return " ".join(text.split())


@pytest.mark.parametrize("kind", PUBLIC, ids=name)
def test_every_public_exception_has_a_template(kind: type[Exception]) -> None:
    assert issubclass(kind, TemplatedError)
    assert hasattr(kind, "sentence") == (kind.__name__ not in BASES)


def test_a_base_without_a_sentence_is_never_raised() -> None:
    with_one = re.compile(rf"raise (\w+\.)?({'|'.join(BASES)})\b")
    files = (ROOT / "daemon/sessiond").rglob("*.py")
    assert [str(file) for file in files if with_one.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("kind", RAISED, ids=name)
def test_the_message_is_the_template_filled_with_the_arguments(kind: type[TemplatedError]) -> None:
    error = sample(kind)
    assert isinstance(error, TemplatedError)
    assert placeholders(kind) <= error.values.keys()
    assert str(error) == kind.template().format_map(error.values)
    for phrase in literals(kind):
        assert phrase in str(error)


@pytest.mark.parametrize("kind", RAISED, ids=name)
def test_no_docstring_repeats_what_the_message_says(kind: type[TemplatedError]) -> None:
    assert kind.__doc__
    assert [literal for literal in literals(kind) if literal in flowing(kind.__doc__)] == []


@pytest.mark.parametrize("kind", RAISED, ids=name)
def test_the_table_of_error_kinds_does_not_repeat_what_a_message_says(kind: type[TemplatedError]) -> None:
    table = flowing(" ".join(f"{advice.means} {advice.action}" for advice in ADVICE.values()))
    assert [literal for literal in literals(kind) if literal in table] == []


def pattern(kind: type[TemplatedError]) -> str:
    """A regular expression for the messages of a class; values are any text."""
    parts = Formatter().parse(kind.template())
    return "".join(re.escape(text) + (".*" if field is not None else "") for text, field, *_ in parts)


def test_the_messages_in_the_examples_of_the_protocol_are_those_of_templates() -> None:
    document = (ROOT / "daemon" / "protocol-examples.md").read_text(encoding="utf-8")
    quoted = re.findall(r'"error": \{"code": -?\d+,\s+"message": "((?:[^"\\]|\\.)*)"', document)
    assert len(quoted) > 10
    telling = [item for item in RAISED if any(literals(item)) or item.__name__ == "InvalidParams"]
    one_of_them = re.compile("|".join(f"(?:{pattern(item)})" for item in telling))
    assert [item for item in quoted if not one_of_them.fullmatch(item)] == []
