"""Checks of the daemon's environment from outside: variables, configuration, locks, the socket.

This module never imports the server and works without a daemon. `hub.doctor` examines the content of the folders.
"""
# ruff: noqa: PTH110, PTH120 - folders are strings here, as in `paths`

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import sessiond
from sessiond import config as configuration
from sessiond.agents.places import other_home
from sessiond.client.blocking import BlockingDaemon, connect_to_any
from sessiond.client.daemon_socket import (
    DaemonConnectionError,
    DaemonNotRunningError,
    SocketRefusedError,
    find_socket,
    read_endpoint,
)
from sessiond.client.wire import DaemonUnresponsiveError, DisconnectedError, InvalidResponseError, RpcError
from sessiond.paths import OTHERS_MAY_ANYTHING, OTHERS_MAY_WRITE, SOCKET_PATH_LIMIT, Locations
from sessiond.protocol import types as t
from sessiond.protocol.findings import finding
from sessiond.rpc.process import boot_id, is_stopped, start_time

_CONFIG_NAMES = ("config.toml", "sessiond.toml", "config.json", "config.yaml", "config.yml")

_RESTORE_SECONDS = 10.0
"""Seconds that a daemon may take to listen again after SIGHUP."""


@dataclass
class EnvironmentReport:
    """The findings. `daemon` is "answers", "silent" (a daemon runs but does not respond) or "none"."""

    locations: Locations
    findings: list[t.Finding] = field(default_factory=list)
    daemon: Literal["answers", "silent", "none"] = "none"
    config: configuration.Config = field(default_factory=configuration.Config)
    may_start: bool = True  # no finding prevents a daemon from starting
    holder: int | None = None  # the process that holds `daemon.lock`

    def add(
        self,
        kind: str,
        message: str,
        path: str | None = None,
        *,
        severity: t.FindingSeverity | None = None,
        advice: str | None = None,
    ) -> None:
        """Add a finding."""
        self.findings.append(finding(kind, message, path, severity=severity, advice=advice))


def check_environment(locations: Locations, environ: Mapping[str, str]) -> EnvironmentReport:
    """Run all checks. That of the daemon is late, since it takes up to 15 seconds if the daemon does not respond."""
    report = EnvironmentReport(locations)
    _check_variables(report, environ)
    _check_folders(report)
    _check_config(report, environ)
    _check_locks(report)
    _check_endpoint(report)
    _check_daemon(report)
    _check_lingering(report, environ)
    return report


def restore_listening(report: EnvironmentReport) -> bool:
    """Have the holder of the lock restore its socket and endpoint. Returns whether it can be reached then."""
    if report.holder is None or not _is_sessiond(report.holder):
        return False
    try:
        os.kill(report.holder, signal.SIGHUP)
    except OSError:
        return False
    deadline = time.monotonic() + _RESTORE_SECONDS
    while time.monotonic() < deadline:
        try:
            found = find_socket(report.locations, deadline)
        except DaemonConnectionError:
            found = None
        if found is not None:
            found.close()
            if read_endpoint(report.locations):
                return True
        time.sleep(0.05)
    return False


def _check_variables(report: EnvironmentReport, environ: Mapping[str, str]) -> None:
    if environ.get("SESSIOND_HOME"):
        usual = os.path.join(os.path.abspath(os.path.expanduser(environ["SESSIOND_HOME"])), "run")  # noqa: PTH100, PTH111
        path = report.locations.socket
        if os.path.dirname(path) != usual:
            message = f"{usual}/sessiond.sock has more than {SOCKET_PATH_LIMIT} bytes; the socket is {path}"
            report.add("longSocketPath", message, path)
        return
    runtime = environ.get("XDG_RUNTIME_DIR")
    if not runtime:
        report.add("noRuntimeFolder", f"XDG_RUNTIME_DIR is not set; the socket is {report.locations.socket}")
    elif (reason := _runtime_folder_problem(runtime)) is not None:
        message = f"XDG_RUNTIME_DIR is {runtime}, but {reason}; the socket is {report.locations.socket}"
        report.add("unusableRuntimeFolder", message, runtime)


