"""The command doctor: problems of sessions and of their environment, with advice and fixes.

A running daemon examines the files, since it knows which sessions are open. If none runs, this command examines them
itself. Fixes are made by a daemon, which is started for that.
"""

from __future__ import annotations

import gc
import json  # noqa: TID251 - the findings of a daemon and of this command are printed as one object
import os
import sys
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sessiond import human
from sessiond.cli.commands.environment_checks import EnvironmentReport, check_environment, restore_listening
from sessiond.cli.exit_codes import FAILURE, SUCCESS
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.render import progress
from sessiond.cli.render.style import Style, style_for
from sessiond.client.blocking import connect
from sessiond.client.daemon_socket import DaemonConnectionError, OlderDaemonError
from sessiond.client.wire import NO_ANSWER, RpcError
from sessiond.config_values import FILES
from sessiond.paths import UnsafeFolderError, find_locations
from sessiond.protocol import types as t
from sessiond.text import one_line

if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.hub.doctor.scope import Scope

_FEW: Final = 5
"""Maximum findings of one kind that are printed."""
_MAX_FINDINGS: Final = 1_000
"""Maximum findings of one kind in the output of --json: the maximum of the protocol."""
_SIGNS: Final = {"error": ("red", "bold"), "warning": ("yellow",), "note": ("dim",)}
_RESTORABLE: Final = ("unreachable", "damagedEndpoint")


def doctor(args: ParsedArguments) -> int:
    """Check the environment, then the files. Returns 1 if anything but notes is left unfixed."""
    locations, fix = find_locations(), args.flag("fix")
    secrets = args.flag("secrets")
    if secrets and fix:
        raise UsageError("--secrets cannot be combined with --fix", "Nothing removes secrets from sessions.")
    if args.trailing or secrets:
        report = EnvironmentReport(locations, daemon="answers")
        paths = [_path(word) for word in args.trailing]
    else:
        report, paths = check_environment(locations, os.environ), []
        if fix:
            _restore_listening(report)
    per_kind = _MAX_FINDINGS if args.flag("json") or secrets else _FEW
    params: dict[str, Any] = {"paths": paths, "fix": fix, "findingsPerKind": per_kind}
    if secrets:
        params["secrets"] = True
    result = _from_daemon(report, params) or _from_files(report, params)
    result = _with_environment(result, report.findings)
    if args.flag("json"):
        print(json.dumps(result, ensure_ascii=False))
    else:
        _show(result, fix=fix)
    return SUCCESS if result["healthy"] else FAILURE


def _path(word: str) -> str:
    """Return the file or folder that a word names, by path or by session id."""
    path = os.path.abspath(os.path.expanduser(word))  # noqa: PTH100, PTH111
    if os.path.lexists(path):
        return path
    if "/" in word:
        raise UsageError(f"{word} does not exist")
    with connect() as daemon:
        found = daemon.call("session/info", {"sessionId": word})["session"]["path"]
    if found is None:
        raise UsageError(f"session {word} is in no file")
    return str(found)


def _restore_listening(report: EnvironmentReport) -> None:
    if not any(finding.kind in _RESTORABLE for finding in report.findings):
        return
    is_restored = restore_listening(report)
    for number, found in enumerate(report.findings):
        if found.kind in _RESTORABLE:
            fix_error = None if is_restored else "the daemon does not respond"
            report.findings[number] = msgspec.structs.replace(found, fixed=is_restored, fix_error=fix_error)
    if is_restored:
        report.daemon = "answers"


