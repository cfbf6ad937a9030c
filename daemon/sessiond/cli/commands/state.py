"""The command state: shows and updates the working state, which an agent needs to resume a task."""

from __future__ import annotations

import sys
import time

from sessiond import human
from sessiond.cli.parse import stdin
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id, session_id_to_write
from sessiond.cli.render.columns import aligned
from sessiond.cli.render.style import style_for
from sessiond.text import lines, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.blocking import BlockingDaemon

_CHANGES = ("decide", "artifact", "plan", "tokens", "model", "agent", "compress")


def state(args: ParsedArguments) -> int:
    """Send `state/get`, or, depending on the options, `state/update` or `state/beginTask`."""
    changes = [name for name in _CHANGES if args.occurrences(name)]
    if args.value("because") is not None and "decide" not in changes:
        raise UsageError("--because requires --decide")
    if repeated := [name for name in _CHANGES if len(args.occurrences(name)) > 1]:
        raise UsageError(
            f"--{repeated[0]} can be given only once", "Run the command again for each further value."
        )
    if (leaf := args.value("leaf")) is not None and (changes or args.flag("begin-task")):
        raise UsageError(
            "--leaf cannot be combined with changes, which are recorded at the leaf of the session"
        )
    if args.flag("begin-task"):
        if others := [name for name in changes if name != "decide"]:
            raise UsageError(f"--begin-task and --{others[0]} cannot both be given", "Run two commands.")
        return _begin_task(args)
    if changes:
        return _show(args, "state/update", _change(args), session_id_to_write)
    if args.value("command-id") is not None:
        raise UsageError("--command-id requires a change", "sessiond state --help")
    return _show(args, "state/get", {} if leaf is None else {"leafId": leaf}, session_id)


def _begin_task(args: ParsedArguments) -> int:
    """Print the lines for a system prompt on standard output, for scripts, and the rest on standard error."""
    params = _decision(args)
    with connect(args) as daemon:
        params["sessionId"] = session_id_to_write(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("state/beginTask", params))
            return 0
        begun = daemon.call("state/beginTask", params)
    context = begun["context"]
    print("\n".join(lines(context)) if sys.stdout.isatty() else context)
    if begun["pruned"]:
        print("The state was pruned: older decisions and artifacts may have been removed.", file=sys.stderr)
    return 0


def _show(
    args: ParsedArguments,
    method: str,
    params: dict[str, Any],
    session: Callable[[BlockingDaemon, ParsedArguments], str],
) -> int:
    with connect(args) as daemon:
        params["sessionId"] = session(daemon, args)
        if args.flag("json"):
            print(daemon.call_text(method, params))
            return 0
        found = daemon.call(method, params)
    _print_state(found["state"])
    if found["shouldPrune"]:
        print("The state exceeds its limits: the next --begin-task prunes it.", file=sys.stderr)
    return 0


def _change(args: ParsedArguments) -> dict[str, Any]:
    params = _decision(args)
    if (artifact := args.value("artifact")) is not None:
        name, _, path = artifact.partition("=")
        if not name or not path:
            raise UsageError(f"--artifact takes NAME=PATH, not {artifact!r}")
        params["artifact"] = {"name": name, "path": path}
    for option, field in (("plan", "plan"), ("model", "model"), ("agent", "agentName")):
        if (value := stdin.text(args, option)) is not None:
            params[field] = value
    if (tokens := args.number("tokens")) is not None:
        params["tokens"] = tokens
    if args.flag("compress"):
        params["compress"] = True
    return params


def _decision(args: ParsedArguments) -> dict[str, Any]:
    decision = stdin.text(args, "decide")
    if decision is None:
        return {}
    return {"decision": {"decision": decision, "rationale": stdin.text(args, "because") or ""}}


def _print_state(state: dict[str, Any]) -> None:
    now, style = time.time(), style_for(sys.stdout)
    decisions = [
        ("decided", f"{decision['decision']}  ({_when_and_why(decision, now)})")
        for decision in reversed(state["keyDecisions"])
    ]
    artifacts = [("artifact", f"{name}: {path}") for name, path in state["latestArtifacts"].items()]
    used = [human.count(state["turnCount"], "turn"), human.count(state["tokensUsed"], "token")]
    rows = [
        ("session", state["sessionId"]),
        ("plan", state.get("plan")),
        *decisions,
        *artifacts,
        ("used", ", ".join(used)),
        ("model", state.get("model")),
        ("agent", state.get("agentName")),
        ("tags", " ".join(f"#{word}" for word in state["tags"])),
        ("fork of", state.get("parentSessionId")),
        ("forks", str(state["forkCount"]) if state["forkCount"] else None),
        ("pruned", _ago(state.get("lastPrunedAt"), now) if state["pruned"] else None),
        ("updated", _ago(state["updatedAt"], now)),
    ]
    print(*aligned([(name, one_line(value)) for name, value in rows if value], style, ["dim"]), sep="\n")


def _when_and_why(decision: dict[str, Any], now: float) -> str:
    why = [f"because: {decision['rationale']}"] if decision["rationale"] else []
    return ", ".join([human.ago(decision["timestamp"], now), *why])


def _ago(timestamp: str | None, now: float) -> str:
    return f"{timestamp} ({human.ago(timestamp, now)})" if timestamp else ""
