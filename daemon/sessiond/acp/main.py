"""Runs the proxy between the editor on standard input and output and an agent."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack

from msgspec import UNSET

from sessiond.acp import jsonrpc
from sessiond.acp.agent_process import AgentProcess
from sessiond.acp.attaching import Attaching
from sessiond.acp.elsewhere import SessionsElsewhere
from sessiond.acp.errors import AgentNotStarted, LineTooLong
from sessiond.acp.proxy import Proxy
from sessiond.acp.recovering import recover_all
from sessiond.acp.restoring import StoredStarts
from sessiond.acp.running_session import AcpClient
from sessiond.acp.session_methods import AcpMethods
from sessiond.acp.sharing import SharedSessions
from sessiond.acp.stored_sessions import RecordedAgent, RecordedSessions
from sessiond.acp.streams import LinePeer, standard_streams
from sessiond.paths import UnsafeFolderError, find_locations, make_private


def run(agent: RecordedAgent, command: Sequence[str]) -> int:
    """Run the proxy until the editor or the agent ends.

    Args:
        agent: The agent, as its sessions name it.
        command: The command that starts it.

    Returns:
        The exit status: 0 after the end of the editor, 1 after any other end.
    """
    return asyncio.run(_run(agent, command))


async def _run(recorded: RecordedAgent, command: Sequence[str]) -> int:
    async with standard_streams() as editor:
        return await _run_for(editor, recorded, command)


async def _run_for(editor: LinePeer, recorded: RecordedAgent, command: Sequence[str]) -> int:
    try:
        agent = await AgentProcess.start(command)
    except AgentNotStarted as error:
        _report(str(error))
        await _refuse(editor, str(error))
        return 1
    locations = find_locations()
    journals = os.path.join(locations.state, "acp")
    async with AsyncExitStack() as stack:
        store = RecordedSessions(recorded)
        stack.push_async_callback(store.close)
        proxy = Proxy(agent, AcpClient(editor, is_editor=True), store, journals, _report)
        stored = StoredStarts(proxy)
        AcpMethods(proxy, stored, SessionsElsewhere(proxy, stored, lambda: recover_all(journals, _report)))
        with contextlib.suppress(UnsafeFolderError):  # without the folder, only one client can use a session
            make_private(locations.runtime)
            shared = SharedSessions(locations.runtime, recorded.name, Attaching(proxy).serve)
            shared.tidy()
            proxy.sessions.shared = shared
        recovering = asyncio.create_task(recover_all(journals, _report))
        running = asyncio.create_task(proxy.run())
        _end_on_signals(running)
        try:
            return await running
        except asyncio.CancelledError:
            return 0
        finally:
            await recovering


def _end_on_signals(running: asyncio.Task[int]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)


async def _refuse(editor: LinePeer, message: str) -> None:
    """Answer the first request, so that the editor shows why there is no agent."""
    with contextlib.suppress(LineTooLong):
        while (line := await editor.read()) is not None:
            with contextlib.suppress(jsonrpc.UnreadableLine):
                envelope = jsonrpc.decode(line)
                if envelope.id is not UNSET and envelope.method is not UNSET:
                    editor.send(jsonrpc.failure(envelope.id, jsonrpc.INTERNAL_ERROR, message))
                    await editor.drained()
                    return


def _report(message: str) -> None:
    with contextlib.suppress(OSError):  # an editor may have closed standard error
        sys.stderr.write(f"sessiond acp: {message}\n")
        sys.stderr.flush()
