"""The commands status, clients, stop, restart, serve and attach, for the daemon's process.

The commands status, clients and stop start no daemon.
"""

from __future__ import annotations

import os
import sys

from sessiond import __version__, human
from sessiond.client.blocking import connect, connect_to_any
from sessiond.protocol import versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments


def status(args: ParsedArguments) -> int:
    """Send `server/status`."""
    with connect_to_any() as daemon:
        if args.flag("json"):
            print(daemon.call_text("server/status"))
            return 0
        status = daemon.call("server/status")
    if args.flag("socket"):
        if status.get("socket") is None:
            from sessiond.cli.parse.arguments import UsageError

            raise UsageError("the daemon listens on no socket")
        print(status["socket"])
        return 0
    leaving = ", stopping" if status["draining"] else ""
    open_sessions = status.get("openSessionCount", status.get("openSessions"))  # the second: before 0.2.0
    attached = human.count(status.get("clientCount", status.get("clients")), "client")
    from sessiond.text import one_line

    uptime = human.duration(status["uptimeMs"] / 1000 if "uptimeMs" in status else status["uptime"])
    print(f"sessiond {status['version']} runs as process {status['pid']}, up {uptime}{leaving}")
    if versions.is_older(status["version"], __version__):
        print(f"  it is older than this program (sessiond {__version__}): sessiond restart replaces it")
    print(f"  {human.count(open_sessions, 'open session')}, {attached} with this one")
    loaded = "with" if status["lspLoaded"] else "without"
    print(f"  {human.size(status['rssBytes'])} of memory, {loaded} the LSP side")
    print(f"  home    {one_line(status['home'])}")
    print(f"  socket  {one_line(status.get('socket') or 'none')}")
    if status.get("tcp"):
        print(f"  tcp     {one_line(status['tcp'])}")
    if status.get("lowSpace"):
        print(
            f"  only {human.size(status['freeBytes'])} are free on the disk of the sessions: free some space"
        )
    from sessiond.agents.places import other_home

    if (sentence := other_home(status.get("userHome"))) is not None:
        print(f"  {one_line(sentence)}")
    _print_failed_tasks(status.get("failedTasks", []))
    _print_blocked_sessions(status.get("blockedSessions", []))
    return 0


def _print_failed_tasks(tasks: list[dict[str, Any]]) -> None:
    """Print which parts of the daemon ended with an error."""
    from sessiond.text import one_line

    for task in tasks:
        state = "it works again" if task["isRunning"] else "it begins again soon"
        times = "" if task["failureCount"] == 1 else f", {task['failureCount']:,} times in a row"
        print(
            f"  error: the background task {one_line(task['name'])} failed at {task['failedAt']}{times}; {state}:"
        )
        print(f"    {one_line(task['message'])}")


def _print_blocked_sessions(sessions: list[dict[str, Any]]) -> None:
    """Print which open sessions accept no writes, and why."""
    if not sessions:
        return
    from sessiond.text import one_line

    takes = "takes" if len(sessions) == 1 else "take"
    print(f"  {human.count(len(sessions), 'session')} {takes} no writes:")
    for session in sessions:
        write_block = session["writeBlock"]
        print(
            f"    {one_line(session['sessionId'])}  {write_block['reason']}: {one_line(write_block['message'])}"
        )


def clients(args: ParsedArguments) -> int:
    """Send `server/clients`."""
    with connect(autostart=False) as daemon:
        if args.flag("json"):
            print(daemon.call_text("server/clients"))
            return 0
        attached = daemon.call("server/clients")["clients"]
    import time

    from sessiond.cli.render.columns import aligned
    from sessiond.cli.render.style import style_for
    from sessiond.text import one_line

    now = time.time()
    rows = [
        (
            one_line(client["clientId"]),
            one_line(" ".join(filter(None, (client.get("name"), client.get("version"))))) or "unnamed",
            human.ago(client["connectedAt"], now),
            f"{len(client['sessionIds'])} open, {len(client['subscribedSessionIds'])} watched",
            f"{human.size(client['queuedBytes'])} queued" if client["queuedBytes"] else "",
            one_line((client.get("terminal") or {}).get("id", "")),
        )
        for client in attached
    ]
    print(*aligned(rows, style_for(sys.stdout), ["yellow", "", "dim", "dim", "red", "blue"]), sep="\n")
    return 0


def stop(args: ParsedArguments) -> int:
    """Send `server/stop`, and wait until the daemon has stopped."""
    from sessiond.client.daemon_socket import DaemonNotRunningError

    try:
        daemon = connect_to_any()
    except DaemonNotRunningError:
        if args.flag("json"):
            raise
        print("The daemon was not running.", file=sys.stderr)
        return 0
    with daemon:
        text = daemon.call_text("server/stop")
        daemon.wait_closed()
    print(text if args.flag("json") else "The daemon has stopped.")
    return 0


def restart(args: ParsedArguments) -> int:
    """Send `server/drain`, wait until the daemon has ended, and start another one."""
    import json  # noqa: TID251 - the thin client has no msgspec

    from sessiond.cli.parse.arguments import UsageError
    from sessiond.client.daemon_socket import ADDRESS, read_endpoint
    from sessiond.client.replace import DRAIN_SECONDS, restart as restart_daemon
    from sessiond.paths import find_locations

    if os.environ.get(ADDRESS):
        raise UsageError(f"{ADDRESS} is set", "Restart the daemon where it runs.")
    locations = find_locations()
    before = restart_daemon(locations, drain_seconds=0.0 if args.flag("now") else DRAIN_SECONDS)
    with connect_to_any(locations) as daemon:
        status = daemon.call("server/status")
    after = read_endpoint(locations)
    if args.flag("json"):
        print(json.dumps({"before": before, "after": after}, ensure_ascii=False))
        return 0
    print(
        f"sessiond {status['version']} runs (process {status['pid']}) and listens at {status.get('socket')}"
    )
    if before:
        print(f"  in place of sessiond {before.get('build')} (process {before.get('pid')})")
    return 0


def serve(args: ParsedArguments) -> int:
    """Run the daemon in the foreground."""
    from sessiond.cli.commands.serve import serve as be_the_daemon

    return be_the_daemon(
        stdio=args.flag("stdio"), detach=args.flag("detach"), ready_fd=args.number("ready-fd")
    )


def attach(args: ParsedArguments) -> int:
    """Copy bytes between standard input and output and the daemon."""
    from sessiond.cli.commands.serve import attach_stdio

    return attach_stdio()
