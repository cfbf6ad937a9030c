"""The command context: the context as a transcript, as part of a provider's request, or explained."""

from __future__ import annotations

import sys

from sessiond import human
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id
from sessiond.cli.render.off_path import print_missing_history, print_off_path
from sessiond.cli.render.style import style_for
from sessiond.text import lines, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments

_REQUESTS = {
    "openai": ("", "messages"),
    "openai-responses": ("", "input"),
    "anthropic": ("system", "messages"),
    "google": ("systemInstruction", "contents"),
}
"""For each provider the fields of a request for the system prompt, if it has one, and for the messages."""


def context(args: ParsedArguments) -> int:
    """Send `session/context`."""
    params: dict[str, Any] = {}
    if (leaf := args.value("leaf")) is not None:
        params["leafId"] = leaf
    if (format := args.value("format")) is not None:
        params["format"] = format
    if args.flag("explain"):
        params["explain"] = True
    with connect() as daemon:
        params["sessionId"] = session_id(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("session/context", params))
            return 0
        seen = daemon.call("session/context", params)
        session = daemon.call("session/info", {"sessionId": params["sessionId"]})["session"]
    if seen["explanation"] is not None:
        from sessiond.cli.render.context_reasons import explained

        print(*explained(seen["explanation"], style_for(sys.stdout)), sep="\n")
    elif seen["format"] in _REQUESTS:
        _print_request(seen)
    else:
        from sessiond.cli.render import transcript

        style = style_for(sys.stdout)
        for row in seen["messages"]:
            print(*transcript.message(row["message"], row["entryId"], style), sep="\n")
    _print_settings(seen)
    print_missing_history(session)
    return 0


def _print_settings(seen: dict[str, Any]) -> None:
    tokens = f"{'about ' if seen['tokensEstimated'] else ''}{human.amount(seen['tokens'])} tokens"
    settings = [human.count(len(seen["messages"]), "message"), tokens]
    settings += [f"{role} {model}" for role, model in seen["models"].items()]
    settings.append(f"thinking {seen['thinkingLevel']}")
    if seen["mode"] not in ("", "none"):
        settings.append(f"mode {seen['mode']}")
    print(one_line(", ".join(settings)), file=sys.stderr)
    print_off_path(seen)
    if lost := seen.get("missingBlobs"):
        missing = human.count(len(lost), "blob")
        print(f"{missing} could not be read: sessiond blobs lists the missing ones.", file=sys.stderr)


def _print_request(seen: dict[str, Any]) -> None:
    """Print the messages in the form of the provider's request. A pipe, for scripts, gets every character."""
    import json  # noqa: TID251 - the thin client has no msgspec

    system, messages = _REQUESTS[seen["format"]]
    request = {} if seen["system"] is None else {system: seen["system"]}
    text = json.dumps(
        {**request, messages: [row["message"] for row in seen["messages"]]}, indent=2, ensure_ascii=False
    )
    print("\n".join(lines(text)) if sys.stdout.isatty() else text)
