"""Import and export sessions of other programs."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from sessiond.protocol.enums import Dialect, ExportFormat, opened
from sessiond.protocol.types.shared import EntryId, Params, ProgressToken, SessionId, Wire

Path = Annotated[str, Meta(min_length=1, max_length=4096)]


class ImportParams(Params, frozen=True):
    """Import session files of other programs: files, or folders with everything below them.

    The source is only read. A repeated import of a file adds the lines that are new since, or nothing. Every line that
    was not understood is stored in the session as it is. A file that cannot be read does not stop the others. A
    cancellation takes effect between two files: imported sessions stay, and the next import continues there. With
    `workDoneToken`, the client receives progress.
    """

    path: Path | None = None  # an absolute path of a file or a folder; this or `paths`
    paths: list[Path] | None = None  # absolute paths of files and folders
    format: Dialect | None = None  # the format; default: detected for each file
    cwd: Path | None = None  # the folder that the sessions belong to; default: the folder that they name
    work_done_token: ProgressToken | None = None  # the token of `$/progress` notifications


class ImportProblem(Wire, frozen=True):
    """A line of a source that could not be imported as it is. Line 0 is the whole file."""

    line: int
    reason: str


class ImportedSession(Wire, frozen=True):
    """The outcome for one file.

    `understood` counts its lines by the entries they became. `kept` counts, by kind, the lines that are stored as they
    are.
    """

    path: str
    format: Annotated[str, opened("Dialect")]
    session_id: str
    status: Annotated[str, opened("ImportStatus")]
    title: str | None
    draft: bool  # true if it has no answer: it is not listed by default
    added: int  # number of entries
    understood: dict[str, int]
    kept: dict[str, int]
    held_back: int  # lines at the end of a growing file, left for the next import
    problems: list[ImportProblem]  # at most 20
    problem_count: int


class SkippedFile(Wire, frozen=True):
    """A file that was not imported, and the reason."""

    path: str
    reason: str


class ImportResult(Wire, frozen=True):
    """The outcome for all files. At most 1,000 skipped files are listed."""

    sessions: list[ImportedSession]
    skipped: list[SkippedFile]
    skipped_count: int


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

    session_id: SessionId  # the full id of the session
    format: ExportFormat  # the format to write
    leaf_id: EntryId | UnsetType | None = UNSET  # only the path to it; default: the whole tree
    path: Path | None = None  # the absolute path of the file to write; default: return the text
    overwrite: bool = False  # replace a file that exists
    redact: bool = True  # remove secrets
    work_done_token: ProgressToken | None = None  # the token of `$/progress` notifications


class Redaction(Wire, frozen=True):
    """Secrets of one kind that were taken out of one entry (null: of the header, or of a working state)."""

    kind: str
    entry_id: str | None
    count: int


class Loss(Wire, frozen=True):
    """A field, block or entry that the format cannot represent, and how often it occurs."""

    what: str
    count: int


class ExportResult(Wire, frozen=True):
    """The output. `carried` counts entries that are included in a form that their program does not read."""

    format: Annotated[str, opened("ExportFormat")]
    text: str | None  # only without `path`
    path: str | None
    size_bytes: int
    entries: int
    lost: list[Loss]
    carried: list[Loss]
    redacted: list[Redaction]
    missing_blobs: list[str]  # hashes of missing blobs; their references are exported unchanged
    pictures: list[str] = field(default_factory=list)  # files to which the transcript links
    # true if the rules for the keys of most providers are not installed, so that only common kinds are found
    redaction_incomplete: bool = False
