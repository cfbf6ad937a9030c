"""The tool `usage`: tokens and cost by day, model, agent or project."""

from typing import TYPE_CHECKING, Final

from sessiond import human
from sessiond.mcp.daemon_access import reported_errors
from sessiond.mcp.quoting import CleanText, joined, quoted_line
from sessiond.mcp.tools import arguments as a
from sessiond.mcp.tools.finding import agent_filter
from sessiond.mcp.tools.table import ToolCall

if TYPE_CHECKING:
    from sessiond.protocol import types as t

_MAX_ROWS: Final = 40
_KEY: Final = 100


async def usage(call: ToolCall, args: a.UsageArguments) -> str:
    """Run `usage`."""
    daemon = await call.access.daemon()
    project = await call.project.searched(all_projects=args.all_projects)
    with reported_errors():
        found = await daemon.usage_report(
            by=args.by, since=args.since, until=args.until, project=project, agent=agent_filter(args.agent),
            wait_ms=2_000,
        )  # fmt: skip
    # Days are in the order of time, and the last ones matter most.
    rows = found.rows[-_MAX_ROWS:] if args.by == "day" else found.rows[:_MAX_ROWS]
    keys = await call.access.cleaned([row.key or "(no folder)" for row in rows])
    head = [f"In all: {_figures(found.total)}."]
    if len(rows) < len(found.rows):
        head.append(f"{len(rows)} of {len(found.rows)} rows; since and until choose others.")
    if found.unpriced_models:
        models = human.count(len(found.unpriced_models), "model")
        head.append(f"No price is known of {models}; their tokens are in no cost.")
    if found.uncounted.session_count:
        head.append(f"{human.count(found.uncounted.session_count, 'session')} could not be counted yet.")
    blocks = [
        f"{quoted_line(CleanText(key), _KEY)}\n{_figures(row)}" for key, row in zip(keys, rows, strict=True)
    ]
    return joined(head, ["\n".join(blocks)])


def _figures(row: "t.UsageRow") -> str:
    tokens, cost = row.tokens, row.cost
    estimated = f", {human.money(cost.estimated)} of it estimated" if cost.estimated else ""
    return (
        f"{human.count(row.request_count, 'request')}, {human.amount(tokens.total)} tokens"
        f" ({human.amount(tokens.output)} output), {human.money(cost.total)}{estimated}"
    )
