"""Stores the messages that killed proxies have left in their journals."""

from collections.abc import Callable

import msgspec

from sessiond.acp.entry_batches import append_renamed, batch_of
from sessiond.acp.journal import Orphan, orphans
from sessiond.acp.journal_records import JournalHead, JournalTurn, apply
from sessiond.acp.recorder import SessionRecorder
from sessiond.acp.stored_sessions import UNAVAILABLE, RecordedAgent, RecordedSessions
from sessiond.protocol import types as t


async def recover_all(folder: str, report: Callable[[str], None]) -> None:
    """Store the messages that earlier proxies could not store.

    Args:
        folder: The folder of journals.
        report: Receives a sentence for people about what cannot be stored yet.
    """
    stores: dict[RecordedAgent, RecordedSessions] = {}
    for orphan in orphans(folder):
        try:
            await recover(orphan, lambda agent: stores.setdefault(agent, RecordedSessions(agent)))
        except UNAVAILABLE as error:
            orphan.leave()
            report(f"An earlier conversation in {orphan.path} is not stored yet: {error}")
        else:
            orphan.done()
    for store in stores.values():
        await store.close()


async def recover(orphan: Orphan, stores: Callable[[RecordedAgent], RecordedSessions]) -> None:
    """Store the messages of a killed proxy that were not stored yet. Raises `UNAVAILABLE`.

    Args:
        orphan: Its journal.
        stores: Returns the sessions of an agent.
    """
    recorder: SessionRecorder | None = None
    head: JournalHead | None = None
    found: t.SessionInfo | None = None
    renamed: dict[str, str] = {}
    for kind, raw in orphan.records:
        if kind == "session":
            head = msgspec.json.decode(raw, type=JournalHead)
            store = stores(RecordedAgent(head.agent, head.dialect))
            found = await store.ensure(head.native_id, head.cwd)
        elif kind == "turn" and head is not None and found is not None:
            turn = msgspec.json.decode(raw, type=JournalTurn)
            if not turn.is_placed:
                turn.parent_id = found.leaf_id
            recorder = SessionRecorder(head.agent, turn.key, turn.parent_id, turn.model)
            recorder.takes_titles = turn.takes_titles
            recorder.counts_usage = turn.counts_usage
        elif recorder is not None:
            apply(recorder, kind, raw)
    if recorder is None or found is None:
        return
    if recorder.in_turn:
        recorder.ended(None, "The proxy ended in the middle of the turn.")
    recorder.close()
    while recorder.drafts:
        batch = batch_of(recorder.drafts)
        await append_renamed(store, found.session_id, batch, renamed)
        del recorder.drafts[: len(batch)]
