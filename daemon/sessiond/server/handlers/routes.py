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

- `_service`: the handler is a method of a service and takes the params.
- `_loaded`: as `_service`; the module of the service is loaded with the first request.
- `_service_for`: as `_service`, and the method also takes the client that sent the request.
- `_route`: the handler takes the client and the params.
- `_on_session`: the handler also takes the session that `sessionId` names. A closed session is opened first.
- `_on_named`: as `_on_session`, for params that name the session by `sessionId` or by `path`.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sessiond.hub.caller import Caller
from sessiond.hub.hub import Hub
from sessiond.hub.moves import SessionMoves
from sessiond.hub.prompt_history.history import PromptHistory
from sessiond.hub.redaction.text_redaction import TextRedaction
from sessiond.hub.retention.cleanup import Cleanup
from sessiond.hub.retention.deletion import Deletion
from sessiond.hub.retention.trash_requests import TrashRequests
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.sync.putting import Puts
from sessiond.hub.sync.service import Synchronization
from sessiond.hub.sync.stored_lines import StoredLineReader
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
from sessiond.server.connection.loaded_late import LoadedLate
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
    forgetting,
    messages,
    reading,
    sessions,
    state,
    stats,
    storage,
    views,
    watches,
    watching,
    writing,
)

if TYPE_CHECKING:
    from sessiond.hub.recall.recall import Recall
    from sessiond.hub.usage.service import UsageReports
else:
    Recall = LoadedLate("sessiond.hub.recall.recall")
    UsageReports = LoadedLate("sessiond.hub.usage.service")

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)
S = TypeVar("S")


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


def _service(
    method: m.Method[P, R],
    execution: Execution[S, P, R],
    of: Callable[[Hub], S],
    effect: Effect | Callable[[P], Effect] | None = None,
    names: Names = _not_at_all,
    *,
    drains: bool = False,
) -> tuple[str, Route[Client]]:
    """Return a route whose handler is a method of the service that `of` returns.

    With `drains`, the request is refused while the daemon is stopping.
    """
    call = execution.call

    def answer(client: Client, params: Any) -> object:
        hub = client.hub
        if drains:
            hub.sessions.refuse_when_draining()
        return call(of(hub), params)

    return _registered(method, answer, execution, effect, names)


def _loaded(
    method: m.Method[P, R], execution: Execution[S, P, R], of: Callable[[Hub], S], effect: Effect
) -> tuple[str, Route[Client]]:
    """Return a route as `_service` does, for a class that is `LoadedLate`."""
    call: Callable[[Any, P], object] = execution.call

    def answer(client: Client, params: Any) -> object:
        return call(partial(of, client.hub), params)

    return _registered(method, answer, execution, effect, _not_at_all)


def _service_for(
    method: m.Method[P, R],
    execution: Execution[S, P, Caller, R],
    of: Callable[[Hub], S],
    effect: Effect | Callable[[P], Effect] | None = None,
    names: Names = _not_at_all,
    *,
    drains: bool = False,
) -> tuple[str, Route[Client]]:
    """Return a route as `_service` does. The method also takes the client that sent the request."""
    call = execution.call

    def answer(client: Client, params: Any) -> object:
        hub = client.hub
        if drains:
            hub.sessions.refuse_when_draining()
        return call(of(hub), params, client)

    return _registered(method, answer, execution, effect, names)