def _from_daemon(report: EnvironmentReport, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a daemon, or None if there is none. A daemon is started only for --fix."""
    paths, fix = params["paths"], params["fix"]
    if report.daemon == "silent" or (report.daemon == "none" and not (fix and report.may_start)):
        return None
    try:
        with connect(autostart=fix) as daemon:
            result: dict[str, Any] = progress.call(daemon, "server/doctor", params)
            return result
    except OlderDaemonError:  # it has its own finding already
        return None
    except (DaemonConnectionError, UnsafeFolderError, *NO_ANSWER) as error:
        if not (paths or "secrets" in params) or fix:
            report.add(
                "notRunning" if report.daemon == "none" else "unresponsive", str(error), severity="error"
            )
        return None
    except RpcError as error:
        if error.kind != "methodNotFound":  # an older daemon, which has its own finding already
            raise
        return None


def _from_files(report: EnvironmentReport, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of an examination in this process."""
    from sessiond.hub.doctor.examination import examine, result_of
    from sessiond.hub.doctor.scope import Scope

    scope = Scope(report.locations, report.config, only=[os.path.realpath(path) for path in params["paths"]])
    if "secrets" in params:
        import asyncio

        gc.enable()  # the commands run without it, but this one may run for minutes
        asyncio.run(_find_secrets(scope))
    else:
        for _ in examine(scope):
            pass
    findings = [finding.finding for finding in scope.found]
    if params["fix"]:
        fix_error = "no daemon responds that could repair it"
        findings = [
            msgspec.structs.replace(finding, fixed=False, fix_error=fix_error) if finding.fixable else finding
            for finding in findings
        ]
    result: dict[str, Any] = msgspec.to_builtins(result_of(scope, findings, params["findingsPerKind"]))
    return result


async def _find_secrets(scope: Scope) -> None:
    """Look for secrets in the store of the configuration, without a daemon."""
    from sessiond.hub.doctor.secrets import find_secrets
    from sessiond.server.process.stores import StoreUnusable, open_store

    url = FILES if scope.only else scope.config.store.url
    try:
        store = await open_store(url, scope.locations, scope.config.roots.folders)
    except StoreUnusable as error:
        scope.add("unreadable", f"the sessions of the store cannot be read: {error}", None)
        return
    try:
        await find_secrets(scope, [store])
    finally:
        await store.close()


def _with_environment(result: dict[str, Any], findings: list[t.Finding]) -> dict[str, Any]:
    """Return a result with the findings about the environment before its own."""
    counts: dict[tuple[str, str], dict[str, Any]] = {}
    own = [
        {
            "kind": finding.kind,
            "severity": finding.severity,
            "count": 1,
            "fixedCount": int(finding.fixed is True),
        }
        for finding in findings
    ]
    for row in (*own, *result["counts"]):
        group = counts.setdefault((row["kind"], row["severity"]), {**row, "count": 0, "fixedCount": 0})
        group["count"] += row["count"]
        group["fixedCount"] += row["fixedCount"]
    return {
        **result,
        "findings": [*msgspec.to_builtins(findings), *result["findings"]],
        "counts": list(counts.values()),
        "healthy": all(
            row["severity"] == "note" or row["fixedCount"] == row["count"] for row in counts.values()
        ),
    }


def _show(result: dict[str, Any], *, fix: bool) -> None:
    """Print the findings by severity, then how many are left and what was examined."""
    style = style_for(sys.stdout)
    listed: dict[tuple[str, str], int] = {}
    left: dict[str, int] = {}
    for severity in _SIGNS:
        for found in result["findings"]:
            if found["severity"] == severity:
                group = found["kind"], severity
                listed[group] = listed.get(group, 0) + 1
                _show_one(found, style, fix=fix)
    for row in result["counts"]:
        unlisted = row["count"] - listed.get((row["kind"], row["severity"]), 0)
        if unlisted > 0:
            fixed = f", {row['fixedCount']:,} fixed in all" if row["fixedCount"] else ""
            more = human.count(unlisted, "more finding")
            print(f"and {more} of kind {row['kind']}{fixed}: --json lists {_MAX_FINDINGS:,}")
        if row["count"] > row["fixedCount"]:
            left[row["severity"]] = left.get(row["severity"], 0) + row["count"] - row["fixedCount"]
    examined = result["examined"]
    looked_at = (
        f"{human.count(examined['sessionCount'], 'session')} ({human.size(examined['sessionBytes'])})"
        f" and {human.count(examined['blobCount'], 'blob')} examined"
    )
    remaining = ", ".join(human.count(left[sign], sign) for sign in _SIGNS if sign in left)
    if left.keys() <= {"note"}:
        remaining = f"No problems{', ' + remaining if remaining else ''}"
    print(f"{remaining}: {looked_at}.")


def _of_entry(location: dict[str, Any]) -> str:
    """Return the words for the entry of a finding, and its session; "" for a finding about no entry."""
    entry, session = location.get("entryId"), location["sessionId"]
    if not session or not (entry or location["path"] is None):
        return ""
    return f" in{f' entry {one_line(entry)} of' if entry else ''} session {one_line(session)}"


def _show_one(found: dict[str, Any], style: Style, *, fix: bool) -> None:
    severity, location = found["severity"], found["location"]
    path = location["path"]
    about = one_line(found["message"])
    if path is None:
        print(f"{style(severity, *_SIGNS[severity])}  {about}{_of_entry(location)}")
    else:
        line = "" if location["line"] is None else f":{location['line']}"
        print(f"{style(severity, *_SIGNS[severity])}  {one_line(path)}{line}")
        print(f"  {about}{_of_entry(location)}")
    if found["fixed"]:
        kept_path = found["keptPath"]
        print(
            f"  {style('fixed', 'green')}{'' if kept_path is None else '; original: ' + one_line(kept_path)}"
        )
        return
    print(f"  {style(one_line(found['advice']), 'cyan')}")
    if found["fixError"]:
        print(f"  Not fixed: {one_line(found['fixError'])}")
    elif fix and severity != "note":
        print("  Not fixed: this problem needs a decision of yours.")
