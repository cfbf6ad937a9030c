"""Client library for the CLI, scripts and agents: finds the daemon and sends it requests.

Public names: `connect` (asynchronous, typed), `connect_blocking` (standard library only) and the exceptions that they
raise; `AgentSession` for authors of agents, with `SummaryRequest` and `Summary` for functions that write summaries.
Each name is imported on first access, so that a program imports only the kind of client that it uses.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.client.agent import AgentSession, ContextOverflowError
    from sessiond.client.blocking import connect as connect_blocking
    from sessiond.client.daemon import connect
    from sessiond.client.daemon_socket import DaemonConnectionError
    from sessiond.client.summarizer import Summary, SummaryRequest
    from sessiond.client.wire import DisconnectedError, RpcError

__all__ = [
    "AgentSession",
    "ContextOverflowError",
    "DaemonConnectionError",
    "DisconnectedError",
    "RpcError",
    "Summary",
    "SummaryRequest",
    "connect",
    "connect_blocking",
]

_HOMES = {
    "AgentSession": ("agent", "AgentSession"),
    "ContextOverflowError": ("agent", "ContextOverflowError"),
    "Summary": ("summarizer", "Summary"),
    "SummaryRequest": ("summarizer", "SummaryRequest"),
    "DaemonConnectionError": ("daemon_socket", "DaemonConnectionError"),
    "DisconnectedError": ("wire", "DisconnectedError"),
    "RpcError": ("wire", "RpcError"),
    "connect": ("daemon", "connect"),
    "connect_blocking": ("blocking", "connect"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)
