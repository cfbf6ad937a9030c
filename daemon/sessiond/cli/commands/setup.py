"""The command setup: shows what it would add to settings of agents and shells, adds it, and takes it away."""

from __future__ import annotations

import json  # noqa: TID251 - a reader of --json would use it
import os
import sys

from sessiond.agents.places import variables_of
from sessiond.agents.table import AGENTS
from sessiond.cli.exit_codes import FAILURE, SUCCESS
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.render import setup_report
from sessiond.human import listed
from sessiond.paths import find_locations
from sessiond.setup import changes, commands, journal, plan, survey
from sessiond.setup.additions import ListedNames
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.paths import Locations
    from sessiond.setup.changes import ChangeOutcome, FileChange
    from sessiond.setup.survey import FoundAgent


def setup(args: ParsedArguments) -> int:
    """Show what setup would do, and do it after a yes; with --undo, take away what it added."""
    locations = find_locations()
    names = frozenset(name for _, name in args.occurrences("agent"))
    if args.flag("undo"):
        if names or args.flag("no-hooks") or args.flag("no-mcp") or args.flag("no-shell"):
            raise UsageError("--undo takes away everything that setup added", "Only --json goes with it.")
        return _undo(args, locations)
    if unknown := sorted(names - AGENTS.keys()):
        raise UsageError(f"there is no agent {unknown[0]!r}", f"The agents are {listed(list(AGENTS))}.")
    return _install(args, survey.found_agents(os.environ, names), locations)


def _install(args: ParsedArguments, found: Sequence[FoundAgent], locations: Locations) -> int:
    """Show the changes, and make them after a yes. Files that fail do not keep the others from being changed."""
    wanted = _wanted(args, found, locations)
    with journal.opened(locations.state) as opened:
        outcomes = [changes.preview(opened, change) for change in wanted]
        if not args.flag("json"):
            setup_report.show_found(found, locations)
            setup_report.show_plan(wanted, outcomes, opened.folder)
        agreed = any(outcome.state == "changed" for outcome in outcomes) and _agrees(args)
        if agreed:
            outcomes = [changes.install(opened, change) for change in wanted]
    if agreed:
        for change in wanted:
            if isinstance(change.addition, ListedNames):
                _tell_daemon("agent/follow", change.addition.names)
    if args.flag("json"):
        print(json.dumps(setup_report.as_json(found, wanted, outcomes, done=agreed), ensure_ascii=False))
    elif agreed:
        setup_report.show_done(wanted, outcomes)
    return _status(outcomes)


def _undo(args: ParsedArguments, locations: Locations) -> int:
    """Take away everything, the last change first. Files that fail stay in the journal for the next time."""
    with journal.opened(locations.state) as opened:
        for record in opened.records:
            if isinstance(record.addition, ListedNames):
                _tell_daemon("agent/unfollow", record.addition.names)
        outcomes = [changes.uninstall(opened, record) for record in reversed(list(opened.records))]
        if not any(outcome.copy for outcome in outcomes):
            opened.clear()
    if args.flag("json"):
        print(
            json.dumps(
                {"files": [setup_report.outcome_json(outcome) for outcome in outcomes]}, ensure_ascii=False
            )
        )
    else:
        setup_report.show_undone(outcomes)
    return _status(outcomes)


def _status(outcomes: Sequence[ChangeOutcome]) -> int:
    return FAILURE if any(outcome.state == "failed" for outcome in outcomes) else SUCCESS


def _tell_daemon(method: str, names: Sequence[str]) -> None:
    """Have a running daemon follow agents, or stop it. A daemon that starts later reads the configuration."""
    from sessiond.client.blocking import connect
    from sessiond.client.daemon_socket import DaemonConnectionError
    from sessiond.client.wire import NO_ANSWER, RpcError

    try:
        with connect(autostart=False) as daemon:
            params: dict[str, object] = {"agents": list(names)}
            if method == "agent/follow":
                params["environment"] = variables_of(AGENTS.values(), os.environ)
            daemon.call(method, params)
    except DaemonConnectionError:
        return
    except (*NO_ANSWER, RpcError) as error:
        print(f"The running daemon did not take it: {one_line(str(error))}", file=sys.stderr)
        print("  It reads the configuration when it starts: sessiond restart", file=sys.stderr)


def _wanted(args: ParsedArguments, found: Sequence[FoundAgent], locations: Locations) -> list[FileChange]:
    possible = [plan.follow_change(found, locations.config_file, os.environ)]
    words = commands.program()
    if not args.flag("no-hooks"):
        possible += plan.hook_changes(found, os.environ, words)
    if not args.flag("no-mcp"):
        possible += plan.server_changes(found, os.environ, words)
        if not args.occurrences("agent"):
            possible.append(plan.vscode_change(os.environ, words))
    if not args.flag("no-shell") and not args.occurrences("agent"):
        possible.append(plan.shell_change(os.environ))
    return plan.in_one_change_a_file(change for change in possible if change is not None)


def _agrees(args: ParsedArguments) -> bool:
    """Return whether the user wants the changes. Without a terminal, no question is asked, and nothing is changed."""
    if args.flag("yes"):
        return True
    if args.flag("json") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        if not args.flag("json"):
            print("Nothing was changed. To do it: sessiond setup --yes")
        return False
    try:
        answer = input("Do this? [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() in ("y", "yes"):
        return True
    print("Nothing was changed.")
    return False
