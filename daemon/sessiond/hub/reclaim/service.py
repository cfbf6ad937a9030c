"""Answers `storage/reclaim` and `storage/giveBack`: moves old files of an agent to the originals, and back."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from sessiond.agents.agent import Agent
from sessiond.hub import clock
from sessiond.hub.errors import IncompatibleParams
from sessiond.hub.execution.child_process import run_in_child_process
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.following.service import AgentFollowing
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.hub.verification.service import SourceVerification, VerifiedSources
from sessiond.paths import Locations
from sessiond.protocol import types as t
from sessiond.session.tree.lines import valid_text
from sessiond.store.base import Store
from sessiond.store.errors import StorageFailed
from sessiond.store.files import originals
from sessiond.store.files.originals import KeptOriginal, NotKept, OriginalNote
from sessiond.unicode import valid_unicode

MAX_SKIPPED: Final = 100
"""Limit of the files that a result names because they are not moved."""
_DAY_NS: Final = 86_400_000_000_000
_BATCH_FILES: Final = 100
_BATCH_BYTES: Final = 64 * 1024 * 1024
"""Files that one child process packs."""


class Reclaim:
    """Moves files of agents whose content is here, and back.

    Args:
        verification: Proves that the content is here.
        following: The agents.
        files: The store of sessions on disk.
    """

    def __init__(self, verification: SourceVerification, following: AgentFollowing, files: Store) -> None:
        self._verification = verification
        self._following = following
        self._files = files
        self._lock = asyncio.Lock()

    async def reclaim(
        self, params: t.StorageReclaimParams, locations: Locations, report: ReportPercentage
    ) -> t.StorageReclaimResult:
        """Move old files of an agent to the originals.

        Raises:
            IncompatibleParams: The agent is not known, or its sessions or those of the store are not in files.
            StorageFailed: The store cannot be listed.
        """
        agent = self._agent(params.agent)
        if agent.storage != "files":
            raise IncompatibleParams(
                f"{agent.title} has all sessions in a database, which cannot be moved in parts"
            )
        if not self._files.local:
            raise IncompatibleParams("the sessions of this store are not in files")
        folder = _folder(locations)
        async with self._lock:
            await asyncio.to_thread(originals.settle, folder)
            before_ns = time.time_ns() - params.older_than_days * _DAY_NS
            [verified] = await self._verification.examine(
                [agent.name], report, deep=True, changed_before_ns=before_ns
            )
            skipped = {gap.path: gap.message for gap in verified.checked.gaps}
            chosen = await asyncio.to_thread(self._chosen, verified, skipped)
            size = sum(verified.status[path].size for path in chosen)
            kept: dict[str, int] = {}
            moved: list[str] = [*chosen]
            if not params.dry_run:
                moved = await self._move(verified, chosen, folder, kept, skipped, report)
                size = sum(verified.status[path].size for path in moved)
        return t.StorageReclaimResult(
            file_count=len(moved), size_bytes=size, kept_bytes=None if params.dry_run else sum(kept.values()),
            skipped=_named(skipped), skipped_count=len(skipped), dry_run=params.dry_run,
        )  # fmt: skip

    async def give_back(
        self, params: t.StorageGiveBackParams, locations: Locations, report: ReportPercentage
    ) -> t.StorageGiveBackResult:
        """Move files of an agent back to their places.

        Raises:
            IncompatibleParams: The agent is not known.
        """
        agent, folder = self._agent(params.agent), _folder(locations)
        skipped: dict[str, str] = {}
        count = size = 0
        async with self._lock:
            await asyncio.to_thread(originals.settle, folder)
            found = [
                (path, note)
                for path, note in await asyncio.to_thread(lambda: list(originals.notes(folder)))
                if note.agent == agent.name
            ]
            for number, (path, note) in enumerate(found):
                report(f"Moving back {number + 1:,} of {len(found):,}", 100 * number // len(found))
                try:
                    await asyncio.to_thread(originals.put_back, note, path)
                    count, size = count + 1, size + note.size
                except (NotKept, OSError) as error:
                    skipped[note.path] = str(error)
        return t.StorageGiveBackResult(
            file_count=count, size_bytes=size, skipped=_named(skipped), skipped_count=len(skipped)
        )

    def _agent(self, name: str) -> Agent:
        found = next((agent for agent in self._following.agents() if agent.name == name), None)
        if found is None:
            raise IncompatibleParams(f"there is no agent {name!r:.80}")
        return found

    def _chosen(self, verified: VerifiedSources, skipped: dict[str, str]) -> dict[str, str]:
        """Return the files that may be moved, with their sessions; `skipped` receives the others. Blocks."""
        chosen: dict[str, str] = {}
        for path, session_id in verified.checked.whole.items():
            if self._files.lists(path):
                skipped[path] = "it is a session of this store itself"
            elif valid_unicode(path) != path:
                skipped[path] = "its name is not UTF-8"
            elif verified.agent.processes is not None and verified.agent.processes(path):
                skipped[path] = "a process of the agent has it"
            else:
                chosen[path] = session_id
        return chosen

    async def _move(
        self,
        verified: VerifiedSources,
        chosen: Mapping[str, str],
        folder: Path,
        kept: dict[str, int],
        skipped: dict[str, str],
        report: ReportPercentage,
    ) -> list[str]:
        """Pack and move files. Returns those that were moved; `kept` receives the size of each original by its hash."""
        moved: list[str] = []
        for batch in _batches(list(chosen), verified.status):
            report(f"Moving {len(moved) + 1:,} of {len(chosen):,}", 100 * len(moved) // len(chosen))
            for path, packed in zip(
                batch, await run_in_child_process(_pack, batch, str(folder)), strict=True
            ):
                if isinstance(packed, str):
                    skipped[path] = packed
                    continue
                status = verified.status[path]
                note = OriginalNote(
                    path, verified.agent.name, chosen[path], packed.hash, packed.size, _mode(path),
                    status.modified_ns, clock.timestamp(),
                )  # fmt: skip
                try:
                    await asyncio.to_thread(originals.take, path, _stamp_of(status), note, str(folder))
                except (NotKept, OSError) as error:
                    skipped[path] = str(error)
                    continue
                moved.append(path)
                kept[packed.hash] = packed.packed_size
        return moved


def _pack(paths: Sequence[str], folder: str) -> list[KeptOriginal | str]:
    """Pack files in a child process. For one that cannot be packed, the list has the reason."""
    found: list[KeptOriginal | str] = []
    for path in paths:
        try:
            found.append(originals.pack(path, folder))
        except (NotKept, OSError, StorageFailed) as error:
            found.append(str(error))
    return found


def _batches(paths: Sequence[str], status: Mapping[str, FileStatus]) -> list[list[str]]:
    """Return the paths in batches for one child process each."""
    found: list[list[str]] = []
    size = _BATCH_BYTES
    for path in paths:
        if size >= _BATCH_BYTES or len(found[-1]) >= _BATCH_FILES:
            found.append([])
            size = 0
        found[-1].append(path)
        size += status[path].size
    return found


def _stamp_of(status: FileStatus) -> tuple[int, ...]:
    return status.device, status.inode, status.size, status.modified_ns, status.changed_ns


def _mode(path: str) -> int:
    try:
        return Path(path).lstat().st_mode & 0o777
    except OSError:
        return 0o600  # it is gone, which `take` reports


def _folder(locations: Locations) -> Path:
    return Path(locations.data) / originals.FOLDER


def _named(skipped: Mapping[str, str]) -> list[t.SkippedFile]:
    return [
        t.SkippedFile(path=valid_text(path), message=valid_text(reason))
        for path, reason in list(skipped.items())[:MAX_SKIPPED]
    ]
