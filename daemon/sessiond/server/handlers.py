"""One function a method: decode is done, errors are not handled here, the hub does the work.

A handler answers at once where it can; where it must wait it is a coroutine; an append answers through `Pending`,
so that reply and publication keep the order of the log without a task for each.
"""

import os
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

import sessiond
from sessiond.hub import catalogue, clock
from sessiond.hub.drafts import AT_THE_LEAF, Placement
from sessiond.hub.errors import CursorExpired, InvalidRequest
from sessiond.hub.live import LiveSession, Outcome
from sessiond.hub.watch import REPLAY_LIMIT
from sessiond.protocol import methods as m
from sessiond.protocol import types as t
from sessiond.server.client import Client, Pending
from sessiond.session import context, entries, views
from sessiond.session.tree import NONE

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)
Answer: TypeAlias = R | Pending | Coroutine[Any, Any, R]

PAGE_BYTES = 2 * 1024 * 1024
"""A page of entries ends here, whatever its limit: reading more at once would hold the loop."""


# --- sessions ----------------------------------------------------------------------------------------------


async def create(client: Client, params: t.CreateParams) -> t.SessionResult:
    live = await client.hub.create(params)
    await _hold(client, live, params.terminal, cwd=params.cwd)
    info = client.hub.info(live)
    client.server.tell_all(m.CREATED, t.CreatedNote(session=info, origin=client.origin))
    return t.SessionResult(session=info, problems=[])


async def open_(client: Client, params: t.OpenParams) -> t.SessionResult:
    if (params.session_id is None) == (params.path is None):
        raise InvalidRequest("say either sessionId or path")
    if params.path is not None:
        live = await client.hub.at_path(_absolute(params.path))
    else:
        live = await client.hub.session(str(params.session_id))
    live = await client.hub.reopen_replaced(live)
    await _hold(client, live, params.terminal)
    return _session(client, live)


async def close(client: Client, live: LiveSession, params: t.CloseParams) -> t.CloseResult:
    trashed = await client.hub.release(live, client.client_id)
    if trashed is not None:
        note = t.DeletedNote(session_id=live.session_id, trashed=trashed, origin=client.origin)
        client.server.tell_all(m.DELETED, note)
    return t.CloseResult(clients=len(live.holders), trashed=trashed)


async def continue_(client: Client, params: t.ContinueParams) -> t.ContinueResult:
    terminal = params.terminal or client.terminal
    went = await client.hub.go_on(params, terminal)
    await _hold(client, went.live, terminal, cwd=params.cwd)
    result = _session(client, went.live)
    if went.created:
        client.server.tell_all(m.CREATED, t.CreatedNote(session=result.session, origin=client.origin))
    return t.ContinueResult(
        session=result.session, because=went.because, created=went.created, problems=result.problems
    )


async def list_(client: Client, params: t.ListParams) -> t.ListResult:
    return catalogue.page(await client.hub.sessions(), params)


def info(client: Client, live: LiveSession, _params: t.InfoParams) -> t.SessionResult:
    return _session(client, live)


async def fork(client: Client, params: t.ForkParams) -> t.SessionResult:
    if (params.session_id is None) == (params.path is None):
        raise InvalidRequest("say either sessionId or path")
    if params.path is not None:
        source = await client.hub.at_path(_absolute(params.path))
    else:
        source = await client.hub.session(str(params.session_id))
    live = await client.hub.fork(source, params)
    await _hold(client, live, None)
    result = _session(client, live)
    client.server.tell_all(m.CREATED, t.CreatedNote(session=result.session, origin=client.origin))
    return result


async def _hold(
    client: Client, live: LiveSession, terminal: t.Terminal | None, *, cwd: str | None = None
) -> None:
    """The client has the session open now: it hears of changes, and its terminal remembers."""
    live.holders.add(client.client_id)
    if client.client_id not in live.watchers:
        live.watchers.add(client, next_row=live.tree.committed)
    terminal = terminal or client.terminal
    if terminal is not None:
        where = cwd or terminal.cwd or (live.tree.header.cwd if live.tree.header is not None else "")
        await client.hub.remember(terminal, where, live)


def _session(client: Client, live: LiveSession) -> t.SessionResult:
    problems = [
        t.Problem(
            line=problem.line, byte_offset=problem.offset, reason=problem.reason, severity=problem.severity
        )
        for problem in live.tree.problems[:1000]
    ]
    return t.SessionResult(session=client.hub.info(live), problems=problems)


