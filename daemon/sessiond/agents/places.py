"""Finds folders from environment variables, as the agents themselves do."""

from __future__ import annotations

import os
import sys

from sessiond.unicode import valid_unicode

TYPE_CHECKING = False  # a command that only reads and prints has no time for these modules
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from sessiond.agents.agent import Agent, Environ

_RELATIVE_TO_HOME: Final = frozenset(("PI_CONFIG_DIR",))


def account_home() -> str:
    """Return the home folder of this user's account, which does not depend on HOME."""
    import pwd  # few callers need it

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return os.path.expanduser("~")  # noqa: PTH111 - as below


def moved_folders(agent: Agent, environ: Environ) -> list[str]:
    """Return the folders of an agent that no process would find that has other variables than these, HOME included."""
    usual = agent.folders({"HOME": account_home()})
    return [folder for folder in agent.folders(environ) if folder not in usual]


def variables_of(agents: Iterable[Agent], environ: Environ) -> dict[str, str]:
    """Return HOME and those of the variables that move folders of agents that are set, with absolute paths.

    A value that is not UTF-8 is left out, since neither a request nor the configuration can have it.
    """
    names = dict.fromkeys(("HOME", *(variable for agent in agents for variable in agent.variables)))
    found = {name: value for name in names if (value := environ.get(name)) and valid_unicode(value) == value}
    return {
        name: value if value.startswith(("/", "~")) or name in _RELATIVE_TO_HOME else os.path.abspath(value)  # noqa: PTH100
        for name, value in found.items()
    }


def other_home(of_daemon: str | None) -> str | None:
    """Return a sentence about the home folder of the daemon if it is not the one of this process; else None."""
    own = home(os.environ)
    if of_daemon is None or os.path.realpath(of_daemon) == os.path.realpath(own):
        return None
    return (
        f"The daemon has the home folder {of_daemon}, and this command {own}: agents that keep their sessions below"
        f" {own} are followed after sessiond agents follow"
    )


def home(environ: Environ) -> str:
    """Return the user's home folder."""
    return environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - pathlib costs milliseconds at start


def moved(environ: Environ, variable: str, usual: str) -> str:
    """Return the folder that a variable names, or else the usual one, which is relative to the home folder."""
    return named(environ, variable) or f"{home(environ)}/{usual}"


def named(environ: Environ, variable: str) -> str | None:
    """Return the absolute path of the folder that a variable names; None if the variable is empty or not set."""
    folder = environ.get(variable)
    if not folder:
        return None
    if folder == "~" or folder.startswith("~/"):
        folder = home(environ) + folder[1:]
    return os.path.abspath(folder)  # noqa: PTH100 - as above


def vscode_folder(environ: Environ) -> str:
    """Return the folder of the user's settings of VS Code. It need not exist."""
    if sys.platform == "darwin":
        return home(environ) + "/Library/Application Support/Code/User"
    return moved(environ, "XDG_CONFIG_HOME", ".config") + "/Code/User"
