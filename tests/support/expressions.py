"""Every regular expression of the package: the compiled ones of its modules, and those that its functions give to `re`.

They are found in the modules themselves, so that new expressions are found, too.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import sessiond

CALL = re.compile(r"\b(\w+)\.(match|fullmatch|search|finditer|findall|sub|subn|split)\b")
ANCHORED = {"match", "fullmatch"}
FLAGS_AT = {
    "compile": 1, "match": 2, "fullmatch": 2, "search": 2, "findall": 2, "finditer": 2, "split": 3, "sub": 4, "subn": 4,
}  # fmt: skip
"""The functions of `re` that take an expression, and the place of the flags among their arguments."""
BOUNDED = {
    "sessiond.agents.json_comments.": "a settings file of the person's own",
    "sessiond.cli.": "a person's own words on the command line",
    "sessiond.config": "a value of the person's own configuration",
    "sessiond.hub.doctor.folders.": "the name of a file, at most 255 bytes",
    "sessiond.store.files.": "the name of a file, at most 255 bytes",
    "sessiond.sync.bundle.home_files.": "the name of a file, at most 255 bytes",
    "sessiond.server.connection.violations.": "a message of msgspec, which names types and fields of this project",
    "sessiond.session.content.row_text.": "three times the length of a row",
    "sessiond.setup.": "a settings file of the person's own",
    "sessiond.toml_edit": "the person's own configuration",
}
"""The beginnings of the names of expressions that match no long foreign text, and the texts that they match."""


class UnknownExpression(Exception):
    """Raised when an expression is neither a literal at its use nor a constant of its module."""


@dataclass(frozen=True)
class Expression:
    """An expression, and whether a match may begin anywhere in a text."""

    pattern: re.Pattern[Any]
    is_searched: bool


@cache
def expressions() -> Mapping[str, Expression]:
    """The expressions that match foreign text, by their names."""
    found: dict[str, Expression] = {}
    for module in modules():
        found |= _in_values(module)
        known = {expression.pattern for expression in found.values()}
        for name, call in in_calls(inspect.getsource(module), vars(module), module.__name__):
            if call.pattern not in known:
                number = sum(other.partition(" ")[0] == name for other in found)
                found[f"{name} {number + 1}" if number else name] = call
    return {name: expression for name, expression in found.items() if not name.startswith(tuple(BOUNDED))}


def modules() -> Iterator[ModuleType]:
    """The modules of the package, apart from those that import SDKs that are not always installed."""
    for info in pkgutil.walk_packages(sessiond.__path__, "sessiond."):
        if not info.name.endswith("__main__") and not info.name.startswith("sessiond.adapters."):
            yield importlib.import_module(info.name)


def _in_values(module: ModuleType) -> dict[str, Expression]:
    found = {}
    for name, value in vars(module).items():
        if name.startswith("__"):
            continue
        place = Path(module.__file__ or "") if name.startswith("_") else Path(sessiond.__path__[0])
        is_searched = not _calls(place).get(name, {"search"}) <= ANCHORED
        for number, pattern in enumerate(_patterns_in(value)):
            at = f"[{number}]" if number else ""
            if isinstance(pattern, re.Pattern):
                found[f"{module.__name__}.{name}{at}"] = Expression(pattern, is_searched)
            else:  # the method of an expression
                found[f"{module.__name__}.{name}{at}"] = Expression(
                    pattern.__self__, pattern.__name__ not in ANCHORED
                )
    return found


@cache
def _calls(folder: Path) -> dict[str, set[str]]:
    """The methods that are called on each name in the modules below a folder, or in one module."""
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*.py") if folder.is_dir() else [folder]:
        for name, method in CALL.findall(path.read_text("utf-8")):
            found.setdefault(name, set()).add(method)
    return found


def _patterns_in(value: Any, depth: int = 0) -> list[Any]:
    if isinstance(value, re.Pattern) or isinstance(getattr(value, "__self__", None), re.Pattern):
        return [value]
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if depth < 4 and isinstance(value, tuple | list | frozenset):
        return [found for item in value for found in _patterns_in(item, depth + 1)]
    return []


def in_calls(source: str, names: Mapping[str, Any], module: str) -> Iterator[tuple[str, Expression]]:
    """The expressions in calls such as `re.sub("[:.]", "-", text)`, with the functions that hold them."""
    for function, call in _functions_and_calls(ast.parse(source), module):
        method = _method_of_re(call)
        if method is None:
            continue
        arguments = [*call.args, *[None] * 5]
        by_name = {keyword.arg: keyword.value for keyword in call.keywords}
        text = _value(arguments[0] or by_name["pattern"], names, None if function == module else "word")
        flags = arguments[FLAGS_AT[method]] or by_name.get("flags")
        if isinstance(text, str | bytes):
            pattern = re.compile(text, 0 if flags is None else _value(flags, names))
            yield function, Expression(pattern, method not in ANCHORED)
        elif function != module:  # the values of compiled expressions were found in the modules
            raise UnknownExpression(f"{function} gives `re` an expression that is made elsewhere")


def _functions_and_calls(node: ast.AST, name: str) -> Iterator[tuple[str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        inside = name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = f"{name}.{child.name}"
        if isinstance(child, ast.Call):
            yield name, child
        yield from _functions_and_calls(child, inside)


def _method_of_re(call: ast.Call) -> str | None:
    match call.func:
        case ast.Attribute(ast.Name("re"), method) if method in FLAGS_AT:
            return method
    return None


def _value(node: ast.expr, names: Mapping[str, Any], unknown: str | None = None) -> Any:
    """The value of an expression of Python. In an f-string, `unknown` replaces a part that is not known yet."""
    if isinstance(node, ast.JoinedStr):
        parts = [
            _value(value.value if isinstance(value, ast.FormattedValue) else value, names)
            for value in node.values
        ]
        known = [unknown if part is None else str(part) for part in parts]
        return None if None in known else "".join(filter(None, known))
    try:
        return eval(compile(ast.Expression(node), "", "eval"), {"re": re, **names})
    except NameError:
        return None
