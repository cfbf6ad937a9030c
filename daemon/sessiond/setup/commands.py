"""The commands that hooks run: the program by its absolute path, harmless where it is no longer installed."""

from __future__ import annotations

import os
import shutil
import sys
from shlex import quote
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sessiond.agents.agent import Agent, HookFile


def program() -> list[str]:
    """Return the words that run sessiond: the script by its absolute path, else this interpreter and the module."""
    beside = os.path.join(os.path.dirname(sys.executable), "sessiond")  # noqa: PTH120
    named = sys.argv[0] if os.path.basename(sys.argv[0]) == "sessiond" else ""  # noqa: PTH119
    for found in (shutil.which(named) if named else None, beside, shutil.which("sessiond")):
        if found and os.access(found, os.X_OK):
            return [os.path.abspath(found)]  # noqa: PTH100 - a link stays, since an update may change its target
    return [sys.executable, "-m", "sessiond"]


def hook_command(agent: Agent, hooks: HookFile, environ: Mapping[str, str], words: list[str]) -> str:
    """Return the command line of a hook, for the shells with which agents run hooks.

    It succeeds without output, or with the agent's silent output, where the program no longer exists.

    Args:
        agent: The agent.
        hooks: Its hooks.
        environ: Environment variables; the hook gets SESSIOND_HOME from them.
        words: The words that run sessiond.
    """
    home = environ.get("SESSIOND_HOME")
    variable = f"SESSIOND_HOME={quote(os.path.abspath(home))} " if home else ""  # noqa: PTH100
    call = " ".join(map(quote, words))
    otherwise = f"echo {quote(hooks.silent_output)}" if hooks.silent_output else "true"
    return f"test -x {quote(words[0])} && {variable}{call} hook {agent.name} 2>/dev/null || {otherwise}"


def plugin(agent: Agent, hooks: HookFile, environ: Mapping[str, str], words: list[str]) -> str:
    """Return the text of a plugin file that runs the hook."""
    home = environ.get("SESSIOND_HOME")
    call = [*words, "hook", agent.name]
    if home:
        call = ["/usr/bin/env", f"SESSIOND_HOME={os.path.abspath(home)}", *call]  # noqa: PTH100
    text = hooks.plugin or ""
    text = text.replace("@PROGRAM@", msgspec.json.encode(call).decode())
    return text.replace("@EVENTS@", msgspec.json.encode(hooks.events).decode())
