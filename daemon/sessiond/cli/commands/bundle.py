"""The commands bundle and backup, and import and restore of the files that they write."""

from __future__ import annotations

import asyncio
import gc
import getpass
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sessiond import human
from sessiond.cli.exit_codes import FAILURE, SUCCESS, SYSTEM_ERROR
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.folder_pairs import folder_pairs
from sessiond.cli.parse.session_argument import period_filter
from sessiond.cli.render.session_progress import SessionProgress
from sessiond.cli.render.style import style_for
from sessiond.cli.render.transfer import amount_of, print_problems
from sessiond.client import connect
from sessiond.client.daemon_socket import ADDRESS
from sessiond.paths import find_locations, make_private
from sessiond.sync.bundle.encryption import DecryptionKeys, Encryption, Encryptor
from sessiond.sync.bundle.errors import BundleError, UnusableFileError
from sessiond.sync.bundle.home_files import files_of
from sessiond.sync.bundle.reader import Bundle, opened
from sessiond.sync.bundle.taking import take_bundle, take_files, take_prompts, take_trash
from sessiond.sync.bundle.writing import BundleTarget, write_bundle
from sessiond.sync.options import SyncOptions
from sessiond.sync.report import SessionProblem
from sessiond.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.daemon import Daemon
    from sessiond.sync.bundle.report import TakenReport, WrittenReport

_PAGE = 200
_MAX_NAMED = 8
_SUFFIX = ".sessiond"
_ENCRYPTED_SUFFIX = ".sessiond.age"


def bundle(args: ParsedArguments) -> int:
    """Write the chosen sessions to a file: see `sessiond.sync.bundle.writing`."""
    return _reported(lambda: _written(args, Path(args.required("FILE")), "bundle"))


def backup(args: ParsedArguments) -> int:
    """Write everything to a file, or to a new file in a folder."""
    path = Path(args.required("FILE"))
    if path.is_dir():
        suffix = _ENCRYPTED_SUFFIX if args.flag("passphrase") or args.occurrences("recipient") else _SUFFIX
        path /= f"{datetime.now(UTC):sessiond-%Y-%m-%dT%H%M%SZ}{suffix}"
    return _reported(lambda: _written(args, path, "backup"))


def take(args: ParsedArguments, path: str) -> int:
    """Store the sessions of a bundle; `restore` also stores the trash and the files of a backup."""
    return _reported(lambda: _taken(args, path))


def newest_backup(folder: Path) -> Path | None:
    """Return the newest of the files that `backup` named itself in a folder."""
    names = [*folder.glob(f"sessiond-*{_SUFFIX}"), *folder.glob(f"sessiond-*{_ENCRYPTED_SUFFIX}")]
    return max(names, default=None, key=lambda name: name.name)


def _reported(work: Callable[[], int]) -> int:
    gc.enable()  # the commands run without it, but this one may run for minutes
    try:
        return work()
    except BundleError as error:
        style = style_for(sys.stderr)
        print(f"{style('sessiond:', 'red', 'bold')} {one_line(str(error))}", file=sys.stderr)
        return SYSTEM_ERROR if isinstance(error, UnusableFileError) else FAILURE


def _written(args: ParsedArguments, path: Path, kind: str) -> int:
    locations = find_locations()
    target = BundleTarget(path.absolute(), args.flag("force"), _encryptor(args), _spool_folder())
    is_local = not os.environ.get(ADDRESS)

    async def write() -> WrittenReport:
        async with connect(name=kind) as here:
            with SessionProgress() as progress:
                if kind == "backup":
                    options = SyncOptions(drafts=True, is_dry_run=args.flag("dry-run"))
                    return await write_bundle(
                        here, target, options, progress, kind="backup",
                        files=(lambda: files_of(locations)) if is_local else tuple,
                    )  # fmt: skip
                return await write_bundle(here, target, await _selection(here, args), progress)

    report = asyncio.run(write())
    if args.flag("json"):
        print(msgspec.json.encode(report).decode())
    else:
        _show_written(report)
    return FAILURE if report.problems else SUCCESS


def _encryptor(args: ParsedArguments) -> Encryptor | None:
    recipients = [text for _, text in args.occurrences("recipient")]
    if not args.flag("passphrase"):
        return Encryptor(Encryption(recipients)) if recipients else None
    if recipients:
        raise UsageError("--recipient and --passphrase cannot both be given")
    encryptor = Encryptor(Encryption(passphrase=""))  # raises an error before the user types
    if not _has_terminal():
        raise UsageError(
            "--passphrase needs a terminal, on which it is asked for", "--recipient works without one."
        )
    if args.flag("dry-run"):
        return encryptor
    passphrase = getpass.getpass("Passphrase of the file: ")
    if not passphrase:
        raise UsageError("the passphrase is empty")
    if getpass.getpass("The same again: ") != passphrase:
        raise UsageError("the two passphrases are different")
    return Encryptor(Encryption(passphrase=passphrase))


def _spool_folder() -> str:
    state = find_locations().state
    make_private(state)
    return state


async def _selection(here: Daemon, args: ParsedArguments) -> SyncOptions:
    project = args.value("project")
    named = [await _whole_id(here, name) for name in args.trailing]
    chosen = set(named) if named else None
    if period := period_filter(args):
        recent = await _since(here, period["since"])
        chosen = recent if chosen is None else chosen & recent
    return SyncOptions(
        drafts=args.flag("drafts") or bool(named),
        project=None if project is None else str(Path(project).expanduser().absolute()),
        agent=args.value("agent"), tags=[tag for _, tag in args.occurrences("tag")], session_ids=chosen,
        is_dry_run=args.flag("dry-run"),
    )  # fmt: skip


