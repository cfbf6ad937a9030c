"""Exceptions for invalid requests and refused writes, one class for each error, with its kind and its details."""

import shlex

from sessiond import human
from sessiond.agents.recognition import ForeignProgram
from sessiond.error_text import TemplatedError
from sessiond.protocol import error_details as d, errors as kinds
from sessiond.protocol.errors import D, KnownError
from sessiond.session.tree.lines import valid_text
from sessiond.session.tree.problems import LineProblem


class HubError(TemplatedError):
    """The base class of the hub's errors."""


class _KnownHubError(HubError, KnownError[D]):
    """The base of those that a request is answered with, by the type of their details."""


class SessionNotFound(_KnownHubError[d.SessionNotFoundDetails]):
    """Raised when no session has the id or path that a request names."""

    kind = kinds.SESSION_NOT_FOUND
    sentence = "There is no session {ref!r:.80}.{hint}"
    advice = "`sessiond list --all` lists the sessions."

    def __init__(self, ref: str, *, did_you_mean: list[str] | None = None) -> None:
        super().__init__(ref=ref, hint=_hint(did_you_mean))
        self.ref = ref
        self.did_you_mean = did_you_mean or None

    def details(self) -> d.SessionNotFoundDetails:
        return not_found(self.ref, self.did_you_mean)


class NothingToContinue(SessionNotFound):
    """Raised when a terminal has no session to continue; `ref` is the folder."""

    sentence = "No session of {ref!r:.200} has a message yet."
    advice = "`sessiond new` makes one and prints its id, for other commands, such as `sessiond append ID --user TEXT`."

    def __init__(self, cwd: str) -> None:
        super().__init__(cwd)


class SessionTrashed(_KnownHubError[d.SessionTrashedDetails]):
    """Raised for a session that was deleted and can be restored."""

    kind = kinds.SESSION_TRASHED
    sentence = "Session {session_id} is in the trash."
    advice = "`sessiond restore {session_id}` brings it back."

    def __init__(
        self, session_id: str, *, trash_id: str | None = None, trash_path: str | None = None
    ) -> None:
        super().__init__(session_id=session_id)
        self.session_id = session_id
        self.trash_id = trash_id
        """None while the log is being moved to the trash."""
        self.trash_path = trash_path
        """None for an ephemeral session, too."""

    def details(self) -> d.SessionTrashedDetails:
        return d.SessionTrashedDetails(
            session_id=self.session_id, trash_id=self.trash_id, trash_path=self.trash_path
        )


class NotInTrash(_KnownHubError[d.SessionNotFoundDetails]):
    """Raised when a session that a request restores or purges is not in the trash."""

    kind = kinds.SESSION_NOT_FOUND
    sentence = "There is no session {ref!r:.80} in the trash.{hint}"
    advice = "`sessiond trash` lists the sessions in the trash."

    def __init__(self, ref: str, *, did_you_mean: list[str] | None = None) -> None:
        super().__init__(ref=ref, hint=_hint(did_you_mean))
        self.ref = ref
        self.did_you_mean = did_you_mean or None

    def details(self) -> d.SessionNotFoundDetails:
        return not_found(self.ref, self.did_you_mean)


class EntryNotFound(_KnownHubError[d.EntryNotFoundDetails]):
    """Raised when no entry of a session has the id that a request names."""

    kind = kinds.ENTRY_NOT_FOUND
    sentence = "There is no entry {entry_id!r:.80} in this session.{hint}"
    advice = "`sessiond tree` lists the entries."

    def __init__(self, entry_id: str, *, did_you_mean: list[str] | None = None) -> None:
        super().__init__(entry_id=entry_id, hint=_hint(did_you_mean))
        self.entry_id = entry_id
        self.did_you_mean = did_you_mean or None

    def details(self) -> d.EntryNotFoundDetails:
        return d.EntryNotFoundDetails(entry_id=self.entry_id, did_you_mean=self.did_you_mean or [])


class NamesALine:
    """The line that an error refers to: its `seq` and the id of its log."""

    seq: int
    log_id: str | None = None  # None until the session sets it


