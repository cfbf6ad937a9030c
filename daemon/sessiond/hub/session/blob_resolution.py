"""Resolves the blobs of entries and contexts for reading, in a thread.

The size of the result is checked before blobs are read, so that a request needs at most the memory of its response.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import Raw

from sessiond.hub.errors import ContextTooLarge, EntryTooLarge
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.live import LiveSession
from sessiond.session.content import restore_blobs
from sessiond.session.context.context import Context
from sessiond.session.tree import steps
from sessiond.session.tree.steps import ROWS_A_STEP, Steps


class ResolvedPage(NamedTuple):
    """The first entries of a page with their blobs, and the hashes of missing blobs."""

    entries: list[bytes]
    missing: list[str]


async def resolve_entries(
    entries: Sequence[bytes], blobs: SessionBlobs, *, page_bytes: int, max_bytes: int
) -> ResolvedPage:
    """Resolve the blobs of the first entries: as many as fit into a page, at least one.

    Args:
        entries: The entries, as stored.
        blobs: The blobs of the session.
        page_bytes: The limit of the page in bytes.
        max_bytes: The limit of one entry in bytes.

    Raises:
        EntryTooLarge: An entry that must be returned has more than `max_bytes` bytes.
    """
    if not any(map(restore_blobs.may_refer_to_blobs, entries)):
        return ResolvedPage(list(entries), [])
    return await asyncio.to_thread(_resolve_entries, entries, blobs, page_bytes, max_bytes)


async def resolve_context(
    context: Context, blobs: SessionBlobs, *, max_bytes: int
) -> tuple[Context, list[str]]:
    """Resolve the blobs of a context of at most `max_bytes` bytes. Raises `ContextTooLarge`.

    Returns:
        The context, and the hashes of missing blobs.
    """
    if not context.blobs:
        return context, []
    messages, missing = await asyncio.to_thread(_resolve_messages, context, blobs, max_bytes)
    return msgspec.structs.replace(context, messages=messages), missing


async def resolve_images(lines: Sequence[bytes], blobs: SessionBlobs) -> list[bytes]:
    """Return lines with their images resolved, as far as the blobs exist. Truncated texts stay truncated."""
    return await asyncio.to_thread(lambda: [_resolve_images(line, blobs.find) for line in lines])


def name_blobs(lines: Sequence[bytes]) -> Steps[bool]:
    """Return whether any of the lines may name a blob, in steps."""
    for start in range(0, len(lines), ROWS_A_STEP):
        if any(map(restore_blobs.may_refer_to_blobs, lines[start : start + ROWS_A_STEP])):
            return True
        yield
    return False


async def missing_of(session: LiveSession) -> list[str]:
    """Return the hashes of the missing blobs that the entries of a session name."""
    named = await session.drive(_named(session))
    return await asyncio.to_thread(lambda: [name for name in named if not session.blobs.size(name)])


class BlobFinder:
    """Finds blobs, and records the hashes of missing ones."""

    def __init__(self, blobs: SessionBlobs) -> None:
        self.missing: dict[str, None] = {}
        self._blobs = blobs

    def __call__(self, digest: str) -> bytes | None:
        data = self._blobs.find(digest)
        if data is None:
            self.missing[digest] = None
        return data


class _SizeEstimate:
    """Sums up the size of blobs in a response, without reading them."""

    def __init__(self, blobs: SessionBlobs) -> None:
        self.bytes = 0
        self._blobs = blobs

    def __call__(self, digest: str) -> None:
        self.bytes += self._blobs.size(digest) * 4 // 3 + 4  # as base64; text usually takes less


def _resolve_entries(
    entries: Sequence[bytes], blobs: SessionBlobs, page_bytes: int, max_bytes: int
) -> ResolvedPage:
    finder = BlobFinder(blobs)
    done: list[bytes] = []
    room = page_bytes
    for entry in entries:
        estimate = _SizeEstimate(blobs)
        restore_blobs.restore(entry, estimate)
        size = len(entry) + estimate.bytes
        if done and size > room:
            break
        if size > max_bytes:
            raise EntryTooLarge(size, max_bytes)
        done.append(restore_blobs.restore(entry, finder))
        if len(done[-1]) > max_bytes:
            raise EntryTooLarge(len(done[-1]), max_bytes)
        room -= len(done[-1])
    return ResolvedPage(done, list(finder.missing))


def _resolve_messages(context: Context, blobs: SessionBlobs, max_bytes: int) -> tuple[list[Raw], list[str]]:
    estimate, finder = _SizeEstimate(blobs), BlobFinder(blobs)
    messages = list(context.messages)
    estimate.bytes = sum(memoryview(message).nbytes for message in messages)
    for place, cuts in context.blobs.items():
        restore_blobs.restore_message(bytes(messages[place]), cuts, estimate)
        if estimate.bytes > max_bytes:
            raise ContextTooLarge(estimate.bytes, max_bytes)
    for place, cuts in context.blobs.items():
        messages[place] = Raw(restore_blobs.restore_message(bytes(messages[place]), cuts, finder))
    return messages, list(finder.missing)


def _resolve_images(line: bytes, find: restore_blobs.Find) -> bytes:
    if not restore_blobs.may_refer_to_blobs(line):
        return line
    return restore_blobs.restore_images(line.rstrip(b"\n"), find) + b"\n"


def _named(session: LiveSession) -> Steps[list[str]]:
    tree = session.tree
    rows = [row for row in range(tree.committed) if tree.is_entry(row)]
    named: dict[str, None] = {}
    for batch in steps.batches(tree, rows):
        for entry in session.read_rows(batch):
            named.update(dict.fromkeys(restore_blobs.needed_blobs(entry)))
        yield
    return list(named)
