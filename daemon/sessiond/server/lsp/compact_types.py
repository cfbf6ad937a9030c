"""Imports the types of lsprotocol so that they take a fifth less memory.

lsprotocol declares 554 classes with attrs, which generates and compiles methods for each. The daemon neither compares
nor prints these objects: it fills them, and cattrs reads their fields. So `__eq__` and `__repr__` are not generated,
except where lsprotocol defines them itself (positions and ranges), and the sources of the other methods, which attrs
stores for tracebacks, are removed.
"""

import importlib
import linecache
import sys
from typing import Any, Final

import attrs

_NOT_GENERATED: Final = {"eq": False, "repr": False}


def load_types() -> None:
    """Import `lsprotocol.types`. If it is loaded already, it is unchanged."""
    if "lsprotocol.types" in sys.modules:
        return
    package: Any = attrs
    define = attrs.define

    def define_compactly(cls: type | None = None, **options: Any) -> Any:
        return define(cls, **(_NOT_GENERATED | options))

    package.define = define_compactly
    try:
        importlib.import_module("lsprotocol.types")
    finally:
        package.define = define
    for name in [name for name in linecache.cache if name.startswith("<attrs generated")]:
        del linecache.cache[name]
