"""The service manager of this user, if there is one: whether sessiond is installed, and whether it is started.

This module only queries, and has an installed socket listen again. `sessiond install-service` installs the service.
"""

from __future__ import annotations

import os
import sys

from sessiond.client.units import launchd_job, systemd_units, unit_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.paths import Locations

_TIMEOUT_SECONDS = 20.0


def folder() -> str:
    """Return the folder of this user's unit files or property lists."""
    home = os.environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - a text, as in `paths`
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "LaunchAgents")
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if not config.startswith("/"):
        config = os.path.join(home, ".config")
    return os.path.join(config, "systemd", "user")


def files(locations: Locations) -> dict[str, str]:
    """Return the expected files of the service: text by path."""
    texts = launchd_job(locations) if sys.platform == "darwin" else systemd_units(locations)
    return {os.path.join(folder(), name): text for name, text in texts.items()}


def is_installed(locations: Locations) -> bool:
    """Return whether the socket unit or the property list of the service exists, with any content."""
    name = (
        f"dev.{unit_name(locations)}.plist" if sys.platform == "darwin" else f"{unit_name(locations)}.socket"
    )
    return os.path.exists(os.path.join(folder(), name))  # noqa: PTH110 - one call, on the way to a start


def manager_responds() -> bool:
    """Return whether there is a service manager for this user that responds."""
    if sys.platform == "darwin":
        return not run_manager("print", f"gui/{os.getuid()}")
    return not run_manager("show-environment")


def run_manager(*words: str) -> str:
    """Run `systemctl --user WORDS` or `launchctl WORDS`. Returns "" on success, else its error output."""
    import subprocess

    command = ["launchctl"] if sys.platform == "darwin" else ["systemctl", "--user", "--no-ask-password"]
    try:
        done = subprocess.run(
            [*command, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if not done.returncode:
        return ""
    return done.stderr.decode(errors="replace").strip() or f"{command[0]} failed ({done.returncode})"


def open_socket(locations: Locations) -> bool:
    """Have the manager listen on the socket again. Returns whether it does; the next client then finds the daemon."""
    if not is_installed(locations) or not manager_responds():
        return False
    if sys.platform == "darwin":
        (path,) = files(locations)
        return not run_manager("bootstrap", f"gui/{os.getuid()}", path)
    # Not `start`: a socket unit whose path was removed still counts as started.
    return not run_manager("restart", f"{unit_name(locations)}.socket")
