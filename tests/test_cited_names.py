"""Docstrings, comments and documents cite only names that exist: modules, files, tests, exceptions, identifiers."""

import pytest

from support.cited_names import OF_OTHERS, ROOT, cited_and_gone, files, gone, source_of

BESIDE = ROOT / "daemon" / "sessiond" / "client"


def test_every_name_that_is_cited_exists() -> None:
    assert cited_and_gone() == []


@pytest.mark.parametrize(
    "text",
    [
        "See `client/replaced`.", "See `client/replace.start_nothing`.", "`tests/cli/test_nothing_here.py` has it.",
        "As in test_nothing_is_" + "as_it_was.", "`no_such_" + "module.py` reads it.",
        "`client.replace.no_such_" + "name`",
        "Raises `GoneError`.", "Raises `DisconnectedError` and `GoneError`.",
        "A text.\n\n    Raises:\n        GoneError: It is gone.\n", "The `_no_such" + "_name` of it.",
        "A `NoSuch" + "Thing`.", "`BlockingDaemon.no_such_thing`",
    ],
)  # fmt: skip
def test_a_name_that_is_gone_is_found(text: str) -> None:
    assert [*gone(text, BESIDE)] != []


@pytest.mark.parametrize(
    "text",
    [
        "See `client/replace`.", "See `client/replace.restart`.", "`replace.py` and `session/append`.",
        "`client.replace.restart`", "`BlockingDaemon.call`", "Raises `DisconnectedError`.",
        "`known_words` of `cited_names.py`",
        "test_every_name_that_is_cited_exists", "`textDocument/hover`, `and/or`, `x`, `--yes`",
    ],
)  # fmt: skip
def test_a_name_that_exists_is_not(text: str) -> None:
    assert [*gone(text, BESIDE)] == []


def test_each_name_of_another_program_is_cited() -> None:
    texts = [text for path in files() if path.suffix == ".py" for text in source_of(path).texts]
    assert [part for part in OF_OTHERS if not any(f"`{part}" in text for text in texts)] == []
