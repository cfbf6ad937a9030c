"""The command doctor: problems of sessions and of their environment, and what to do about them.

A running daemon examines the files, since it knows which sessions are open. If none runs, this command examines them
itself. Fixes are made by a daemon, which is started for that.
"""

from __future__ import annotations

import json  # noqa: TID251 - what a daemon and this command found is printed as one
import os
import sys
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sessiond import human
from sessiond.cli.commands.environment_checks import EnvironmentReport, call_back, look_around
from sessiond.cli.exit_codes import DONE, REFUSED
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.render import progress
from sessiond.cli.render.style import Style, style_for
from sessiond.client.blocking import BlockingDaemon, connect
from sessiond.client.daemon_socket import CannotConnect
from sessiond.client.wire import DaemonHung, Disconnected, RpcError
from sessiond.paths import UnsafeFolder, places
from sessiond.protocol import types as t
from sessiond.text import one_line

if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import Given

_FEW: Final = 5
"""Maximum findings of one kind that are printed."""
_SIGNS: Final = {"error": ("red", "bold"), "warning": ("yellow",), "note": ("dim",)}
_CALLS_BACK: Final = ("unreachable", "damagedEndpoint")


def doctor(given: Given) -> int:
    """Check the environment, then the files. Returns 1 if anything but notes is left unfixed."""
    where, fix = places(), given.flag("fix")
    if given.rest:
        around = EnvironmentReport(where, daemon="answers")
        paths = [_path(word) for word in given.rest]
    else:
        around, paths = look_around(where, os.environ), []
        if fix:
            _call_back(around)
    told = _through_a_daemon(around, paths, fix=fix) or _here(around, paths, fix=fix)
    findings = [*msgspec.to_builtins(around.findings), *told["findings"]]
    healthy = all(it["severity"] == "note" or it["fixed"] for it in findings)
    if given.flag("json"):
        print(json.dumps({**told, "findings": findings, "healthy": healthy}, ensure_ascii=False))
    else:
        _show(findings, told["examined"], fix=fix)
    return DONE if healthy else REFUSED


def _path(word: str) -> str:
    """Return the file or folder that a word names, by path or by session id."""
    path = os.path.abspath(os.path.expanduser(word))  # noqa: PTH100, PTH111
    if os.path.lexists(path):
        return path
    if "/" in word:
        raise UsageError(f"there is nothing at {word}")
    with connect() as daemon:
        found = daemon.call("session/info", {"sessionId": word})["session"]["path"]
    if found is None:
        raise UsageError(f"session {word} is in memory only")
    return str(found)


def _call_back(around: EnvironmentReport) -> None:
    if not any(it.kind in _CALLS_BACK for it in around.findings):
        return
    back = call_back(around)
    for number, found in enumerate(around.findings):
        if found.kind in _CALLS_BACK:
            fixError = None if back else "it cannot be asked"
            around.findings[number] = msgspec.structs.replace(found, fixed=back, fix_error=fixError)
    if back:
        around.daemon = "answers"


def _through_a_daemon(around: EnvironmentReport, paths: list[str], *, fix: bool) -> dict[str, Any] | None:
    """Return the findings of the daemon; None when there is none. A daemon is started only for --fix."""
    if around.daemon == "silent" or (around.daemon == "none" and not (fix and around.may_start)):
        return None
    try:
        with connect(autostart=fix) as daemon:
            return _asked(daemon, {"paths": paths, "fix": fix})
    except (CannotConnect, UnsafeFolder, DaemonHung, Disconnected) as error:
        if not paths or fix:
            around.add("notRunning" if around.daemon == "none" else "hung", str(error), severity="error")
        return None
    except RpcError as error:
        if error.kind != "methodNotFound":  # of an older daemon, for which there is a finding already
            raise
        return None


def _asked(daemon: BlockingDaemon, params: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = progress.call(daemon, "server/doctor", params)
    return told


def _here(around: EnvironmentReport, paths: list[str], *, fix: bool) -> dict[str, Any]:
    """Return the findings of this process."""
    from sessiond.hub.doctor.examination import examine, examined
    from sessiond.hub.doctor.scope import Scope

    scope = Scope(around.where, around.chosen, only=[os.path.realpath(path) for path in paths])
    for _ in examine(scope):
        pass
    findings = [it.finding for it in scope.found]
    if fix:
        fixError = "no daemon answers that could do it"
        findings = [
            msgspec.structs.replace(it, fixed=False, fix_error=fixError) if it.fixable else it
            for it in findings
        ]
    built: dict[str, Any] = msgspec.to_builtins(
        t.DoctorResult(findings=findings, examined=examined(scope), healthy=False)
    )
    return built


def _show(findings: list[dict[str, Any]], examined: dict[str, Any], *, fix: bool) -> None:
    style = style_for(sys.stdout)
    counts: dict[str, int] = {}
    shown: dict[str, int] = {}
    for severity in _SIGNS:
        for found in findings:
            if found["severity"] != severity:
                continue
            kind = found["kind"]
            shown[kind] = shown.get(kind, 0) + 1
            if not found["fixed"]:
                counts[severity] = counts.get(severity, 0) + 1
            if shown[kind] <= _FEW:
                _show_one(found, style, fix=fix)
    for kind, count in shown.items():
        if count > _FEW:
            print(f"and {count - _FEW:,} more of the kind {kind}: --json lists them")
    looked_at = (
        f"{human.count(examined['sessionCount'], 'session')} ({human.size(examined['sessionBytes'])})"
        f" and {human.count(examined['blobCount'], 'blob')} looked at"
    )
    left = ", ".join(human.count(counts[it], it) for it in _SIGNS if it in counts)
    if counts.keys() <= {"note"}:
        left = f"Nothing is wrong{', ' + left if left else ''}"
    print(f"{left}: {looked_at}.")


def _show_one(found: dict[str, Any], style: Style, *, fix: bool) -> None:
    severity, location = found["severity"], found["location"]
    path = location["path"]
    about = one_line(found["message"])
    if path is None:
        print(f"{style(severity, *_SIGNS[severity])}  {about}")
    else:
        line = "" if location["line"] is None else f":{location['line']}"
        print(f"{style(severity, *_SIGNS[severity])}  {one_line(path)}{line}")
        print(f"  {about}")
    if found["fixed"]:
        kept = found["keptPath"]
        print(f"  {style('fixed', 'green')}{'' if kept is None else '; kept: ' + one_line(kept)}")
        return
    print(f"  {style(one_line(found['advice']), 'cyan')}")
    if found["fixError"]:
        print(f"  Not fixed: {one_line(found['fixError'])}")
    elif fix and severity != "note":
        print("  Not fixed: only you can say what is right here.")
