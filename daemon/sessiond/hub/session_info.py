"""What the wire says of a session: the words of lists, made from its tree."""

from collections.abc import Callable, Sequence

import msgspec

from sessiond.protocol import types as t
from sessiond.session.listing import info
from sessiond.session.listing.standing import standing
from sessiond.session.tree import lines
from sessiond.session.tree.tree import Tree


def session_info(
    tree: Tree,
    read: Callable[[Sequence[int]], list[bytes]],
    *,
    path: str | None,
    draft: bool,
    size: int,
    session_id: str | None = None,
    ephemeral: bool = False,
    read_only: bool = False,
    write_block: t.WriteBlock | None = None,
    log_id: str | None = None,
) -> t.SessionInfo:
    """What the wire says of a session."""
    facts = info.summarize(tree, read)
    return t.SessionInfo(
        session_id=session_id or (tree.header.id if tree.header is not None else ""),
        path=path, cwd=facts.cwd, title=facts.title,
        tags=list(facts.tags), created_at=facts.created_at, updated_at=facts.updated_at,
        message_count=facts.message_count, entry_count=facts.entry_count, first_prompt=facts.first_prompt,
        leaf_id=tree.leaf_id, seq=max(tree.seq, 0), size_bytes=size, parent_session=facts.parent_session,
        draft=draft and not tree.has_assistant(), ephemeral=ephemeral, read_only=read_only,
        problems=len(tree.problems), write_block=write_block, log_id=log_id,
    )  # fmt: skip


def listed(
    tree: Tree, read: Callable[[Sequence[int]], list[bytes]], *, path: str, draft: bool, size: int
) -> t.ListedSession:
    """What a list says of a session that is not open."""
    return standing_of(session_info(tree, read, path=lines.sound(path), draft=draft, size=size), tree, read)


def standing_of(
    session: t.SessionInfo, tree: Tree, read: Callable[[Sequence[int]], list[bytes]]
) -> t.ListedSession:
    """The same with how the session stands at its leaf."""
    lifecycle, model = standing(tree, read)
    fields = {name: getattr(session, name) for name in session.__struct_fields__}
    fields["log_id"] = None  # a list says the same of a session, open or not
    return t.ListedSession(**fields, lifecycle=lifecycle, model=model)


def as_json(session: t.ListedSession) -> bytes:
    """As the index keeps it."""
    return msgspec.json.encode(session)


from_json = msgspec.json.Decoder(t.ListedSession).decode
"""The other way round. Raises `msgspec.DecodeError`."""


def session_result(session: t.SessionInfo, tree: Tree, *, duplicate: bool = False) -> t.SessionResult:
    """What the wire says of a session with the problems of its file."""
    problems = [
        t.Problem(kind=it.kind, line=it.line, byte_offset=it.offset, reason=it.reason, severity=it.severity)
        for it in tree.problems
    ]
    return t.SessionResult(session=session, problems=problems, duplicate=duplicate)