class LeafConflict(NamesALine, _KnownHubError[d.LeafConflictDetails]):
    """Raised when the leaf of a session is not the leaf that a write expects."""

    kind = kinds.LEAF_CONFLICT
    sentence = "The leaf is {current}, not {expected!r:.80} ({missing} added since)."
    advice = "Read them, then append again."

    def __init__(
        self, expected: str | None, current: str | None, *, seq: int, missing: int, log_id: str | None = None
    ) -> None:
        super().__init__(current=current, expected=expected, missing=human.count(missing, "line"))
        self.expected = expected
        self.current = current
        self.log_id = log_id
        self.seq = seq
        self.missing = missing

    def details(self) -> d.LeafConflictDetails:
        return d.LeafConflictDetails(
            current_leaf_id=self.current,
            last_seq=self.seq,
            log_id=self.log_id or "",
            missing_count=self.missing,
        )


class IdReused(NamesALine, _KnownHubError[d.IdReusedDetails]):
    """Raised when a draft has the id of an existing entry with different content."""

    kind = kinds.ID_REUSED
    sentence = "Entry {entry_id} exists with other content."
    advice = "Use a new id, or send the same content again."

    def __init__(self, entry_id: str, seq: int) -> None:
        super().__init__(entry_id=entry_id)
        self.entry_id = entry_id
        self.seq = seq

    def details(self) -> d.IdReusedDetails:
        return d.IdReusedDetails(entry_id=self.entry_id, command_id=None, log_id=self.log_id, seq=self.seq)


class CommandReused(_KnownHubError[d.IdReusedDetails]):
    """Raised when a request has the `commandId` of a request with another method or other params."""

    kind = kinds.ID_REUSED
    sentence = "The commandId {command_id!r:.140} belongs to another request, a {method:.40}."
    advice = "Nothing was written; use a new one."

    def __init__(self, command_id: str, method: str) -> None:
        super().__init__(command_id=command_id, method=method)
        self.command_id = command_id

    def details(self) -> d.IdReusedDetails:
        return d.IdReusedDetails(entry_id=None, command_id=self.command_id, log_id=None, seq=None)


class InvalidEntry(_KnownHubError[d.InvalidEntryDetails]):
    """Raised when a draft of a batch is not a valid entry; `place` is its path in the params."""

    kind = kinds.INVALID_ENTRY
    sentence = "Entry {index} of the batch cannot be stored: {reason}. Nothing of the batch was."

    def __init__(self, index: int, reason: str) -> None:
        reason, inside = split_place(reason)
        super().__init__(index=index, reason=reason)
        self.place = f"$.entries[{index}]{inside}"

    def details(self) -> d.InvalidEntryDetails:
        return d.InvalidEntryDetails(path=self.place)


class _OverLimit(_KnownHubError[d.TooLargeDetails]):
    """The base of errors about sizes, in bytes."""

    kind = kinds.TOO_LARGE
    actual: int
    limit: int

    def details(self) -> d.TooLargeDetails:
        return d.TooLargeDetails(limit_bytes=self.limit, actual_bytes=self.actual)


class TooLarge(_OverLimit):
    """Raised when a request, an entry or a file exceeds its limit; sizes are in bytes."""

    sentence = "The limit is {limit:,} bytes, and {item} has {actual:,}."
    advice = "Send less at once."

    def __init__(self, item: str, actual: int, limit: int) -> None:
        super().__init__(limit=limit, item=item, actual=actual)
        self.actual = actual
        self.limit = limit


class ContextTooLarge(_OverLimit):
    """Raised when a context does not fit into one response; sizes are in bytes."""

    sentence = "The context has {actual:,} bytes, and a response has at most {limit:,}."
    advice = (
        "Compact the session, read it in pages with `session/path`, or leave images in blobs out with "
        "`resolveBlobs` false."
    )

    def __init__(self, actual: int, limit: int) -> None:
        super().__init__(actual=actual, limit=limit)
        self.actual = actual
        self.limit = limit


