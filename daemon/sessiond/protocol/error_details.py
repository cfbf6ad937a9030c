"""The details of errors: one type for each error kind that has any. `errors.KINDS` says which kind has which type."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import Wire

Similar = Annotated[list[str], Meta(max_length=10)]
"""Known ids or names that are similar to an unknown one."""


class MethodNotFoundDetails(Wire, frozen=True):
    """Methods that are similar to the unknown one."""

    did_you_mean: Similar  # methods with similar names


class InvalidParamsDetails(Wire, frozen=True):
    """The place of the invalid value in the params."""

    path: str  # the JSON path of the value; `$` for the params as a whole
    did_you_mean: Similar  # for an unknown field: fields with similar names


class InternalDetails(Wire, frozen=True):
    """The report of a defect."""

    report_id: (
        str | None
    )  # identifies the error in the daemon's log; null for an error of a client or an LSP request


class SessionNotFoundDetails(Wire, frozen=True):
    """The id or the path that names no session. One of the two is null."""

    session_id: str | None  # the id in the request: of a session, or of one in the trash
    path: str | None  # the path in the request: a file, or the folder of `session/continue`
    did_you_mean: Similar  # ids of sessions that are similar


class SessionTrashedDetails(Wire, frozen=True):
    """The deleted session, and its place in the trash."""

    session_id: str  # the id of the session
    trash_id: str | None  # its id in the trash, for `trash/restore`; null while it is moved there
    trash_path: str | None  # its file in the trash, for information; null for an ephemeral session, too


class EntryNotFoundDetails(Wire, frozen=True):
    """The id that names no entry."""

    entry_id: str  # the id in the request
    did_you_mean: Similar  # ids of entries that begin with it


class BlobNotFoundDetails(Wire, frozen=True):
    """The hash that names no blob."""

    hash: str  # the hash in the request


class LeafConflictDetails(Wire, frozen=True):
    """The state of the session at the time of the conflict.

    The lines that the client does not know are the last `missingCount` ones, up to `lastSeq`.
    """

    current_leaf_id: str | None  # the present leaf; null for before the first entry
    last_seq: int  # the seq of the last line of the log
    log_id: str  # the log of `lastSeq`
    missing_count: int  # the number of lines after that of the expected leaf


class IdReusedDetails(Wire, frozen=True):
    """The id that belongs to something else: the id of an entry, or a `commandId`. The other is null."""

    entry_id: str | None  # the id of the stored entry with other content
    command_id: str | None  # the `commandId` of the other request
    log_id: str | None  # the log of `seq`; null for a `commandId`
    seq: int | None  # the seq of the stored entry; null for a `commandId`


class AlreadyExistsDetails(Wire, frozen=True):
    """The id that is taken."""

    session_id: str  # the id of the existing session
    path: str | None  # the open file of the same session, if the request names a copy of it


class TooLargeDetails(Wire, frozen=True):
    """A size and its limit."""

    limit_bytes: (
        int | None
    )  # the largest accepted size; null if `sessiond attach` responds and does not know it
    actual_bytes: int | None  # the size; null if the server stopped reading before the end


class WouldBreakTreeDetails(Wire, frozen=True):
    """The rule that a compaction violates."""

    rule: Annotated[str, opened("TreeRule")]  # the rule
    entry_id: str | None  # the id of the compaction, or of the leaf, if there is one


class InvalidEntryDetails(Wire, frozen=True):
    """The place of the invalid value in the params."""

    path: str  # the JSON path of the value, which begins with `$.entries[N]`


class ForeignWriterDetails(Wire, frozen=True):
    """The file that another program changed."""

    path: str  # the file of the session


class ReadOnlyDetails(Wire, frozen=True):
    """The file that is not writable."""

    path: str | None  # the file of the session, if there is one


class UnsupportedVersionDetails(Wire, frozen=True):
    """The versions of both sides: of the protocol, or of the format of session files."""

    supported_versions: Annotated[list[int], Meta(max_length=100)]  # the versions that the daemon supports
    requested_versions: Annotated[list[int], Meta(max_length=100)]  # those of the client, or that of the file


class RetryLaterDetails(Wire, frozen=True):
    """The time to wait."""

    retry_after_ms: int  # milliseconds to wait before a retry


class SessionDamagedDetails(Wire, frozen=True):
    """The place of the damage."""

    path: str  # the file; the id of a session without a file
    line: int  # physical line, 1-based
    byte_offset: int  # offset of the line's first byte


class BlobDamagedDetails(Wire, frozen=True):
    """The damaged blob."""

    hash: str  # the hash in the request
    path: str  # the file, whose content has another hash


class ForeignDialectDetails(Wire, frozen=True):
    """The format of a file of another program."""

    path: str  # the file
    dialect: str  # its format: a `Dialect`, or the name of a format without an importer
    import_command: str  # the command that imports the file


class OutcomeUnknownDetails(Wire, frozen=True):
    """The ids with which a request can be sent again so that nothing is stored twice."""

    # of an append: the ids of its entries, as they were sent or as the daemon gave them, in the order of the request;
    # those that only the lost daemon knew are missing
    entry_ids: list[str]


class StorageDetails(Wire, frozen=True):
    """The failed operation of the system."""

    path: str | None  # the file, if one is known
    errno: int | None  # the error number of the system, if there is one
