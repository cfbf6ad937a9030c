"""The exception classes of the package, and one exception of each, with arguments by the types of its parameters."""

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from msgspec import Raw

import sessiond
from sessiond.agents.recognition import ForeignProgram
from sessiond.session.tree.problems import LineProblem

_SAMPLES: dict[str, Any] = {
    "str": "x", "int": 1, "float": 2.0, "list[str]": ["x"], "list[int]": [1], "Sequence[str]": ["x"],
    "LineProblem": LineProblem("damagedHeader", 1, 0, "why"),
    "ForeignProgram": ForeignProgram("x", "X"),
    "dict[str, Any]": {"build": "1.0", "pid": 7}, "RequestId": 3, "Exception": ValueError("why"),
    "int | str": 3, "dict[str, typing.Any]": {"supported": []},
    "Literal['damagedLine', 'nulBytes', 'notAnEntry']": "notAnEntry", "Iterable[str]": ["x"], "Raw": Raw(b"{}"),
}  # fmt: skip

_OF_EXTRAS = {
    "sessiond.adapters.claude_agent_sdk": "claude-agent-sdk",
    "sessiond.adapters.openai_agents": "openai-agents",
}
"""Modules that need the SDK of an extra, which is not installed everywhere, with its distribution."""


def is_installed(distribution: str) -> bool:
    """Whether a distribution is installed. The name of its module may also be that of a folder of tests."""
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False


def sample(kind: type[Exception]) -> Exception:
    """An exception of this class."""
    parameters = inspect.signature(kind).parameters.values()
    plain = [parameter for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    named = [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    return kind(*map(_value, plain), **{parameter.name: _value(parameter) for parameter in named})


def exceptions() -> Iterator[type[Exception]]:
    """Every exception class that the package defines, in the order of its modules."""
    for found in pkgutil.walk_packages(sessiond.__path__, "sessiond."):
        sdk = _OF_EXTRAS.get(found.name)
        if found.name.endswith("__main__") or (sdk is not None and not is_installed(sdk)):
            continue
        module = import_module(found.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__ == found.name:
                yield kind


def _value(parameter: inspect.Parameter) -> Any:
    annotation = parameter.annotation
    written = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _SAMPLES[_plain(written)]


def _plain(annotation: str) -> str:
    """An annotation in the form of the samples: without None and without the modules of its names."""
    first = annotation.removesuffix(" | None")
    outer, bracket, inner = first.partition("[")
    return outer.rpartition(".")[2] + bracket + inner