class EntryTooLarge(_OverLimit):
    """Raised when one entry with its resolved blobs does not fit into one response; sizes are in bytes."""

    sentence = "An entry with its blobs has {actual:,} bytes, and a response has at most {limit:,}."
    advice = "Read it with `resolveBlobs` false, and its blobs in parts with `blob/get`."

    def __init__(self, actual: int, limit: int) -> None:
        super().__init__(actual=actual, limit=limit)
        self.actual = actual
        self.limit = limit


class WouldBreakTree(_KnownHubError[d.WouldBreakTreeDetails]):
    """Raised when a compaction would split a tool call from its result, or keeps an entry that is not on the path."""

    kind = kinds.WOULD_BREAK_TREE
    sentence = "This compaction is not safe: {reason}."

    def __init__(self, entry_id: str | None, rule: str, reason: str) -> None:
        super().__init__(reason=reason)
        self.entry_id = entry_id
        self.rule = rule

    def details(self) -> d.WouldBreakTreeDetails:
        return d.WouldBreakTreeDetails(rule=self.rule, entry_id=self.entry_id)


class NothingToCompact(_KnownHubError[None]):
    """Raised when a path ends in a compaction, or has no entries before the safe cut."""

    kind = kinds.NOTHING_TO_COMPACT
    sentence = "There is nothing to compact: {reason}."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class NoSummarizer(_KnownHubError[None]):
    """Raised when a summary is requested, no client declares `summarize` and no command is configured."""

    kind = kinds.NO_SUMMARIZER
    sentence = "No summarizer is available."
    advice = (
        "Supply a summary, attach a client that declares `summarize`, or set `command` under [summarizer] in "
        "config.toml."
    )


class SummarizerFailed(_KnownHubError[None]):
    """Raised when the summarizer disconnects, fails, times out or returns no text."""

    kind = kinds.SUMMARIZER_FAILED
    sentence = "The summary was not written: {reason}. Nothing was changed."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class BlobNotFound(_KnownHubError[d.BlobNotFoundDetails]):
    """Raised when no blob of the store has the hash that a request names."""

    kind = kinds.BLOB_NOT_FOUND
    sentence = "There is no blob {hash!r:.80}."

    def __init__(self, hash: str) -> None:
        super().__init__(hash=hash)
        self.hash = hash

    def details(self) -> d.BlobNotFoundDetails:
        return d.BlobNotFoundDetails(hash=self.hash)


class ReadOnly(_KnownHubError[d.ReadOnlyDetails]):
    """Raised for a write to a session that is read-only."""

    kind = kinds.READ_ONLY
    sentence = "The session is read-only: {reason}."

    def __init__(self, reason: str, *, path: str | None = None) -> None:
        super().__init__(reason=reason)
        self.path = path

    def details(self) -> d.ReadOnlyDetails:
        return d.ReadOnlyDetails(path=self.path)


class Damaged(_KnownHubError[d.SessionDamagedDetails]):
    """Raised when the header of a file cannot be read."""

    kind = kinds.SESSION_DAMAGED
    sentence = "{path} contains no session: {reason}. The file is unchanged."

    def __init__(self, path: str, problem: LineProblem) -> None:
        super().__init__(path=path, reason=problem.reason)
        self.path = path
        self.problem = problem

    def details(self) -> d.SessionDamagedDetails:
        return d.SessionDamagedDetails(
            path=self.path, line=self.problem.line, byte_offset=self.problem.offset
        )


class ForeignDialect(_KnownHubError[d.ForeignDialectDetails]):
    """Raised when a client opens a session file of another program."""

    kind = kinds.FOREIGN_DIALECT
    sentence = (
        "{path} is a session file of another program ({program}), which sessiond does not open in place."
    )
    advice = "To import it, run `{import_command}`. The file is unchanged."

    def __init__(self, path: str, program: ForeignProgram) -> None:
        path = valid_text(path)
        self.path = path
        self.dialect = program.dialect
        self.import_command = f"sessiond import {shlex.quote(path)}"
        super().__init__(path=path, program=program.name, import_command=self.import_command)

    def details(self) -> d.ForeignDialectDetails:
        return d.ForeignDialectDetails(
            path=self.path, dialect=self.dialect, import_command=self.import_command
        )


