"""The command move-store: copies everything from one store to another. No daemon runs meanwhile."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import msgspec

from sessiond import config_values, human
from sessiond.cli.exit_codes import CONFIG_ERROR, FAILURE, SUCCESS, SYSTEM_ERROR, TEMPORARY_FAILURE
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.render.session_progress import SessionProgress
from sessiond.cli.render.style import style_for
from sessiond.cli.render.transfer import print_problems
from sessiond.paths import find_locations, make_private
from sessiond.server.process.lock import AnotherRuns, DaemonLock, LockRefused
from sessiond.server.process.stores import StoreUnusable, open_store
from sessiond.store.errors import OutcomeUnknown, StorageFailed
from sessiond.store.moving import CopyDiffers, MoveReport, StoresInUse, move_store
from sessiond.sync.report import SessionProblem
from sessiond.text import one_line

if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.paths import Locations

_AGAIN = "The copies stay. Run the same command again to go on."


def move(args: ParsedArguments) -> int:
    """Copy what the store B lacks of the store A."""
    source, target = _url(args, "A"), _url(args, "B")
    if source == target:
        raise UsageError("A and B are the same store")
    gc.enable()  # the commands run without it, but this one may run for minutes
    locations = find_locations()
    for folder in (locations.state, locations.data, locations.runtime):
        make_private(folder)
    try:
        lock = DaemonLock(locations.daemon_lock)
    except AnotherRuns:
        return _refused(
            "The daemon of this user is running.", TEMPORARY_FAILURE, "Stop it first: sessiond stop"
        )
    except LockRefused as error:
        return _refused(str(error), SYSTEM_ERROR)
    try:
        report = asyncio.run(_moved(source, target, locations, is_dry_run=args.flag("dry-run")))
    except StoreUnusable as error:
        return _refused(str(error), CONFIG_ERROR)
    except StoresInUse as error:
        return _refused(str(error), TEMPORARY_FAILURE)
    except (StorageFailed, OutcomeUnknown, CopyDiffers) as error:
        return _refused(str(error), FAILURE, _AGAIN)
    except KeyboardInterrupt:
        print(_AGAIN, file=sys.stderr)
        raise
    finally:
        lock.release()
    if args.flag("json"):
        print(msgspec.json.encode(report).decode())
    else:
        _show(report, target, locations)
    return FAILURE if report.problems else SUCCESS


def _url(args: ParsedArguments, name: str) -> str:
    url = args.required(name)
    problem = config_values.store_url_problem(name, url)
    if problem is not None:
        reason, instead = problem
        raise UsageError(reason, f"Write {instead}.")
    if url == config_values.MEMORY:
        raise UsageError(f"{name} is in memory, where nothing outlives the daemon")
    return url


async def _moved(source: str, target: str, locations: Locations, *, is_dry_run: bool) -> MoveReport:
    async with AsyncExitStack() as stack:
        stores = []
        for url in (source, target):
            store = await open_store(url, locations)
            stack.push_async_callback(store.close)
            stores.append(store)
        with SessionProgress() as progress:
            return await move_store(stores[0], stores[1], is_dry_run=is_dry_run, progress=progress)


def _show(report: MoveReport, target: str, locations: Locations) -> None:
    would = "Would have copied" if report.is_dry_run else "Copied"
    copied = [
        human.count(report.copied_count, "session"),
        *([f"the new lines of {report.extended_count:,}"] if report.extended_count else ()),
        *([f"{report.trashed_count:,} from the trash"] if report.trashed_count else ()),
        *([human.count(report.blob_count, "blob")] if report.blob_count else ()),
    ]
    print(f"{would} {', '.join(copied)}, {human.size(report.byte_count)}.")
    if report.unchanged_count:
        print(
            f"{human.count(report.unchanged_count, 'session')} of {report.session_count:,} had been copied before."
        )
    if report.remains_count:
        print(
            f"Torn lines and originals before a rewrite are not copied: {report.remains_count:,}. They stay in A."
        )
    print_problems(
        [SessionProblem(problem.session_id, problem.message) for problem in report.problems], "is not copied"
    )
    if not report.is_dry_run:
        print("Nothing in A was changed. The daemon uses the copies with these lines in")
        print(f'{one_line(locations.config_file)}:\n\n[store]\nurl = "{target}"')


def _refused(message: str, code: int, then: str = "") -> int:
    style = style_for(sys.stderr)
    print(f"{style('sessiond:', 'red', 'bold')} {one_line(message)}", file=sys.stderr)
    if then:
        print(then, file=sys.stderr)
    return code
