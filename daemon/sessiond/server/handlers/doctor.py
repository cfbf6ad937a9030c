"""The handler of `server/doctor`: checks all files of the daemon and fixes the problems that are safe to fix."""

from sessiond.protocol import types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.progress import progress_in_percent


async def doctor(client: Client, params: t.DoctorParams) -> t.DoctorResult:
    """Run diagnostics with `hub.run_doctor`, with progress. Raises `Draining` for `fix` if the daemon is stopping."""
    if params.fix:
        client.hub.sessions.refuse_when_draining()
    server = client.server
    with progress_in_percent(client, params.work_done_token, "Running diagnostics") as report:
        return await client.hub.run_doctor(server.locations, server.config, params, report)
