"""The commands new, list, show, fork, move, rename and tag, for whole sessions.

Commands that result in one session print only its id on standard output, for scripts, and the rest on standard error.
"""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH111

from __future__ import annotations

import os
import sys
import time

from sessiond import human
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import (
    agent_filter,
    home_of_session,
    period_filter,
    place_filter,
    session_id,
    session_id_to_write,
    with_terminal,
)
from sessiond.cli.render.style import style_for
from sessiond.text import one_line

TYPE_CHECKING = False
_UNKNOWN = "…"
"""The count of messages in a provisional row."""
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.blocking import BlockingDaemon


def new(args: ParsedArguments) -> int:
    """Send `session/create`."""
    params: dict[str, Any] = {"cwd": home_of_session(args)}
    if tags := [word for _, word in args.occurrences("tag")]:
        params["tags"] = tags
    for option, field in (("title", "title"), ("id", "id")):
        if (value := args.value(option)) is not None:
            params[field] = value
    if (parent := args.value("parent")) is not None:
        if "/" in parent:
            params["parentPath"] = os.path.abspath(parent)  # noqa: PTH100 - pathlib is slow to import
        else:
            params["parentSessionId"] = parent
    if args.flag("ephemeral"):
        params["ephemeral"] = True
    with connect(args) as daemon:
        if args.flag("json"):
            print(daemon.call_text("session/create", with_terminal(params)))
            return 0
        session = daemon.call("session/create", with_terminal(params))["session"]
    print(one_line(session["sessionId"]))
    if sys.stdout.isatty():
        print(
            "The session is a draft until its first assistant message. Next: sessiond append --user TEXT",
            file=sys.stderr,
        )
    return 0


def listing(args: ParsedArguments) -> int:
    """Send `session/list`."""
    params = _list_params(args)
    with connect() as daemon:
        if args.flag("json"):
            print(daemon.call_text("session/list", params))
            return 0
        hidden_count = 0 if args.flag("automated") else _count_automated(daemon, params)
        if hidden_count:
            params["automated"] = False
        page = daemon.call("session/list", params)
    sessions = page["sessions"]
    if sessions:
        is_one_folder = len({session["cwd"] for session in sessions}) == 1
        _print_list(sessions, page.get("lineages", {}), with_folders=args.flag("all") or not is_one_folder)
        if page.get("nextCursor"):
            print("There are more results: use a higher --limit.", file=sys.stderr)
    elif not hidden_count and not page.get("unreadCount"):
        print(_nothing_found(args), file=sys.stderr)
    if hidden_count:
        from sessiond.cli.render.automated import tell_of_hidden

        tell_of_hidden(hidden_count)
    if unread := page.get("unreadCount", 0):
        print(f"{human.count(unread, 'file')} of followed agents could not be read yet.", file=sys.stderr)
    _warn_of_files(page.get("problems", []))
    return 0


def _list_params(args: ParsedArguments) -> dict[str, Any]:
    params: dict[str, Any] = {}
    params |= place_filter(args)
    if tags := [word for _, word in args.occurrences("tag")]:
        params["tags"] = tags
    params |= agent_filter(args) | period_filter(args)
    for field in ("query", "sort", "cursor"):
        if (value := args.value(field)) is not None:
            params[field] = value
    if (limit := args.number("limit", at_least=1)) is not None:
        params["limit"] = limit
    if args.flag("drafts"):
        params["includeDrafts"] = True
    if not args.flag("each") and not args.occurrences("agent", "query", "tag", "until"):
        params["foldLineages"] = True
    return params


def _count_automated(daemon: BlockingDaemon, params: dict[str, Any]) -> int:
    """Return the number of automated sessions in the list of `session/list` with these params, on all of its pages."""
    asked = {name: value for name, value in params.items() if name not in ("cursor", "limit")}
    asked |= {"automated": True, "limit": 1, "withTotal": True}
    return int(daemon.call("session/list", asked)["totalCount"])


def show(args: ParsedArguments) -> int:
    """Send `session/info`, or `session/entries` with `entryIds`."""
    with connect() as daemon:
        session = session_id(daemon, args)
        if entries := [entry for _, entry in args.occurrences("entry")]:
            params = {"sessionId": session, "entryIds": entries}
            if args.flag("json"):
                print(daemon.call_text("session/entries", params))
                return 0
            from sessiond.cli.render import attachments, transcript

            style = style_for(sys.stdout)
            for item in daemon.call("session/entries", params)["items"]:
                if attachments.is_attachment(item["entry"]):
                    attachments.print_attachment(daemon, item["entry"], style)
                    continue
                print(*transcript.entry(item["entry"], style), sep="\n")
                if beside := item.get("attachmentIds"):
                    found = daemon.call("session/entries", {"sessionId": session, "entryIds": beside})
                    attachments.print_names(session, [one["entry"] for one in found["items"]], style)
            return 0
        if args.flag("json"):
            print(daemon.call_text("session/info", {"sessionId": session}))
            return 0
        found = daemon.call("session/info", {"sessionId": session})
    _print_session(found["session"])
    if (found["session"].get("origin") or {}).get("missingHistory"):
        from sessiond.cli.render.off_path import print_missing_history

        print_missing_history(found["session"])
    print_problems(found.get("problems", []))
    return 0


