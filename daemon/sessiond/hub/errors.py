"""Exceptions for invalid requests and refused writes, one class for each error.

`server.errors` maps them to their kinds and codes.
"""

import shlex

from sessiond import human
from sessiond.agents.recognition import ForeignProgram
from sessiond.error_text import TemplatedError
from sessiond.session.tree.lines import valid_text
from sessiond.session.tree.problems import LineProblem


class HubError(TemplatedError):
    """The base class of the hub's errors."""


class SessionNotFound(HubError):
    """Raised when no session has the id or path that a request names."""

    sentence = "There is no session {ref!r:.80}.{hint}"
    advice = "`sessiond list --all` lists the sessions."

    def __init__(self, ref: str, *, did_you_mean: list[str] | None = None) -> None:
        super().__init__(ref=ref, hint=_hint(did_you_mean))
        self.ref = ref
        self.did_you_mean = did_you_mean or None


class NothingToContinue(SessionNotFound):
    """Raised when a terminal has no session to continue; `ref` is the folder."""

    sentence = "No session of {ref!r:.200} has a message yet."
    advice = "`sessiond new` makes one and prints its id, for other commands, such as `sessiond append ID --user TEXT`."

    def __init__(self, cwd: str) -> None:
        super().__init__(cwd)


class SessionTrashed(HubError):
    """Raised for a session that was deleted and can be restored."""

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


class NotInTrash(HubError):
    """Raised when a session that a request restores or purges is not in the trash."""

    sentence = "There is no session {ref!r:.80} in the trash.{hint}"
    advice = "`sessiond trash` lists the sessions in the trash."

    def __init__(self, ref: str, *, did_you_mean: list[str] | None = None) -> None:
        super().__init__(ref=ref, hint=_hint(did_you_mean))
        self.ref = ref
        self.did_you_mean = did_you_mean or None


class EntryNotFound(HubError):
    """Raised when no entry of a session has the id that a request names."""

    sentence = "There is no entry {entry_id!r:.80} in this session.{hint}"
    advice = "`sessiond tree` lists the entries."

    def __init__(self, entry_id: str, *, did_you_mean: list[str] | None = None) -> None:
        super().__init__(entry_id=entry_id, hint=_hint(did_you_mean))
        self.entry_id = entry_id
        self.did_you_mean = did_you_mean or None


class NamesALine:
    """The line that an error refers to: its `seq` and the id of its log."""

    seq: int
    log_id: str | None = None  # None until the session sets it


class LeafConflict(NamesALine, HubError):
    """Raised when the leaf of a session is not the leaf that a write expects."""

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


class IdReused(NamesALine, HubError):
    """Raised when a draft has the id of an existing entry with different content."""

    sentence = "Entry {entry_id} exists with other content."
    advice = "Use a new id, or send the same content again."

    def __init__(self, entry_id: str, seq: int) -> None:
        super().__init__(entry_id=entry_id)
        self.entry_id = entry_id
        self.seq = seq


class CommandReused(HubError):
    """Raised when a request has the `commandId` of a request with another method or other params."""

    sentence = "The commandId {command_id!r:.140} belongs to another request, a {method:.40}."
    advice = "Nothing was written; use a new one."

    def __init__(self, command_id: str, method: str) -> None:
        super().__init__(command_id=command_id, method=method)
        self.command_id = command_id


class InvalidEntry(HubError):
    """Raised when a draft of a batch is not a valid entry; `place` is its path in the params."""

    sentence = "Entry {index} of the batch cannot be stored: {reason}. Nothing of the batch was."

    def __init__(self, index: int, reason: str) -> None:
        reason, inside = split_place(reason)
        super().__init__(index=index, reason=reason)
        self.place = f"$.entries[{index}]{inside}"


class TooLarge(HubError):
    """Raised when a request, an entry or a file exceeds its limit; sizes are in bytes."""

    sentence = "The limit is {limit:,} bytes, and {item} has {actual:,}."
    advice = "Send less at once."

    def __init__(self, item: str, actual: int, limit: int) -> None:
        super().__init__(limit=limit, item=item, actual=actual)
        self.actual = actual
        self.limit = limit


class ContextTooLarge(HubError):
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


