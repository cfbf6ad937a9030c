"""Runs the doctor in a hub, and fixes the findings that are safe to fix.

Each fix first checks that the problem still exists; if it does not, the finding reports that. A fix deletes nothing:
removed data is renamed or moved to the trash. Problems that need a decision of the user are not fixed.
"""

import asyncio
import glob
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import msgspec

from sessiond.config import Config
from sessiond.config_values import FILES
from sessiond.hub import clock
from sessiond.hub.doctor.blobs import digest_of, intact_copy
from sessiond.hub.doctor.databases import INDEX_FILES, damage_of
from sessiond.hub.doctor.examination import examine, result_of
from sessiond.hub.doctor.rights import close_to_others
from sessiond.hub.doctor.scope import LocatedFinding, Scope
from sessiond.hub.errors import HubError, IncompatibleParams, refuse_unless_absolute
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.execution.threads import step_through
from sessiond.hub.idempotency.commands import Commands
from sessiond.hub.repairs import LogRepairs
from sessiond.hub.session.registry import OpenSessions
from sessiond.paths import Locations
from sessiond.protocol import types as t
from sessiond.protocol.findings import finding
from sessiond.session.tree.lines import valid_text as as_text
from sessiond.store.base import Store
from sessiond.store.blobs import PutBlob
from sessiond.store.errors import LogExists, LogNotFound, LogReplaced, StorageFailed
from sessiond.store.files import paths
from sessiond.store.files.packing import KEPT, save_damaged, settle
from sessiond.store.files.syscalls import Syscalls
from sessiond.store.files.trash import trash_other_file

_GONE: Final = "the problem no longer exists"


class RepairableHub(Protocol):
    """The part of the hub that the doctor calls."""

    commands: Commands
    repairs: LogRepairs

    @property
    def stores(self) -> Sequence[Store]:
        """The stores of all sessions: that of the configuration, and the one of ephemeral sessions."""

    sessions: OpenSessions

    async def store_durability(self) -> str:
        """Return where sessions are stored and what an acknowledged append survives."""

    async def put_blob(self, data: bytes) -> PutBlob:
        """Store bytes as a blob. It is durable when this returns."""


class _NotFixed(Exception):
    """Raised when a finding was not fixed; the message is the reason."""


