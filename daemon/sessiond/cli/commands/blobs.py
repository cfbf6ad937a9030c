"""The command blobs: shows the size of all blobs, and moves those that no session names to the trash."""

from __future__ import annotations

import sys

from sessiond import human
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.render import progress
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments

_DAY = 86_400
_FEW = 10


def blobs(args: ParsedArguments) -> int:
    """Send `blob/collect`: a dry run, unless `collect` and --yes are given."""
    collects = args.value("collect") is not None
    if collects and args.value("collect") != "collect":
        raise UsageError(f"blobs takes collect, not {args.value('collect')!r}", "sessiond blobs --help")
    if args.flag("yes") and not collects:
        raise UsageError("--yes requires collect", "sessiond blobs collect --yes")
    params: dict[str, Any] = {"dryRun": not args.flag("yes")}
    if (days := args.number("days")) is not None:
        params["graceMs"] = days * _DAY * 1_000
    with connect(args) as daemon:
        if args.flag("json"):
            print(daemon.call_text("blob/collect", params))
            return 0
        found = progress.call(daemon, "blob/collect", params)
    if collects:
        _print_collected(found)
    else:
        _print_totals(found)
    _print_missing(found["missing"], found["missingCount"])
    return 0


def _print_totals(found: dict[str, Any]) -> None:
    referenced, unreferenced = found["keptCount"], found["removedCount"]
    size = human.size(found["keptBytes"] + found["removedBytes"])
    print(f"{human.count(referenced + unreferenced, 'blob')}, {size}")
    if unreferenced:
        size = human.size(found["removedBytes"])
        print(
            f"  {unreferenced:,} of them, {size}, are not referenced by any session: sessiond blobs collect"
        )


def _print_collected(found: dict[str, Any]) -> None:
    size = human.size(found["removedBytes"])
    count = human.count(found["removedCount"], "blob")
    if not found["removed"]:
        print("Nothing to collect.")
    elif found["dryRun"]:
        _list(found["removed"], found["removedCount"])
        print(f"{count}, {size}, would be moved to the trash: sessiond blobs collect --yes")
    else:
        print(f"{count}, {size}, moved to {one_line(found['trashPath'])}")
    print(f"{human.count(found['keptCount'], 'blob')}, {human.size(found['keptBytes'])}, unchanged")


def _list(removed: list[dict[str, Any]], count: int) -> None:
    import time

    now = time.time()
    for blob in removed[:_FEW]:
        print(
            f"{blob['hash'][:16]}  {human.size(blob['sizeBytes']):>7}  {human.ago(blob['modifiedAt'], now)}"
        )
    if count > _FEW:
        print(f"and {count - _FEW:,} more")


def _print_missing(missing: list[dict[str, Any]], count: int) -> None:
    if not missing:
        return
    print(f"{human.count(count, 'blob')} that sessions reference are missing:", file=sys.stderr)
    for blob in missing[:_FEW]:
        print(f"  {blob['hash'][:16]} in {one_line(blob['sessionPath'])}", file=sys.stderr)
    if count > _FEW:
        print(f"  and {count - _FEW:,} more", file=sys.stderr)
