"""Limits how much freed memory this process keeps, if the allocator is glibc's.

By itself, glibc keeps more the larger the blocks are that a process frees: after a block of 13 MB it leaves up to 26 MB
of free memory in the arena of each thread, permanently. Elsewhere these functions do nothing.
"""

import logging
from typing import Any, Final

log = logging.getLogger(__name__)

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_KEPT_BYTES: Final = 1 << 20


_functions: Any = None
"""The functions of the C library; None before they are loaded."""


def limit() -> None:
    """Have all threads share one arena, which keeps 1 MiB of free memory at its end, and returns larger blocks.

    Each arena would reserve 64 MiB of addresses, of which `ulimit -v` may leave few. Only one thread of Python runs at
    a time, so threads rarely wait for the arena.
    If the system refuses to load what this needs, the next call tries again.
    """
    _c()


def give_back() -> None:
    """Return all free pages to the system, after many small blocks were freed. It takes milliseconds."""
    if hasattr(_c(), "malloc_trim"):
        _c().malloc_trim(0)


def _c() -> Any:
    """Return the functions of the C library, or None if they cannot be loaded. The first call sets the limits."""
    global _functions
    if _functions is None:
        try:
            import ctypes  # a daemon without clients has no memory to return

            _functions = ctypes.CDLL(None)
            if hasattr(_functions, "mallopt"):
                _functions.mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
                _functions.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
                _functions.mallopt(_M_ARENA_MAX, 1)
        except (ImportError, OSError) as error:  # a request is not refused because memory cannot be saved
            log.info("the allocator keeps its own limits: %s", error)
    return _functions
