"""Handlers that append to a log: append, label, rename, tag; and `write`, which appends one entry."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import UNSET

from sessiond.hub.errors import EntryNotFound, IncompatibleParams, TooManyTags
from sessiond.hub.session.append_queue import THROTTLE_UNWRITTEN_BYTES
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.description import info_of
from sessiond.hub.session.entry_placement import AT_THE_LEAF, Placement, at_the_leaf
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session_info import MAX_TAGS
from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.deferred import Pending
from sessiond.session.tree import command_ids, entries, marks
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.session.tree.tree import NewRow


def append(client: Client, params: t.AppendParams) -> Pending:
    """Append entries with `live.append`. For a closed session, the appends wait in order until it is open.

    Entries of a provider format are converted first. Raises `Draining` and `IncompatibleParams`.
    """
    client.hub.sessions.refuse_when_draining()
    if params.placement is not None:
        params = _placed(params)
    if params.format != "agent":
        from sessiond.hub.session import provider_formats  # many modules, which most daemons do not need

        drafts = provider_formats.to_drafts(params.format, params.entries)
        params = msgspec.structs.replace(params, entries=drafts)
    pending = Pending()
    waiting = client.server.arriving.get(params.session_id)
    live = client.hub.sessions.cached(params.session_id)
    if waiting is not None:
        # The session is being opened and other appends wait for it: all are made in the order of their arrival.
        waiting.append((client, params, pending))
    elif live is not None:
        _append(client, live, params, pending)
    else:
        client.server.arriving[params.session_id] = [(client, params, pending)]
        client.server.spawn(_append_to_closed(client, params.session_id))
    return pending


def _placed(params: t.AppendParams) -> t.AppendParams:
    """Return the params with the `parentId` that `placement` means. Raises `IncompatibleParams` for another one."""
    names_parent = isinstance(params.parent_id, str)
    if names_parent != (params.placement == "parent"):
        problem = (
            f"`placement` `{params.placement}` {'needs a' if not names_parent else 'goes without'} `parentId`"
        )
        raise IncompatibleParams(problem)
    return msgspec.structs.replace(
        params,
        parent_id=UNSET if params.placement == "leaf" else params.parent_id if names_parent else None,
        expected_leaf_id=UNSET if params.expected_leaf_id is None else params.expected_leaf_id,
        placement=None,
    )


async def _append_to_closed(client: Client, session_id: str) -> None:
    """Open a session, then make the appends that wait for it, in the order of their arrival."""
    arriving = client.server.arriving
    try:
        live = await client.hub.sessions.session(session_id)
    except Exception as error:  # noqa: BLE001 - it becomes the answer
        for _, _, pending in arriving.pop(session_id):
            pending.resolve(error)
        return
    for sender, params, pending in arriving.pop(session_id):
        _append(sender, live, params, pending)


def _append(client: Client, live: LiveSession, params: t.AppendParams, pending: Pending) -> None:
    def done(outcome: Outcome | Exception) -> None:
        if isinstance(outcome, Exception):
            pending.resolve(outcome)
            return
        pending.resolve(append_result(outcome))
        remember_prompts(client, live, outcome.prepared.rows)

    if params.parent_id is UNSET and params.expected_leaf_id is UNSET and params.advance:
        placement = AT_THE_LEAF
    else:
        branch_on_conflict = params.on_conflict == "branch"
        placement = Placement(params.parent_id, params.expected_leaf_id, branch_on_conflict, params.advance)
    live.append(params.entries, placement, params.durability, client.origin(), done)
    if live.unwritten_bytes > THROTTLE_UNWRITTEN_BYTES:
        client.hold()


def append_result(outcome: Outcome) -> t.AppendResult:
    """Return the result of `session/append` for a committed batch."""
    created = outcome.prepared.created
    return t.AppendResult(
        leaf_id=outcome.leaf_id,
        log_id=outcome.log_id,
        last_seq=outcome.seq,
        entries=[
            t.Appended(id=name, seq=seq, status="created" if name in created else "duplicate")
            for name, seq in zip(outcome.prepared.ids, outcome.seqs, strict=True)
        ],
        branched=outcome.prepared.branched,
    )


def remember_prompts(client: Client, live: LiveSession, rows: Sequence[NewRow]) -> None:
    """Add the prompts among committed rows to the prompt history, unless the session is ephemeral."""
    if not live.ephemeral and live.tree.header is not None:
        client.hub.history.remember(rows, live.session_id, live.tree.header.cwd)


def label(client: Client, live: LiveSession, params: t.LabelParams) -> Pending:
    """Append a label entry with `write`. Without a text, the entry removes the label."""
    draft: dict[str, object] = {"type": "label", "targetId": params.entry_id}
    if params.label:
        draft["label"] = params.label
    return _change(client, live, draft, client.hub.commands.of(m.LABEL, params, live.session_id))


def rename(client: Client, live: LiveSession, params: t.RenameParams) -> Pending:
    """Append a title with `write`. Runs of white space in the title become one space."""
    draft: dict[str, object] = {"type": "session_info", "name": " ".join(params.title.split())}
    return _change(client, live, draft, client.hub.commands.of(m.RENAME, params, live.session_id))


async def tag(client: Client, live: LiveSession, params: t.TagParams) -> Pending:
    """Append the resulting tags with `write`.

    Raises:
        IncompatibleParams: The request changes no tags.
        TooManyTags: The session would have more than `MAX_TAGS` tags, and more than it has.
    """
    if params.add is None and params.remove is None and params.tags is None:
        raise IncompatibleParams("at least one of `add`, `remove` and `tags` is required")
    # One at a time: each change starts from the result of the one before it.
    await live.settings_lock.acquire()
    try:
        tags = list(live.tree.tags if params.tags is None else params.tags)
        tags += params.add or []
        removed = set(params.remove or [])
        tags = marks.normalized_tags(word for word in tags if word not in removed)
        command = client.hub.commands.of(m.TAG, params, live.session_id)
        if MAX_TAGS < len(tags) > len(live.tree.tags) and not _is_recorded(live, command):
            raise TooManyTags(len(tags), MAX_TAGS)
        draft: dict[str, object] = {
            "type": "custom", "customType": entries.TAGS_TYPE, "data": {"tags": tags},
        }  # fmt: skip
        pending = _change(client, live, draft, command)
    except BaseException:
        live.settings_lock.release()
        raise
    pending.then(lambda _answer: live.settings_lock.release())
    return pending


def _is_recorded(live: LiveSession, command: CommandRecord | None) -> bool:
    """Return whether the session records a command, so that the request is a repeat."""
    return command is not None and command_ids.find(live.tree, command, live.read) is not None


def _change(
    client: Client, live: LiveSession, draft: dict[str, object], command: CommandRecord | None
) -> Pending:
    def result(outcome: Outcome) -> t.ChangeResult:
        return t.ChangeResult(
            record_id=outcome.prepared.ids[0], log_id=outcome.log_id, seq=outcome.seqs[0],
            session=info_of(live), duplicate=outcome.prepared.duplicate,
        )  # fmt: skip

    return write(client, live, draft, result, at_the_leaf(command))


def write(
    client: Client,
    live: LiveSession,
    draft: dict[str, object],
    result: Callable[[Outcome], t.Wire],
    placement: Placement,
) -> Pending:
    """Append one entry with the durability `synced`, and answer in log order.

    Args:
        client: The sender of the request.
        live: The session.
        draft: The entry.
        result: Builds the result from the outcome of the append.
        placement: Where the entry is placed.

    """
    client.hub.sessions.refuse_when_draining()
    pending = Pending()

    def done(outcome: Outcome | Exception) -> None:
        if isinstance(outcome, EntryNotFound):
            outcome = live.not_found(outcome.entry_id)
        try:
            pending.resolve(outcome if isinstance(outcome, Exception) else result(outcome))
        except Exception as error:  # noqa: BLE001 - the entry is stored; only building the result failed
            pending.resolve(error)

    command_id = None if placement.command is None else placement.command.id
    live.append([msgspec.json.encode(draft)], placement, "synced", client.origin(command_id), done)
    return pending
