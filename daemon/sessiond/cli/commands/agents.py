"""The command agents: lists the agents on this machine, follows them, unfollows or forgets them."""

from __future__ import annotations

import os
import sys
import time

from sessiond import human
from sessiond.agents.places import other_home, variables_of
from sessiond.agents.table import AGENTS
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.render import progress
from sessiond.cli.render.columns import aligned
from sessiond.cli.render.style import style_for
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.agents.agent import Agent
    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.blocking import BlockingDaemon

_FEW = 5
_HELP = "sessiond agents --help"


def agents(args: ParsedArguments) -> int:
    """Send `agent/list`, `agent/follow`, `agent/unfollow` or `agent/forget`."""
    action, names = args.value("follow|unfollow|forget"), args.trailing
    if action not in (None, "follow", "unfollow", "forget"):
        raise UsageError(f"agents takes follow, unfollow or forget, not {action!r}", _HELP)
    if args.flag("all") and action not in ("follow", "unfollow"):
        raise UsageError("--all requires follow or unfollow", _HELP)
    if args.flag("yes") and action != "forget":
        raise UsageError("--yes requires forget", _HELP)
    if action in ("follow", "unfollow") and bool(names) == args.flag("all"):
        raise UsageError(f"{action} takes either names of agents or --all", _HELP)
    if action == "forget" and len(names) != 1:
        raise UsageError("forget takes the name of one agent", _HELP)
    with connect(args) as daemon:
        if action is None:
            return _list(daemon, args)
        if action == "forget":
            return _forget(daemon, args, names[0])
        params: dict[str, Any] = {"all": True} if args.flag("all") else {"agents": names}
        if action == "follow":
            params["environment"] = variables_of(AGENTS.values(), os.environ)
        if args.flag("json"):
            print(daemon.call_text(f"agent/{action}", params))
            return 0
        if action == "follow":  # with progress, the response follows when all files are read
            result = progress.call(daemon, "agent/follow", params, waits_for_token=True)
        else:
            result = daemon.call("agent/unfollow", params)
    followed = ", ".join(one_line(name) for name in result["followed"])
    print(f"Followed: {followed or 'no agent'}")
    return 0


def _list(daemon: BlockingDaemon, args: ParsedArguments) -> int:
    if args.flag("json"):
        print(daemon.call_text("agent/list", {}))
        return 0
    result = daemon.call("agent/list", {})
    listed = result["agents"]
    here = [agent for agent in listed if agent["fileCount"] or agent["isFollowed"] or agent["sessionCount"]]
    if not here:
        print("No agent that sessiond knows has sessions on this machine.", file=sys.stderr)
        return 0
    now = time.time()
    print(*aligned([_row(agent, now) for agent in here], style_for(sys.stdout)), sep="\n")
    for agent in here:
        if agent["isFollowed"]:
            folders = [folder for folder in agent["folders"] if os.path.isdir(folder)]  # noqa: PTH112 - texts
            folders = folders or agent["folders"][:_FEW]
            print(f"{one_line(agent['title'])}: {', '.join(map(one_line, folders))}")
    for agent in here:
        _explain(agent)
    _explain_gaps([agent["name"] for agent in here if agent["isFollowed"]], result.get("idleExitMs"))
    if (sentence := other_home(result.get("userHome"))) is not None:
        print(sentence, file=sys.stderr)
    if ready := [agent["name"] for agent in here if agent["format"] is not None and not agent["isFollowed"]]:
        print(f"To follow what they write: sessiond agents follow {' '.join(ready)}", file=sys.stderr)
    return 0


def _row(agent: dict[str, Any], now: float) -> list[str]:
    if agent["isFollowed"] and agent.get("failure"):
        state = "not followed now"
    elif agent["isFollowed"]:
        state = f"reading, {agent['waitingCount']:,} left" if agent["waitingCount"] else "followed"
    else:
        state = "not followed" if agent["format"] is not None else "cannot be read"
    written = agent["lastWrittenAt"]
    stored = f"{human.count(agent['sessionCount'], 'session')} here, {human.size(agent['storedBytes'])}"
    return [
        one_line(agent["name"]),
        state,
        f"{human.count(agent['fileCount'], _noun(agent))}, {human.size(agent['sizeBytes'])}",
        "" if written is None else human.ago(written, now),
        stored if agent["sessionCount"] else "",
    ]


