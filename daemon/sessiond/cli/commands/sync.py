"""The command sync: brings the sessions of two machines together, once or at each change."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sessiond import human
from sessiond.cli.exit_codes import FAILURE, SUCCESS, UNAVAILABLE
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.folder_pairs import folder_pairs
from sessiond.cli.render.session_progress import SessionProgress
from sessiond.cli.render.style import style_for
from sessiond.cli.render.transfer import amount_of, print_problems
from sessiond.client import connect
from sessiond.client.backoff import pauses
from sessiond.sync.peer import PeerLostError, PeerUnavailableError, connect_through, ssh_command
from sessiond.sync.report import SyncReport
from sessiond.sync.run import SyncOptions, synchronize
from sessiond.sync.watching import keep_together
from sessiond.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sessiond.cli.parse.arguments import ParsedArguments

_HELP = "sessiond sync --help"


def sync(args: ParsedArguments) -> int:
    """Connect to the other daemon and synchronize: see `sessiond.sync.run`."""
    command, name = _peer(args)
    options = _options(args, name)
    show = _show_json if args.flag("json") else _show
    try:
        if args.flag("watch"):
            asyncio.run(_watch(command, options, show))
            return SUCCESS
        report = asyncio.run(_once(command, options))
    except (PeerUnavailableError, PeerLostError) as error:
        style = style_for(sys.stderr)
        print(f"{style('sessiond:', 'red', 'bold')} {one_line(str(error))}", file=sys.stderr)
        return UNAVAILABLE
    show(report)
    return FAILURE if report.problems else SUCCESS


def _peer(args: ParsedArguments) -> tuple[list[str], str]:
    """Return the command that reaches the other daemon, and the name of the other side."""
    host, via = args.value("HOST"), args.value("via")
    if (host is None) is (via is None):
        raise UsageError("sync takes either HOST or --via COMMAND", _HELP)
    if host is not None:
        if host.startswith("-") or not host.strip():
            raise UsageError(f"{host!r} is not a host", _HELP)
        return ssh_command(host), host
    try:
        command = shlex.split(via or "")
    except ValueError as error:
        raise UsageError(f"--via: {error}", _HELP) from None
    if not command:
        raise UsageError("--via needs a command", _HELP)
    return command, Path(command[0]).name


def _options(args: ParsedArguments, name: str) -> SyncOptions:
    push, pull = args.flag("push"), args.flag("pull")
    if args.flag("watch") and args.flag("dry-run"):
        raise UsageError("--watch and --dry-run cannot both be given", _HELP)
    project = args.value("project")
    return SyncOptions(
        push=push or not pull, pull=pull or not push, drafts=args.flag("drafts"),
        project=None if project is None else str(Path(project).expanduser().absolute()),
        agent=args.value("agent"), tags=[tag for _, tag in args.occurrences("tag")], pairs=folder_pairs(args),
        is_dry_run=args.flag("dry-run"), name=name,
    )  # fmt: skip


async def _once(command: Sequence[str], options: SyncOptions) -> SyncReport:
    async with connect(name="sync") as here, connect_through(command, options.name) as there:
        with SessionProgress() as progress:
            return await synchronize(here, there, options, progress)


async def _watch(command: Sequence[str], options: SyncOptions, show: Callable[[SyncReport], None]) -> None:
    """Keep both sides together. A connection that was lost is made again, after a pause."""
    waits = pauses(1.0, 60.0)
    is_first = True
    while True:
        try:
            async with connect(name="sync") as here, connect_through(command, options.name) as there:
                waits, is_first = pauses(1.0, 60.0), False
                print(f"In touch with {one_line(options.name)}. Ctrl-C ends it.", file=sys.stderr)
                await keep_together(
                    here, there, lambda: synchronize(here, there, options), show, drafts=options.drafts
                )
        except (PeerUnavailableError, PeerLostError) as error:
            if is_first and isinstance(error, PeerUnavailableError):
                raise
            print(one_line(str(error)), file=sys.stderr)
        await asyncio.sleep(next(waits))


def _show_json(report: SyncReport) -> None:
    print(msgspec.json.encode(report).decode(), flush=True)


def _show(report: SyncReport) -> None:
    would = "Would have " if report.is_dry_run else ""
    for verb, moved in (("sent", report.sent), ("received", report.received)):
        if moved.line_count or moved.session_count or moved.blob_count:
            print(f"{would}{verb if would else verb.capitalize()} {amount_of(moved)}")
    for verb, names in (
        ("Merged, since both machines added to it", report.merged),
        ("Moved to the trash, since the other machine deleted it", report.trashed),
        ("Restored from the trash, since the other machine added to it", report.restored),
    ):
        for name in names:
            print(f"{verb}: {one_line(name)}")
    print_problems(report.problems, "stays different")
    if not report.has_changes and not report.problems:
        print(f"Nothing to do: {human.count(report.session_count, 'session')} compared")
    sys.stdout.flush()
