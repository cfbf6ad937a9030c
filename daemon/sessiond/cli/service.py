"""The commands install-service and uninstall-service: sessiond as a service of this user, started on demand."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from sessiond.client import service
from sessiond.client.replace import make_room
from sessiond.client.units import unit_name
from sessiond.paths import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.arguments import Given
    from sessiond.paths import Places


def install(given: Given) -> int:
    """Write the files of the service and have the manager listen; with --print only show them."""
    where = places()
    files = service.files(where)
    if given.flag("print"):
        for path, text in files.items():
            print(f"# {path}\n{text}")
        return 0
    changed = [path for path, text in files.items() if _written(path, text)]
    for path in files:
        print(f"{path} {'written' if path in changed else 'is as it should be'}")
    if not service.manager_answers():
        print("Its service manager cannot be asked from here. In a session of yours, run:", file=sys.stderr)
        print(*(f"  {line}" for line in _by_hand(where)), sep="\n", file=sys.stderr)
        return 0
    if sys.platform != "darwin" and (refused := service.ask("daemon-reload")):
        return _failed(refused)
    if not changed and _listens(where):
        print("The service is on already.")
        return 0
    # The daemon that runs has the socket; and nobody shall start another one before the manager has it.
    with make_room(where, "sessiond install-service"):
        if refused := _switched_on(where):
            return _failed(refused)
    print("The service is on: the first who needs it starts it.")
    if sys.platform != "darwin":
        print("It ends when you log out, unless you let it stay: loginctl enable-linger")
    return 0


def uninstall(given: Given) -> int:
    """Have the manager forget the service, and remove its files. The daemon ends; clients start it as before."""
    where = places()
    there = [path for path in service.files(where) if os.path.lexists(path)]
    if given.flag("print"):
        print(*there, sep="\n")
        return 0
    if not there:
        print("There is no service of sessiond here.")
        return 0
    if service.manager_answers():
        unit = unit_name(where)
        if sys.platform == "darwin":
            service.ask("bootout", f"gui/{os.getuid()}/dev.{unit}")
        else:
            service.ask("disable", "--now", f"{unit}.socket", f"{unit}.service")
    for path in there:
        Path(path).unlink()
        print(f"{path} removed")
    if sys.platform != "darwin" and service.manager_answers():
        service.ask("daemon-reload")
    return 0


def _written(path: str, text: str) -> bool:
    """Make the file say this, in one step; whether it said something else, or nothing."""
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


def _switched_on(where: Places) -> str:
    unit = unit_name(where)
    if sys.platform == "darwin":
        (path,) = service.files(where)
        service.ask("bootout", f"gui/{os.getuid()}/dev.{unit}")
        return service.ask("bootstrap", f"gui/{os.getuid()}", path)
    return service.ask("enable", f"{unit}.socket") or service.ask("restart", f"{unit}.socket")


def _listens(where: Places) -> bool:
    return sys.platform != "darwin" and not service.ask("is-active", f"{unit_name(where)}.socket")


def _by_hand(where: Places) -> list[str]:
    unit = unit_name(where)
    if sys.platform == "darwin":
        (path,) = service.files(where)
        return ["sessiond stop", f"launchctl bootstrap gui/{os.getuid()} {path}"]
    return ["systemctl --user daemon-reload", "sessiond stop", f"systemctl --user enable --now {unit}.socket"]


def _failed(refused: str) -> int:
    print(f"sessiond: the service manager refused: {refused}", file=sys.stderr)
    return 1
