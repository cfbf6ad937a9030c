"""The command verify: proves that everything that agents wrote is here whole, or names the gaps."""

from __future__ import annotations

import json  # noqa: TID251 - the result is printed as the daemon sent it
import sys

from sessiond import human
from sessiond.cli.exit_codes import FAILURE, SUCCESS
from sessiond.cli.render import progress
from sessiond.cli.render.columns import aligned
from sessiond.cli.render.style import style_for
from sessiond.client.blocking import connect
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.cli.render.style import Style

_FEW = 20
"""Maximum gaps that are printed."""


def verify(args: ParsedArguments) -> int:
    """Send `agent/verify`. Returns 1 if there is a gap."""
    from sessiond.agents import names

    params: dict[str, Any] = {"deep": True} if args.flag("deep") else {}
    if args.trailing:
        params["agents"] = [names.name_of(word) for word in args.trailing]
    with connect() as daemon:
        found = progress.call(daemon, "agent/verify", params)
    status = FAILURE if found["gapCount"] else SUCCESS
    if args.flag("json"):
        print(json.dumps(found, ensure_ascii=False))
    else:
        _show(found, style_for(sys.stdout))
    return status


def _show(found: dict[str, Any], style: Style) -> None:
    if not found["agents"]:
        print("No agent is followed. To follow all: sessiond agents follow --all", file=sys.stderr)
        return
    for gap in found["gaps"][:_FEW]:
        print(f"{style(one_line(gap['kind']), 'yellow')}  {one_line(gap['path'])}")
        print(f"  {one_line(gap['message'])}")
        print(f"  {style(one_line(gap['advice']), 'cyan')}")
    if (more := found["gapCount"] - len(found["gaps"][:_FEW])) > 0:
        print(f"and {human.count(more, 'more gap')}: --json lists them")
    print(*aligned([_row(agent) for agent in found["agents"]], style), sep="\n")
    how = "read again and compared" if found["deep"] else "checked"
    gaps = human.count(found["gapCount"], "gap") if found["gapCount"] else "No gaps"
    verdict = style(gaps, "yellow" if found["gapCount"] else "green", "bold")
    total = sum(agent["fileCount"] for agent in found["agents"])
    print(f"{verdict}: {human.count(total, 'source')} {how}.")


def _row(agent: dict[str, Any]) -> list[str]:
    from sessiond.agents import names

    others = [
        f"{agent[member]:,} {what}"
        for member, what in (
            ("emptyCount", "without content"),
            ("deletedCount", "in the trash"),
            ("leftOutCount", "left out"),
        )
        if agent[member]
    ]
    entries = agent["entryCount"]
    return [
        one_line(names.title_of(agent["agent"])),
        f"{agent['wholeCount']:,} of {agent['fileCount']:,} whole",
        human.size(agent["sizeBytes"]),
        "" if entries is None else human.count(entries, "entry", "entries"),
        ", ".join(others),
    ]
