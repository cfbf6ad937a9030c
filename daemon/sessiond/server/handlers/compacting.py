"""Handlers of compaction: prepare, compact, configure."""

from collections.abc import Coroutine
from typing import Any

from msgspec import UNSET

from sessiond.hub.errors import TooLarge
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import at_the_leaf
from sessiond.hub.session.live import LiveSession
from sessiond.hub.summaries import limits
from sessiond.hub.summaries.compacting import Request
from sessiond.hub.summaries.requesting import MAX_PROMPT_BYTES
from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.deferred import Pending
from sessiond.server.connection.summary_waiters import SummaryWaiter
from sessiond.server.handlers.writing import write
from sessiond.session.compaction.preparation import Preparation
from sessiond.session.content.pi_touched_files import TouchedPaths
from sessiond.session.tree import entries
from sessiond.session.tree.steps import Steps


def prepare(
    client: Client, live: LiveSession, params: t.PrepareCompactionParams
) -> Coroutine[Any, Any, t.PrepareCompactionResult]:
    """Return the steps of `hub.compactions.prepare`. Raises `EntryNotFound`, `IncompatibleParams`, `TooLarge`."""
    preparing, settings = client.hub.compactions.prepare(live, params)
    return _prepared(live, preparing, settings)


async def _prepared(
    live: LiveSession, preparing: Steps[Preparation], settings: t.CompactionSettings
) -> t.PrepareCompactionResult:
    prepared = await live.drive(preparing)
    refuse_too_large(prepared.prompt)
    return t.PrepareCompactionResult(
        leaf_id=prepared.leaf_id, needed=prepared.needed, reason=prepared.reason,
        first_kept_entry_id=prepared.first_kept_entry_id,
        entry_ids_to_summarize=list(prepared.entry_ids_to_summarize), turn_prefix_ids=list(prepared.turn_prefix_ids),
        split_turn=prepared.split_turn, previous_summary=prepared.previous_summary,
        file_operations=files(prepared.file_operations), tokens_before=prepared.tokens_before,
        tokens_after=prepared.tokens_after, prompt=prepared.prompt, settings=settings,
    )  # fmt: skip


def compact(client: Client, live: LiveSession, params: t.CompactParams) -> Pending:
    """Start or join a compaction with `hub.compactions.compact`. The response follows when the entry is stored.

    Raises `Overloaded` if too many requests of the client wait for a summary.
    """
    client.hub.sessions.refuse_when_draining()
    client.requests.refuse_more_waiting()
    waiting = SummaryWaiter(client, params.work_done_token, "Compacting the session")
    command = client.hub.commands.of(m.COMPACT, params, live.session_id)
    request = Request(params, client.origin(params.command_id), client.client_id, command)
    return waiting.wait(lambda: client.hub.compactions.compact(live, request, waiting))


async def configure(
    client: Client, live: LiveSession, params: t.ConfigureParams
) -> t.ConfigureResult | Pending:
    """Return the compaction settings in force; `autoCompact` first appends an entry that changes them."""
    configured = client.server.config.compaction
    if params.auto_compact is UNSET:
        settings = limits.in_force(configured, live.tree)
        return t.ConfigureResult(
            auto_compact=settings, record_id=None, log_id=live.log.log_id, seq=live.tree.seq
        )
    # One at a time: each change starts from the result of the one before it.
    await live.settings_lock.acquire()
    try:
        chosen = limits.with_choice(configured, live.tree, params.auto_compact)
        draft: dict[str, object] = {
            "type": "custom", "customType": entries.SETTINGS_TYPE, "data": {"autoCompact": chosen},
        }  # fmt: skip

        def result(outcome: Outcome) -> t.ConfigureResult:
            settings = limits.in_force(configured, live.tree)
            return t.ConfigureResult(
                auto_compact=settings, record_id=outcome.prepared.ids[0], log_id=outcome.log_id,
                seq=outcome.seqs[0], duplicate=outcome.prepared.duplicate,
            )  # fmt: skip

        command = client.hub.commands.of(m.CONFIGURE, params, live.session_id)
        pending = write(client, live, draft, result, at_the_leaf(command))
    except BaseException:
        live.settings_lock.release()
        raise
    pending.then(lambda _answer: live.settings_lock.release())
    return pending


def refuse_too_large(prompt: str | None) -> None:
    """Raise `TooLarge` for a prompt that would make the response larger than the client's connection accepts."""
    if prompt is not None and len(prompt) > MAX_PROMPT_BYTES:
        raise TooLarge("the prompt", len(prompt), MAX_PROMPT_BYTES)


def files(operations: TouchedPaths) -> t.FileOperations:
    """Convert file operations to the type of the wire."""
    return t.FileOperations(read=list(operations.read), modified=list(operations.modified))
