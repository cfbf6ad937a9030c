"""Handlers of import, export and resume of other programs' sessions."""

from collections.abc import Coroutine
from typing import Any

from msgspec import UNSET

from sessiond.hub import working_state
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import Moment
from sessiond.hub.transfer.reporting import Reporting
from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.progress import progress, progress_in_percent


async def import_(client: Client, params: t.ImportParams) -> t.ImportResult:
    """Import sessions with `hub.exchange.import_`, with progress. Each new session is announced to all clients."""
    origin = client.origin()

    def created(session: t.SessionInfo) -> None:
        client.hub.lineage.forget()
        client.server.notify_all(m.CREATED, t.CreatedNote(session=session, origin=origin))

    with progress(client, params.work_done_token, "Importing sessions") as report:
        return await client.hub.exchange.import_(params, Reporting(report, created, origin))


def export(client: Client, live: LiveSession, params: t.ExportParams) -> Coroutine[Any, Any, t.ExportResult]:
    """Export the session as of this call with `hub.exchange.export`, with progress. Raises `EntryNotFound`."""
    moment = live.moment()
    row = moment.leaf if params.leaf_id is UNSET else live.row_at(params.leaf_id)
    return _exported(client, live, moment, row, params)


async def _exported(
    client: Client, live: LiveSession, moment: Moment, row: int, params: t.ExportParams
) -> t.ExportResult:
    state: t.WorkingState | None = None
    if params.format == "nova":
        state = await working_state.working_state(client.hub, live, await live.derived.state_at(row))
    with progress_in_percent(client, params.work_done_token, "Exporting the session") as report:
        return await client.hub.exchange.export(live, moment, params, state, report)


def resume(client: Client, live: LiveSession, params: t.ResumeParams) -> Coroutine[Any, Any, t.ResumeResult]:
    """Resume the session as of this call with `hub.native_sessions.resume`."""
    return client.hub.native_sessions.resume(live, live.moment(), params)
