"""The service manager of this user, where there is one: whether sessiond is installed, and whether it is started.

Only asks. What is installed, and when, is the business of `sessiond install-service`.
"""

from __future__ import annotations

import os
import sys

from sessiond.client.units import launchd_job, systemd_units, unit_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.paths import Locations

_PATIENCE = 20.0


def folder() -> str:
    """Where this user's unit files, or property lists, lie."""
    home = os.environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - a text, as in `paths`
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "LaunchAgents")
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if not config.startswith("/"):
        config = os.path.join(home, ".config")
    return os.path.join(config, "systemd", "user")


def files(places: Locations) -> dict[str, str]:
    """The files of the service as they have to be, by path."""
    texts = launchd_job(places) if sys.platform == "darwin" else systemd_units(places)
    return {os.path.join(folder(), name): text for name, text in texts.items()}


def is_installed(places: Locations) -> bool:
    """Whether the files of the service are there, whatever is in them."""
    name = f"dev.{unit_name(places)}.plist" if sys.platform == "darwin" else f"{unit_name(places)}.socket"
    return os.path.exists(os.path.join(folder(), name))  # noqa: PTH110 - one call, on the way to a start


def manager_answers() -> bool:
    """Whether there is a service manager for this user, and it can be asked."""
    if sys.platform == "darwin":
        return not ask("print", f"gui/{os.getuid()}")
    return not ask("show-environment")


def ask(*words: str) -> str:
    """Run `systemctl --user WORDS` or `launchctl WORDS`: empty when it went well, else what it said."""
    import subprocess

    command = ["launchctl"] if sys.platform == "darwin" else ["systemctl", "--user", "--no-ask-password"]
    try:
        done = subprocess.run(
            [*command, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if not done.returncode:
        return ""
    return done.stderr.decode(errors="replace").strip() or f"{command[0]} failed ({done.returncode})"


def open_socket(places: Locations) -> bool:
    """Have the manager listen for us again, when it can; whoever comes then finds the daemon by himself."""
    if not is_installed(places) or not manager_answers():
        return False
    if sys.platform == "darwin":
        (path,) = files(places)
        return not ask("bootstrap", f"gui/{os.getuid()}", path)
    # Not `start`: one whose path was removed counts as started.
    return not ask("restart", f"{unit_name(places)}.socket")
