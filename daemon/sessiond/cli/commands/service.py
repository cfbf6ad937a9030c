"""The commands install-service and uninstall-service: sessiond as a service of this user, started on demand."""

from __future__ import annotations

import contextlib
import json  # noqa: TID251 - a reader of --json would use it
import os
import sys
from pathlib import Path

from sessiond.cli.exit_codes import FAILURE, SUCCESS
from sessiond.client import service
from sessiond.client.replace import daemon_stopped
from sessiond.client.units import unit_name
from sessiond.paths import find_locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.paths import Locations


def install(args: ParsedArguments) -> int:
    """Write the files of the service and have the manager listen; with --print, only print them."""
    locations = find_locations()
    files = service.files(locations)
    if args.flag("print"):
        _print_report(args, {"files": files}, *(f"# {path}\n{text}" for path, text in files.items()))
        return SUCCESS
    changed = [path for path, text in files.items() if _written(path, text)]
    lines = [f"{path} {'written' if path in changed else 'is unchanged'}" for path in files]
    report: dict[str, Any] = {
        "written": changed,
        "unchanged": [path for path in files if path not in changed],
    }
    if not service.manager_responds():
        by_hand = _by_hand(locations)
        _print_report(args, {**report, "on": False, "run": by_hand}, *lines)
        print("The service manager cannot be reached from here. In a login session, run:", file=sys.stderr)
        print(*(f"  {line}" for line in by_hand), sep="\n", file=sys.stderr)
        return SUCCESS
    if sys.platform != "darwin" and (error := service.run_manager("daemon-reload")):
        return _failed(error)
    if not changed and _listens(locations):
        _print_report(args, {**report, "on": True}, *lines, "The service is already enabled.")
        return SUCCESS
    # The running daemon has the socket, and no client may start another one before the manager has it.
    with daemon_stopped(locations, "sessiond install-service"):
        if error := _enable(locations):
            return _failed(error)
    lines.append("The service is enabled: the first client starts the daemon.")
    if sys.platform != "darwin":
        lines.append("The daemon stops when you log out, unless lingering is enabled: loginctl enable-linger")
    _print_report(args, {**report, "on": True}, *lines)
    return SUCCESS


def uninstall(args: ParsedArguments) -> int:
    """Remove the service and its files. The daemon ends; clients start it as before."""
    locations = find_locations()
    there = [path for path in service.files(locations) if os.path.lexists(path)]
    if args.flag("print"):
        _print_report(args, {"files": there}, *there)
        return SUCCESS
    if not there:
        _print_report(args, {"removed": []}, "The service of sessiond is not installed.")
        return SUCCESS
    if service.manager_responds():
        unit = unit_name(locations)
        if sys.platform == "darwin":
            service.run_manager("bootout", f"gui/{os.getuid()}/dev.{unit}")
        else:
            service.run_manager("disable", "--now", f"{unit}.socket", f"{unit}.service")
    for path in there:
        Path(path).unlink()
    _print_report(args, {"removed": there}, *(f"{path} removed" for path in there))
    if sys.platform != "darwin" and service.manager_responds():
        service.run_manager("daemon-reload")
    return SUCCESS


def _print_report(args: ParsedArguments, report: dict[str, Any], *lines: str) -> None:
    """Print the result: the report for scripts, or the lines for people."""
    print(*([json.dumps(report, ensure_ascii=False)] if args.flag("json") else lines), sep="\n")


def _written(path: str, text: str) -> bool:
    """Write the text to the file atomically. Returns whether the file had another content or did not exist."""
    file = Path(path)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if file.read_text(encoding="utf-8") == text:
            return False
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f"{file.name}.{os.getpid()}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(0o644)
    fresh.rename(file)
    return True


def _enable(locations: Locations) -> str:
    unit = unit_name(locations)
    if sys.platform == "darwin":
        (path,) = service.files(locations)
        service.run_manager("bootout", f"gui/{os.getuid()}/dev.{unit}")
        return service.run_manager("bootstrap", f"gui/{os.getuid()}", path)
    return service.run_manager("enable", f"{unit}.socket") or service.run_manager("restart", f"{unit}.socket")


def _listens(locations: Locations) -> bool:
    return sys.platform != "darwin" and not service.run_manager("is-active", f"{unit_name(locations)}.socket")


def _by_hand(locations: Locations) -> list[str]:
    unit = unit_name(locations)
    if sys.platform == "darwin":
        (path,) = service.files(locations)
        return ["sessiond stop", f"launchctl bootstrap gui/{os.getuid()} {path}"]
    return ["systemctl --user daemon-reload", "sessiond stop", f"systemctl --user enable --now {unit}.socket"]


def _failed(error: str) -> int:
    print(f"sessiond: the service manager refused: {error}", file=sys.stderr)
    print(
        "  systemctl --user status shows its state. sessiond works without the service, too.", file=sys.stderr
    )
    return FAILURE
