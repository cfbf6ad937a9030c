"""Client library for the CLI, scripts and agents: finds the daemon and sends it requests.

Public names: `connect` (asynchronous, typed), `connect_blocking` (standard library only) and the exceptions that they
raise; `AgentSession` for authors of agents, with `SummaryRequest` and `Summary` for functions that write summaries.
Each name is imported on first access, so that a program imports only the kind of client that it uses.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.client.agent import AgentSession, ContextOverflow
    from sessiond.client.blocking import connect as connect_blocking
    from sessiond.client.daemon import connect
    from sessiond.client.daemon_socket import CannotConnect
    from sessiond.client.summarizer import Summary, SummaryRequest
    from sessiond.client.wire import Disconnected, RpcError

__all__ = [
    "AgentSession",
    "CannotConnect",
    "ContextOverflow",
    "Disconnected",
    "RpcError",
    "Summary",
    "SummaryRequest",
    "connect",
    "connect_blocking",
]

_HOMES = {
    "AgentSession": ("agent", "AgentSession"),
    "ContextOverflow": ("agent", "ContextOverflow"),
    "Summary": ("summarizer", "Summary"),
    "SummaryRequest": ("summarizer", "SummaryRequest"),
    "CannotConnect": ("daemon_socket", "CannotConnect"),
    "Disconnected": ("wire", "Disconnected"),
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
