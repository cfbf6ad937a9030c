"""Errors of the MCP server: those of the protocol, and those that a model reads as the result of a tool."""

from typing import Any, Final

from sessiond.error_text import TemplatedError

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002
"""The code until 2025-11-25; later versions use `INVALID_PARAMS`."""


class ProtocolError(TemplatedError):
    """Raised when a request is answered with a JSON-RPC error."""

    sentence = "{message}"

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message=message)
        self.code = code
        self.message = message
        self.data = data


class ToolError(TemplatedError):
    """The base of errors that a model can act on. They become the result of the tool."""


class ArgumentsError(ToolError):
    """Raised when the arguments of a tool do not fit its schema."""

    sentence = "{tool}: {reason}."

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(tool=tool, reason=reason)


class UnknownSessionError(ToolError):
    """Raised when no session has an id."""

    sentence = "No session has the id {id}."
    advice = "list_sessions and search_sessions give ids."

    def __init__(self, id: str) -> None:
        super().__init__(id=id)


class PathAsIdError(ToolError):
    """Raised when a path is given in place of the id of a session."""

    sentence = "{id} is a path, not the id of a session."
    advice = "list_sessions and search_sessions give ids."

    def __init__(self, id: str) -> None:
        super().__init__(id=id)


class AmbiguousSessionError(ToolError):
    """Raised when several sessions have ids that begin with a text."""

    sentence = "Several ids begin with {id}: {ids}."
    advice = "Give more characters."

    def __init__(self, id: str, ids: str) -> None:
        super().__init__(id=id, ids=ids)


class OtherProjectError(ToolError):
    """Raised when a session belongs to another project than the one of the client."""

    sentence = "Session {id} belongs to another project, and only sessions of the current project are read."
    advice = "If the user asked for other projects, repeat the call with all_projects: true."

    def __init__(self, id: str) -> None:
        super().__init__(id=id)


class UnknownEntryError(ToolError):
    """Raised when a session has no entry with an id."""

    sentence = "Entry {id} is not in the session."
    advice = "read_session and search_sessions give the ids of entries."

    def __init__(self, id: str) -> None:
        super().__init__(id=id)


class BadCursorError(ToolError):
    """Raised when a cursor is not one that this server has returned."""

    sentence = "The cursor {cursor} is not one of this tool."
    advice = "Repeat the call without cursor."

    def __init__(self, cursor: str) -> None:
        super().__init__(cursor=cursor)


class DaemonError(ToolError):
    """Raised when the daemon refuses a request, or cannot be reached."""

    sentence = "{message}"

    def __init__(self, message: str) -> None:
        super().__init__(message=message)