def _absolute(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise InvalidRequest("path is not an absolute path")
    return path


# --- the tree ----------------------------------------------------------------------------------------------


def append(client: Client, params: t.AppendParams) -> Pending:
    pending = Pending()
    server = client.server
    live = client.hub.cached(params.session_id)
    if live is not None and params.session_id not in server.arriving:
        _append(client, live, params, pending)
        return pending
    # The session must be opened first; whoever comes meanwhile queues behind, so that the order stays.
    server.arriving[params.session_id] += 1

    async def later() -> None:
        try:
            _append(client, await client.hub.session(params.session_id), params, pending)
        except Exception as error:  # noqa: BLE001 - answered like any refusal
            pending.resolve(error)
        finally:
            server.arriving[params.session_id] -= 1
            if not server.arriving[params.session_id]:
                del server.arriving[params.session_id]

    server.spawn(later())
    return pending


def _append(client: Client, live: LiveSession, params: t.AppendParams, pending: Pending) -> None:
    def done(outcome: Outcome | Exception) -> None:
        pending.resolve(outcome if isinstance(outcome, Exception) else _appended(outcome))

    if params.parent_id is UNSET and params.expected_leaf is UNSET and params.advance:
        placement = AT_THE_LEAF
    else:
        branch_on_conflict = params.on_conflict == "branch"
        placement = Placement(params.parent_id, params.expected_leaf, branch_on_conflict, params.advance)
    live.append(params.entries, placement, params.durability, client.origin, done)


def _appended(outcome: Outcome) -> t.AppendResult:
    created = outcome.prepared.created
    return t.AppendResult(
        leaf_id=outcome.leaf_id,
        seq=outcome.seq,
        entries=[
            t.Appended(id=name, seq=seq, status="created" if name in created else "duplicate")
            for name, seq in zip(outcome.prepared.ids, outcome.seqs, strict=True)
        ],
        branched=outcome.prepared.branched,
    )


def entries_(_client: Client, live: LiveSession, params: t.EntriesParams) -> t.EntriesResult:
    if params.ids is not None:
        rows = [live.row(name) for name in params.ids]
        return t.EntriesResult(entries=_raw(live.read_rows(rows)), seqs=rows)
    if params.cursor is not None:
        first = _row_of(params.cursor)
    elif params.around is not None:
        first = max(1, live.row(params.around) - params.limit // 2)
    else:
        first = (_seq(params.after) or 0) + 1
    found, seqs = live.page(first, PAGE_BYTES, params.limit)
    more = seqs and seqs[-1] + 1 < live.tree.committed
    return t.EntriesResult(entries=_raw(found), seqs=seqs, next_cursor=str(seqs[-1] + 1) if more else None)


def path(_client: Client, live: LiveSession, params: t.PathParams) -> t.EntriesResult:
    tip = live.tree.leaf if params.leaf_id is None else live.row(params.leaf_id)
    if params.cursor is not None:
        start, tip = (_row_of(part) for part in _pair(params.cursor))
    else:
        start = 0
    walk = live.tree.path(tip) if tip != NONE else []
    rows = walk[start : start + params.limit]
    size = 0
    for count, row in enumerate(rows):
        first, end = live.tree.span(row)
        size += end - first
        if size > PAGE_BYTES and count:
            rows = rows[:count]
            break
    more = f"{start + len(rows)}.{tip}" if start + len(rows) < len(walk) else None
    return t.EntriesResult(entries=_raw(live.read_rows(rows)), seqs=rows, next_cursor=more)


async def tree(_client: Client, live: LiveSession, params: t.TreeParams) -> t.TreeResult:
    root = NONE if params.root_id is None else live.row(params.root_id)
    after = NONE if params.cursor is None else _row_of(params.cursor)
    page = await live.drive(
        views.tree_rows(
            live.tree, live.outline, live.read_rows, filter=params.filter, query=params.query or "",
            root_row=root, after_row=after, limit=params.limit,
        )
    )  # fmt: skip
    return t.TreeResult(
        nodes=[msgspec.convert(node, t.TreeNode, from_attributes=True) for node in page.nodes],
        leaf_id=live.tree.leaf_id,
        total=page.total,
        next_cursor=None if page.resume == NONE else str(page.resume),
    )


async def context_(_client: Client, live: LiveSession, params: t.ContextParams) -> t.ContextResult:
    leaf = live.tree.leaf if params.leaf_id is None else live.row(params.leaf_id)
    seen = await live.drive(context.build_context(live.tree, leaf, live.read_rows))
    return t.ContextResult(
        messages=_raw(seen.messages), entry_ids=seen.entry_ids, models=seen.models,
        thinking_level=seen.thinking_level, mode=seen.mode, injected_ttsr_rules=seen.injected_ttsr_rules,
        leaf_id=seen.leaf_id, mode_data=_present(seen.mode_data),
        configured_thinking_level=seen.configured_thinking_level, service_tier=_present(seen.service_tier),
    )  # fmt: skip


async def branch(client: Client, live: LiveSession, params: t.BranchParams) -> t.BranchResult:
    previous = live.tree.leaf_id
    if params.summary is None:
        outcome = await live.move_leaf(params.target_id, expected=params.expected_leaf, origin=client.origin)
        entry_id = None
    else:
        draft: dict[str, object] = {
            "type": "branch_summary", "fromId": params.target_id or "root", "summary": params.summary,
        }  # fmt: skip
        if params.details is not UNSET:
            draft["details"] = params.details
        if params.from_extension is not None:
            draft["fromExtension"] = params.from_extension
        placement = Placement(params.target_id, params.expected_leaf)
        outcome = await live.commit([msgspec.json.encode(draft)], placement, origin=client.origin)
        entry_id = outcome.prepared.ids[0]
    note = t.LeafMovedNote(
        session_id=live.session_id, leaf_id=outcome.leaf_id, previous_leaf_id=previous, seq=outcome.seq,
        origin=client.origin,
    )  # fmt: skip
    live.watchers.tell(m.LEAF_MOVED, note)
    return t.BranchResult(leaf_id=outcome.leaf_id, seq=outcome.seq, entry_id=entry_id)


async def label(client: Client, live: LiveSession, params: t.LabelParams) -> t.ChangeResult:
    draft: dict[str, object] = {"type": "label", "targetId": live.tree.id(live.row(params.target_id))}
    if params.label:
        draft["label"] = params.label
    return await _change(client, live, draft, "labels")


async def rename(client: Client, live: LiveSession, params: t.RenameParams) -> t.ChangeResult:
    return await _change(
        client, live, {"type": "session_info", "name": " ".join(params.title.split())}, "title"
    )


async def tag(client: Client, live: LiveSession, params: t.TagParams) -> t.ChangeResult:
    if params.add is None and params.remove is None and params.set is None:
        raise InvalidRequest("say what to add, to remove or to set")
    tags = list(live.tree.tags if params.set is None else params.set)
    tags += params.add or []
    removed = set(params.remove or [])
    kept = list(dict.fromkeys(word.strip() for word in tags if word.strip() and word not in removed))
    return await _change(
        client, live, {"type": "custom", "customType": entries.TAGS_TYPE, "data": {"tags": kept}}, "tags"
    )


async def _change(client: Client, live: LiveSession, draft: dict[str, object], what: str) -> t.ChangeResult:
    outcome = await live.commit([msgspec.json.encode(draft)], origin=client.origin)
    info = client.hub.info(live)
    note = t.ChangedNote(session=info, changed=[what], origin=client.origin)  # type: ignore[list-item]
    client.server.tell_all(m.CHANGED, note)
    return t.ChangeResult(entry_id=outcome.prepared.ids[0], seq=outcome.seqs[0], session=info)


def _raw(lines: Sequence[bytes]) -> list[Raw]:
    return [Raw(line) for line in lines]


def _present(value: Raw | None) -> Raw | UnsetType:
    return UNSET if value is None else value


def _seq(after: int | t.After | None) -> int | None:
    return after.seq if isinstance(after, t.After) else after


def _row_of(cursor: str) -> int:
    if not cursor.lstrip("-").isdecimal() or len(cursor) > 12:
        raise CursorExpired
    return int(cursor)


def _pair(cursor: str) -> tuple[str, str]:
    start, dot, tip = cursor.partition(".")
    if not dot:
        raise CursorExpired
    return start, tip


# --- watching ----------------------------------------------------------------------------------------------


def subscribe(client: Client, live: LiveSession, params: t.SubscribeParams) -> t.SubscribeResult:
    last = live.tree.seq
    after = _seq(params.after)
    reason = None
    if after is None:
        reason = "no `after` was given"
    elif after > last:
        reason = f"the log ends at seq {last}: it is not the one that was read"
    elif after < last and live.tree.end - live.tree.span(after + 1)[0] > REPLAY_LIMIT:
        reason = "more was missed than a replay may hold"
    live.watchers.add(client, next_row=live.tree.committed if reason or after is None else after + 1)
    return t.SubscribeResult(
        mode="snapshot" if reason else "replay",
        from_seq=last + 1 if reason or after is None else after + 1,
        to_seq=last,
        session=client.hub.info(live),
        reason=reason,
    )


def unsubscribe(client: Client, params: t.UnsubscribeParams) -> t.UnsubscribeResult:
    live = client.hub.cached(params.session_id)
    return t.UnsubscribeResult(was_subscribed=live is not None and live.watchers.remove(client.client_id))


async def flush(client: Client, params: t.FlushParams) -> t.FlushResult:
    if params.session_id is None:
        return t.FlushResult(flushed=await client.hub.flush())
    live = await client.hub.session(params.session_id)
    return t.FlushResult(flushed=int(await live.flush()))


# --- the server --------------------------------------------------------------------------------------------


def status(client: Client, _params: t.StatusParams) -> t.StatusResult:
    server = client.server
    return t.StatusResult(
        version=sessiond.__version__, pid=os.getpid(), epoch=server.epoch, home=server.home, socket=server.socket,
        started_at=clock.iso(server.started_ns), uptime=time.monotonic() - server.started, rss_bytes=_rss(),
        open_sessions=len(client.hub.open_sessions()), clients=len(server.clients),
        lsp_loaded=server.lsp_loaded, draining=client.hub.draining,
    )  # fmt: skip


def clients(client: Client, _params: t.ClientsParams) -> t.ClientsResult:
    return t.ClientsResult(clients=[each.info() for each in client.server.clients.values()])


def stop(client: Client, _params: t.StopParams) -> t.StopResult:
    client.hub.draining = True
    client.server.stop_soon()
    return t.StopResult(pid=os.getpid())


def _rss() -> int:
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# --- routes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Route:
    """How a request of one method is decoded and answered."""

    decode: Callable[[bytes], Any]
    call: Callable[[Client, Any], Any]


def _route(method: m.Method[P, R], call: Callable[[Client, P], Answer[R]]) -> tuple[str, Route]:
    return method.name, Route(msgspec.json.Decoder(method.params).decode, call)


def _on_session(
    method: m.Method[P, R], call: Callable[[Client, LiveSession, P], Answer[R]]
) -> tuple[str, Route]:
    """A route whose handler works on the session that `sessionId` names: at once when that is open."""

    def answer(client: Client, params: Any) -> Answer[R]:
        live = client.hub.cached(params.session_id)
        return call(client, live, params) if live is not None else later(client, params)

    async def later(client: Client, params: Any) -> Any:
        answered = call(client, await client.hub.session(params.session_id), params)
        return await answered if isinstance(answered, Coroutine) else answered

    return _route(method, answer)


ROUTES: dict[str, Route] = dict(
    [
        _route(m.CREATE, create),
        _route(m.OPEN, open_),
        _on_session(m.CLOSE, close),
        _route(m.CONTINUE, continue_),
        _route(m.LIST, list_),
        _on_session(m.INFO, info),
        _route(m.FORK, fork),
        _route(m.APPEND, append),
        _on_session(m.ENTRIES, entries_),
        _on_session(m.PATH, path),
        _on_session(m.TREE, tree),
        _on_session(m.CONTEXT, context_),
        _on_session(m.BRANCH, branch),
        _on_session(m.LABEL, label),
        _on_session(m.RENAME, rename),
        _on_session(m.TAG, tag),
        _on_session(m.SUBSCRIBE, subscribe),
        _route(m.UNSUBSCRIBE, unsubscribe),
        _route(m.FLUSH, flush),
        _route(m.STATUS, status),
        _route(m.CLIENTS, clients),
        _route(m.STOP, stop),
    ]
)
"""Every method of the protocol; a test compares the keys."""
