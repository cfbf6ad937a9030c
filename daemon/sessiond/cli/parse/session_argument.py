"""The session that a command is about: the named one, else the last one of this terminal, else one that is chosen."""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH100, PTH109

from __future__ import annotations

import os
import sys

from sessiond.cli.parse.arguments import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.blocking import BlockingDaemon


_UUID = 36
"""Characters of an id that the daemon makes; a name of that length is not abbreviated."""
_LONGEST = 128
"""Maximum characters of an id, here and in agents."""
_SHORTEST = 4
"""Minimum characters of an abbreviated id."""
_MAX_NAMED = 8


def session_id(daemon: BlockingDaemon, args: ParsedArguments, *, asks: bool = True) -> str:
    """Return the session id: as named, of the named file, or of this terminal's session. Binds nothing.

    If the terminal has no session, its user is asked, unless `asks` is false or --json is given.
    """
    return _named(daemon, args) or _of_this_terminal(daemon, asks=asks and not args.flag("json"))


def session_id_to_write(daemon: BlockingDaemon, args: ParsedArguments) -> str:
    """Return the session id as `session_id` does, for a command that writes.

    A session that is found for this terminal is bound to it, so that the next command uses the same one.
    """
    return _named(daemon, args) or _of_this_terminal(daemon, asks=not args.flag("json"), bind=True)


def _named(daemon: BlockingDaemon, args: ParsedArguments) -> str | None:
    named = args.value("ID")
    if named is None:
        return None
    if "/" in named or named.endswith((".jsonl", ".jsonl.zst")):
        opened = daemon.call("session/open", {"path": os.path.abspath(named)})
        return str(opened["session"]["sessionId"])
    return whole_id(daemon, named)


def whole_id(daemon: BlockingDaemon, name: str) -> str:
    """Return the id of the only session whose id is `name` or begins with it; `name` itself if there is none.

    A session of an agent is also found by its id in the agent. Raises `UsageError` if there are several.
    """
    if len(name) > _LONGEST:
        return name
    found = daemon.call("session/resolve", {"query": name, "limit": _MAX_NAMED})
    ids = [str(session["sessionId"]) for session in found["sessions"]]
    return ids[0] if found["exact"] else _only(name, ids, others=found["more"])


def named_in_trash(daemon: BlockingDaemon, name: str) -> dict[str, Any]:
    """Return the params that name a session in the trash: by its trash id, or by its id or the beginning of it.

    Raises `UsageError` if several ids begin with the name.
    """
    if len(name) >= _UUID or len(name) < _SHORTEST:
        return {"sessionId": name}
    ids: dict[str, None] = {}
    params: dict[str, Any] = {"limit": 1_000}
    while True:
        page = daemon.call("trash/list", params)
        if any(session["trashId"] == name for session in page["sessions"]):
            return {"trashId": name}
        ids |= {
            str(session["sessionId"]): None
            for session in page["sessions"]
            if str(session["sessionId"]).startswith(name)
        }
        if (cursor := page.get("nextCursor")) is None:
            break
        params["cursor"] = cursor
    if name not in ids:
        name = _only(name, sorted(ids)[:_MAX_NAMED], others=len(ids) > _MAX_NAMED)
    return {"sessionId": name}


def _only(name: str, ids: list[str], *, others: bool) -> str:
    """Return the only id; `name` if there is none. Raises `UsageError` if there are several."""
    if len(ids) > 1:
        from sessiond.text import one_line

        listed = ", ".join(map(one_line, ids)) + (" and others" if others else "")
        raise UsageError(f"session id {one_line(name)!r} is ambiguous: {listed}")
    return ids[0] if ids else name


def working_folder(args: ParsedArguments) -> str:
    """Return the folder of `--cwd` or of this process, absolute."""
    return os.path.abspath(args.value("cwd") or os.getcwd())


def home_of_session(args: ParsedArguments) -> str:
    """Return the folder of `--cwd` or of this process, as the folder of a session.

    If the folder does not exist, it is probably a mistake: on a terminal the user is asked, elsewhere a warning is
    printed on standard error. Raises `UsageError` if the user answers no.
    """
    folder = working_folder(args)
    if args.value("cwd") is None or os.path.isdir(folder):  # noqa: PTH112
        return folder
    from sessiond.cli.parse.session_choice import can_ask
    from sessiond.text import one_line

    missing = f"the folder {one_line(folder)} does not exist"
    if not can_ask():
        print(f"sessiond: warning: {missing}", file=sys.stderr)
        return folder
    print(f"sessiond: {missing}. Use it for the session anyway? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError(missing, "Nothing was changed.")
    return folder


def with_terminal(params: dict[str, Any]) -> dict[str, Any]:
    """Return the params with the terminal of this process, if it has one, since the daemon cannot see it."""
    from sessiond.client import terminal

    here = terminal.here()
    return params | {"terminal": here} if here else params


def _of_this_terminal(daemon: BlockingDaemon, *, asks: bool, bind: bool = False) -> str:
    params = {"cwd": os.getcwd(), "create": False, "bind": bind}
    from sessiond.client.wire import RpcError
    from sessiond.text import one_line

    try:
        found = daemon.call("session/continue", with_terminal(params))
    except RpcError as error:
        chosen = _chosen(daemon) if asks and error.kind == "sessionNotFound" else None
        if chosen is None:
            raise
        if bind:
            daemon.call("session/open", with_terminal({"sessionId": chosen}))
        return chosen
    session = found["session"]

    name = one_line(session.get("title") or session.get("firstPrompt") or "untitled")
    print(f"{session['sessionId']} ({name}): {one_line(found['message'])}", file=sys.stderr)
    return str(session["sessionId"])


def _chosen(daemon: BlockingDaemon) -> str | None:
    """Return the session that the user chooses on the terminal; None if there is none, or no user can be asked."""
    from sessiond.cli.parse.session_choice import can_ask, choose, sessions_near

    return choose(sessions_near(daemon, os.getcwd()), "use") if can_ask() else None


def agent_filter(args: ParsedArguments) -> dict[str, str]:
    """Return the params for the option --agent: none without it. The agent may be given by any of its names."""
    given = args.value("agent")
    if given is None:
        return {}
    from sessiond.agents import names

    return {"agent": names.name_of(given)}


def period_filter(args: ParsedArguments) -> dict[str, str]:
    """Return the params for the options --since and --until: none without them. Raises `UsageError`."""
    if args.value("since") is None and args.value("until") is None:
        return {}
    from sessiond.cli.parse import times  # importing `re` and `datetime` takes 5 ms

    return times.period(args)


def place_filter(args: ParsedArguments) -> dict[str, str]:
    """Return the params that select sessions by place: the project of the folder, with --here the folder itself.

    With --all, there are none. Raises `UsageError` if both options are given.
    """
    if args.flag("all"):
        if args.flag("here"):
            raise UsageError("--here and --all cannot both be given")
        return {}
    return {"cwd" if args.flag("here") else "project": working_folder(args)}
