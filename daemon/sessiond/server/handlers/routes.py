"""Which handler answers which method, how its params are decoded, when it takes effect, and what is special."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from sessiond.hub.session.live import LiveSession
from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.deferred import Nature, Pending, Unopened
from sessiond.server.connection.params import reader_of
from sessiond.server.connection.tickets import READS, Effect
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
from sessiond.server.handlers.named import named

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)
Answer: TypeAlias = R | Pending | Unopened | Coroutine[Any, Any, R | Pending]


Names: TypeAlias = Callable[[Any], tuple[str | None, str | None]]
"""How params name a session: by its id, or else by the path of its file."""


def _by_id(params: Any) -> tuple[str | None, str | None]:
    return params.session_id, None


def _by_id_or_path(params: Any) -> tuple[str | None, str | None]:
    return params.session_id, params.path if params.session_id is None else None


def _by_new_id(params: t.CreateParams) -> tuple[str | None, str | None]:
    return params.id, None


def _not_at_all(_params: Any) -> tuple[str | None, str | None]:
    return None, None


@dataclass(frozen=True, slots=True)
class Route:
    """How a request of one method is decoded and answered; see `ParamsReader` for the two ways to decode.

    `effect` says when it takes effect on the session that `names` finds in its params; None: it is about no session.
    """

    decode: Callable[[bytes], Any]
    decode_slowly: Callable[[bytes], Any]
    call: Callable[[Client, Any], Any]
    nature: Nature
    effect: Effect | Callable[[Any], Effect] | None
    names: Names
    reads_by_id: bool
    """Whether it only reads, from a session that is named by `sessionId`."""


def _route(
    method: m.Method[P, R],
    call: Callable[[Client, P], Answer[R]],
    nature: Nature = "small",
    effect: Effect | Callable[[P], Effect] | None = None,
    names: Names = _not_at_all,
) -> tuple[str, Route]:
    reader = reader_of(method)
    return method.name, Route(
        reader.decode, reader.decode_slowly, call, nature, effect, names, effect in READS and names is _by_id
    )


def _on_session(
    method: m.Method[P, R],
    call: Callable[[Client, LiveSession, P], Answer[R]],
    nature: Nature = "small",
    effect: Effect | Callable[[P], Effect] = "read",
) -> tuple[str, Route]:
    """A route whose handler works on the session that `sessionId` names: at once when that is open.

    A handler that reads sees what it reads before it first awaits, unless its effect is `scan`.
    """

    def answer(client: Client, params: Any) -> Answer[R]:
        live = client.hub.cached(params.session_id)
        if live is not None:
            return call(client, live, params)
        return Unopened(
            partial(client.hub.session, params.session_id), lambda live: call(client, live, params)
        )

    return _route(method, answer, nature, effect, _by_id)


def _on_named(
    method: m.Method[P, R],
    call: Callable[[Client, LiveSession, P], Answer[R]],
    nature: Nature,
    effect: Effect,
) -> tuple[str, Route]:
    """The same for params that name the session by `sessionId` or by `path`."""

    def answer(client: Client, params: Any) -> Answer[R]:
        return Unopened(
            partial(named, client, params.session_id, params.path), lambda live: call(client, live, params)
        )

    return _route(method, answer, nature, effect, _by_id_or_path)


ROUTES: dict[str, Route] = dict(
    [
        _route(m.CREATE, sessions.create, "write", "change", _by_new_id),
        _on_named(m.OPEN, sessions.open_, "write", "change"),
        _on_session(m.CLOSE, sessions.close, "write", "change"),
        _route(m.CONTINUE, sessions.continue_, "write", "overhaul"),
        _route(m.LIST, sessions.list_, "large", "survey"),
        _route(m.RESOLVE, sessions.resolve, "large", "survey"),
        _route(m.SEARCH, sessions.search, "large", "survey"),
        _on_session(m.INFO, sessions.info),
        _on_session(m.STATS, stats.stats, "large", "scan"),
        _on_session(m.COMPARE, stats.compare, "large"),
        _route(m.FORK, sessions.fork, "write", sessions.effect_of_fork, _by_id_or_path),
        _route(m.IMPORT, exchange.import_, effect="overhaul"),
        _on_session(m.EXPORT, exchange.export, "huge"),
        _route(m.APPEND, writing.append, "write", "append", _by_id),
        _on_session(m.ENTRIES, reading.entries_, "large"),
        _on_session(m.PATH, reading.path, "large"),
        _on_session(m.TREE, reading.tree, "large", "scan"),
        _on_session(m.ENTRY_DOCUMENT, documents.entry, "large", "scan"),
        _on_session(m.PAGE, pages.page, "large", "scan"),
        _route(m.PAGE_DOCUMENT, pages.document),
        _on_session(m.CONTEXT, context.context_, "huge"),
        _on_session(m.PREPARE_COMPACTION, compacting.prepare, "large"),
        _on_session(m.COMPACT, compacting.compact, "write", "job"),
        _on_session(m.CONFIGURE, compacting.configure, "write", "change"),
        _on_session(m.PREPARE_BRANCH, branching.prepare, "large"),
        _on_session(m.BRANCH, branching.branch, "write", branching.effect),
        _on_session(m.LABEL, writing.label, "write", "append"),
        _on_session(m.RENAME, writing.rename, "write", "append"),
        _on_session(m.TAG, writing.tag, "write", "change"),
        _on_session(m.STATE, state.state),
        _on_session(m.UPDATE_STATE, state.update, "write", state.effect),
        _on_session(m.BEGIN_TASK, state.begin_task, "write", "append"),
        _on_session(m.SUBSCRIBE, watching.subscribe),
        _route(m.UNSUBSCRIBE, watching.unsubscribe, effect="read", names=_by_id),
        _route(m.FLUSH, watching.flush, "small", watching.effect_of_flush, _by_id),
        _route(m.MOVE, sessions.move, "write", "change", _by_id),
        _route(m.DELETE, keeping.delete, "write", "change", _by_id_or_path),
        _route(m.RESTORE, keeping.restore, "write", "change", _by_id),
        _route(m.CLEANUP, keeping.cleanup, "write", "overhaul"),
        _route(m.PURGE, keeping.purge, "write", keeping.effect_of_purge, _by_id),
        _route(m.TRASH_LIST, keeping.list_, "large", "survey"),
        _route(m.HISTORY_ADD, history.add, "write"),
        _route(m.HISTORY_RECENT, history.recent, "large", "survey"),
        _route(m.HISTORY_SEARCH, history.search, "large", "survey"),
        _route(m.BLOB_PUT, blobs.put, "write"),
        _route(m.BLOB_GET, blobs.get, "huge"),
        _route(m.BLOB_COLLECT, blobs.collect, effect="survey"),
        _route(m.STATUS, daemon.status),
        _route(m.CLIENTS, daemon.clients),
        _route(m.DOCTOR, doctor.doctor),
        _route(m.STOP, daemon.stop),
        _route(m.DRAIN, daemon.drain),
        _route(m.AUTHENTICATE, daemon.authenticate),
    ]
)
"""Every method of the protocol; a test compares the keys."""