def fork(args: ParsedArguments) -> int:
    """Send `session/fork`."""
    params: dict[str, Any] = {}
    at, before = args.value("at"), args.value("before")
    if at and before:
        raise UsageError("--at and --before cannot both be given")
    if args.flag("whole"):
        if at or before:
            raise UsageError("--whole and --at or --before cannot both be given")
        params["whole"] = True
    if entry := at or before:
        params["leafId"] = entry
    if before:
        params["position"] = "before"
    if args.value("cwd"):
        params["cwd"] = home_of_session(args)
    if (title := args.value("title")) is not None:
        params["title"] = title
    with connect(args) as daemon:
        params["sessionId"] = session_id(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("session/fork", params))
            return 0
        forked = daemon.call("session/fork", params)
    session = forked["session"]
    print(one_line(session["sessionId"]))
    if missing := forked.get("missingBlobs"):
        print(f"{human.count(len(missing), 'blob')} could not be found: see --json", file=sys.stderr)
    if sys.stdout.isatty():
        print(f"Copied {human.count(session['entryCount'], 'entry', 'entries')}.", file=sys.stderr)
    return 0


def move(args: ParsedArguments) -> int:
    """Send `session/move`."""
    with connect(args) as daemon:
        params = {"sessionId": session_id(daemon, args), "cwd": home_of_session(args)}
        if args.flag("json"):
            print(daemon.call_text("session/move", params))
            return 0
        session = daemon.call("session/move", params)["session"]
    print(one_line(session["sessionId"]))
    print(f"The session belongs to {one_line(session['cwd'])} now.", file=sys.stderr)
    return 0


def rename(args: ParsedArguments) -> int:
    """Send `session/rename`."""
    return _change(args, "session/rename", {"title": args.required("TITLE")})


def tag(args: ParsedArguments) -> int:
    """Send `session/tag`."""
    params: dict[str, Any] = {}
    for option, word in args.occurrences("add", "remove", "set"):
        params.setdefault("tags" if option == "set" else option, []).append(word)
    if not params:
        raise UsageError("tag needs at least one of --add, --remove and --set", "sessiond tag --help")
    return _change(args, "session/tag", params)


def _change(args: ParsedArguments, method: str, params: dict[str, Any]) -> int:
    with connect(args) as daemon:
        params = {"sessionId": session_id_to_write(daemon, args)} | params
        if args.flag("json"):
            print(daemon.call_text(method, params))
            return 0
        session = daemon.call(method, params)["session"]
    title = one_line(session.get("title") or "untitled")
    print(
        "  ".join(
            [
                one_line(session["sessionId"]),
                title,
                *(f"#{one_line(word)}" for word in session.get("tags", [])),
            ]
        )
    )
    return 0


def _print_list(
    sessions: Sequence[dict[str, Any]], lineages: Mapping[str, Any], *, with_folders: bool
) -> None:
    from sessiond.cli.render.columns import distinguished
    from sessiond.distinctions import session_facts, short_ids

    now, home, style = time.time(), os.path.expanduser("~"), style_for(sys.stdout)
    name_of = short_ids([session["sessionId"] for session in sessions])
    agents = _short_agent_names(sessions)
    rows = []
    for session in sessions:
        words = [f"#{one_line(word)}" for word in session.get("tags", [])]
        name = one_line(session.get("title") or session.get("firstPrompt") or "") or "(no messages yet)"
        marks = [f"({mark})" for mark, there in _marks(session) if there]
        if lineage := _lineage(session, lineages.get(session["sessionId"], [])):
            marks.append(f"({lineage})")
        row = [
            name_of[session["sessionId"]],
            human.ago(session["updatedAt"], now),
            _UNKNOWN if session["provisional"] else human.count(session["messageCount"], "message"),
            human.size(session["sizeBytes"]),
        ]
        if agents:
            row.append(agents[session["sessionId"]])
        if with_folders:
            row.append(one_line(human.folder(session["cwd"], home)))
        rows.append([*row, " ".join([name, *words, *marks])])
    colors = ["yellow", "", "dim", "dim", *(["cyan"] if agents else []), *(["blue"] if with_folders else [])]
    size, messages, age = 3, 2, 1
    optional = (size, messages, *range(len(colors) - 1, size, -1), age)
    facts = [
        session_facts(
            title=session.get("title"), first_prompt=session.get("firstPrompt"),
            agent=agents.get(session["sessionId"], ""), cwd=session["cwd"], home=home, updated_at=session["updatedAt"],
        )
        for session in sessions
    ]  # fmt: skip
    for line in distinguished(rows, facts, None, style, colors, optional):
        print(line)


