"""The command append: sends drafts from options or standard input.

Each draft gets its id here, so that an append whose response was lost can be sent again without duplicates.
"""

from __future__ import annotations

import json  # noqa: TID251 - the thin client has no msgspec
import os
import sys
import time

from sessiond.cli.parse import stdin
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id_to_write
from sessiond.client.wire import DisconnectedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from sessiond.cli.parse.arguments import ParsedArguments

_PROVIDER_FIELDS = (
    "role",
    "choices",
    "candidates",
    "parts",
)  # fields of a message or response of a provider that no entry has


def append(args: ParsedArguments) -> int:
    """Send `session/append`."""
    params = {"entries": _drafts(args)} | _conditions(args)
    if (format := args.value("format")) is not None:
        params["format"] = format
    text = _send(args, params)
    if args.flag("json"):
        print(text)
        return 0
    result = json.loads(text)
    for entry in result["entries"]:
        print(entry["id"])
    if result.get("branched"):
        print("The leaf had moved, so the entries are a new branch.", file=sys.stderr)
    return 0


def _conditions(args: ParsedArguments) -> dict[str, Any]:
    """Return the params for the position of the entries and its conditions."""
    params: dict[str, Any] = {}
    parent, expected = args.value("parent"), args.value("expect")
    if parent is not None and args.flag("root"):
        raise UsageError("--parent and --root cannot both be given")
    if args.flag("or-branch") and expected is None:
        raise UsageError("--or-branch requires --expect")
    if parent is not None or args.flag("root"):
        params["parentId"] = parent
    if expected is not None:
        params["expectedLeafId"] = expected
    if args.flag("or-branch"):
        params["onConflict"] = "branch"
    if args.flag("stay"):
        params["advance"] = False
    if args.flag("written"):
        params["durability"] = "written"
    return params


def _send(args: ParsedArguments, params: dict[str, Any]) -> str:
    with connect() as daemon:
        params["sessionId"] = session_id_to_write(daemon, args)
        try:
            return daemon.call_text("session/append", params)
        except DisconnectedError:
            pass
    with connect() as daemon:
        return daemon.call_text("session/append", params)


def _drafts(args: ParsedArguments) -> list[dict[str, Any]]:
    drafts: list[dict[str, Any]] = []
    foreign = args.value("format") not in (None, "agent")
    if foreign and (texts := args.occurrences("user", "assistant")):
        raise UsageError(f"--format applies to - and --json-entry, not to --{texts[0][0]}")
    for option, value in args.occurrences("user", "assistant", "json-entry", "stdin"):
        if option == "user":
            drafts.append(_message_draft({"role": "user", "content": stdin.resolve(value)}))
        elif option == "assistant":
            drafts.append(_message_draft(_assistant(stdin.resolve(value), args.value("model"))))
        elif option == "json-entry":
            drafts += _read(stdin.resolve(value), "--json-entry")
        else:
            drafts += _read(stdin.resolve("-"), "standard input")
    if not drafts:
        raise UsageError(
            "there is nothing to append", "Use --user TEXT, --assistant TEXT, --json-entry JSON or -."
        )
    if foreign:
        drafts = [_as_entry(draft) for draft in drafts]
    for draft in drafts:
        draft.setdefault("id", os.urandom(4).hex())
    return drafts


def _as_entry(item: dict[str, Any]) -> dict[str, Any]:
    """Wrap a provider's message or response in an entry draft, since its `id` is not an entry id."""
    if item.get("type") in (None, "message") and (
        "message" not in item or any(name in item for name in _PROVIDER_FIELDS)
    ):
        return {"type": "message", "message": item}
    return item


def _message_draft(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "message": message | {"timestamp": time.time_ns() // 1_000_000}}


def _assistant(text: str, model: str | None) -> dict[str, Any]:
    """Return a message in the form of pi and oh-my-pi, which require `usage`."""
    message: dict[str, Any] = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    if model is not None:
        provider, _, name = model.partition("/")
        if not provider or not name:
            raise UsageError(f"--model takes provider/name, not {model!r}")
        message |= {"provider": provider, "model": name}
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    usage = nothing | {"totalTokens": 0, "cost": nothing | {"total": 0}}
    return message | {"usage": usage, "stopReason": "stop"}


def _read(text: str, source: str) -> list[dict[str, Any]]:
    """Return the drafts in a text: one object, an array of objects, or one object on each line."""
    try:
        found = json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        found = [
            _line(line, number, source) for number, line in enumerate(text.split("\n"), 1) if line.strip()
        ]
    drafts = found if isinstance(found, list) else [found]
    if not all(isinstance(draft, dict) for draft in drafts):
        raise UsageError(
            f"{source} contains a value that is not an object", 'An entry looks like {"type": "message", …}.'
        )
    return drafts


def _line(line: str, number: int, source: str) -> Any:
    try:
        return json.loads(line, parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source}, line {number} is not JSON ({error})") from error


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
