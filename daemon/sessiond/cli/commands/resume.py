"""The command resume: continues a session in an agent, in the one it came from or in another one.

The daemon finds or writes the session of the agent. This command starts the agent's programs: first, for OpenCode, the
import, then the agent itself, which replaces this process.
"""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH100

from __future__ import annotations

import json  # noqa: TID251 - the thin client has no msgspec
import os
import shlex
import sys

from sessiond.agents.names import name_of
from sessiond.agents.table import AGENTS
from sessiond.cli.exit_codes import FAILURE, SUCCESS
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id, working_folder
from sessiond.cli.parse.session_choice import can_ask, choose, sessions_near
from sessiond.cli.render.off_path import print_off_path
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.blocking import BlockingDaemon

_SHARED = ("HOME", "TMPDIR", "XDG_CONFIG_HOME")
"""Variables that name the folders where several agents keep their sessions."""


def resume(args: ParsedArguments) -> int:
    """Send `session/resume`, and start the agent; with --print or --json, only print how to."""
    params: dict[str, Any] = {"env": variables(os.environ)}
    if (agent := args.value("in")) is not None:
        params["agent"] = name_of(agent)
    if (leaf := args.value("at")) is not None:
        params["leafId"] = leaf
    if (cwd := args.value("cwd")) is not None:
        params["cwd"] = os.path.abspath(cwd)
    with connect() as daemon:
        params["sessionId"] = _chosen(daemon, args)
        found = daemon.call("session/resume", params)
    if (importing := found["importArgv"]) is not None:
        if is_installed(importing[0], found["env"]):
            if (error := _run(importing, found)) is not None:
                print(error, file=sys.stderr)
                return FAILURE
            found["importArgv"] = None
        elif not (args.flag("print") or args.flag("json")):
            return _missing(importing[0], found["agent"])
    if args.flag("json"):
        print(json.dumps(found, ensure_ascii=False))
        return SUCCESS
    _explain(found)
    if args.flag("print"):
        print(command_line(found, os.environ))
        return SUCCESS
    if not is_installed(found["argv"][0], found["env"]):
        return _missing(found["argv"][0], found["agent"])
    return _launch(found)


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that say where agents keep their sessions."""
    names = [*_SHARED, *(name for agent in AGENTS.values() for name in agent.variables)]
    return {name: environ[name] for name in names if name in environ}


def command_line(found: dict[str, Any], environ: Mapping[str, str]) -> str:
    """Return the command line that resumes a session, for a shell with these variables."""
    differing = {
        name: value
        for name, value in found["env"].items()
        if name != "PWD" and environ.get(name) != value  # cd sets PWD
    }
    settings = [f"{name}={shlex.quote(value)}" for name, value in differing.items()]
    commands = [found["importArgv"], found["argv"]]
    lines = [" ".join([*settings, shlex.join(argv)]) for argv in commands if argv is not None]
    return " && ".join([f"cd {shlex.quote(found['cwd'])}", *lines])


def is_installed(program: str, environ: Mapping[str, str]) -> bool:
    """Return whether a program is found in `PATH`."""
    from shutil import which

    return which(program, path=environ.get("PATH") or os.environ.get("PATH")) is not None


def _chosen(daemon: BlockingDaemon, args: ParsedArguments) -> str:
    """Return the session that is named, or else the one that the user chooses."""
    if args.value("ID") is not None or not can_ask():
        return session_id(daemon, args)
    chosen = choose(sessions_near(daemon, working_folder(args)), "resume")
    if chosen is None:
        raise UsageError(
            "there are no sessions to resume", "sessiond agents lists the agents on this machine."
        )
    return chosen


def _run(argv: list[str], found: dict[str, Any]) -> str | None:
    """Run a command in the folder of the session. Return an error, or None."""
    import subprocess

    ran = subprocess.run(
        argv, cwd=found["cwd"], env={**os.environ, **found["env"]}, stdin=subprocess.DEVNULL,
        capture_output=True, check=False,
    )  # fmt: skip
    if ran.returncode == 0:
        return None
    reason = one_line((ran.stderr or ran.stdout).decode(errors="replace").strip())[-500:]
    return f"{shlex.join(argv)} failed with exit code {ran.returncode}: {reason}"


def _explain(found: dict[str, Any]) -> None:
    """Print what the format of the agent cannot hold, and how many messages are on other branches."""
    if found["losses"]:
        named = ", ".join(f"{loss['count']} {one_line(loss['name'])}" for loss in found["losses"])
        print(f"not representable in {AGENTS[found['agent']].title}: {named}", file=sys.stderr)
    print_off_path(found)


def _missing(program: str, agent: str) -> int:
    title = AGENTS[agent].title
    print(
        f"The program {program} of {title} is not installed, or not in PATH. --print prints the command for later.",
        file=sys.stderr,
    )
    return FAILURE


def _launch(found: dict[str, Any]) -> NoReturn:
    """Replace this process by the agent."""
    os.chdir(found["cwd"])
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvpe(found["argv"][0], found["argv"], {**os.environ, **found["env"]})