class UnsupportedVersion(_KnownHubError[d.UnsupportedVersionDetails]):
    """Raised for a write to a session whose format version is newer than the versions that can be written."""

    kind = kinds.UNSUPPORTED_VERSION
    sentence = (
        "This session has format version {version}; it can be read, but only versions 1 to 3 can be written."
    )

    def __init__(self, version: int) -> None:
        super().__init__(version=version)
        self.version = version

    def details(self) -> d.UnsupportedVersionDetails:
        return d.UnsupportedVersionDetails(supported_versions=[1, 2, 3], requested_versions=[self.version])


class IncompatibleParams(_KnownHubError[d.InvalidParamsDetails]):
    """Raised when each param of a request is valid, but not in combination with the others."""

    kind = kinds.INVALID_PARAMS
    sentence = "The params are invalid: {reason}."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)

    def details(self) -> d.InvalidParamsDetails:
        return d.InvalidParamsDetails(path="$", did_you_mean=[])


class TooManyTags(_KnownHubError[d.InvalidParamsDetails]):
    """Raised when a request would give a session more tags than the limit."""

    kind = kinds.INVALID_PARAMS
    sentence = "The session would have {count:,} tags; the limit is {limit:,}."
    advice = "Remove some tags first."

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(count=count, limit=limit)

    def details(self) -> d.InvalidParamsDetails:
        return d.InvalidParamsDetails(path="$.add", did_you_mean=[])


class CursorExpired(_KnownHubError[None]):
    """Raised for a cursor of another query or of a state that no longer exists."""

    kind = kinds.CURSOR_EXPIRED
    sentence = "The cursor belongs to another query or to a state that no longer exists."
    advice = "Send the request again without a cursor."


class Draining(_KnownHubError[d.RetryLaterDetails]):
    """Raised for a write while the daemon is stopping."""

    kind = kinds.DRAINING
    sentence = "The daemon is about to stop and accepts no writes."
    advice = "Connect again and send the request again."

    def details(self) -> d.RetryLaterDetails:
        return d.RetryLaterDetails(retry_after_ms=200)


class Overloaded(_KnownHubError[d.RetryLaterDetails]):
    """Raised at a limit on clients, queued writes, summaries or open files, and when the system gives no memory."""

    kind = kinds.OVERLOADED
    sentence = "The daemon is overloaded: {reason}."
    advice = "Send the same request again in a moment."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)

    def details(self) -> d.RetryLaterDetails:
        return d.RetryLaterDetails(retry_after_ms=500)


def refuse_unless_absolute(path: str, name: str) -> None:
    """Raise `IncompatibleParams` unless `path` is absolute and contains no NUL; `name` says which path it is."""
    if not path.startswith("/") or "\0" in path:
        raise IncompatibleParams(f"{name} is not an absolute path: {path!r:.80}")


def split_place(reason: str) -> tuple[str, str]:
    """Split a msgspec error message into the reason and the path after `$`. The path is "" for the whole value."""
    said, _, place = reason.partition(" - at `$")
    return said, place.removesuffix("`")


def not_found(ref: str, did_you_mean: list[str] | None = None) -> d.SessionNotFoundDetails:
    """Return the details for an id or a path that names no session."""
    is_path = ref.startswith("/")
    return d.SessionNotFoundDetails(
        session_id=None if is_path else ref, path=ref if is_path else None, did_you_mean=did_you_mean or []
    )


def _hint(did_you_mean: list[str] | None) -> str:
    """Return a sentence that lists similar ids, with a leading space, or "" without any."""
    return f" Did you mean {', '.join(did_you_mean)}?" if did_you_mean else ""


class ChildFailed(TemplatedError):
    """Raised when the child process ends without a result."""

    sentence = "The process that was to do the work {reason}."

    def __init__(self, reason: str) -> None:
        """Create the error; `reason` is a predicate, such as "was ended by signal 9"."""
        super().__init__(reason=reason)
        self.reason = reason


class ChildNotStarted(ChildFailed):
    """Raised when the system cannot start a child process, for lack of processes or memory."""

    sentence = "A process that was to do the work {reason}."
