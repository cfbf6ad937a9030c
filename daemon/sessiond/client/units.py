"""The texts of the service definitions: two systemd user units, or a launchd property list.

The manager listens on the usual socket, starts the daemon for the first client, and queues connections while no daemon
runs.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sessiond.paths import Locations

SOCKET_NAME = "sessiond"
"""The name of the socket among those that the manager passes on; `server/listeners/activation.py` looks for it."""

_PASSED_VARIABLES = ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")

_SOCKET = """\
[Unit]
Description=Socket of sessiond, which stores the sessions of coding agents
Documentation=man:systemd.socket(5)

[Socket]
ListenStream={path}
FileDescriptorName={name}
SocketMode=0600
DirectoryMode=0700
Backlog=1024
Accept=no
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
"""

_SERVICE = """\
[Unit]
Description=sessiond, which stores the sessions of coding agents
Requires={unit}.socket
After={unit}.socket
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=notify
ExecStart={command}
{environment}\
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=73 75 78
TimeoutStopSec=30
WatchdogSec=60
KillMode=mixed
UMask=0077
LimitNOFILE=65536
OOMPolicy=continue

[Install]
Also={unit}.socket
"""


def unit_name(locations: Locations) -> str:
    """Return `sessiond`, or, for a SESSIOND_HOME, a name that is unique for it."""
    if locations.home is None:
        return "sessiond"
    from hashlib import sha256

    return f"sessiond-{sha256(os.fsencode(locations.home)).hexdigest()[:12]}"


def systemd_units(locations: Locations, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the unit files by name. Raises ValueError for a path that a unit file cannot contain."""
    unit = unit_name(locations)
    values = "".join(
        f"Environment={_quoted(f'{name}={value}')}\n"
        for name, value in _environment(locations, environ).items()
    )
    command = " ".join(_quoted(word).replace("$", "$$") for word in _command())
    return {
        f"{unit}.socket": _SOCKET.format(path=_escaped(locations.socket), name=SOCKET_NAME),
        f"{unit}.service": _SERVICE.format(unit=unit, command=command, environment=values),
    }


def launchd_job(locations: Locations, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the property list by name. Written after launchd.plist(5), not tested on macOS."""
    import plistlib

    label = f"dev.{unit_name(locations)}"
    job = {
        "Label": label,
        "ProgramArguments": _command(),
        "EnvironmentVariables": {**_environment(locations, environ), "SESSIOND_LAUNCHD": "1"},
        "Sockets": {SOCKET_NAME: {"SockPathName": locations.socket, "SockPathMode": 0o600}},
        "KeepAlive": {"Crashed": True},
        "RunAtLoad": False,
        "ProcessType": "Interactive",
        "ThrottleInterval": 5,
        "ExitTimeOut": 30,
        "Umask": 0o077,
        "StandardErrorPath": locations.log,
    }
    return {f"{label}.plist": plistlib.dumps(job).decode()}


def _command() -> list[str]:
    return [sys.executable, "-E", "-P", "-m", "sessiond", "serve"]


def _environment(locations: Locations, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that the daemon needs to find the same folders as the clients."""
    if locations.home is not None:
        return {"SESSIOND_HOME": locations.home}
    return {name: environ[name] for name in _PASSED_VARIABLES if environ.get(name)}


def _quoted(text: str) -> str:
    text = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _escaped(text: str) -> str:
    if "\n" in text or text != text.strip():
        raise ValueError(f"a unit file cannot contain {text!r}")
    return text.replace("%", "%%")