def _runtime_folder_problem(folder: str) -> str | None:
    """Return why a folder is not suitable for a socket, or None."""
    if not os.path.isabs(folder):  # noqa: PTH117
        return "that is not an absolute path"
    try:
        status = os.lstat(folder)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a folder"
    if status.st_uid != os.geteuid():
        return f"it belongs to user id {status.st_uid}"
    return "other users can access it" if status.st_mode & OTHERS_MAY_ANYTHING else None


def _check_folders(report: EnvironmentReport) -> None:
    """Check that each folder exists, or can be created. Other checks examine their content."""
    for folder in dict.fromkeys((report.locations.state, report.locations.data, report.locations.runtime)):
        reason = _folder_problem(folder)
        if reason is not None:
            report.add("unusableFolder", f"the folder cannot be used: {reason}", folder)
            report.may_start = False


def _folder_problem(folder: str) -> str | None:
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        above = os.path.dirname(folder)
        while not os.path.lexists(above):
            above = os.path.dirname(above)
        if not os.path.isdir(above):  # noqa: PTH112
            return f"{above} is not a folder"
        return (
            None if os.access(above, os.W_OK | os.X_OK) else f"it does not exist, and {above} is not writable"
        )
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISDIR(status.st_mode):
        return "it is a symbolic link" if stat.S_ISLNK(status.st_mode) else "it is not a folder"
    if status.st_uid != os.geteuid():
        return f"it belongs to user id {status.st_uid}"
    if status.st_mode & OTHERS_MAY_WRITE:
        return "other users can write to it"
    return None if os.access(folder, os.W_OK | os.X_OK) else "it is not writable"


def _check_config(report: EnvironmentReport, environ: Mapping[str, str]) -> None:
    path = report.locations.config_file
    try:
        report.config = configuration.read(path)
    except configuration.InvalidConfigError as error:
        kind = "unsafeConfig" if isinstance(error, configuration.UnsafeConfigError) else "invalidConfig"
        report.add(kind, str(error), path)
        report.may_start = False
    for other in _other_config_files(report.locations, environ):
        message = f"sessiond does not read this file; the configuration is read from {path}"
        report.add("misplacedConfig", message, other)


def _other_config_files(locations: Locations, environ: Mapping[str, str]) -> list[str]:
    """Return configuration files that a user may expect to be used, but that this daemon does not read."""
    ours = [locations.config, locations.data, locations.state, *([locations.home] if locations.home else [])]
    found = [os.path.join(folder, name) for folder in ours for name in _CONFIG_NAMES]
    found.append(os.path.join(os.path.dirname(locations.config), "sessiond.toml"))
    if not locations.home:  # some systems have another folder for configuration, and examples name this one
        found.append(os.path.join(environ.get("HOME", "/"), ".config", "sessiond", "config.toml"))
    return [path for path in dict.fromkeys(found) if path != locations.config_file and os.path.isfile(path)]  # noqa: PTH113


def _check_locks(report: EnvironmentReport) -> None:
    held = _lock_holders()
    report.holder = _holder_of(report.locations.daemon_lock, held)
    starting = _holder_of(report.locations.start_lock, held)
    if starting is not None and start_time(starting) is not None:
        message = f"process {starting}, which is starting the daemon, holds this lock"
        report.add("startLockHeld", message, report.locations.start_lock)


def _lock_holders() -> dict[tuple[int, int], int]:
    """Return the process that holds each flock, by device and inode of the file; empty if unknown."""
    found = {}
    try:
        with open("/proc/locks", encoding="ascii") as file:
            for line in file:
                fields = line.split()
                if len(fields) > 5 and fields[1] == "FLOCK":
                    major, minor, inode = fields[5].split(":")
                    found[os.makedev(int(major, 16), int(minor, 16)), int(inode)] = int(fields[4])
    except (OSError, ValueError):
        return {}
    return found


def _holder_of(path: str, held: dict[tuple[int, int], int]) -> int | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    pid = held.get((status.st_dev, status.st_ino))
    if pid is None:
        # On overlays and btrfs, a file has another device number than /proc/locks shows for it.
        same = (
            process
            for (_, inode), process in held.items()
            if inode == status.st_ino and _is_sessiond(process)
        )
        pid = next(same, None)
    return pid if pid is not None and pid > 0 else None