async def _whole_id(here: Daemon, name: str) -> str:
    """Return the id of the only session whose id is `name` or begins with it. Raises `UsageError`."""
    found = await here.resolve(name, limit=_MAX_NAMED)
    ids = [session.session_id for session in found.sessions]
    if found.exact or len(ids) == 1:
        return ids[0]
    if not ids:
        raise UsageError(
            f"there is no session {one_line(name)!r}", "sessiond list --all --drafts shows every session."
        )
    listed = ", ".join(map(one_line, ids)) + (" and others" if found.more else "")
    raise UsageError(f"session id {one_line(name)!r} is ambiguous: {listed}")


async def _since(here: Daemon, moment: str) -> set[str]:
    """Return the ids of the sessions that were updated since a time."""
    found: set[str] = set()
    cursor: str | None = None
    while True:
        page = await here.list_sessions(since=moment, include_drafts=True, limit=_PAGE, cursor=cursor)
        found |= {session.session_id for session in page.sessions}
        if (cursor := page.next_cursor) is None:
            return found


def _show_written(report: WrittenReport) -> None:
    parts = [human.count(report.session_count, "session"), human.count(report.line_count, "line")]
    if report.blob_count:
        parts.append(human.count(report.blob_count, "blob"))
    if report.trashed_count:
        parts.append(f"{human.count(report.trashed_count, 'session')} of the trash")
    if report.prompt_count:
        parts.append(human.count(report.prompt_count, "prompt"))
    if report.file_names:
        parts.append(human.count(len(report.file_names), "file"))
    content, path = ", ".join(parts), one_line(report.path)
    if report.is_dry_run:
        print(f"Would have written {content} to {path}")
    else:
        how = ", encrypted" if report.is_encrypted else ""
        print(f"Wrote {content} to {path} ({human.size(report.size_bytes)}{how})")
    print_problems(report.problems, "is not complete in the file")
    print_problems(
        [SessionProblem(session.path, session.message) for session in report.left_out], "is left out"
    )


def _taken(args: ParsedArguments, path: str) -> int:
    keys = DecryptionKeys(
        [name for _, name in args.occurrences("identity")], _ask if _has_terminal() else None
    )
    pairs, is_dry_run = folder_pairs(args), args.flag("dry-run")
    restores = args.command == "restore"

    async def store(found: Bundle) -> TakenReport:
        async with connect(name=args.command) as here:
            with SessionProgress() as progress:
                report = await take_bundle(here, found, path, progress, pairs=pairs, is_dry_run=is_dry_run)
            if restores:
                await take_trash(here, found, report)
                await take_prompts(here, found, report)
                if found.manifest.kind == "backup" and not os.environ.get(ADDRESS):
                    take_files(found, find_locations(), report)
            return report

    with opened(path, keys, spool_folder=_spool_folder(), is_limited=not args.flag("no-size-limit")) as found:
        report = asyncio.run(store(found))
    if args.flag("json"):
        print(msgspec.json.encode(report).decode())
    else:
        _show_taken(report, is_whole=restores or report.kind == "bundle")
    return FAILURE if report.problems else SUCCESS


def _has_terminal() -> bool:
    """Return whether there is a terminal to ask for a passphrase, even if standard input is not one."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _ask() -> str:
    return getpass.getpass("Passphrase of the file: ")


def _show_taken(report: TakenReport, *, is_whole: bool) -> None:
    would = "Would have " if report.is_dry_run else ""
    if report.received.line_count or report.received.session_count:
        print(f"{would or 'Stored '}{'stored ' if would else ''}{amount_of(report.received)}")
    for verb, names in (
        ("Merged, since it was continued here, too", report.merged),
        ("Restored from the trash", report.restored),
    ):
        for name in names:
            print(f"{verb}: {one_line(name)}")
    if report.trashed_count:
        print(
            f"{human.count(report.trashed_count, 'session')} of these went to the trash, from which they came"
        )
    if report.prompt_count:
        print(
            f"{would}{'a' if would else 'A'}dded {human.count(report.prompt_count, 'prompt')} to the history"
        )
    created = _show_files(report, would)
    if not (report.has_changes or report.problems or created or report.prompt_count):
        print(f"Nothing to do: {human.count(report.session_count, 'session')} compared")
    if not is_whole:
        print(
            "It is a backup: sessiond restore also restores its trash, its prompts and its other files.",
            file=sys.stderr,
        )
    print_problems(report.problems, "stays different")


def _show_files(report: TakenReport, would: str) -> int:
    """Print the results for the files beside the sessions, and return the number of created files.

    Breadcrumbs that exist are those of terminals in use, and nothing to mention.
    """
    config = find_locations().config_file
    created = [file for file in report.files if file.outcome == "created"]
    for file in report.files:
        if file.path == config and file.outcome == "created":
            then = "" if would else "; sessiond restart puts it into effect"
            print(f"{would}{'c' if would else 'C'}reated {one_line(file.path)}{then}")
        elif file.path == config and file.outcome == "kept":
            print(f"{one_line(file.path)} differs from that of the backup, and was left as it is")
    if breadcrumbs := [file for file in created if file.path != config]:
        count = human.count(len(breadcrumbs), "terminal")
        print(f"{would}{'r' if would else 'R'}estored which session {count} used last")
    return len(created)
