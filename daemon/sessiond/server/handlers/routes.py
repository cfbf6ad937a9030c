"""Which handler answers which method, how its params are decoded, and what is special about it."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from sessiond.hub.live import LiveSession
from sessiond.protocol import methods as m, types as t
from sessiond.server.answers import Nature, Pending
from sessiond.server.client import Client
from sessiond.server.handlers import (
    blobs,
    branching,
    compacting,
    context,
    daemon,
    doctor,
    documents,
    exchange,
    history,
    keeping,
    pages,
    reading,
    sessions,
    state,
    stats,
    watching,
    writing,
)
from sessiond.server.params import reader_of

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)
Answer: TypeAlias = R | Pending | Coroutine[Any, Any, R | Pending]


@dataclass(frozen=True, slots=True)
class Route:
    """How a request of one method is decoded and answered; see `ParamsReader` for the two ways to decode."""

    decode: Callable[[bytes], Any]
    decode_slowly: Callable[[bytes], Any]
    call: Callable[[Client, Any], Any]
    nature: Nature


def _route(
    method: m.Method[P, R], call: Callable[[Client, P], Answer[R]], nature: Nature = "small"
) -> tuple[str, Route]:
    reader = reader_of(method)
    return method.name, Route(reader.decode, reader.decode_slowly, call, nature)


def _on_session(
    method: m.Method[P, R], call: Callable[[Client, LiveSession, P], Answer[R]], nature: Nature = "small"
) -> tuple[str, Route]:
    """A route whose handler works on the session that `sessionId` names: at once when that is open."""

    def answer(client: Client, params: Any) -> Answer[R]:
        live = client.hub.cached(params.session_id)
        return call(client, live, params) if live is not None else later(client, params)

    async def later(client: Client, params: Any) -> Any:
        answered = call(client, await client.hub.session(params.session_id), params)
        return await answered if isinstance(answered, Coroutine) else answered

    return _route(method, answer, nature)


ROUTES: dict[str, Route] = dict(
    [
        _route(m.CREATE, sessions.create, "write"),
        _route(m.OPEN, sessions.open_, "write"),
        _on_session(m.CLOSE, sessions.close, "write"),
        _route(m.CONTINUE, sessions.continue_, "write"),
        _route(m.LIST, sessions.list_, "large"),
        _route(m.SEARCH, sessions.search, "large"),
        _on_session(m.INFO, sessions.info),
        _on_session(m.STATS, stats.stats, "large"),
        _on_session(m.COMPARE, stats.compare, "large"),
        _route(m.FORK, sessions.fork, "write"),
        _route(m.IMPORT, exchange.import_),
        _on_session(m.EXPORT, exchange.export, "huge"),
        _route(m.APPEND, writing.append, "write"),
        _on_session(m.ENTRIES, reading.entries_, "large"),
        _on_session(m.PATH, reading.path, "large"),
        _on_session(m.TREE, reading.tree, "large"),
        _on_session(m.ENTRY_DOCUMENT, documents.entry, "large"),
        _on_session(m.PAGE, pages.page, "large"),
        _route(m.PAGE_DOCUMENT, pages.document),
        _on_session(m.CONTEXT, context.context_, "huge"),
        _on_session(m.PREPARE_COMPACTION, compacting.prepare, "large"),
        _on_session(m.COMPACT, compacting.compact, "write"),
        _on_session(m.CONFIGURE, compacting.configure, "write"),
        _on_session(m.PREPARE_BRANCH, branching.prepare, "large"),
        _on_session(m.BRANCH, branching.branch, "write"),
        _on_session(m.LABEL, writing.label, "write"),
        _on_session(m.RENAME, writing.rename, "write"),
        _on_session(m.TAG, writing.tag, "write"),
        _on_session(m.STATE, state.state),
        _on_session(m.UPDATE_STATE, state.update, "write"),
        _on_session(m.BEGIN_TASK, state.begin_task, "write"),
        _on_session(m.SUBSCRIBE, watching.subscribe),
        _route(m.UNSUBSCRIBE, watching.unsubscribe),
        _route(m.FLUSH, watching.flush),
        _on_session(m.MOVE, sessions.move, "write"),
        _route(m.DELETE, keeping.delete, "write"),
        _route(m.RESTORE, keeping.restore, "write"),
        _route(m.CLEANUP, keeping.cleanup, "write"),
        _route(m.PURGE, keeping.purge, "write"),
        _route(m.TRASH_LIST, keeping.list_, "large"),
        _route(m.HISTORY_ADD, history.add, "write"),
        _route(m.HISTORY_RECENT, history.recent, "large"),
        _route(m.HISTORY_SEARCH, history.search, "large"),
        _route(m.BLOB_PUT, blobs.put, "write"),
        _route(m.BLOB_GET, blobs.get, "huge"),
        _route(m.BLOB_COLLECT, blobs.collect),
        _route(m.STATUS, daemon.status),
        _route(m.CLIENTS, daemon.clients),
        _route(m.DOCTOR, doctor.doctor),
        _route(m.STOP, daemon.stop),
        _route(m.DRAIN, daemon.drain),
        _route(m.AUTHENTICATE, daemon.authenticate),
    ]
)
"""Every method of the protocol; a test compares the keys."""
