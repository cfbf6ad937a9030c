"""Handlers about the daemon: hello, status, clients, stop, drain, authenticate."""

import logging
import os
import time
from typing import Final

import sessiond
from sessiond.protocol import types as t, versions
from sessiond.server.connection.client import Client
from sessiond.session.tree.lines import valid_text

_MAX_BLOCKED: Final = 100
"""Limit of the blocked sessions in a status."""

log = logging.getLogger(__name__)


def hello(client: Client, params: t.HelloParams) -> t.HelloResult:
    """Take the handshake with `Client.hello`. Raises `InvalidRequest`, `UnsupportedProtocol`."""
    return client.hello(params)


def status(client: Client, _params: t.StatusParams) -> t.StatusResult:
    """Return counters of the server and the hub, and up to 100 write-blocked sessions."""
    server = client.server
    sessions, usage = client.hub.sessions.all(), server.usage.read()
    blocked = [
        t.BlockedSession(session_id=live.session_id, path=live.log.path, write_block=live.write_block)
        for live in sessions
        if live.write_block is not None
    ]
    return t.StatusResult(
        version=sessiond.__version__, protocol_versions=versions.spoken(), server_id=server.server_id,
        limits=client.limits(), pid=os.getpid(), epoch=server.epoch, home=server.home,
        socket=server.socket, started_at=server.started_at,
        uptime_ms=round((time.monotonic() - server.started) * 1000), rss_bytes=usage.rss_bytes,
        descriptor_count=usage.descriptors, task_count=usage.tasks,
        open_session_count=len(sessions), client_count=len(server.clients),
        in_flight_count=server.memory_budget.requests, held_bytes=server.memory_budget.incoming.taken,
        queued_bytes=server.send_buffers.total,
        lsp_loaded=server.lsp_loaded, draining=client.hub.sessions.draining, tcp=server.tcp,
        blocked_sessions=blocked[:_MAX_BLOCKED], blocked_session_count=len(blocked),
        free_bytes=client.hub.disk_space.free_bytes, low_space=client.hub.disk_space.is_low,
        failed_tasks=server.lasting.failed, user_home=valid_text(client.hub.following.user_home),
    )  # fmt: skip


def clients(client: Client, _params: t.ClientsParams) -> t.ClientsResult:
    """Return a row for each attached client, with `Client.info`."""
    return t.ClientsResult(clients=[each.info() for each in client.server.clients.values()])


def stop(client: Client, _params: t.StopParams) -> t.StopResult:
    """Set `hub.sessions.draining`, so that further writes are refused, and stop the server after the response."""
    client.hub.sessions.draining = True
    client.server.stop_soon()
    return t.StopResult(pid=os.getpid())


def authenticate(_client: Client, _params: t.AuthenticateParams) -> t.AuthenticateResult:
    """Confirm the authentication, which happened before: by user id, or by the token at the TCP listener."""
    return t.AuthenticateResult()


def drain(client: Client, params: t.DrainParams) -> t.DrainResult:
    """Log the reason and call `server.drain`, which refuses further writes and stops the server within `timeoutMs`."""
    note = " ".join((params.note or "no reason given").split())
    log.info("%s %s requests free memory: %s", client.name or "a client", client.version or "", note)
    client.server.drain(params.timeout_ms / 1000, params.note)
    return t.DrainResult(pid=os.getpid(), epoch=client.server.epoch)