def _check_endpoint(report: EnvironmentReport) -> None:
    path = report.locations.endpoint
    if not os.path.lexists(path):
        return
    endpoint = read_endpoint(report.locations)
    if not isinstance(endpoint.get("socket"), str) or not isinstance(endpoint.get("pid"), int):
        report.add("damagedEndpoint", "the file is not a valid endpoint file", path)
    elif not _is_alive(endpoint):
        report.add("staleEndpoint", f"the file names process {endpoint['pid']}, which does not run", path)
    elif report.holder is not None and report.holder != endpoint["pid"]:
        message = f"process {report.holder} holds this lock, not process {endpoint['pid']}"
        report.add("lockHeldElsewhere", message, report.locations.daemon_lock)
    elif report.holder is None and endpoint["pid"] in _lock_holders().values():
        # The daemon holds a lock on an earlier file, not on the one that has the name now.
        message = f"the lock of process {endpoint['pid']} is on another file, which had this name before"
        report.add("lockLost", message, report.locations.daemon_lock)


def _is_alive(endpoint: dict[str, Any]) -> bool:
    known = endpoint.get("bootId"), endpoint.get("startTime")
    return None not in known and known == (boot_id(), start_time(endpoint["pid"]))


def _is_sessiond(pid: int) -> bool:
    """Return whether a process is a sessiond. A process that it has forked may hold the lock as well."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"sessiond" in file.read()
    except OSError:
        return False


def _check_daemon(report: EnvironmentReport) -> None:
    try:
        with connect_to_any(report.locations) as daemon:
            status = _status(daemon)
    except DaemonNotRunningError:
        _check_no_listener(report)
    except SocketRefusedError as error:
        report.add("foreignSocket", str(error), report.locations.socket)
        report.daemon, report.may_start = "silent", False
    except DaemonUnresponsiveError as error:
        report.daemon = "silent"
        if error.pid is not None and is_stopped(error.pid):
            advice = f"The process is stopped (SIGSTOP, or Ctrl-Z in a debugger): kill -CONT {error.pid}"
        elif error.pid is not None:
            advice = f"Try again in a moment. If it still hangs: kill {error.pid}. Acknowledged entries are on disk."
        else:
            advice = None
        report.add("unresponsive", str(error), report.locations.socket, advice=advice)
    except (DaemonConnectionError, DisconnectedError, InvalidResponseError, RpcError) as error:
        report.daemon = "silent"
        report.add("unresponsive", str(error), report.locations.socket)
    else:
        report.daemon = "answers"
        if status["version"] != sessiond.__version__:
            message = f"the daemon is sessiond {status['version']}, this command is {sessiond.__version__}"
            report.add("versionMismatch", message)
        if (sentence := other_home(status.get("userHome"))) is not None:
            report.add("otherHome", sentence)
        for task in status.get("failedTasks", []):
            report.add(
                "failedTask",
                f"the background task {task['name']} failed at {task['failedAt']}: {task['message']}",
            )


def _status(daemon: BlockingDaemon) -> dict[str, Any]:
    status = daemon.call("server/status")
    if not isinstance(status, dict) or not isinstance(status.get("version"), str):
        raise InvalidResponseError("a state without a version of sessiond")
    return status


def _check_no_listener(report: EnvironmentReport) -> None:
    """Find out why no process listens: no daemon runs, or its socket is gone."""
    path = report.locations.socket
    if report.holder is not None:
        message = (
            f"process {report.holder} holds {report.locations.daemon_lock}, but no process listens at {path}"
        )
        report.add("unreachable", message, path)
        report.daemon = "silent"
        return
    report.add("notRunning", "no daemon runs")
    try:
        status = os.lstat(path)
    except OSError:
        return
    if stat.S_ISSOCK(status.st_mode) and status.st_uid == os.geteuid():
        report.add("staleSocket", "no process listens at this socket", path)
    else:
        report.add("foreignSocket", "the file is not a socket of this user", path)
        report.may_start = False


def _check_lingering(report: EnvironmentReport, environ: Mapping[str, str]) -> None:
    """Check whether systemd lets processes of this user continue after the last logout."""
    import pwd

    if not os.path.isdir("/run/systemd/system") or not environ.get("XDG_SESSION_ID"):  # noqa: PTH112
        return
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return
    if not os.path.exists(f"/var/lib/systemd/linger/{name}"):
        report.add("noLingering", f"lingering is not enabled for user {name}")
