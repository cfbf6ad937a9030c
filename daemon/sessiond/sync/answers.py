"""Checks that an answer of the other side of a sync fits its request. The types of its members are checked before.

A bundle is not checked here: it is verified as a whole when it is opened.
"""

import re
from binascii import a2b_base64
from itertools import pairwise
from typing import Final

from sessiond.protocol import types as t
from sessiond.session.content.blobs import is_hash
from sessiond.session.tree.tree import Tree
from sessiond.session.union.comparable import HASH_DIGITS

_LAST_SEQ: Final = 2**31 - 1
"""No log has more lines: the rows of a tree are 32-bit numbers."""
_is_short_hash: Final = re.compile(rf"[0-9a-f]{{{HASH_DIGITS}}}").fullmatch


def fault_of(params: t.Wire, answer: t.Wire) -> str | None:
    """Return what is wrong with an answer to a request, as the end of a sentence; None if nothing is."""
    match params, answer:
        case t.SyncPositionsParams(), t.SyncPositionsResult():
            return _fault_of_positions(answer)
        case t.SyncIdsParams(), t.SyncIdsResult():
            return _fault_of_ids(params, answer)
        case t.SyncLinesParams(), t.SyncLinesResult():
            return _fault_of_lines(params, answer)
        case t.SyncPutParams(), t.SyncPutResult():
            sent = params.lines.count(b"\n")
            if not (0 <= answer.added_count <= sent and 0 <= answer.duplicate_count <= sent):
                return f"it took {answer.added_count} of {sent} lines"
        case t.BlobMissingParams(), t.BlobMissingResult():
            if not set(answer.hashes) <= set(params.hashes):
                return "it lacks blobs that nobody named"
        case t.BlobGetParams(), t.BlobGetResult():
            return _fault_of_blob(params, answer)
    return None


def _fault_of_positions(answer: t.SyncPositionsResult) -> str | None:
    seen: set[str] = set()
    for session in answer.sessions:
        if session.session_id in seen or not session.session_id:
            return f"it named the session {session.session_id!r:.140} twice or without an id"
        seen.add(session.session_id)
        if session.state == "trashed" and not session.trash_id:
            return f"the session {session.session_id:.128} is in its trash without an id there"
        if session.problem is None and not (0 <= session.line_count <= _LAST_SEQ and is_hash(session.digest)):
            return f"the session {session.session_id:.128} has no digest or no number of lines"
    if not (is_hash(answer.digest) and answer.session_count >= 0):
        return "its store has no digest or no number of sessions"
    return None


def _fault_of_ids(params: t.SyncIdsParams, answer: t.SyncIdsResult) -> str | None:
    seqs, name = answer.seqs, params.session_id
    if not len(seqs) == len(answer.ids) == len(answer.hashes) == len(answer.parents) <= params.limit:
        return f"its lines of the session {name:.128} have columns of different lengths"
    if not 0 <= answer.last_seq <= _LAST_SEQ or not _ascend((params.after, *seqs, answer.last_seq + 1)):
        return f"its lines of the session {name:.128} are not in order"
    if answer.next_after is not None and not (seqs and seqs[-1] <= answer.next_after <= answer.last_seq):
        return f"its lines of the session {name:.128} have no end"
    if not all(map(_is_short_hash, answer.hashes)):
        return f"its lines of the session {name:.128} have hashes that are none"
    if not all(-1 <= seq <= answer.last_seq for seq in (*answer.parents, *answer.tag_seqs)):
        return f"its lines of the session {name:.128} have parents or tags that are no lines"
    return None


def _fault_of_lines(params: t.SyncLinesParams, answer: t.SyncLinesResult) -> str | None:
    name, lines, end = params.session_id, answer.lines, answer.next_after
    if lines and not lines.endswith(b"\n"):
        return f"it cut off a line of the session {name:.128}"
    if end is not None and not (lines and params.after < end <= _LAST_SEQ):
        return f"its lines of the session {name:.128} have no end"
    if params.seqs is not None:
        if lines.count(b"\n") > len(params.seqs):
            return f"it sent more lines of the session {name:.128} than were asked for"
        return None
    head = Tree()
    head.read(answer.head)
    head.finish()
    if head.header is None or head.header.id != name:
        return f"it sent the session {name:.128} without its header"
    return None


def _fault_of_blob(params: t.BlobGetParams, answer: t.BlobGetResult) -> str | None:
    try:
        end = params.offset + len(a2b_base64(answer.data))
    except ValueError:
        return "it sent a blob that is not base64"
    if answer.next_offset is not None and not params.offset < answer.next_offset == end < answer.size_bytes:
        return "it sent a blob that has no end"
    return None


def _ascend(numbers: tuple[int, ...]) -> bool:
    return all(before < after for before, after in pairwise(numbers))
