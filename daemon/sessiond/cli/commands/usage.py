"""The command usage: the tokens and the cost of requests to models, over all sessions."""

from __future__ import annotations

import os
import sys

from sessiond import human
from sessiond.cli.parse.session_argument import agent_filter, period_filter, place_filter
from sessiond.cli.render.bars import bar, percent
from sessiond.cli.render.style import style_for
from sessiond.client.blocking import connect
from sessiond.text import fit, one_line, pad, width, wrap
from sessiond.time_zone import local_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.cli.render.style import Style

_WAIT_MS = 60_000
"""The maximum time that `--wait` waits for the index."""
_DEFAULT_COLUMNS = 80
_BAR = 12
_SMALL_BAR = 6
_MAX_NAME = 44
_MIN_NAME = 10
_MAX_DAYS = 62
"""The longest period in days whose days without requests are shown."""
_COUNTS = (
    ("tokens", "total"), ("input", "input"), ("output", "output"), ("cache read", "cacheRead"),
    ("cache written", "cacheWrite"),
)  # fmt: skip
"""The columns of tokens: a heading and the member of the result."""


def usage(args: ParsedArguments) -> int:
    """Send `usage/report`."""
    by = args.value("by") or "day"
    params: dict[str, Any] = {"by": by, **period_filter(args), **agent_filter(args)}
    params |= {} if by == "project" and not args.flag("here") else place_filter(args)
    if (zone := local_name(os.environ)) is not None:
        params["timeZone"] = zone
    if args.flag("wait"):
        params["waitMs"] = _WAIT_MS
    with connect() as daemon:
        if args.flag("json"):
            print(daemon.call_text("usage/report", params))
            return 0
        found = daemon.call("usage/report", params)
    style = style_for(sys.stdout)
    if found["rows"]:
        for line in _table(found, by, style):
            print(line)
        print()
        for line in _notes(found, style):
            print(line)
    _print_missing(found, is_limited="project" in params or "cwd" in params)
    return 0


def _table(found: dict[str, Any], by: str, style: Style) -> Iterator[str]:
    """Yield a heading, a line for each row with the bar of its share, and the total."""
    rows = _with_empty_days(found["rows"]) if by == "day" else found["rows"]
    measure = "cost" if found["total"]["cost"]["total"] else "tokens"
    most = max(row[measure]["total"] for row in rows) or 1
    names = [_name(row["key"], by) for row in rows]
    table = [
        ["cost", *(heading for heading, _ in _COUNTS), "requests"],
        *map(_numbers, [*rows, found["total"]]),
    ]
    widths = [max(width(row[column]) for row in table) for column in range(len(table[0]))]
    columns = style.columns or _DEFAULT_COLUMNS
    name_width = min(max(map(width, [by, *names, "total"])), _MAX_NAME)
    shown = 2  # cost and tokens are always there
    left = columns - name_width - sum(2 + width for width in widths[:shown])
    bar_width = next((width for width in (_BAR, _SMALL_BAR) if left >= width + 2), 0)
    left -= bar_width + 2 if bar_width else 0
    while shown < len(widths) and left >= widths[shown] + 2:
        left -= widths[shown] + 2
        shown += 1
    if left < 0:
        name_width = max(name_width + left, _MIN_NAME)

    def line(name: str, share: float | None, numbers: list[str], *weight: str) -> str:
        cells = [style(pad(fit(name, name_width, style.ellipsis), name_width), *(weight or ("cyan",)))]
        if bar_width:
            cells.append(" " * bar_width if share is None else style(bar(share, bar_width, style), "green"))
        for number, columns in zip(numbers[:shown], widths, strict=False):
            cells.append(style(" " * (columns - width(number)) + number, *weight))
        return "  ".join(cells).rstrip()

    yield line(by, None, table[0], "dim")
    for name, row, numbers in zip(names, rows, table[1:-1], strict=True):
        yield line(name, row[measure]["total"] / most, numbers)
    yield line("total", None, table[-1], "bold")


