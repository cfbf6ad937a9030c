"""What a caller may do wrong, one exception each; the docstring is the message.

`server.errors` gives them their kinds and codes.
"""

import shlex

from sessiond.session.dialects.recognition import ForeignProgram
from sessiond.session.tree.lines import sound
from sessiond.session.tree.problems import LineProblem


class HubError(Exception):
    """The base of all refusals of the hub."""


class SessionNotFound(HubError):
    """There is no session {ref}. `sessiond list --all` shows what there is."""

    def __init__(self, ref: str, *, did_you_mean: list[str] | None = None) -> None:
        near = f" Did you mean {', '.join(did_you_mean)}?" if did_you_mean else ""
        super().__init__(f"There is no session {ref!r:.80}.{near} `sessiond list --all` shows what there is.")
        self.ref = ref
        self.did_you_mean = did_you_mean or None


class NothingToContinue(SessionNotFound):
    """No session of {cwd} has a message yet. `sessiond new` makes one and prints its id, for other commands.

    Such as `sessiond append ID --user TEXT`.
    """

    def __init__(self, cwd: str) -> None:
        super().__init__(cwd)
        self.args = (
            f"No session of {cwd!r:.200} has a message yet. `sessiond new` makes one and prints its id, for other "
            "commands, such as `sessiond append ID --user TEXT`.",
        )


class SessionTrashed(HubError):
    """Session {session_id} is in the trash. `sessiond restore {session_id}` brings it back."""

    def __init__(self, session_id: str, trashed: str | None) -> None:
        super().__init__(
            f"Session {session_id} is in the trash. `sessiond restore {session_id}` brings it back."
        )
        self.session_id = session_id
        self.trashed = trashed
        """Where it is there; None while it is on its way."""


class NotInTrash(HubError):
    """There is no session {ref} in the trash. `sessiond trash` shows what there is."""

    def __init__(self, ref: str, *, did_you_mean: list[str] | None = None) -> None:
        near = f" Did you mean {', '.join(did_you_mean)}?" if did_you_mean else ""
        super().__init__(
            f"There is no session {ref!r:.80} in the trash.{near} `sessiond trash` shows what there is."
        )
        self.ref = ref
        self.did_you_mean = did_you_mean or None


class EntryNotFound(HubError):
    """There is no entry {entry_id} in this session. `sessiond tree` shows what there is."""

    def __init__(self, entry_id: str, *, did_you_mean: list[str] | None = None) -> None:
        near = f" Did you mean {', '.join(did_you_mean)}?" if did_you_mean else ""
        super().__init__(
            f"There is no entry {entry_id!r:.80} in this session.{near} `sessiond tree` shows what there is."
        )
        self.entry_id = entry_id
        self.did_you_mean = did_you_mean or None


class NamesALine:
    """What a refusal has that rests on a line: its `seq`, and the id of its log."""

    seq: int
    log_id: str | None = None  # None until somebody says it who knows more than the tree


class LeafConflict(NamesALine, HubError):
    """The leaf is {current}, not {expected}: {missing} lines came since. Read them, then append again."""

    def __init__(
        self, expected: str | None, current: str | None, *, seq: int, missing: int, log_id: str | None = None
    ) -> None:
        super().__init__(
            f"The leaf is {current}, not {expected!r:.80}: {missing} lines were added since. "
            "Read them, then append again."
        )
        self.expected = expected
        self.current = current
        self.log_id = log_id
        self.seq = seq
        self.missing = missing


class IdReused(NamesALine, HubError):
    """Entry {entry_id} exists with other content. Take a new id, or send the same content again."""

    def __init__(self, entry_id: str, seq: int) -> None:
        super().__init__(
            f"Entry {entry_id} exists with other content. Take a new id, or send the same content again."
        )
        self.entry_id = entry_id
        self.seq = seq


class CommandReused(HubError):
    """The commandId {command_id} belongs to another request, a {method}. Nothing was written; use a new one."""

    def __init__(self, command_id: str, method: str) -> None:
        super().__init__(
            f"The commandId {command_id!r:.140} belongs to another request, a {method:.40}. "
            "Nothing was written; use a new one."
        )
        self.command_id = command_id


class InvalidEntry(HubError):
    """Entry {index} of the batch cannot be stored: {reason}. Nothing of the batch was."""

    def __init__(self, index: int, reason: str) -> None:
        reason, inside = split_place(reason)
        super().__init__(f"Entry {index} of the batch cannot be stored: {reason}. Nothing of the batch was.")
        self.place = f"$.entries[{index}]{inside}"


class TooLarge(HubError):
    """There is a limit of {limit:,} bytes, and {what} has {actual:,}. Send less at once."""

    def __init__(self, what: str, actual: int, limit: int) -> None:
        super().__init__(
            f"There is a limit of {limit:,} bytes, and {what} has {actual:,}. Send less at once."
        )
        self.actual = actual
        self.limit = limit


