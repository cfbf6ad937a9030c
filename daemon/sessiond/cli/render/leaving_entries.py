"""Drawing of entries that leave the context: the first and the last of them, and their files."""

from __future__ import annotations

import sys

from sessiond import human
from sessiond.cli.render.columns import behind
from sessiond.cli.render.content_text import in_short, speaker
from sessiond.cli.render.style import style_for
from sessiond.text import fit, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from sessiond.client.blocking import BlockingDaemon

_AT_EACH_END = 6
_FILES = 8
_LONGEST = 200  # characters of a text, if the output is not a terminal


def entries(
    daemon: BlockingDaemon, session_id: str, leaving: Sequence[str], staying: Sequence[str] = ()
) -> Iterator[str]:
    """Yield a line for each entry that leaves and, with a filled sign, each that stays; the middle is only counted."""
    style = style_for(sys.stdout)
    few = 2 * _AT_EACH_END + 1
    shown = list(leaving) if len(leaving) <= few else [*leaving[:_AT_EACH_END], *leaving[-_AT_EACH_END:]]
    ids = [*shown, *staying]
    if not ids:
        return
    found = daemon.call("session/entries", {"sessionId": session_id, "entryIds": ids, "limit": len(ids)})
    by_id = {item["entry"]["id"]: item["entry"] for item in found["items"]}
    rows = [
        (
            one_line(name),
            speaker(by_id.get(name, {})),
            fit(in_short(by_id.get(name, {})), _LONGEST, style.ellipsis),
        )
        for name in ids
    ]
    signs = ["○" if style.boxes else "o"] * len(shown) + ["●" if style.boxes else "*"] * len(staying)
    drawn = list(behind(signs, 1, rows, style, ("dim", "dim")))
    if len(shown) < len(leaving):
        more = style(f"  and {human.count(len(leaving) - len(shown), 'more entry', 'more entries')}", "dim")
        drawn.insert(_AT_EACH_END, more)
    yield from drawn


def files(touched: dict[str, Any]) -> Iterator[str]:
    """Yield a line for the files that the entries read, and one for those that they changed, if there are any."""
    style = style_for(sys.stdout)
    for heading, paths in (("read", touched["read"]), ("changed", touched["modified"])):
        if paths:
            named = ", ".join(one_line(path) for path in paths[:_FILES])
            more = f" and {len(paths) - _FILES:,} more" if len(paths) > _FILES else ""
            yield f"{style(f'files {heading}', 'dim')}  {named}{more}"
