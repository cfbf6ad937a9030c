"""Synchronizes with the daemon at the other end of a process, once or at each change, and prints the results."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sessiond import config, human
from sessiond.cli.exit_codes import FAILURE, SUCCESS, UNAVAILABLE
from sessiond.cli.parse.folder_pairs import folder_pairs
from sessiond.cli.render.session_progress import SessionProgress
from sessiond.cli.render.style import style_for
from sessiond.cli.render.transfer import amount_of, print_problems
from sessiond.client import connect
from sessiond.client.backoff import pauses
from sessiond.paths import find_locations
from sessiond.sync.folders import FolderPair
from sessiond.sync.options import SyncOptions
from sessiond.sync.peer import PeerLostError, connect_to_peer
from sessiond.sync.peer_process import PeerError, PeerProcess, PeerUnavailableError
from sessiond.sync.report import SyncReport
from sessiond.sync.run import synchronize
from sessiond.sync.watching import keep_together
from sessiond.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sessiond.cli.parse.arguments import ParsedArguments


def synchronize_through(process: PeerProcess, command: Sequence[str], args: ParsedArguments) -> int:
    """Synchronize with the daemon at the standard streams of a process, and end the process.

    Args:
        process: The process.
        command: The command that it runs. `--watch` runs it again after the connection was lost.
        args: The arguments of the command line.
    """
    try:
        options = _options(args, process.name)
        seconds = args.number("timeout", at_least=1)
    except BaseException:
        process.end()
        raise
    show = _show_json if args.flag("json") else _show
    try:
        if args.flag("watch"):
            asyncio.run(_watch(process, command, options, show, seconds))
            return SUCCESS
        report = asyncio.run(_once(process, options, seconds))
    except PeerError as error:
        style = style_for(sys.stderr)
        print(f"{style('sessiond:', 'red', 'bold')} {one_line(str(error))}", file=sys.stderr)
        return UNAVAILABLE
    show(report)
    return FAILURE if report.problems else SUCCESS


def _options(args: ParsedArguments, name: str) -> SyncOptions:
    """Return the options. Raises `UsageError`, `InvalidConfigError`."""
    push, pull = args.flag("push"), args.flag("pull")
    maps = config.read(find_locations().config_file).sync.maps
    pairs = [
        *folder_pairs(args),
        *(pair for host in (args.value("HOST"), "*") for pair in maps.get(host or "", ())),
    ]
    project = args.value("project")
    return SyncOptions(
        push=push or not pull, pull=pull or not push, drafts=args.flag("drafts"),
        project=None if project is None else str(Path(project).expanduser().absolute()),
        agent=args.value("agent"), tags=[tag for _, tag in args.occurrences("tag")],
        pairs=[FolderPair(*pair) for pair in pairs],
        is_dry_run=args.flag("dry-run"), name=name,
    )  # fmt: skip


async def _once(process: PeerProcess, options: SyncOptions, seconds: int | None) -> SyncReport:
    async with connect(name="sync") as here, connect_to_peer(process, seconds=seconds) as there:
        with SessionProgress() as progress:
            return await synchronize(here, there, options, progress)


async def _watch(
    process: PeerProcess, command: Sequence[str], options: SyncOptions, show: Callable[[SyncReport], None],
    seconds: int | None,
) -> None:  # fmt: skip
    """Keep both sides together. A connection that was lost is made again, after a pause."""
    waits = pauses(1.0, 60.0)
    is_first = True
    while True:
        try:
            if not is_first:
                process = PeerProcess(command, options.name)
            async with connect(name="sync") as here, connect_to_peer(process, seconds=seconds) as there:
                waits, is_first = pauses(1.0, 60.0), False
                print(f"In touch with {one_line(options.name)}. Ctrl-C ends it.", file=sys.stderr)
                await keep_together(
                    here, there, lambda: synchronize(here, there, options), show, drafts=options.drafts
                )
        except (PeerUnavailableError, PeerLostError) as error:
            if is_first:
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