def _short_agent_names(sessions: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the short name of each session's agent by id, "" for a session that began here; {} if all did."""
    origins = {session["sessionId"]: session.get("origin") for session in sessions}
    if not any(origins.values()):
        return {}
    from sessiond.agents import names

    return {
        name: one_line(names.short_name_of(origin["agent"])) if origin else ""
        for name, origin in origins.items()
    }


def _lineage(session: dict[str, Any], others: Sequence[dict[str, Any]]) -> str:
    """Return the agents in which a session was held one after the other; "" if it was never handed over."""
    origin = session.get("origin") or {}
    before = origin.get("lineage") or []
    steps = [*before, {"agent": origin.get("agent") or "sessiond", "sessionId": session["sessionId"]}]
    known = {step["sessionId"] for step in steps}
    also = [one_line(step["agent"]) for step in others if step["sessionId"] not in known]
    parts = []
    if before:
        parts.append(
            f"{human.count(len(steps), 'agent')}: {' → '.join(one_line(step['agent']) for step in steps)}"
        )
    if also:
        parts.append(f"also in {', '.join(also)}")
    return "; ".join(parts)


def _marks(session: dict[str, Any]) -> tuple[tuple[str, bool], ...]:
    return (
        ("draft", session.get("isDraft", False)),
        ("in memory", session.get("ephemeral", False)),
        ("read-only", session.get("readOnly", False)),
        ("deleted by its agent", (session.get("origin") or {}).get("gone", False)),
        ("archived by its agent", (session.get("origin") or {}).get("archived", False)),
        (human.count(problems := session.get("problemCount") or 0, "problem"), problems > 0),
    )


def _print_session(session: dict[str, Any]) -> None:
    from sessiond.cli.render.columns import aligned

    now, home, style = time.time(), os.path.expanduser("~"), style_for(sys.stdout)
    states = [mark for mark, there in _marks(session) if there]
    facts = [
        ("id", session["sessionId"]),
        ("title", session.get("title")),
        ("tags", " ".join(f"#{word}" for word in session.get("tags", []))),
        ("first", session.get("firstPrompt")),
        ("folder", human.folder(session["cwd"], home)),
        ("file", human.folder(session["path"], home) if session.get("path") else None),
        *_origin_facts(session.get("origin"), home),
        ("parent", session["parentSessionId"] or session["parentPath"]),
        ("created", f"{session['createdAt']} ({human.ago(session['createdAt'], now)})"),
        ("updated", f"{session['updatedAt']} ({human.ago(session['updatedAt'], now)})"),
        (
            "holds",
            f"{human.count(session['messageCount'], 'message')}, "
            f"{human.count(session['entryCount'], 'entry', 'entries')}, {human.size(session['sizeBytes'])}",
        ),
        ("leaf", session.get("leafId") or "none"),
        ("last seq", str(session["lastSeq"])),
        ("state", ", ".join(states)),
    ]
    rows = [(name, one_line(value)) for name, value in facts if value]
    print(*aligned(rows, style, ["dim"]), sep="\n")


def _origin_facts(origin: dict[str, Any] | None, home: str) -> list[tuple[str, str | None]]:
    """Return the lines about the session of an agent that a session was read from."""
    if origin is None:
        return []
    from sessiond.agents import names

    return [
        ("agent", " ".join(filter(None, (names.title_of(origin["agent"]), origin["version"])))),
        ("its id", origin["sessionId"]),
        ("its file", human.folder(origin["path"], home) if origin["path"] else None),
        ("from", ", ".join(f"{step['sessionId']} ({step['agent']})" for step in origin.get("lineage", []))),
    ]


def print_problems(problems: Sequence[dict[str, Any]]) -> None:
    """Print the problems of a session file on standard error."""
    for problem in problems[:10]:
        place = f"line {problem['line']}, byte {problem['byteOffset']}"
        print(
            f"{problem.get('severity', 'error')} at {place}: {one_line(problem['message'])}", file=sys.stderr
        )
    if len(problems) > 10:
        print(f"and {human.count(len(problems) - 10, 'more problem')}", file=sys.stderr)


def _warn_of_files(problems: Sequence[dict[str, Any]]) -> None:
    """Print on standard error which files the list could not read."""
    for problem in problems[:10]:
        print(f"cannot read {one_line(problem['path'])}: {one_line(problem['message'])}", file=sys.stderr)
    if len(problems) > 10:
        print(f"and {human.count(len(problems) - 10, 'more file')}: see sessiond doctor", file=sys.stderr)


def _nothing_found(args: ParsedArguments) -> str:
    if args.occurrences("query", "tag", "agent", "since", "until"):
        return "No sessions match. Use --drafts to include drafts."
    sources = "sessiond agents follow --all reads those of your agents, and sessiond new creates one."
    if args.flag("all"):
        return f"There are no sessions yet.\n  {sources}"
    return f"No sessions in this project. sessiond list --all lists those of all projects.\n  {sources}"
