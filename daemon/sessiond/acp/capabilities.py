"""The capabilities of the agent, and those that the proxy adds to the result of `initialize`."""

from dataclasses import dataclass, field
from typing import Final

from msgspec import Raw

from sessiond.acp import jsonrpc

_ADDED: Final = ("list", "resume", "fork", "close", "attach")
_NONE: Final = Raw(b"{}")
_TRUE: Final = Raw(b"true")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The abilities of the agent itself: names of `sessionCapabilities`, and `load`."""

    native: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, result: Raw) -> "Capabilities":
        """Return the capabilities in a result of `initialize`."""
        agent = jsonrpc.members(jsonrpc.members(result).get("agentCapabilities", _NONE))
        session = jsonrpc.members(agent.get("sessionCapabilities", _NONE))
        native = {name for name, value in session.items() if jsonrpc.value(value) not in (None, False)}
        if jsonrpc.value(agent.get("loadSession", _NONE)) is True:
            native.add("load")
        return cls(frozenset(native))


def with_added(result: Raw) -> Raw:
    """Return a result of `initialize` with the capabilities that the proxy adds; other members keep their bytes."""
    members = jsonrpc.members(result)
    agent = jsonrpc.members(members.get("agentCapabilities", _NONE))
    session = jsonrpc.members(agent.get("sessionCapabilities", _NONE))
    for name in _ADDED:
        if jsonrpc.value(session.get(name, Raw(b"null"))) in (None, False):
            session[name] = _NONE
    agent["loadSession"] = _TRUE
    agent["sessionCapabilities"] = jsonrpc.encoded(session)
    members["agentCapabilities"] = jsonrpc.encoded(agent)
    return jsonrpc.encoded(members)
