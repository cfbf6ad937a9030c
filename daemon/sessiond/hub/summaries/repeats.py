"""Repeated requests that wait for a summary: they join the job in progress, or are answered from its line.

Requests that append immediately do not need this: `hub/session/entry_placement` finds the lines that they have written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from sessiond.hub.errors import CommandReused
from sessiond.hub.session.blob_resolution import resolve_entries
from sessiond.hub.session.live import LiveSession
from sessiond.hub.summaries.jobs import Job, Jobs, StopWaiting, Waiter, until_stored
from sessiond.protocol import types as t
from sessiond.session.tree import command_ids
from sessiond.session.tree.command_ids import CommandRecord, Recorded

_MAX_BYTES: Final = 48 * 1024 * 1024
_DAEMON: Final = t.Origin(kind="daemon")

Answer: TypeAlias = Callable[[dict[str, Any], str, int, Recorded], t.Wire]
"""Makes the result for a repeated request. The arguments are the stored line with its blobs restored, the id of its
log, its seq, and its record of the command."""


@dataclass(frozen=True, slots=True)
class _Duplicate:
    """Passes the outcome of an earlier request with the same command to a waiter, marked as a duplicate."""

    waiter: Waiter

    def progress(self, step: t.Progress) -> None:
        self.waiter.progress(step)

    def done(self, outcome: t.Wire | Exception) -> None:
        if not isinstance(outcome, Exception):
            outcome = msgspec.structs.replace(outcome, **_DUPLICATE)
        self.waiter.done(outcome)


_DUPLICATE: Final[dict[str, Any]] = {"duplicate": True}


class Repeats:
    """The jobs in progress, by session and command id."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._in_progress: dict[tuple[LiveSession, str], tuple[CommandRecord, Job]] = {}

    def join(
        self, live: LiveSession, command: CommandRecord | None, waiter: Waiter, answer: Answer
    ) -> StopWaiting | None:
        """Wait for the result of an earlier request with the same command.

        Args:
            live: The session.
            command: The command; None if the request has no `commandId`.
            waiter: Receives the outcome.
            answer: Makes the result if the command was already carried out.

        Returns:
            A function that stops waiting; None if there is no earlier request.

        Raises:
            CommandReused: The `commandId` belongs to a different request.
        """
        if command is None:
            return None
        first, job = self._in_progress.get((live, command.id), (None, None))
        if first is not None and job is not None and job.open:
            if first.digest != command.digest:
                raise CommandReused(command.id, first.method)
            return job.join(_Duplicate(waiter))
        recorded = command_ids.find(live.tree, command, live.read)
        if recorded is None:
            return None
        if recorded.digest != command.digest:
            raise CommandReused(command.id, recorded.mark.method)
        return self._jobs.begin(
            live, partial(_answer_from_line, live=live, command=command, answer=answer)
        ).join(waiter)

    def record_command(self, live: LiveSession, command: CommandRecord | None, job: Job) -> Job:
        """Record a command in the line that a job will append. Returns the job."""
        if command is not None:
            key = live, command.id
            job.commands.append(command)
            self._in_progress[key] = command, job
            job.when_ended(lambda: self._forget(key, job))
        return job

    def _forget(self, key: tuple[LiveSession, str], job: Job) -> None:
        if key in self._in_progress and self._in_progress[key][1] is job:
            del self._in_progress[key]


async def _answer_from_line(job: Job, *, live: LiveSession, command: CommandRecord, answer: Answer) -> None:
    """Answer a repeated request from the stored line, after the line is committed."""
    recorded = command_ids.find(live.tree, command, live.read)
    if recorded is not None and live.tree.row(recorded.ids[0]) is None:
        await until_stored(live, _DAEMON)  # raises the error if the line was not stored
        recorded = command_ids.find(live.tree, command, live.read)
    row = None if recorded is None else live.tree.row(recorded.ids[0])
    if recorded is None or row is None:
        raise AssertionError("what was stored is there")
    restored = await resolve_entries(
        [live.read(row)], live.blobs, page_bytes=_MAX_BYTES, max_bytes=_MAX_BYTES
    )
    job.finish(answer(msgspec.json.decode(restored.entries[0]), live.log.log_id, row, recorded))
