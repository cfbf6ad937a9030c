"""The command continue: finds the session of this terminal; with --prompt, only its id and title.

A shell draws its prompt often, so the imports for the other case are made later.
"""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH100, PTH109

from __future__ import annotations

import os
import sys

from sessiond.cli.exit_codes import FAILURE, SUCCESS
from sessiond.cli.parse.arguments import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments


def continue_session(args: ParsedArguments) -> int:
    """Send `session/continue`; with --prompt, print the id and the title of this terminal's session."""
    if args.flag("prompt"):
        return _prompt(args)
    from sessiond import human
    from sessiond.cli.commands.sessions import print_problems
    from sessiond.cli.parse.entry_argument import connect
    from sessiond.cli.parse.session_argument import with_terminal
    from sessiond.text import one_line

    params: dict[str, Any] = {"cwd": _working_folder(args), "project": not args.flag("here")}
    if args.flag("no-create"):
        params["create"] = False
    with connect(args) as daemon:
        if args.flag("json"):
            print(daemon.call_text("session/continue", with_terminal(params)))
            return SUCCESS
        found = daemon.call("session/continue", with_terminal(params))
    print(one_line(found["session"]["sessionId"]))
    print(one_line(found["message"]), file=sys.stderr)
    for folder in found["formerFolders"]:
        there = human.count(folder["sessionCount"], "session")
        print(
            f"{there} of {one_line(folder['cwd'])}, which does not exist: {one_line(folder['message'])}",
            file=sys.stderr,
        )
        ours = one_line(folder["sessionIds"][0])
        print(
            f"  To move the newest here: sessiond move {ours} --cwd {one_line(params['cwd'])}",
            file=sys.stderr,
        )
    print_problems(found.get("problems", []))
    return SUCCESS


def _prompt(args: ParsedArguments) -> int:
    if others := [name for name in ("no-create", "command-id", "json") if args.flag(name)]:
        raise UsageError(f"--prompt and --{others[0]} cannot both be given")
    from sessiond.cli.commands import shell_prompt

    if not (words := shell_prompt.words(_working_folder(args))):
        return FAILURE
    print(words)
    return SUCCESS


def _working_folder(args: ParsedArguments) -> str:
    return os.path.abspath(args.value("cwd") or os.getcwd())