def _noun(agent: dict[str, Any]) -> str:
    """Return what an agent has: files, or sessions in a database."""
    known = AGENTS.get(agent["name"])
    return "file" if known is None or known.storage == "files" else "session"


def _explain(agent: dict[str, Any]) -> None:
    """Print the lines that are not understood and the files that are not read, or read in part, with advice."""
    title = one_line(agent["title"])
    if failure := agent.get("failure"):
        print(f"{title}: it cannot be followed at present: {one_line(failure)}", file=sys.stderr)
        print("  The daemon tries again soon. Its log has more: sessiond doctor", file=sys.stderr)
    if kinds := agent["notUnderstood"]:
        few = ", ".join(f"{count:,} {one_line(kind)}" for kind, count in list(kinds.items())[:_FEW])
        others = ", …" if len(kinds) > _FEW else ""
        print(f"{title}: lines that are stored unchanged: {few}{others}", file=sys.stderr)
    if agent["format"] is not None and agent["checkedVersion"] is None:
        print(f"{title}: it is read as public documents describe its format; it was not run", file=sys.stderr)
    if agent["isUncheckedVersion"]:
        print(
            f"{title}: version {one_line(agent['newestVersion'])} wrote sessions here, and version"
            f" {one_line(agent['checkedVersion'])} was checked",
            file=sys.stderr,
        )
    for problem in agent["problems"][:_FEW]:
        line = "" if problem["line"] is None else f":{problem['line']}"
        print(f"{title}: {one_line(problem['path'])}{line}: {one_line(problem['message'])}", file=sys.stderr)
        print(f"  {one_line(problem['advice'])}", file=sys.stderr)
    if (more := agent["problemCount"] - len(agent["problems"][:_FEW])) > 0:
        print(
            f"{title}: {human.count(more, 'other file')} with a problem: sessiond agents --json",
            file=sys.stderr,
        )


def _explain_gaps(names: list[str], idle_exit_ms: int | None) -> None:
    """Print for how long what agents write may not be seen: the daemon ends without clients, and hooks start it."""
    if not names or idle_exit_ms is None:
        return
    agents = [AGENTS[name] for name in names if name in AGENTS]
    with_hooks = ", ".join(agent.title for agent in agents if _has_hooks(agent))
    others = ", ".join(agent.title for agent in agents if not _has_hooks(agent))
    print(f"The daemon ends after {human.duration(idle_exit_ms / 1000)} without clients.", file=sys.stderr)
    if with_hooks:
        print(f"  The hooks of {with_hooks} start it again at their next turn.", file=sys.stderr)
    if others:
        print(
            f"  Without hooks: {others}. Their files are read when the daemon runs again; a session"
            ' that they delete before is lost. Add hooks: sessiond setup; or set idle_exit = "never" in [listen].',
            file=sys.stderr,
        )


def _has_hooks(agent: Agent) -> bool:
    """Return whether the settings of an agent call `sessiond hook`."""
    if agent.hooks is None:
        return False
    try:
        with open(agent.hooks.path(os.environ), encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 20)
    except OSError:
        return False
    return "sessiond" in text and "hook" in text


def _forget(daemon: BlockingDaemon, args: ParsedArguments, name: str) -> int:
    if not args.flag("yes"):
        listed = daemon.call("agent/list", {})["agents"]
        count = next((agent["sessionCount"] for agent in listed if agent["name"] == name), 0)
        sessions = human.count(count, "session")
        print(
            f"{sessions} of {one_line(name)} would be moved to the trash: repeat it with --yes",
            file=sys.stderr,
        )
        return 0
    if args.flag("json"):
        print(daemon.call_text("agent/forget", {"agent": name}))
        return 0
    result = progress.call(daemon, "agent/forget", {"agent": name})
    print(f"{human.count(result['deletedCount'], 'session')} moved to the trash.")
    for problem in result["failed"]:
        print(f"{one_line(problem['path'])}: {one_line(problem['message'])}", file=sys.stderr)
    return 1 if result["failedCount"] else 0