class EntryTooLarge(HubError):
    """Raised when one entry with its resolved blobs does not fit into one response; sizes are in bytes."""

    sentence = "An entry with its blobs has {actual:,} bytes, and a response has at most {limit:,}."
    advice = "Read it with `resolveBlobs` false, and its blobs in parts with `blob/get`."

    def __init__(self, actual: int, limit: int) -> None:
        super().__init__(actual=actual, limit=limit)
        self.actual = actual
        self.limit = limit


class WouldBreakTree(HubError):
    """Raised when a compaction would split a tool call from its result, or keeps an entry that is not on the path."""

    sentence = "This compaction is not safe: {reason}."

    def __init__(self, entry_id: str | None, rule: str, reason: str) -> None:
        super().__init__(reason=reason)
        self.entry_id = entry_id
        self.rule = rule


class NothingToCompact(HubError):
    """Raised when a path ends in a compaction, or has no entries before the safe cut."""

    sentence = "There is nothing to compact: {reason}."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class NoSummarizer(HubError):
    """Raised when a summary is requested, no client declares `summarize` and no command is configured."""

    sentence = "No summarizer is available."
    advice = (
        "Supply a summary, attach a client that declares `summarize`, or set `command` under [summarizer] in "
        "config.toml."
    )


class SummarizerFailed(HubError):
    """Raised when the summarizer disconnects, fails, times out or returns no text."""

    sentence = "The summary was not written: {reason}. Nothing was changed."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class BlobNotFound(HubError):
    """Raised when no blob of the store has the hash that a request names."""

    sentence = "There is no blob {hash!r:.80}."

    def __init__(self, hash: str) -> None:
        super().__init__(hash=hash)
        self.hash = hash


class ReadOnly(HubError):
    """Raised for a write to a session that is read-only."""

    sentence = "The session is read-only: {reason}."

    def __init__(self, reason: str, *, path: str | None = None) -> None:
        super().__init__(reason=reason)
        self.path = path


class Damaged(HubError):
    """Raised when the header of a file cannot be read."""

    sentence = "{path} contains no session: {reason}. The file is unchanged."

    def __init__(self, path: str, problem: LineProblem) -> None:
        super().__init__(path=path, reason=problem.reason)
        self.path = path
        self.problem = problem


class ForeignDialect(HubError):
    """Raised when a client opens a session file of another program."""

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


class UnsupportedVersion(HubError):
    """Raised for a write to a session whose format version is newer than the versions that can be written."""

    sentence = (
        "This session has format version {version}; it can be read, but only versions 1 to 3 can be written."
    )

    def __init__(self, version: int) -> None:
        super().__init__(version=version)
        self.version = version


class IncompatibleParams(HubError):
    """Raised when each param of a request is valid, but not in combination with the others."""

    sentence = "The params are invalid: {reason}."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class TooManyTags(HubError):
    """Raised when a request would give a session more tags than the limit."""

    sentence = "The session would have {count:,} tags; the limit is {limit:,}."
    advice = "Remove some tags first."

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(count=count, limit=limit)


class CursorExpired(HubError):
    """Raised for a cursor of another query or of a state that no longer exists."""

    sentence = "The cursor belongs to another query or to a state that no longer exists."
    advice = "Send the request again without a cursor."


class Draining(HubError):
    """Raised for a write while the daemon is stopping."""

    sentence = "The daemon is about to stop and accepts no writes."
    advice = "Connect again and send the request again."


class Overloaded(HubError):
    """Raised at a limit on clients, queued writes, summaries or open files, and when the system gives no memory."""

    sentence = "The daemon is overloaded: {reason}."
    advice = "Send the same request again in a moment."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


def refuse_unless_absolute(path: str, name: str) -> None:
    """Raise `IncompatibleParams` unless `path` is absolute and contains no NUL; `name` says which path it is."""
    if not path.startswith("/") or "\0" in path:
        raise IncompatibleParams(f"{name} is not an absolute path: {path!r:.80}")


def split_place(reason: str) -> tuple[str, str]:
    """Split a msgspec error message into the reason and the path after `$`. The path is "" for the whole value."""
    said, _, place = reason.partition(" - at `$")
    return said, place.removesuffix("`")


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
