"""Sessions of other programs: import and export."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from sessiond.protocol.types.shared import EntryId, Params, ProgressToken, SessionId, Wire

Dialect = Literal["pi", "pi4", "operator", "go", "nova", "claude-code", "codex"]
"""Whose session files are read; `pi` is the home format, oh-my-pi's too."""

ExportFormat = Literal["jsonl", "markdown", "html", "operator", "go", "nova"]

Path = Annotated[str, Meta(min_length=1, max_length=4096)]


class ImportParams(Params, frozen=True):
    """Read session files of other programs: a file, a folder with all below it, or several of both.

    The source is only read. A second import of a file adds what it has grown by, and nothing if it has not. Every
    line that was not understood is kept in the session as it is. One file that cannot be read stops no other.
    Cancelling ends the work between two files: what was imported stays, and the next import goes on from there.
    With `workDoneToken` the client hears of progress.
    """

    path: Path | None = None  # an absolute path of a file or a folder; this or `paths`
    paths: list[Path] | None = None  # absolute paths of files and folders
    format: Dialect | None = None  # detected for each file
    cwd: Path | None = None  # the folder that the sessions belong to, instead of the one that they name
    work_done_token: ProgressToken | None = None  # the token of `$/progress` notifications


class ImportProblem(Wire, frozen=True):
    """A line of a source that could not be taken as it is; 0 is the whole file."""

    line: int
    reason: str


class ImportedSession(Wire, frozen=True):
    """What became of one file.

    `understood` counts its lines by what they became, `kept` those that are kept as they are, by kind.
    """

    path: str
    format: Dialect
    session_id: str
    status: Literal["created", "grown", "unchanged"]
    title: str | None
    draft: bool  # nobody has answered in it: it is hidden from lists
    added: int  # entries
    understood: dict[str, int]
    kept: dict[str, int]
    held_back: int  # lines at the end of a file that is being written, for the next time
    problems: list[ImportProblem]  # at most twenty
    problem_count: int


class SkippedFile(Wire, frozen=True):
    """A file that was not imported, and why."""

    path: str
    reason: str


class ImportResult(Wire, frozen=True):
    """What became of all files. Of the skipped ones the first thousand are listed."""

    sessions: list[ImportedSession]
    skipped: list[SkippedFile]
    skipped_count: int


class ExportParams(Params, frozen=True):
    """Write a session in another program's format, as a transcript, or as a page (`html`) with its whole tree.

    With `leafId` only the path to that entry goes out, re-chained and with its labels (`markdown` always takes one
    path, `nova` the working state there). Blobs are put back. Without `path` the result holds the text. A file that is
    there is replaced only with `overwrite`. The answer names what the format cannot hold. Pictures of a `markdown`
    transcript go into the folder `<name>.pictures` beside it, and the transcript links to them.

    Keys, tokens, passwords and cookies are taken out of what is written, unless `redact` is false. The
    result says which kinds, and where. The session itself is unchanged. No set of rules finds every secret: look at
    what you give away.
    """

    session_id: SessionId  # the whole id of the session
    format: ExportFormat  # the format to write
    leaf_id: EntryId | UnsetType | None = UNSET  # only the path to it; default: the whole tree
    path: Path | None = None  # the absolute path of the file to write; without it the result has the text
    overwrite: bool = False  # replace a file that exists
    redact: bool = True  # take secrets out
    work_done_token: ProgressToken | None = None  # the token of `$/progress` notifications


class Redaction(Wire, frozen=True):
    """Secrets of one kind that were taken out of one entry (null: of the header, or of a working state)."""

    kind: str
    entry_id: str | None
    count: int


class Loss(Wire, frozen=True):
    """Something that did not go along, and how often: a field, a block, an entry."""

    what: str
    count: int


class ExportResult(Wire, frozen=True):
    """What was written. `carried` counts entries that went along where their program does not look for them."""

    format: str
    text: str | None  # without `path`
    path: str | None
    size_bytes: int
    entries: int
    lost: list[Loss]
    carried: list[Loss]
    redacted: list[Redaction]
    missing_blobs: list[str]  # hashes of blobs that are not to be had: what names them went out as it is
    pictures: list[str] = field(default_factory=list)  # files beside a transcript, which it links to
    # the rules for the keys of most providers are not installed beside the daemon: only common kinds were looked for
    redaction_incomplete: bool = False
