"""Imports modules of the standard library without OpenSSL, which takes 7 MB of memory (decision 0031).

The daemon uses no TLS. asyncio, hashlib and hmac support a Python without OpenSSL; the hash functions of hashlib are
then those of Python itself. Hashes of large contents are computed by OpenSSL nevertheless (`sessiond.hashing`).
"""

import importlib
import sys
from typing import Any, Final

_HIDDEN: Final = ("ssl", "_hashlib", "typing_extensions")
_IMPORTED: Final = ("hashlib", "hmac", "asyncio", "msgspec")


def import_without_openssl() -> None:
    """Import asyncio, hashlib, hmac and msgspec as if Python had no OpenSSL. Loaded modules are unchanged.

    `typing_extensions` is hidden from msgspec, too, which uses only names of it that `typing` has as well.

    It must be called before the first import of asyncio in this process. `import ssl` works as usual afterwards.
    """
    modules: dict[str, Any] = sys.modules
    hidden = [name for name in _HIDDEN if name not in modules]
    for name in hidden:
        modules[name] = None  # makes the import raise ImportError
    try:
        for name in _IMPORTED:
            importlib.import_module(name)
    finally:
        for name in hidden:
            del modules[name]
