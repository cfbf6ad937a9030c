"""The command stats: the composition and the cost of a session."""

from __future__ import annotations

import sys

from sessiond import human
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id
from sessiond.cli.render.bars import bar, percent
from sessiond.cli.render.columns import behind
from sessiond.cli.render.style import style_for
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.cli.render.style import Style

_BAR = 24
_SMALL_BAR = 12
_TOOLS = 8
_TOKENS = (("input", "in"), ("output", "out"), ("cacheRead", "cache read"), ("cacheWrite", "cache written"))


def stats(args: ParsedArguments) -> int:
    """Send `session/stats`."""
    params: dict[str, Any] = {}
    if (leaf := args.value("leaf")) is not None:
        params["leafId"] = leaf
    with connect() as daemon:
        params["sessionId"] = session_id(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("session/stats", params))
            return 0
        found = daemon.call("session/stats", params)
    for line in _overview(found, style_for(sys.stdout)):
        print(line)
    return 0


def _overview(found: dict[str, Any], style: Style) -> Iterator[str]:
    path, tree = found["pathStats"], found["treeStats"]
    yield _context(found["context"], style)
    yield ""
    yield from _counts(path, tree, style)
    if tree["cost"]["total"] or tree["tokens"]["total"]:
        yield ""
        yield from _models(tree, style)
    if tree["toolCallCounts"]:
        yield ""
        yield from _tools(tree["toolCallCounts"], style)


def _context(use: dict[str, Any], style: Style) -> str:
    tokens, window = use["tokens"], use["contextWindow"]
    share = tokens / window if window else 1.0
    color = "red" if share > 0.85 else "yellow" if share > 0.6 else "green"
    text = f"{'about ' if use['estimated'] else ''}{human.amount(tokens)} of {human.amount(window)} tokens"
    return f"{style('context', 'dim')}  {style(bar(share, _BAR, style), color)}  {percent(share)}, {text}"


def _counts(path: dict[str, Any], tree: dict[str, Any], style: Style) -> Iterator[str]:
    """Yield numbers of the path and of the tree side by side; in one column if they are equal."""
    same = path == tree
    rows = [["", "session"] if same else ["", "path", "whole tree"]]
    for name, count in _named(tree):
        of_path = dict(_named(path)).get(name, "0")
        rows.append([name, count] if same else [name, of_path, count])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        name, *counts = row
        cells = [count.rjust(width) for count, width in zip(counts, widths[1:], strict=True)]
        if number == 0:
            yield style("  ".join([name.ljust(widths[0]), *cells]), "bold")
        else:
            yield "  ".join([style(name.ljust(widths[0]), "dim"), *cells])


def _named(stats: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the numbers that are not zero, with their names."""
    yield "entries", f"{stats['entryCount']:,}"
    for role, count in stats["messageCounts"].items():
        yield f"messages of {one_line(role)[:20]}", f"{count:,}"
    counts = (("toolCallCount", "tool calls"), ("toolErrorCount", "failed tools"),
              ("compactionCount", "compactions"), ("branchSummaryCount", "branch summaries"))  # fmt: skip
    for name, text in counts:
        if stats[name]:
            yield text, f"{stats[name]:,}"
    for name, text in _TOKENS:
        if stats["tokens"][name]:
            yield f"tokens {text}", human.amount(stats["tokens"][name])
    if stats["tokens"]["total"]:
        yield "tokens in total", human.amount(stats["tokens"]["total"])
    if stats["cost"]["total"]:
        yield "cost", human.money(stats["cost"]["total"])


def _models(tree: dict[str, Any], style: Style) -> Iterator[str]:
    """Yield each model with its share of the cost, or of the tokens if there is no cost."""
    measure = "cost" if tree["cost"]["total"] else "tokens"
    whole = tree[measure]["total"] or 1
    shares = [model[measure]["total"] / whole for model in tree["models"]]
    rows = [
        [
            percent(share),
            *([human.money(model["cost"]["total"])] if measure == "cost" else []),
            one_line(model.get("model") or "")
            or ("responses without a model" if model["messageCount"] else "tools and summaries"),
            _spent(model),
        ]
        for model, share in zip(tree["models"], shares, strict=True)
    ]
    numbers = range(len(rows[0]) - 2)
    yield style(f"models, by {measure}", "bold")
    yield from _with_bars(
        shares, _to_the_right(rows, *numbers), style, [*("" for _ in numbers), "cyan", "dim"]
    )


def _spent(model: dict[str, Any]) -> str:
    tokens = f"{human.amount(model['tokens']['total'])} tokens"
    return f"{tokens}, {human.count(model['messageCount'], 'response')}" if model["messageCount"] else tokens


def _tools(tools: dict[str, int], style: Style) -> Iterator[str]:
    ordered = sorted(tools.items(), key=lambda tool: (-tool[1], tool[0]))
    most = ordered[0][1]
    shown = ordered[:_TOOLS]
    rows = [[f"{count:,}", one_line(name) or "unnamed"] for name, count in shown]
    yield style("tools, by calls", "bold")
    shares = [count / most for _, count in shown]
    yield from _with_bars(shares, _to_the_right(rows, 0), style, ["", "cyan"])
    if len(ordered) > _TOOLS:
        yield style(f"and {human.count(len(ordered) - _TOOLS, 'more tool')}", "dim")


def _with_bars(shares: list[float], rows: list[list[str]], style: Style, colors: list[str]) -> Iterator[str]:
    """Yield rows, each after the bar of its share."""
    bars = [style(bar(share, _SMALL_BAR, style), "green") + " " for share in shares]
    return behind(bars, _SMALL_BAR + 1, rows, style, colors)


def _to_the_right(rows: list[list[str]], *columns: int) -> list[list[str]]:
    """Return the rows with some columns aligned right."""
    widths = {column: max(len(row[column]) for row in rows) for column in columns}
    return [[cell.rjust(widths.get(column, 0)) for column, cell in enumerate(row)] for row in rows]
