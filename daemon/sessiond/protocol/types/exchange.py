"""Import and export sessions of other programs."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from sessiond.protocol.enums import Dialect, ExportFormat, opened
from sessiond.protocol.types.shared import EntryId, Params, ProgressToken, SessionId, Wire

Path = Annotated[str, Meta(min_length=1, max_length=4096)]


class ImportParams(Params, frozen=True):
    """Import session files of other programs: files, or folders with everything below them.

    The source is only read. A repeated import of a file adds the lines that are new since, or nothing. A file that is
    unchanged is recognized by its status and is not read again; its report is the earlier one. Every line that
    was not converted is stored in the session unchanged. A file that cannot be read does not stop the others. A
    cancellation takes effect between two files: imported sessions stay, and the next import continues there. With
    `workDoneToken`, the client receives progress.

    One request imports at most `limit` files. If there are more, the result has `nextCursor`, and a request with the
    same params and this `cursor` continues. A repeated request imports nothing twice.
    """

    path: Path | None = None  # an absolute path of a file or a folder; this or `paths`
    # absolute paths of files and folders
    paths: Annotated[list[Path], Meta(max_length=10_000)] | None = None
    format: Dialect | None = None  # the format; default: detected for each file
    cwd: Path | None = None  # the folder that the sessions belong to; default: the folder that they name
    cursor: str | None = None  # from an earlier result; default: the first file
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 1_000  # the most files to read
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications


class ImportProblem(Wire, frozen=True):
    """A problem of a source: a line that could not be converted, or a problem of the whole file."""

    line: int  # physical line, 1-based; 0 is the whole file
    message: str  # the reason, as a sentence


class ImportedSession(Wire, frozen=True):
    """The outcome for one file."""

    path: str  # the absolute path of the file
    format: Annotated[str, opened("Dialect")]  # the format of the file
    session_id: str  # the session that has its content
    status: Annotated[str, opened("ImportStatus")]  # the result of the import
    title: str | None  # the title of the session
    is_draft: bool  # true for a session without an answer: not listed by default
    added_count: int  # the number of entries that were added
    converted_lines: dict[str, int]  # converted lines by the type of their entry: the 100 most frequent types
    preserved_lines: dict[str, int]  # lines that are stored unchanged, by kind: the 100 most frequent kinds
    held_back_count: int  # the number of lines at the end of a growing file that are left for the next import
    problems: list[ImportProblem]  # the first 20
    problem_count: int  # the number of all problems


class SkippedFile(Wire, frozen=True):
    """A file that was not imported."""

    path: str  # the absolute path of the file
    message: str  # the reason, as a sentence


class ImportResult(Wire, frozen=True):
    """The outcome for each file that was read: at most `limit` in both lists together."""

    sessions: list[ImportedSession]  # the imported files
    skipped: list[SkippedFile]  # the files that were not imported
    next_cursor: str | None  # continues with the next file; null if there are no more


class ExportParams(Params, frozen=True):
    """Write a session in the format of another program, as a transcript, or as an HTML page with its whole tree.

    With `leafId`, only the path to that entry is exported, with new parents and its labels. `markdown` always exports
    one path, `nova` the working state at that point. Blobs are restored. Without `path`, the result has the text. An
    existing file is replaced only with `overwrite`. The result lists what the format cannot represent. Pictures of a
    `markdown` transcript are written to the folder `<name>.pictures` beside it, and the transcript links to them.

    Keys, tokens, passwords and cookies are removed from the output, unless `redact` is false. The result lists their
    kinds and places. The session itself is unchanged. No set of rules finds every secret: review the output before you
    share it.
    """

    session_id: SessionId  # the session's full id
    format: ExportFormat  # the format to write
    leaf_id: EntryId | UnsetType | None = UNSET  # only the path to it; default: the whole tree
    path: Path | None = None  # the absolute path of the file to write; default: return the text
    overwrite: bool = False  # replace a file that exists
    redact: bool = True  # remove secrets
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications


class Redaction(Wire, frozen=True):
    """Secrets of one kind that were removed from one entry."""

    kind: str  # the kind of the secrets
    entry_id: str | None  # the entry; null: the header, or a working state
    count: int  # the number of secrets


class Loss(Wire, frozen=True):
    """A field, block or entry that the format cannot represent, and how often it occurs."""

    name: str  # the name of the field, block or entry
    count: int  # how often it occurs


class ExportResult(Wire, frozen=True):
    """The output, and what differs from the session."""

    format: Annotated[str, opened("ExportFormat")]  # the format that was written
    text: str | None  # the output; null if it was written to `path`
    path: str | None  # the absolute path of the file that was written
    size_bytes: int  # the size of the output
    entry_count: int  # the number of exported entries
    lost: list[Loss]  # content that the format cannot represent: the 1,000 most frequent losses
    lost_count: int  # how often all losses occur
    # entries that are included in a form that the program of the format does not read: the 1,000 most frequent types
    carried: list[Loss]
    carried_count: int  # the number of all these entries
    redacted: list[Redaction]  # the removed secrets: the first 1,000 pairs of an entry and a kind
    redacted_counts: dict[str, int]  # the number of all removed secrets by kind
    missing_blobs: list[
        str
    ]  # the hashes of the first 1,000 missing blobs; their references are exported unchanged
    missing_blob_count: int  # the number of all missing blobs
    picture_paths: list[str] = field(
        default_factory=list
    )  # the first 1,000 files to which the transcript links
    picture_count: int = 0  # the number of all these files
    # true if the rules for the keys of most providers are not installed, so that only common kinds are found
    redaction_incomplete: bool = False
    message_count: int = 0  # user and assistant messages on all branches
    off_path_count: int = 0  # messages that the output omits because they are not on the path to the leaf


class ResumeParams(Params, frozen=True):
    """Find or write the session of an agent with which a session goes on, and return the command that resumes it.

    Without other params, it is the session of the agent from which the session was read. If that session is gone, or
    with `agent`, `leafId` or `cwd`, a new session of the agent is written from the path to the entry: compactions and
    summaries are applied, each tool call has a result, and thinking is omitted. `losses` lists what the format of the
    agent cannot hold. The server starts no program.

    An existing session of an agent is never changed. The id of the new session derives from the session, the entry and
    the agent, so a repeated request gives the same one. If the agent has continued it meanwhile, another one is
    written.
    """

    session_id: SessionId  # the session's full id
    agent: Annotated[str, Meta(min_length=1, max_length=128)] | None = (
        None  # the name of an agent; default: its own
    )
    leaf_id: EntryId | UnsetType = UNSET  # the last entry of the path; default: the leaf
    cwd: Path | None = None  # the folder to resume in; default: the folder of the session
    # variables of the client that say where agents keep their sessions, such as `HOME` and `CODEX_HOME`; others are
    # ignored; default: those of the server
    env: Annotated[dict[str, str], Meta(max_length=10_000)] | None = None


class ResumeResult(Wire, frozen=True):
    """The session of an agent, and how it is resumed.

    The client first runs `importArgv`, if there is one, then `argv`: both in the folder `cwd`, with the variables `env`
    added to its own. OpenCode keeps its sessions in a database, so `importArgv` has it import the file at `path`.
    """

    argv: list[str]  # the command that resumes the session of the agent
    cwd: str  # the folder to run it in: an absolute path without symbolic links
    env: dict[str, str]  # the variables to set
    agent: str  # the name of the agent
    native_session_id: str  # the id of the session in the agent
    path: str  # the file or the database of the session; with `importArgv` the file to import
    losses: list[Loss]  # content that the format of the agent cannot hold: at most 1,000 kinds
    import_argv: list[str] | None  # the command to run first; null if none is needed
    message_count: int = 0  # user and assistant messages on all branches
    off_path_count: int = 0  # messages that are not on the path that the agent continues
