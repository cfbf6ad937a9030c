"""For the CLI, scripts and agents: find the daemon, talk to it.

Public names: `connect` (asynchronous, typed), `connect_blocking` (standard library only), `RpcError`,
`Disconnected`. Each is loaded when it is asked for, so importing this package costs nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.client.blocking import connect as connect_blocking
    from sessiond.client.daemon import connect
    from sessiond.client.wire import Disconnected, RpcError

__all__ = ["Disconnected", "RpcError", "connect", "connect_blocking"]

_HOMES = {
    "connect": ("sessiond.client.daemon", "connect"),
    "connect_blocking": ("sessiond.client.blocking", "connect"),
    "Disconnected": ("sessiond.client.wire", "Disconnected"),
    "RpcError": ("sessiond.client.wire", "RpcError"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