def _on_session(
    method: m.Method[P, R],
    execution: Execution[Client, LiveSession, P, R],
    effect: Effect | Callable[[P], Effect] = "read",
) -> tuple[str, Route[Client]]:
    """Return a route whose handler takes the session that `sessionId` names. It is called immediately if that is open.

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
            partial(client.hub.sessions.named, params.session_id, params.path),
            lambda live: call(client, live, params),
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


def _effect_of_purge(params: t.PurgeParams) -> Effect:
    """Return the effect of a purge: on one session, or on all that are old enough."""
    return "overhaul" if params.session_id is None else "change"


ROUTES: dict[str, Route[Client]] = dict(
    [
        _route(m.CREATE, Uninterrupted(sessions.create), "change", _by_new_id),
        _on_named(m.OPEN, Uninterrupted(sessions.open_), "change"),
        _on_session(m.CLOSE, Uninterrupted(sessions.close), "change"),
        _route(m.CONTINUE, Uninterrupted(sessions.continue_), "overhaul"),
        _route(m.LIST, LargeAnswer(sessions.list_), "survey"),
        _service(m.RESOLVE, LargeAnswer(OpenSessions.resolve), lambda hub: hub.sessions, "survey"),
        _route(m.SEARCH, LargeAnswer(sessions.search), "survey"),
        _loaded(m.RECALL, LargeAnswer(Recall.run), lambda hub: hub.recall, "survey"),
        _loaded(m.USAGE_REPORT, LargeAnswer(UsageReports.report), lambda hub: hub.usage, "survey"),
        _route(m.STORAGE_REPORT, LargeAnswer(storage.report), "survey"),
        _route(m.STORAGE_AGENTS, Cancellable(storage.agents)),
        _route(m.STORAGE_ARCHIVE, Cancellable(storage.archive)),
        _route(m.STORAGE_RECLAIM, Cancellable(storage.reclaim)),
        _route(m.STORAGE_GIVE_BACK, Cancellable(storage.give_back)),
        _route(m.AGENT_VERIFY, Cancellable(agents.verify)),
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
        _service(m.REDACT, LargeAnswer(TextRedaction.run), lambda hub: hub.redaction),
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
        _on_session(m.WATCH_TREE, AnsweredAtOnce(watches.watch_tree)),
        _route(m.UNSUBSCRIBE, AnsweredAtOnce(watching.unsubscribe), "read", _by_id),
        _route(m.FLUSH, Cancellable(watching.flush), watching.effect_of_flush, _by_id),
        _service_for(m.MOVE, Uninterrupted(SessionMoves.move), lambda hub: hub.moves, "change", _by_id),
        _service_for(
            m.DELETE, Uninterrupted(Deletion.delete_named), lambda hub: hub.deletion, "change", _by_id_or_path
        ),
        _service_for(
            m.TRASH_RESTORE,
            Uninterrupted(TrashRequests.restore),
            lambda hub: hub.trash_requests,
            "change",
            _by_id,
        ),
        _service_for(m.CLEANUP, Uninterrupted(Cleanup.clean_up), lambda hub: hub.cleanup, "overhaul"),
        _service(
            m.TRASH_PURGE,
            Uninterrupted(TrashRequests.purge),
            lambda hub: hub.trash_requests,
            _effect_of_purge,
            _by_id,
        ),
        _service(m.TRASH_LIST, LargeAnswer(TrashRequests.page), lambda hub: hub.trash_requests, "survey"),
        _route(m.FORGOTTEN_LIST, LargeAnswer(forgetting.list_), "survey"),
        _route(m.FORGOTTEN_REVOKE, Uninterrupted(forgetting.revoke), "overhaul"),
        _service(m.HISTORY_ADD, Uninterrupted(PromptHistory.add), lambda hub: hub.history, drains=True),
        _service(m.HISTORY_IMPORT, Uninterrupted(PromptHistory.merge), lambda hub: hub.history, drains=True),
        _service(m.HISTORY_LIST, LargeAnswer(PromptHistory.page), lambda hub: hub.history, "survey"),
        _service(
            m.HISTORY_DELETE,
            Uninterrupted(PromptHistory.delete),
            lambda hub: hub.history,
            "overhaul",
            drains=True,
        ),
        _route(m.BLOB_PUT, Uninterrupted(blobs.put)),
        _route(m.BLOB_GET, HugeAnswer(blobs.get)),
        _route(m.BLOB_COLLECT, Cancellable(blobs.collect), "survey"),
        _service(
            m.BLOB_MISSING, Uninterrupted(Synchronization.missing_blobs), lambda hub: hub.sync, drains=True
        ),
        _service(m.SYNC_POSITIONS, LargeAnswer(Synchronization.positions), lambda hub: hub.sync, "survey"),
        _service(m.SYNC_IDS, LargeAnswer(StoredLineReader.ids), lambda hub: hub.sync.lines, "read", _by_id),
        _service(m.SYNC_LINES, HugeAnswer(StoredLineReader.page), lambda hub: hub.sync.lines, "read", _by_id),
        _service_for(
            m.SYNC_PUT, Uninterrupted(Puts.put), lambda hub: hub.sync.puts, "change", _by_id, drains=True
        ),
        _route(m.AGENT_LIST, LargeAnswer(agents.list_)),
        _route(m.AGENT_FOLLOW, Cancellable(agents.follow)),
        _route(m.AGENT_UNFOLLOW, Uninterrupted(agents.unfollow)),
        _route(m.AGENT_FORGET, Uninterrupted(agents.forget), "overhaul"),
        _route(m.AGENT_WAKE, Uninterrupted(agents.wake)),
        _route(m.HELLO, AnsweredAtOnce(daemon.hello)),
        _route(m.WATCH, Cancellable(watches.watch), "survey"),
        _route(m.UNWATCH, AnsweredAtOnce(watches.unwatch)),
        _route(m.STATUS, AnsweredAtOnce(daemon.status)),
        _route(m.CLIENTS, AnsweredAtOnce(daemon.clients)),
        _route(m.DOCTOR, Cancellable(doctor.doctor)),
        _route(m.STOP, AnsweredAtOnce(daemon.stop)),
        _route(m.DRAIN, AnsweredAtOnce(daemon.drain)),
        _route(m.AUTHENTICATE, AnsweredAtOnce(daemon.authenticate)),
    ]
)
"""Every method of the protocol. A test compares the keys."""
