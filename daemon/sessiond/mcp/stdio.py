"""Runs the MCP server on standard input and output until the client closes them.

A thread copies between the two streams and the connection, so that files, pipes and terminals work alike.
"""

import asyncio
import os
import socket
import threading
from typing import Final

from sessiond.client import forward
from sessiond.mcp.daemon_access import DaemonAccess
from sessiond.mcp.project import CurrentProject
from sessiond.mcp.server import McpServer
from sessiond.rpc.connection import Connection

_LAST_SECONDS: Final = 2.0


def serve(*, folder: str | None, all_projects: bool, allow_write: bool) -> None:
    """Serve one client on standard input and output.

    Args:
        folder: The folder of the current project; None for the first root of the client, or the working folder.
        all_projects: Read the sessions of all projects by default.
        allow_write: Offer the tools that write.
    """
    ours, theirs = socket.socketpair()
    pump = threading.Thread(target=_pump, args=(ours,), name="stdio", daemon=True)
    pump.start()
    project = CurrentProject(folder, os.getcwd(), is_unlimited=all_projects)  # noqa: PTH109 - without pathlib
    asyncio.run(_serve(theirs, project, allow_write=allow_write))
    pump.join(_LAST_SECONDS)  # it still writes the last responses


def _pump(ours: socket.socket) -> None:
    with ours:
        forward.pump(0, 1, ours)


async def _serve(connected: socket.socket, project: CurrentProject, *, allow_write: bool) -> None:
    access = DaemonAccess()
    server = McpServer(access, project, allow_write=allow_write)
    connected.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.create_connection(
        lambda: Connection(server, mode="jsonLines", fixed_mode=True), sock=connected
    )
    try:
        await server.closed_event.wait()
    finally:
        await access.close()
