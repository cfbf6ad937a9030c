"""Names: a public class has a name of its own, and a variable the name of what it is."""

import ast
from collections import defaultdict
from pathlib import Path

import sessiond

PACKAGE = Path(sessiond.__file__).parent
PROJECT = PACKAGE.parent.parent


def public_classes() -> dict[str, list[str]]:
    """The modules that define a class of each public name, nested classes included."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(file.relative_to(PACKAGE)))
    return found


def test_no_public_class_name_occurs_twice() -> None:
    classes = public_classes()
    assert len(classes) > 500, "the package was not found"
    several = {name: modules for name, modules in classes.items() if len(modules) > 1}
    assert several == {}


def binds_it(node: ast.AST) -> bool:
    """Whether a part of the code gives a value to a variable, or an argument, that is named `it`."""
    if isinstance(node, ast.Name):
        return node.id == "it" and isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.arg):
        return node.arg == "it"
    return isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler) and node.name == "it"


def test_no_variable_is_named_it() -> None:
    """`entry` or `session` says what a loop is about, where `it` sends the reader back to the beginning."""
    files = [file for folder in ("daemon", "scripts", "tests") for file in (PROJECT / folder).rglob("*.py")]
    assert len(files) > 1000, "the project was not found"
    found = [
        f"{file.relative_to(PROJECT)}:{getattr(node, 'lineno', 0)}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if binds_it(node)
    ]
    assert found == []
