"""Builds the `SessionInfo` and `ListedSession` of the protocol from a session's tree."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from sessiond.protocol import types as t
from sessiond.session.listing import info
from sessiond.session.listing.lifecycle import lifecycle_and_model
from sessiond.session.listing.log_ends import EndFacts
from sessiond.session.tree import lines
from sessiond.session.tree.parents import parent_of
from sessiond.session.tree.tree import Tree

MAX_TAGS: Final = 100
"""The limit of tags of a session. Of a session to which another program gave more, the first ones are described."""


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
    stale: str | None = None,
    log_id: str | None = None,
) -> t.SessionInfo:
    """Return the protocol's description of a session.

    Args:
        tree: The tree of the session.
        read: Returns the stored entries of rows.
        path: The path of its file; None for a session in memory.
        draft: Whether the log is stored among the drafts.
        size: The size of the log in bytes.
        session_id: The id; None means the id in the header.
        ephemeral: Whether the session is in memory only.
        read_only: Whether the session is read-only.
        write_block: Why the session accepts no writes now, if so.
        stale: Why the log may lack the latest lines of other daemons, if so.
        log_id: The log id of an open session.
    """
    facts = info.summarize(tree, read)
    parent = parent_of(facts.parent_session)
    return t.SessionInfo(
        session_id=session_id or (tree.header.id if tree.header is not None else ""),
        path=path, cwd=facts.cwd, title=facts.title,
        tags=list(facts.tags[:MAX_TAGS]), created_at=facts.created_at, updated_at=facts.updated_at,
        message_count=facts.message_count, entry_count=facts.entry_count, first_prompt=facts.first_prompt,
        leaf_id=tree.leaf_id, last_seq=max(tree.seq, 0), size_bytes=size, parent_session_id=parent.session_id,
        parent_path=parent.path,
        is_draft=draft and not tree.has_assistant(), ephemeral=ephemeral, read_only=read_only,
        problem_count=len(tree.problems), write_block=write_block, stale=stale, log_id=log_id,
        origin=t.SessionOrigin.of(facts.origin, state=facts.origin_state, ended=facts.has_ended),
    )  # fmt: skip


def path_of(ref: str) -> str | None:
    """Return the path of a ref as text; None for a ref in memory or in a database."""
    return lines.valid_text(ref) if ref.startswith("/") else None


def listed(
    tree: Tree, read: Callable[[Sequence[int]], list[bytes]], *, ref: str, draft: bool, size: int
) -> t.ListedSession:
    """Return the list row of a session that is not open."""
    return list_row(session_info(tree, read, path=path_of(ref), draft=draft, size=size), tree, read)


def provisional(ends: EndFacts, *, ref: str, size: int) -> t.ListedSession:
    """Return the provisional list row of a session that is not open, from the beginning and the end of its log."""
    header = ends.header
    parent = parent_of(header.parent_session)
    return t.ListedSession(
        session_id=header.id, path=path_of(ref), cwd=header.cwd, title=ends.title,
        tags=list(ends.tags[:MAX_TAGS]), created_at=header.timestamp, updated_at=ends.updated_at,
        first_prompt=ends.first_prompt, leaf_id=ends.leaf_id, size_bytes=size,
        parent_session_id=parent.session_id, parent_path=parent.path, is_draft=False, read_only=False,
        message_count=None, entry_count=None, last_seq=None, problem_count=None, lifecycle=ends.lifecycle,
        model=None, provisional=True,
        origin=t.SessionOrigin.of(ends.origin, state=ends.origin_state, ended=ends.has_ended),
    )  # fmt: skip


def list_row(
    session: t.SessionInfo, tree: Tree, read: Callable[[Sequence[int]], list[bytes]]
) -> t.ListedSession:
    """Return a list row: the session info with the lifecycle and the model at the leaf."""
    lifecycle, model = lifecycle_and_model(tree, read)
    fields = {name: getattr(session, name) for name in session.__struct_fields__}
    fields["log_id"] = None  # list rows are identical for open and closed sessions
    return t.ListedSession(**fields, lifecycle=lifecycle, model=model)


def as_json(session: t.ListedSession) -> bytes:
    """Encode a list row as the index stores it."""
    return msgspec.json.encode(session)


from_json = msgspec.json.Decoder(t.ListedSession).decode
"""Decode a list row that `as_json` encoded. Raises `msgspec.DecodeError`."""


def session_result(session: t.SessionInfo, tree: Tree, *, duplicate: bool = False) -> t.SessionResult:
    """Return the session info together with the problems of its file."""
    problems = [
        t.Problem(
            kind=problem.kind,
            line=problem.line,
            byte_offset=problem.offset,
            message=problem.reason,
            severity=problem.severity,
        )
        for problem in tree.problems
    ]
    return t.SessionResult(session=session, problems=problems, duplicate=duplicate)
