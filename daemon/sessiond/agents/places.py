"""Finds folders from environment variables, as the agents themselves do."""

import os.path
import sys

from sessiond.agents.agent import Environ


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
