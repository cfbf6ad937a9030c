"""The command context: what a model would see, as a transcript."""

from __future__ import annotations

import sys

from sessiond.cli import human
from sessiond.cli.chosen import session_id
from sessiond.cli.style import style_for
from sessiond.cli.text import one_line
from sessiond.client.blocking import connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.arguments import Given

_COLOURS = {"user": "cyan", "assistant": "green"}


def context(given: Given) -> int:
    """Send `session/context`."""
    params: dict[str, Any] = {}
    if (leaf := given.text("leaf")) is not None:
        params["leafId"] = leaf
    with connect() as daemon:
        params["sessionId"] = session_id(daemon, given)
        if given.flag("json"):
            print(daemon.call_text("session/context", params))
            return 0
        seen = daemon.call("session/context", params)
    _print_messages(seen["messages"], seen["entryIds"])
    settings = [human.count(len(seen["messages"]), "message")]
    settings += [f"{role} {model}" for role, model in seen["models"].items()]
    settings.append(f"thinking {seen['thinkingLevel']}")
    if seen["mode"] not in ("", "none"):
        settings.append(f"mode {seen['mode']}")
    print(one_line(", ".join(settings)), file=sys.stderr)
    return 0


def _print_messages(messages: list[dict[str, Any]], entry_ids: list[str]) -> None:
    from sessiond.cli.speech import in_full

    style = style_for(sys.stdout)
    for message, entry_id in zip(messages, entry_ids, strict=False):
        role = one_line(str(message.get("role", "?")))
        name = one_line(
            str(message.get("toolName") or message.get("model") or message.get("customType") or "")
        )
        heading = style(role, "bold", *filter(None, [_COLOURS.get(role)]))
        print("  ".join(filter(None, (heading, style(name, "dim"), style(one_line(entry_id), "dim")))))
        for line in in_full(message):
            print(f"  {line}".rstrip())
        print()
