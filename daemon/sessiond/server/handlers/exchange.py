"""Sessions of other programs: import and export."""

from sessiond.hub import kept, working
from sessiond.hub.importing import Reporting
from sessiond.hub.live import LiveSession
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.message import encode_notification
from sessiond.server.client import QUEUE_LITTLE, Client


async def import_(client: Client, params: t.ImportParams) -> t.ImportResult:
    token = params.work_done_token

    def tell(step: t.Progress) -> None:
        if token is not None:
            client.send(encode_notification(m.PROGRESS, t.ProgressNote(token=token, value=step)))

    def told(step: t.Progress) -> None:
        if client.queued_bytes < QUEUE_LITTLE:  # who does not read has no use for each step
            tell(step)

    def created(session: t.SessionInfo) -> None:
        client.hub.lineage.forget()
        client.server.tell_all(m.CREATED, t.CreatedNote(session=session, origin=client.origin))

    tell(t.Progress(kind="begin", title="Importing sessions", cancellable=True))
    try:
        return await client.hub.imports.run(params, Reporting(told, created, client.origin))
    finally:
        tell(t.Progress(kind="end"))  # LSP: a token ends before its request is answered


async def export(client: Client, live: LiveSession, params: t.ExportParams) -> t.ExportResult:
    state: t.WorkingState | None = None
    if params.format == "nova":
        row = live.tree.leaf if params.leaf_id is None else live.row(params.leaf_id)
        state = await working.working_state(client.hub, live, await kept.state_at(live, row))
    return await client.hub.exports.run(live, params, state)
