"""The overview of all methods: the handler of each, how it runs, and when it takes effect.

Each row of `ROUTES` names a method, its handler, and how the handler runs. To add a method, choose the first row of
this table that fits:

| how it runs | for a handler that | it is canceled |
|---|---|---|
| `AnsweredAtOnce` | answers from memory in less than a millisecond | never: it completes within the call |
| `AfterWrite` | appends entries to one log, and is answered when they are durable | never once it has begun |
| `AfterSummary` | does so after a summary was written, which takes long | until the entry is being written |
| `Uninterrupted` | changes anything else, in one or several steps | never once it has begun |
| `HugeAnswer` | reads, and may answer with a whole frame | always |
| `LargeAnswer` | reads, and may answer with some megabytes | always |
| `SmallOrLargeAnswer` | does so, and can answer small requests at once | always, unless it is answered at once |
| `Cancellable` | takes long or waits, and has a small answer | always |

A request that has not begun can always be canceled. Every handler runs in the program order of its connection: its
effect decides which requests wait for it (`tickets.Effect`). A request without an effect is about no session, and
nothing waits for it.

- `_route`: the handler takes the client and the params.
- `_on_session`: the handler also takes the session that `sessionId` names. A closed session is opened first.
- `_on_named`: as `_on_session`, for params that name the session by `sessionId` or by `path`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from sessiond.hub.session.live import LiveSession
from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.deferred import Unopened, confirmed
from sessiond.server.connection.execution import (
    AfterSummary,
    AfterWrite,
    AnsweredAtOnce,
    Cancellable,
    Execution,
    HugeAnswer,
    LargeAnswer,
    SmallOrLargeAnswer,
    Uninterrupted,
)
from sessiond.server.connection.params import reader_of
from sessiond.server.connection.route import Names, RequestGroup, Route
from sessiond.server.connection.tickets import READS, Effect
from sessiond.server.handlers import (
    agents,
    blobs,
    branching,
    compacting,
    context,
    daemon,
    doctor,
    exchange,
    history,
    list_watches,
    messages,
    reading,
    retention,
    sessions,
    state,
    stats,
    sync,
    views,
    watching,
    writing,
)
from sessiond.server.handlers.named import named

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)


def _by_id(params: Any) -> tuple[str | None, str | None]:
    return params.session_id, None


def _by_id_or_path(params: Any) -> tuple[str | None, str | None]:
    return params.session_id, params.path if params.session_id is None else None


def _by_new_id(params: t.CreateParams) -> tuple[str | None, str | None]:
    return params.id, None


def _not_at_all(_params: Any) -> tuple[str | None, str | None]:
    return None, None


def _route(
    method: m.Method[P, R],
    execution: Execution[Client, P, R],
    effect: Effect | Callable[[P], Effect] | None = None,
    names: Names = _not_at_all,
    group: Callable[[Client, P], RequestGroup] | None = None,
) -> tuple[str, Route[Client]]:
    """Return a route whose handler takes the client and the params. For `group` see `Route`."""
    return _registered(method, execution.call, execution, effect, names, group)


def _on_session(
    method: m.Method[P, R],
    execution: Execution[Client, LiveSession, P, R],
    effect: Effect | Callable[[P], Effect] = "read",
) -> tuple[str, Route[Client]]:
    """Return a route whose handler takes the session that `sessionId` names. It is called at once if that is open.

    A handler that reads must read its data before it first awaits, unless its effect is `scan`.
    """
    call = execution.call

    def answer(client: Client, params: Any) -> object:
        live = client.hub.sessions.cached(params.session_id)
        if live is None:
            return Unopened(
                partial(client.hub.sessions.session, params.session_id),
                lambda live: call(client, live, params),
            )
        if live.is_shared:
            return confirmed(live, lambda: call(client, live, params))
        return call(client, live, params)

    return _registered(method, answer, execution, effect, _by_id)


def _on_named(
    method: m.Method[P, R], execution: Execution[Client, LiveSession, P, R], effect: Effect
) -> tuple[str, Route[Client]]:
    """Return a route as `_on_session` does, for params that name the session by `sessionId` or by `path`."""
    call = execution.call

    def answer(client: Client, params: Any) -> object:
        return Unopened(
            partial(named, client, params.session_id, params.path), lambda live: call(client, live, params)
        )

    return _registered(method, answer, execution, effect, _by_id_or_path)


def _registered(
    method: m.Method[P, R],
    call: Callable[[Client, Any], object],
    execution: Execution[*tuple[Any, ...], Any],
    effect: Effect | Callable[[Any], Effect] | None,
    names: Names,
    group: Callable[[Client, Any], RequestGroup] | None = None,
) -> tuple[str, Route[Client]]:
    reader = reader_of(method)
    starts_when_idle = effect is None or (effect in READS and names is _by_id)
    return method.name, Route(
        reader.decode, reader.decode_slowly, call, execution, effect, names, starts_when_idle, group
    )


ROUTES: dict[str, Route[Client]] = dict(
    [
        _route(m.CREATE, Uninterrupted(sessions.create), "change", _by_new_id),
        _on_named(m.OPEN, Uninterrupted(sessions.open_), "change"),
        _on_session(m.CLOSE, Uninterrupted(sessions.close), "change"),
        _route(m.CONTINUE, Uninterrupted(sessions.continue_), "overhaul"),
        _route(m.LIST, LargeAnswer(sessions.list_), "survey"),
        _route(m.RESOLVE, LargeAnswer(sessions.resolve), "survey"),
        _route(m.SEARCH, LargeAnswer(sessions.search), "survey"),
        _route(m.RECALL, LargeAnswer(sessions.recall), "survey"),
        _route(m.USAGE_REPORT, LargeAnswer(sessions.usage_report), "survey"),
        _on_session(m.INFO, AnsweredAtOnce(sessions.info)),
        _on_session(m.STATS, LargeAnswer(stats.stats), "scan"),
        _on_session(m.COMPARE, LargeAnswer(stats.compare)),
        _route(m.FORK, Uninterrupted(sessions.fork), sessions.effect_of_fork, _by_id_or_path),
        _route(m.IMPORT, Cancellable(exchange.import_), "overhaul"),
        _on_session(m.EXPORT, HugeAnswer(exchange.export)),
        _on_session(m.RESUME, Cancellable(exchange.resume)),
        _route(m.APPEND, AfterWrite(writing.append), "append", _by_id, messages.MessageGroup),
        _on_session(m.ENTRIES, SmallOrLargeAnswer(reading.entries_)),
        _on_session(m.PATH, LargeAnswer(reading.path)),
        _on_session(m.TREE, LargeAnswer(reading.tree), "scan"),
        _on_session(m.LABELS, LargeAnswer(reading.labels), "scan"),
        _on_session(m.VIEW_ENTRY, LargeAnswer(views.entry), "scan"),
        _on_session(m.VIEW_PAGE, LargeAnswer(views.page), "scan"),
        _on_session(m.VIEW_PATH, LargeAnswer(views.path), "scan"),
        _route(m.VIEW_DOCUMENT, Cancellable(views.document)),
        _route(m.REDACT, LargeAnswer(views.redact)),
        _on_session(m.CONTEXT, HugeAnswer(context.context_)),
        _on_session(m.PREPARE_COMPACTION, LargeAnswer(compacting.prepare)),
        _on_session(m.COMPACT, AfterSummary(compacting.compact), "job"),
        _on_session(m.CONFIGURE, AfterWrite(compacting.configure), "change"),
        _on_session(m.PREPARE_BRANCH, LargeAnswer(branching.prepare)),
        _on_session(m.BRANCH, AfterSummary(branching.branch), branching.effect),
        _on_session(m.LABEL, AfterWrite(writing.label), "append"),
        _on_session(m.RENAME, AfterWrite(writing.rename), "append"),
        _on_session(m.TAG, AfterWrite(writing.tag), "change"),
        _on_session(m.STATE_GET, Cancellable(state.state)),
        _on_session(m.STATE_UPDATE, Uninterrupted(state.update), state.effect),
        _on_session(m.STATE_BEGIN_TASK, Uninterrupted(state.begin_task), "append"),
        _on_session(m.SUBSCRIBE, AnsweredAtOnce(watching.subscribe)),
        _route(m.UNSUBSCRIBE, AnsweredAtOnce(watching.unsubscribe), "read", _by_id),
        _route(m.FLUSH, Cancellable(watching.flush), watching.effect_of_flush, _by_id),
        _route(m.MOVE, Uninterrupted(sessions.move), "change", _by_id),
        _route(m.DELETE, Uninterrupted(retention.delete), "change", _by_id_or_path),
        _route(m.TRASH_RESTORE, Uninterrupted(retention.restore), "change", _by_id),
        _route(m.CLEANUP, Uninterrupted(retention.cleanup), "overhaul"),
        _route(m.TRASH_PURGE, Uninterrupted(retention.purge), retention.effect_of_purge, _by_id),
        _route(m.TRASH_LIST, LargeAnswer(retention.list_), "survey"),
        _route(m.HISTORY_ADD, Uninterrupted(history.add)),
        _route(m.HISTORY_IMPORT, Uninterrupted(history.import_)),
        _route(m.HISTORY_LIST, LargeAnswer(history.list_), "survey"),
        _route(m.HISTORY_DELETE, Uninterrupted(history.delete), "overhaul"),
        _route(m.BLOB_PUT, Uninterrupted(blobs.put)),
        _route(m.BLOB_GET, HugeAnswer(blobs.get)),
        _route(m.BLOB_COLLECT, Cancellable(blobs.collect), "survey"),
        _route(m.BLOB_MISSING, Uninterrupted(sync.missing_blobs)),
        _route(m.SYNC_POSITIONS, LargeAnswer(sync.positions), "survey"),
        _route(m.SYNC_IDS, LargeAnswer(sync.ids), "read", _by_id),
        _route(m.SYNC_LINES, HugeAnswer(sync.lines), "read", _by_id),
        _route(m.SYNC_PUT, Uninterrupted(sync.put), "change", _by_id),
        _route(m.AGENT_LIST, LargeAnswer(agents.list_)),
        _route(m.AGENT_FOLLOW, Cancellable(agents.follow)),
        _route(m.AGENT_UNFOLLOW, Uninterrupted(agents.unfollow)),
        _route(m.AGENT_FORGET, Uninterrupted(agents.forget), "overhaul"),
        _route(m.AGENT_WAKE, Uninterrupted(agents.wake)),
        _route(m.HELLO, AnsweredAtOnce(daemon.hello)),
        _route(m.WATCH, Cancellable(list_watches.watch), "survey"),
        _route(m.UNWATCH, AnsweredAtOnce(list_watches.unwatch)),
        _route(m.STATUS, AnsweredAtOnce(daemon.status)),
        _route(m.CLIENTS, AnsweredAtOnce(daemon.clients)),
        _route(m.DOCTOR, Cancellable(doctor.doctor)),
        _route(m.STOP, AnsweredAtOnce(daemon.stop)),
        _route(m.DRAIN, AnsweredAtOnce(daemon.drain)),
        _route(m.AUTHENTICATE, AnsweredAtOnce(daemon.authenticate)),
    ]
)
"""Every method of the protocol. A test compares the keys."""
