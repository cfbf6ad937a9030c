"""What a log becomes that is rewritten as a whole: of a new version, or with a new cwd. Writing it is the caller's."""

from sessiond.hub.execution.slices import run_in_slices
from sessiond.session.tree import migrate, payloads
from sessiond.session.tree.header_title import with_room
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import BAD, HEADER, Tree

_ROWS_A_STEP = 100


async def migrated(tree: Tree, log: bytes) -> bytes:
    """A v1 or v2 log as v3: one line for each line, so that every seq stays what it is."""
    return await run_in_slices(_migrating(tree, log))


def _migrating(tree: Tree, log: bytes) -> Steps[bytes]:
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
            yield
    return b"".join(lines)


def with_cwd(tree: Tree, log: bytes, cwd: str) -> bytes:
    """A log whose header names another working directory; all but this field is as it was."""
    row = next(row for row in range(tree.committed) if tree.kind(row) == HEADER)
    start, end = tree.span(row)
    raw = log[start:end].rstrip(b"\r\n")
    header = with_room(bytes(payloads.with_field(raw, "cwd", cwd)).rstrip(b" "))
    return log[:start] + header + log[start + len(raw) :]
