"""Finds folders from environment variables, as the agents themselves do."""

import os.path

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
