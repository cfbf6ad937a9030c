"""The content of a log that is rewritten as a whole: for a new version or a new cwd."""

from sessiond.hub.execution.slices import run_in_slices
from sessiond.session.tree import migrate, payloads
from sessiond.session.tree.header_title import with_title_space
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import BAD, HEADER, Tree

_ROWS_A_STEP = 100


async def migrated(tree: Tree, log: bytes) -> bytes:
    """Return a v1 or v2 log as v3. Each line becomes one line, so every seq stays the same."""
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
    """Return a log with another working directory in its header and everything else unchanged."""
    row = next(row for row in range(tree.committed) if tree.kind(row) == HEADER)
    start, end = tree.span(row)
    raw = log[start:end].rstrip(b"\r\n")
    header = with_title_space(bytes(payloads.with_field(raw, "cwd", cwd)).rstrip(b" "))
    return log[:start] + header + log[start + len(raw) :]
