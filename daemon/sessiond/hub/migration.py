"""Bringing a log of an old version up to date: what the whole file becomes. Writing it is the caller's."""

import asyncio

from sessiond.session import migrate
from sessiond.session.tree import BAD, HEADER, Tree

_ROWS_A_STEP = 100


async def migrated(tree: Tree, log: bytes) -> bytes:
    """A v1 or v2 log as v3: one line for each line, so that every seq stays what it is."""
    lines = [log[: tree.span(0)[0]]]
    for row in range(tree.committed):
        raw = log[slice(*tree.span(row))]
        if tree.kind(row) == HEADER:
            lines.append(migrate.upgrade_header(raw) + b"\n")
        elif tree.kind(row) == BAD:
            lines.append(raw)
        else:
            lines.append(tree.entry(row, raw) + b"\n")
        if row % _ROWS_A_STEP == 0:
            await asyncio.sleep(0)
    return b"".join(lines)
