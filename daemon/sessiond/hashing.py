"""SHA-256 of large contents, by OpenSSL, which is five times as fast as Python's own function.

OpenSSL is loaded when the first large content is hashed, because it takes 4 MB of memory (decision 0031).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import _Hash

LARGE_BYTES = 262_144
"""Size from which the faster function saves more time than its first import takes."""


def sha256_of_large(data: bytes | memoryview = b"") -> _Hash:
    """Return a SHA-256 object like `hashlib.sha256`, for large contents or a sequence of them."""
    return sha256_for_many()(data)


def sha256_for_many() -> Callable[[bytes | memoryview], _Hash]:
    """Return the function that computes SHA-256 objects fastest, for very many contents."""
    try:
        from _hashlib import openssl_sha256
    except ImportError:  # a Python without OpenSSL
        from hashlib import sha256

        return sha256
    found: Callable[[bytes | memoryview], _Hash] = openssl_sha256
    return found


def sha256_of(data: bytes | memoryview) -> _Hash:
    """Return the SHA-256 object of a content of any size."""
    if len(data) >= LARGE_BYTES:
        return sha256_of_large(data)
    from hashlib import sha256

    return sha256(data)
