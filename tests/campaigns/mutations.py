"""Faults that are put into a daemon of the campaigns' own making, by name. The product has no hook for them.

A few make the machine worse, which the product must bear; all others make the product worse, which a campaign
must notice. Each says in its docstring what a programmer would have done to get there.
"""

import asyncio
import dataclasses
import errno
import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from campaigns import recording

FAULTS: dict[str, Callable[[], None]] = {"record": recording.put_in}


def put_in(name: str) -> None:
    """Put a fault into the product as it is loaded in this process."""
    FAULTS[name]()


def _fault(call: Callable[[], None]) -> Callable[[], None]:
    FAULTS[call.__name__.replace("_", " ")] = call
    return call


def _module(name: str) -> Any:
    """A module of the product, to be changed."""
    return sys.modules[f"sessiond.{name}"]


def _replace(owner: Any, name: str, value: object) -> None:
    """Replace what a module or a class has under a name. A name that is not there any more is an error."""
    if not hasattr(owner, name):
        raise LookupError(f"{owner} has no {name}: the mutation is out of date")
    setattr(owner, name, value)


def _everywhere(name: str, value: object) -> None:
    """Replace a function of the file store wherever it was imported."""
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("sessiond.store.files") and hasattr(module, name):
            setattr(module, name, value)


# --- a worse machine -----------------------------------------------------------------------------------------


