"""The table of tools: names, annotations, input schemas, and the functions that run them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import msgspec

from sessiond.mcp.daemon_access import DaemonAccess, ReportProgress
from sessiond.mcp.errors import ArgumentsError
from sessiond.mcp.project import CurrentProject
from sessiond.mcp.tools import arguments as a


@dataclass(frozen=True)
class ToolCall:
    """The surroundings of one call of a tool.

    Attributes:
        access: The daemon.
        project: The current project.
        report: Reports progress; does nothing if the client wants none.
        client: The name of the client's program, for what a tool writes.
    """

    access: DaemonAccess
    project: CurrentProject
    report: ReportProgress
    client: str


RunTool = Callable[[ToolCall, Any], Awaitable[str]]


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        name: The name.
        title: The name for people.
        arguments: The type of its arguments. Its docstring is the description.
        place: The module in this package and the function that runs it. The module is imported with the first call.
        writes: Whether it changes a session, so that it needs `--allow-write`.
    """

    name: str
    title: str
    arguments: type[a.Arguments]
    place: str
    writes: bool = False

    def decode(self, raw: msgspec.Raw) -> a.Arguments:
        """Return the arguments. Raises `ArgumentsError`."""
        try:
            return msgspec.json.decode(b"{}" if raw == b"null" else raw, type=self.arguments)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ArgumentsError(self.name, str(error)) from None

    async def run(self, call: ToolCall, arguments: a.Arguments) -> str:
        """Run the tool and return its result. Raises `ToolError`."""
        module, _, function = self.place.partition(":")
        run: RunTool = getattr(import_module(f"sessiond.mcp.tools.{module}"), function)
        return await run(call, arguments)

    def described(self) -> Mapping[str, Any]:
        """Return the tool as `tools/list` has it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": _text(self.arguments.__doc__),
            "inputSchema": _schema(self.arguments),
            "annotations": {
                "title": self.title,
                "readOnlyHint": not self.writes,
                "destructiveHint": False,
                "idempotentHint": not self.writes,
                "openWorldHint": False,
            },
        }


TOOLS: Final[Mapping[str, Tool]] = {
    tool.name: tool
    for tool in (
        Tool("recall", "Recall from earlier sessions", a.RecallArguments, "finding:recall"),
        Tool("search_sessions", "Search earlier sessions", a.SearchArguments, "finding:search"),
        Tool("list_sessions", "List earlier sessions", a.ListArguments, "finding:list_"),
        Tool("session_overview", "Overview of a session", a.OverviewArguments, "overview:overview"),
        Tool("read_session", "Read a session", a.ReadArguments, "reading:read"),
        Tool("compare_branches", "Compare branches of a session", a.CompareArguments, "comparing:compare"),
        Tool("usage", "Usage of models", a.UsageArguments, "usage:usage"),
        Tool("label_entry", "Label an entry", a.LabelArguments, "writing:label", writes=True),
        Tool("tag_session", "Tag a session", a.TagArguments, "writing:tag", writes=True),
        Tool("fork_session", "Fork a session", a.ForkArguments, "writing:fork", writes=True),
        Tool("save_note", "Save a note", a.NoteArguments, "writing:save_note", writes=True),
    )
}


def _schema(arguments: type[a.Arguments]) -> dict[str, Any]:
    _, components = msgspec.json.schema_components((arguments,))
    schema: dict[str, Any] = components[arguments.__name__]
    return {"type": "object", "properties": schema["properties"], "required": schema["required"],
            "additionalProperties": False}  # fmt: skip


def _text(docstring: str | None) -> str:
    """Return a docstring as paragraphs of one line each."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (docstring or "").split("\n\n"))
