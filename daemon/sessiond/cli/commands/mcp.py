"""The command mcp: serves the sessions to an agent as an MCP server on standard input and output."""

from __future__ import annotations

from sessiond.cli.parse.session_argument import working_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import ParsedArguments


def mcp(args: ParsedArguments) -> int:
    """Serve one client until it closes standard input."""
    from sessiond.lean_imports import import_without_openssl

    import_without_openssl()
    from sessiond.mcp.stdio import serve

    folder = working_folder(args) if args.value("cwd") is not None else None
    serve(folder=folder, all_projects=args.flag("all"), allow_write=args.flag("allow-write"))
    return 0