class ContextTooLarge(HubError):
    """The context has {actual:,} bytes, and a reply has at most {limit:,}.

    Compact the session, read it in pages with `session/path`, or leave images in blobs out with `resolveBlobs` false.
    """

    def __init__(self, actual: int, limit: int) -> None:
        super().__init__(
            f"The context has {actual:,} bytes, and a reply has at most {limit:,}. Compact the session, read it "
            "in pages with `session/path`, or leave images in blobs out with `resolveBlobs` false."
        )
        self.actual = actual
        self.limit = limit


class EntryTooLarge(HubError):
    """An entry with its blobs has {actual:,} bytes, and a reply has at most {limit:,}.

    Read it with `resolveBlobs` false, and its blobs in parts with `blob/get`.
    """

    def __init__(self, actual: int, limit: int) -> None:
        super().__init__(
            f"An entry with its blobs has {actual:,} bytes, and a reply has at most {limit:,}. "
            "Read it with `resolveBlobs` false, and its blobs in parts with `blob/get`."
        )
        self.actual = actual
        self.limit = limit


class WouldBreakTree(HubError):
    """This compaction is not safe: {reason}."""

    def __init__(self, entry_id: str | None, rule: str, reason: str) -> None:
        super().__init__(f"This compaction is not safe: {reason}.")
        self.entry_id = entry_id
        self.rule = rule


class NothingToCompact(HubError):
    """There is nothing to compact: {reason}."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"There is nothing to compact: {reason}.")


class NoSummarizer(HubError):
    """Nobody is there to write a summary.

    Give one, attach a client that declares `summarize`, or set `command` under [summarizer] in config.toml.
    """

    def __init__(self) -> None:
        super().__init__(
            "Nobody is there to write a summary. Give one, attach a client that declares `summarize`, "
            "or set `command` under [summarizer] in config.toml."
        )


class SummarizerFailed(HubError):
    """The summary was not written: {reason}. Nothing was changed."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The summary was not written: {reason}. Nothing was changed.")


class BlobNotFound(HubError):
    """There is no blob {hash}. What an entry says of it is all that is left."""

    def __init__(self, hash: str) -> None:
        super().__init__(f"There is no blob {hash!r:.80}. What an entry says of it is all that is left.")
        self.hash = hash


class ReadOnly(HubError):
    """This session can be read, but not written: {reason}."""

    def __init__(self, reason: str, *, path: str | None = None) -> None:
        super().__init__(f"This session can be read, but not written: {reason}.")
        self.path = path


class Damaged(HubError):
    """{path} holds no session: {reason}. The file was not touched."""

    def __init__(self, path: str, problem: LineProblem) -> None:
        super().__init__(f"{path} holds no session: {problem.reason}. The file was not touched.")
        self.path = path
        self.problem = problem


class ForeignDialect(HubError):
    """{path} is a session file of another program ({program}), which sessiond does not open in place.

    To import it, run `sessiond import {path}`. The file is unchanged. Where no importer exists, the message says so.
    """

    def __init__(self, path: str, program: ForeignProgram) -> None:
        path = sound(path)
        self.path = path
        self.dialect = program.dialect
        self.import_command = f"sessiond import {shlex.quote(path)}" if program.importable else None
        remedy = (
            f"To import it, run `{self.import_command}`." if program.importable else "It cannot be imported."
        )
        super().__init__(
            f"{path} is a session file of another program ({program.name}), which sessiond does not open in place. "
            f"{remedy} The file is unchanged."
        )


class UnsupportedVersion(HubError):
    """This session has format version {version}; it can be read, but only versions 1 to 3 can be written."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"This session has format version {version}; it can be read, "
            "but only versions 1 to 3 can be written."
        )


class IncompatibleParams(HubError):
    """The params do not go together: {reason}."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The params do not go together: {reason}.")


class CursorExpired(HubError):
    """The cursor does not belong to this question. Ask again without a cursor."""

    def __init__(self) -> None:
        super().__init__("The cursor does not belong to this question. Ask again without a cursor.")


class Draining(HubError):
    """The daemon is about to stop and takes no more writes. Connect again and repeat the request."""

    def __init__(self) -> None:
        super().__init__(
            "The daemon is about to stop and takes no more writes. Connect again and repeat the request."
        )


class Overloaded(HubError):
    """The daemon has too much to do for now: {reason}. Send the same request again in a moment."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The daemon has too much to do for now: {reason}. Send the same request again in a moment."
        )


def split_place(reason: str) -> tuple[str, str]:
    """What msgspec says is wrong, and where, as a path that follows on `$`: "" for the whole."""
    said, _, place = reason.partition(" - at `$")
    return said, place.removesuffix("`")
