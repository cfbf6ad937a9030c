"""The names of classes: each public one says by itself which class is meant."""

import ast
from collections import defaultdict
from pathlib import Path

import sessiond

PACKAGE = Path(sessiond.__file__).parent


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