async def examine_and_fix(
    hub: RepairableHub, locations: Locations, config: Config, params: t.DoctorParams, report: ReportPercentage
) -> t.DoctorResult:
    """Examine the files on disk and the open sessions of a hub, and fix the findings if the request has `fix`.

    Args:
        hub: The hub.
        locations: The folders and files of sessiond.
        config: The configuration.
        params: The request.
        report: Receives progress.

    Raises:
        IncompatibleParams: A path is not absolute or does not exist, or `fix` and `secrets` are both given.
        Draining: The daemon shuts down.
    """
    for path in params.paths:
        refuse_unless_absolute(path, "one of paths")
        if not os.path.lexists(path):
            raise IncompatibleParams(f"{path} does not exist")
    scope = Scope(locations, config, only=[os.path.realpath(path) for path in params.paths])
    if params.secrets:
        if params.fix:
            raise IncompatibleParams(
                "fix cannot be combined with secrets: nothing removes secrets from sessions"
            )
        from sessiond.hub.doctor.secrets import find_secrets  # its rules are loaded only if it is wanted

        await find_secrets(scope, hub.stores, report)
        return await asyncio.to_thread(
            result_of, scope, [finding.finding for finding in scope.found], params.findings_per_kind
        )
    await step_through(examine(scope), lambda: report(*scope.progress))
    findings = [finding.finding for finding in scope.found]
    if params.fix:
        fixing = _Fixing(hub, scope)
        for number, found in enumerate(scope.found):
            hub.sessions.refuse_when_draining()
            report("Fixing", 95 + 5 * number // len(scope.found))
            if found.finding.fixable:
                # A fix that has started is finished, even if the request is canceled.
                findings[number] = await asyncio.shield(fixing.fixed(found))
    if not scope.only:
        findings += _write_blocks(hub)
        if config.store.url != FILES:
            findings.append(finding("otherStore", await hub.store_durability(), None))
    return await asyncio.to_thread(result_of, scope, findings, params.findings_per_kind)


def _write_blocks(hub: RepairableHub) -> list[t.Finding]:
    """Return a finding for each open session that accepts no writes, except for damaged ones.

    The check of session files reports the damage.
    """
    return [
        finding("writeBlocked", live.write_block.message, live.log.path, session_id=live.session_id)
        for live in hub.sessions.all()
        if live.write_block is not None and live.write_block.reason != "damaged"
    ]


class _Fixing:
    """One round of fixes. Its timestamp is part of the names to which files are renamed."""

    def __init__(self, hub: RepairableHub, scope: Scope) -> None:
        self._hub = hub
        self._scope = scope
        self._calls = Syscalls()
        self._stamp = paths.timestamp_in_names(clock.timestamp())

    async def fixed(self, found: LocatedFinding) -> t.Finding:
        """Fix a finding, and return it with the outcome."""
        fix: Callable[[_Fixing, LocatedFinding], Awaitable[str | None]] = FIXES[found.finding.kind]
        try:
            kept = await fix(self, found)
        except _NotFixed as reason:
            return msgspec.structs.replace(found.finding, fixed=False, fix_error=str(reason))
        except (HubError, StorageFailed, LogExists, LogNotFound, LogReplaced, OSError) as error:
            return msgspec.structs.replace(found.finding, fixed=False, fix_error=as_text(str(error)))
        return msgspec.structs.replace(
            found.finding, fixed=True, kept_path=None if kept is None else as_text(kept)
        )

    async def quarantine_tail(self, found: LocatedFinding) -> str | None:
        return _unless_gone(await self._hub.repairs.fix_tail(found.path))

    async def trash_draft(self, found: LocatedFinding) -> str | None:
        return _unless_gone(await self._hub.repairs.trash_draft(found.path), "it is open, or was answered")

    async def trash_empty(self, found: LocatedFinding) -> str | None:
        return _unless_gone(
            await self._hub.repairs.trash_empty(found.path), "it is open, or it is no longer empty"
        )

    async def close_to_others(self, found: LocatedFinding) -> str | None:
        await asyncio.to_thread(close_to_others, found.path)
        return None

    async def trash_temporary_file(self, found: LocatedFinding) -> str | None:
        folder = self._scope.trash / f"leftovers-{self._stamp}"
        reason = "a daemon that was killed left it"
        return str(
            await asyncio.to_thread(
                trash_other_file, Path(found.path), folder, reason=reason, calls=self._calls
            )
        )

    async def restore_blob(self, found: LocatedFinding) -> str | None:
        name = found.finding.location.blob or ""
        if await asyncio.to_thread(self._is_intact, name):
            raise _NotFixed(_GONE)
        copy = await asyncio.to_thread(intact_copy, self._scope.trash, name)
        if copy is None:
            raise _NotFixed("the trash has no intact copy of it")
        # Storing the blob moves a damaged one to the trash and replaces it.
        await self._hub.put_blob(await asyncio.to_thread(copy.read_bytes))
        aside = sorted(self._scope.trash.glob(f"blobs-damaged-*/{name}"))
        return str(aside[-1]) if aside and found.finding.kind == "damagedBlob" else None

    def _is_intact(self, name: str) -> bool:
        return digest_of(self._scope.blobs_folder / name) == name

    async def unpack_damaged(self, found: LocatedFinding) -> str | None:
        live = self._hub.sessions.at(found.path)
        packed = Path(found.path)
        if live is not None:
            await live.log.unpack()
        else:
            await self._hub.repairs.unpack_damaged(found.path, partial(save_damaged, packed, self._calls))
        kept = sorted(packed.parent.glob(f"{glob.escape(paths.plain_name(packed.name))}.{KEPT}*"))
        return str(kept[-1]) if kept else None

    async def settle_double(self, found: LocatedFinding) -> str | None:
        plain = paths.plain_name(found.path)
        if self._hub.sessions.at(plain) is not None:
            raise _NotFixed("the session is open")
        _unless_gone(await asyncio.to_thread(settle, Path(plain), self._calls))
        return None

    async def quarantine_index(self, found: LocatedFinding) -> str | None:
        path = found.path
        if await asyncio.to_thread(damage_of, path) is None:
            raise _NotFixed(_GONE)
        for suffix in INDEX_FILES:
            if os.path.lexists(path + suffix):
                os.rename(path + suffix, f"{path}{suffix}.damaged-{self._stamp}")  # noqa: PTH104 - a text
        return f"{path}.damaged-{self._stamp}"

    async def quarantine_journal(self, found: LocatedFinding) -> str | None:
        if await asyncio.to_thread(damage_of, found.path) is None:
            raise _NotFixed(_GONE)
        return await self._hub.commands.quarantine_journal()


def _unless_gone(kept: str | None, reason: str = _GONE) -> str:
    if kept is None:
        raise _NotFixed(reason)
    return kept


FIXES: Final[Mapping[str, Callable[[_Fixing, LocatedFinding], Awaitable[str | None]]]] = {
    "tornLine": _Fixing.quarantine_tail,
    "incompleteBatch": _Fixing.quarantine_tail,
    "emptyLog": _Fixing.trash_empty,
    "staleDraft": _Fixing.trash_draft,
    "insecurePermissions": _Fixing.close_to_others,
    "staleTemporaryFile": _Fixing.trash_temporary_file,
    "damagedPackedFile": _Fixing.unpack_damaged,
    "doublePackedFile": _Fixing.settle_double,
    "missingBlob": _Fixing.restore_blob,
    "damagedBlob": _Fixing.restore_blob,
    "damagedIndex": _Fixing.quarantine_index,
    "damagedCommands": _Fixing.quarantine_journal,
}
"""The repairs, by the kind of what was found."""