def _numbers(row: dict[str, Any]) -> list[str]:
    counts = [human.amount(row["tokens"][member]) for _, member in _COUNTS]
    return [_cost(row["cost"], row["requestCount"]), *counts, f"{row['requestCount']:,}"]


def _cost(cost: dict[str, Any], requests: int) -> str:
    """Format a cost: `~` before an estimate, `+` after a cost that lacks requests, `?` if no request has a price."""
    if not requests:
        return "-"
    if not cost["total"] and cost["unpricedTokens"]:
        return "?"
    sign, lacks = "~" if cost["estimated"] else "", "+" if cost["unpricedTokens"] else ""
    return f"{sign}{human.money(cost['total'])}{lacks}"


def _name(key: str, by: str) -> str:
    if by == "project":
        return one_line(human.folder(key, os.path.expanduser("~"))) or "no folder"  # noqa: PTH111 - as in sessions
    if by == "agent":
        from sessiond.agents import names

        return one_line(names.title_of(key))
    return one_line(key)


def _with_empty_days(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with one for each day between them, if the period is not long."""
    from datetime import date, timedelta

    by_day = {row["key"]: row for row in rows}
    first, last = date.fromisoformat(rows[0]["key"]), date.fromisoformat(rows[-1]["key"])
    if (last - first).days > _MAX_DAYS:
        return rows
    tokens = dict.fromkeys((*(member for _, member in _COUNTS), "reasoning"), 0)
    cost = dict.fromkeys(("total", "recorded", "estimated", "unpricedTokens"), 0)
    empty = {"requestCount": 0, "tokens": tokens, "cost": cost}
    days = ((first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1))
    return [by_day.get(day) or {**empty, "key": day} for day in days]


def _notes(found: dict[str, Any], style: Style) -> Iterator[str]:
    """Yield what the numbers mean: the shares of the cost, the date of the prices, and the models without a price."""
    columns = style.columns or _DEFAULT_COLUMNS
    for note in _sentences(found):
        for line in wrap(note, max(columns, 20)):
            yield style(line, "dim")


def _sentences(found: dict[str, Any]) -> Iterator[str]:
    total, prices = found["total"], found["prices"]
    cost, reasoning = total["cost"], total["tokens"]["reasoning"]
    if reasoning:
        yield f"Of the output, {human.amount(reasoning)} are known to be tokens of reasoning."
    if cost["recorded"] and cost["estimated"]:
        shares = [
            f"{human.money(cost[kind])} ({percent(cost[kind] / cost['total'])})"
            for kind in ("recorded", "estimated")
        ]
        yield f"The agents recorded {shares[0]} of the cost; {shares[1]} are estimated (~)."
    elif cost["estimated"]:
        yield "The cost is estimated (~); the agents recorded none."
    elif cost["recorded"]:
        yield "The cost is what the agents recorded."
    if prices is not None and cost["estimated"]:
        source = f"{one_line(prices['name'])} {one_line(prices['version'])}"
        yield f"List prices: {source}, newest change {one_line(prices['newestChange'])}."
    if unpriced := found["unpricedModels"]:
        named = ", ".join(
            f"{one_line(model['model'])} ({human.amount(model['tokens'])} tokens)" for model in unpriced
        )
        yield f"Not in the cost, because no price is known: {named}."


def _print_missing(found: dict[str, Any], *, is_limited: bool) -> None:
    uncounted = found["uncounted"]
    if uncounted["sessionCount"]:
        left = human.count(uncounted["sessionCount"], "session"), human.size(uncounted["sizeBytes"])
        print(f"{left[0]} ({left[1]}) could not be counted yet. --wait waits for them.", file=sys.stderr)
    if not found["rows"]:
        more = " --all counts the sessions of all projects." if is_limited else ""
        print(f"No requests to models were recorded.{more}", file=sys.stderr)