@_fault
def a_sync_that_fails() -> None:
    """The third sync of a log is refused, once. The system drops what it could not write."""
    calls = 0
    sync = os.fdatasync

    def fails(fd: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(fd)

    os.fdatasync = fails


@_fault
def syncs_that_come_late() -> None:
    """Lines that were only written are synced at the end of the daemon, or on a request."""
    _replace(_module("store.files.commit"), "_SYNC_WRITTEN_AFTER", 3600.0)


def _with_write(write: Callable[[int, Any], int]) -> None:
    module = _module("store.files.store")
    _replace(module, "Syscalls", functools.partial(module.Syscalls, write=write))


_MARK = b'"u-full'
"""Entries with ids that begin so find the disk full."""


@_fault
def a_disk_that_fills_up() -> None:
    """A write that holds a marked entry stops half-way, and what comes next is refused."""
    full = False

    def write(fd: int, data: Any) -> int:
        nonlocal full
        if full:
            full = False
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if _MARK not in bytes(data):
            return os.write(fd, data)
        full = True
        return os.write(fd, bytes(data)[: len(data) // 2])

    _with_write(write)


@_fault
def a_disk_that_takes_little() -> None:
    """No write takes more than 100 bytes."""
    _with_write(lambda fd, data: os.write(fd, data[:100]))


_GLUED = b'"u-glued'
"""Another program writes half a line right before the first entry with an id that begins so."""


@_fault
def half_a_line_before_a_write() -> None:
    """Another program appends half a line between the look at the end of a log and the write."""
    came = False

    def write(fd: int, data: Any) -> int:
        nonlocal came
        if _GLUED in bytes(data) and not came:
            came = True
            other = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_APPEND)
            os.write(other, b'{"type":"custom","id":"foreign","pare')
            os.close(other)
        return os.write(fd, data)

    _with_write(write)


# --- a worse product: what is on the disk --------------------------------------------------------------------


@_fault
def answers_before_the_write() -> None:
    """The answer does not wait for the write."""
    commits = _module("store.files.commit").Commits
    append = commits.append

    def at_once(self: Any, data: bytes, durability: str) -> asyncio.Future[bool]:
        loop = asyncio.get_running_loop()
        loop.call_later(0.02, append, self, data, durability)
        done: asyncio.Future[bool] = loop.create_future()
        loop.call_soon(done.set_result, False)
        return done

    _replace(commits, "append", at_once)


@_fault
def answers_before_the_sync() -> None:
    """The answer waits for the write only, whatever was asked for."""
    commits = _module("store.files.commit").Commits
    append = commits.append
    _replace(commits, "append", lambda self, data, durability: append(self, data, "written"))


@_fault
def no_fdatasync() -> None:
    """A sync of a log does nothing."""
    _replace(_module("store.files.logfile").LogFile, "sync", lambda self: None)


@_fault
def a_sync_that_is_tried_again() -> None:
    """After a refused sync the next one of the same file counts."""
    commits = _module("store.files.commit").Commits
    done = commits._sync_done

    def tolerant(self: Any, generation: int, outcome: Any) -> None:
        if outcome.exception() is None:
            done(self, generation, outcome)
        else:
            self._sync_is_due = True

    _replace(commits, "_sync_done", tolerant)


@_fault
def no_sync_of_folders() -> None:
    """Names are given and not synced."""
    _everywhere("sync_folder", lambda path, calls: None)


@_fault
def no_sync_of_new_files() -> None:
    """A new file gets its name without having been synced."""
    new_file = _module("store.files.folders").new_file

    def unsynced(path: Any, parts: Any, calls: Any, *mode: int) -> int:
        lazy = dataclasses.replace(calls, fsync=lambda fd: None)
        return int(new_file(path, parts, lazy, *mode))

    _everywhere("new_file", unsynced)


@_fault
def a_migration_in_place() -> None:
    """An old log is cut to nothing and written anew, instead of being replaced."""
    log_file = _module("store.files.logfile").LogFile

    def in_place(self: Any, parts: Any, end: int) -> None:
        os.ftruncate(self._fd, 0)
        for part in parts:
            os.write(self._fd, part)
            os.fsync(self._fd)

    _replace(log_file, "_replace", in_place)


@_fault
def a_migration_without_the_original() -> None:
    """An old log is replaced and not kept."""
    _replace(_module("store.files.logfile").LogFile, "_link_beside", lambda self, suffix: None)


@_fault
def a_blob_behind_its_line() -> None:
    """A line does not wait for the blob that it names."""
    blobs = _module("hub.session.blobs").SessionBlobs
    store = blobs.store

    async def later(self: Any, new: Any, drafts: Any) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(30, lambda: loop.create_task(store(self, new, drafts)))

    _replace(blobs, "store", later)


@_fault
def no_repair_of_the_tail() -> None:
    """Half a line stays where it is."""

    async def nothing(self: Any, start: int, seq: int) -> str:
        return ""

    _replace(_module("store.files.log").FileLog, "quarantine_tail", nothing)


@_fault
def a_repair_that_throws_away() -> None:
    """Half a line is cut off and not kept."""
    _replace(_module("store.files.logfile").LogFile, "_keep_beside", lambda self, suffix, start: self.path)


@_fault
def half_a_batch_counts() -> None:
    """The rest of a batch after a crash is taken for entries."""
    _replace(_module("hub.session.log_reader"), "first_of_incomplete_batch", lambda tree, read: None)


@_fault
def a_trash_that_deletes() -> None:
    """A trashed session is deleted."""
    log_file = _module("store.files.logfile").LogFile
    move = log_file.move

    def gone(self: Any, target: Any) -> None:
        move(self, target)
        if target.parent.name == "trash":
            target.unlink()

    _replace(log_file, "move", gone)


@_fault
def an_end_without_a_flush() -> None:
    """A daemon that is asked to end does not sync what was only written."""

    async def close(self: Any) -> None:
        self.ending = True

    _replace(_module("server.server").Server, "close", close)


@_fault
def half_a_write_stays() -> None:
    """After a refused write what got through is not cut away, and the end of the log not looked at."""
    log_file = _module("store.files.logfile").LogFile

    def write(self: Any, start: int, data: bytes) -> int:
        done = 0
        while done < len(data):
            done += self._calls.write(self._fd, data[done:])
        return start + done

    def put(self: Any, data: bytes) -> Any:
        placed = _module("store.files.logfile").WriteOutcome(self.size, data, drifted=False)
        self.size = write(self, self.size, data)
        self.set_size(self.size)
        return placed

    _replace(log_file, "put", put)


@_fault
def a_short_write_counts_as_whole() -> None:
    """Bytes that a write did not take are forgotten."""
    piece = _module("store.files.appending").WrittenPiece

    def write(self: Any, start: int, data: bytes) -> Any:
        self._calls.write(self._fd, data)
        return [piece(start, data)]

    _replace(_module("store.files.logfile").LogFile, "_append", write)


@_fault
def no_look_before_our_line() -> None:
    """A write counts as a line of its own, whatever is in front of it."""
    _replace(_module("store.files.logfile").LogFile, "_starts_line", lambda self, piece, start: True)


@_fault
def a_failure_told_to_one_only() -> None:
    """Of the appends that shared a refused write only the first hears of it."""
    commits = _module("store.files.commit").Commits

    def first_only(self: Any, error: Exception) -> None:
        doomed, self._doomed = self._doomed, []
        for number, batch in enumerate(doomed):
            if not batch.future.done():
                if number:
                    batch.future.set_result(False)
                else:
                    batch.future.set_exception(error)

    _replace(commits, "_fail_doomed", first_only)
    queue = _module("hub.session.pending_batches").PendingBatches

    def fail_one(self: Any) -> None:
        batch = self._batches.popleft()
        first, *others = batch.requests
        first.done(batch.future.exception())
        for request in others:
            request.committed(self._reader.log.log_id, self._reader.tree.seq)
        self._commit_finished()

    _replace(queue, "_fail_all", fail_one)


# --- a worse product: what clients are told ------------------------------------------------------------------


@_fault
def news_before_the_sync() -> None:
    """Followers hear of an entry when it is queued."""
    queue = _module("hub.session.pending_batches").PendingBatches
    submit = queue.submit

    def early(self: Any, append: Any, prepared: Any) -> None:
        first = len(self._reader.tree)
        submit(self, append, prepared)
        rows = prepared.rows
        if rows and len(self._publisher._subscribers):
            self._publisher._subscribers.appended(
                [row.line[:-1] for row in rows], range(first, first + len(rows)), append.origin, prepared.leaf
            )

    _replace(queue, "submit", early)
    submit_plain = queue.submit_plain

    def early_plain(self: Any, requests: Any) -> None:
        first, rows = len(self._reader.tree), requests.rows
        submit_plain(self, requests)
        if len(self._publisher._subscribers):
            self._publisher._subscribers.appended(
                [row.line[:-1] for row in rows], range(first, first + len(rows)), requests.origin, rows[-1].id
            )

    _replace(queue, "submit_plain", early_plain)


@_fault
def no_look_at_known_ids() -> None:
    """An entry that is sent again is stored again."""
    _replace(_module("hub.session.entry_placement"), "_is_retry", lambda tree, draft, read: False)


@_fault
def a_known_id_is_enough() -> None:
    """An entry with a known id is taken for a retry, whatever it says."""
    placement = _module("hub.session.entry_placement")
    _replace(placement, "_is_retry", lambda tree, draft, read: tree.any_row(draft.id or "") is not None)


@_fault
def no_look_at_known_commands() -> None:
    """A request that is repeated is not looked for among the lines."""
    _replace(_module("session.tree.command_ids"), "find", lambda tree, command, read: None)


@_fault
def a_journal_that_is_not_read() -> None:
    """After a restart nobody looks what the daemon before was asked and has done."""
    journal = _module("hub.idempotency.journal").Journal
    _replace(journal, "all", lambda self, now: [])
    _replace(journal, "get", lambda self, command_id: None)


@_fault
def no_look_at_the_expected_leaf() -> None:
    """The expected leaf of a client is not checked."""
    module = _module("hub.session.entry_placement")
    _replace(module, "_place", lambda tree, placement, leaf: (leaf, False))


@_fault
def a_gap_for_followers() -> None:
    """Followers are not told of every fifth line."""
    subscribers = _module("hub.session.subscribers").Subscribers
    appended = subscribers.appended

    def forgetful(self: Any, entries: Any, seqs: Any, origin: Any, leaf_id: Any) -> None:
        if seqs[-1] % 5:
            appended(self, entries, seqs, origin, leaf_id)

    _replace(subscribers, "appended", forgetful)


@_fault
def one_connection_for_all() -> None:
    """Messages for one client go to the one that came last."""
    connection = _module("rpc.connection").Connection
    made = connection.connection_made
    all_of_them: list[Any] = []

    def shared(self: Any, transport: Any) -> None:
        made(self, transport)
        all_of_them.append(self)
        for other in all_of_them:
            vars(other)["_sending"].transport = transport

    _replace(connection, "connection_made", shared)


@_fault
def no_look_at_the_lock() -> None:
    """A daemon starts whether or not another holds the lock."""
    _replace(_module("server.process.lock"), "_lock", lambda path, descriptor: None)
