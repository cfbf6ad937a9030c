"""Tests see what a caller of sessiond sees: they use no name of it that begins with an underscore.

ruff finds `part._name` (SLF001). This finds imports, and names in the texts that a test gives to `setattr` or `patch`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
_TAKE_NAMES = ("setattr", "delattr", "getattr", "hasattr", "object", "patch")
"""The ends of functions that take the name of an attribute."""


def is_private(name: str) -> bool:
    """Whether a name, or the last part of a dotted one, is private."""
    last = name.rpartition(".")[2]
    return last.startswith("_") and last.isidentifier() and not last.endswith("__")


def uses(text: str) -> Iterator[tuple[int, str]]:
    """Yield the private names that the text of a module uses, with their lines."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] == "sessiond":
                names = [*module.split("."), *(name.name for name in node.names)]
            case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function)) if (
                function in _TAKE_NAMES
            ):
                names = [text for arg in node.args for text in texts(arg)]
            case ast.Tuple(
                elts=[ast.Name() | ast.Attribute(), *others]
            ):  # a row of a table: module, name, value
                names = [text for other in others for text in texts(other)]
            case _:
                continue
        yield from ((node.lineno, name) for name in names if is_private(name))


def texts(value: ast.expr) -> list[str]:
    """The text of a literal, as a list of one; empty for any other expression."""
    return [value.value] if isinstance(value, ast.Constant) and isinstance(value.value, str) else []


def test_private_names_are_found() -> None:
    for line in (
        "from sessiond.hub.hub import _one",
        "from sessiond.hub._hub import Hub",
        "patched.setattr(hub, '_one', 1)",
        "patched.setattr('sessiond.hub.hub._one', 1)",
        "for module, name in ((hub, '_one'), (store, 'one')): patched.setattr(module, name, 1)",
        "mock.patch.object(hub, '_one')",
    ):
        assert len(list(uses(line))) == 1, line
    assert not list(
        uses("from sessiond.hub import __version__, hub\npatched.setattr(hub, 'ONE', {'_meta': 1})")
    )


def test_tests_use_no_private_names() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}: {name}"
        for path in sorted(TESTS.rglob("*.py"))
        for line, name in uses(path.read_text(encoding="utf-8"))
    ]
    assert found == []
