"""Classes of services whose modules are loaded, in a thread, with the first request that needs them.

A route names a method of such a class. For the type checker the class is imported as usual:

    if TYPE_CHECKING:
        from sessiond.hub.usage.service import UsageReports
    else:
        UsageReports = LoadedLate("sessiond.hub.usage.service")
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any


class LoadedLate:
    """Replaces a class of a module that is not loaded yet. Its attributes replace the methods of that class."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        module = self.module

        async def call(service: Callable[[], object], *args: object) -> object:
            """Load the module, and call the method of the service that `service` returns or makes."""
            if module not in sys.modules:
                await asyncio.to_thread(import_module, module)
            return await getattr(service(), name)(*args)

        return call
