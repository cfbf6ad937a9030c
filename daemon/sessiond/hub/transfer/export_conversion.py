"""Converts the lines of a session to another format, and writes them to a file.

It can take long and need much memory, so it may run in a child process.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sessiond.agents.nova.writer import to_nova
from sessiond.agents.writing import WRITERS
from sessiond.hub.errors import TooLarge
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.redactor import Redactor
from sessiond.hub.transfer.export_file import ExportFile
from sessiond.hub.transfer.lines_with_blobs import LinePiece, restored
from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.to_jsonl import jsonl_lines
from sessiond.session.tree import lines
from sessiond.session.tree.entries import COMMAND_FIELD

MAX_INLINE: Final = 16 * 1024 * 1024
"""Limit of an export that is returned as text, in bytes. A larger one requires a path."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion, without the lines.

    Attributes:
        session: The session without its entries.
        ends_at_last: Whether the leaf is the last entry; otherwise it is `session.leaf`.
        format: The name of the export format.
        redact: Whether secrets are removed.
        file: The file to write. If None, the output is returned.
        state: The working state, for NOVA.
        keys: Finds the keys of providers when `redact` is set.
    """

    session: ExportedSession
    ends_at_last: bool
    format: str
    redact: bool
    file: ExportFile | None
    state: dict[str, Any]
    keys: ProviderKeys


@dataclass(frozen=True, slots=True)
class Converted:
    """The output of a conversion: its size, the text if no file was written, and what was lost or redacted."""

    size: int
    text: str | None
    entries: int
    lost: dict[str, int]
    carried: dict[str, int]
    redacted: dict[tuple[str | None, str], int]
    pictures: list[Path]
    lacks_keys: bool
    """Whether secrets were to be removed and the rules for provider keys could not be loaded."""


def convert(pieces: Iterable[LinePiece], work: Conversion) -> Converted:
    """Convert a session to the requested format, and write it if there is a file.

    The home format is written while the lines arrive, so it needs no memory for them.

    Raises:
        IncompatibleParams: The path is a folder, or exists.
        TooLarge: There is no file, and the output is larger than `MAX_INLINE`.
        StorageFailed: The folder of the path does not exist or accepts no files.
        OSError: A file cannot be written.
    """
    redactor, count = Redactor(work.keys), 0

    def entries() -> Iterator[dict[str, Any]]:
        nonlocal count
        for line in restored(pieces):
            entry = _decoded(line)
            if entry is not None:
                count += 1
                yield redactor.entry(entry) if work.redact else entry

    losses = ConversionLosses()
    pictures: Mapping[str, bytes] = {}
    if work.file is not None:
        work.file.refuse_existing()
    if work.format == "jsonl":
        output: Iterable[bytes] = jsonl_lines(
            _described(work, redactor, []), entries(), ends_at_last=work.ends_at_last
        )
    else:
        document, pictures = _document(work, redactor, list(entries()), losses)
        output = [document]
    if work.file is None:
        text, written = _text(output), list[Path]()
        size = len(text)
    else:
        text, written = None, work.file.write_pictures(pictures)
        size = work.file.write(output)
    return Converted(
        size=size, text=None if text is None else lines.valid_text(text.decode("utf-8", "replace")),
        entries=count, lost=dict(losses.lost), carried=dict(losses.carried), redacted=dict(redactor.found),
        pictures=written, lacks_keys=work.redact and not work.keys.load(),
    )  # fmt: skip


def _described(work: Conversion, redactor: Redactor, entries: list[dict[str, Any]]) -> ExportedSession:
    """Return the session with these entries, and without secrets in its other fields."""
    session = replace(work.session, entries=entries)
    if not work.redact:
        return session
    return replace(
        session,
        title=None if session.title is None else redactor.text(session.title, None),
        tags=redactor.texts(session.tags, None),
        cwd=redactor.text(session.cwd, None),
    )


def _document(
    work: Conversion, redactor: Redactor, entries: list[dict[str, Any]], losses: ConversionLosses
) -> tuple[bytes, Mapping[str, bytes]]:
    """Return the output in a format that is made from all entries at once, and the pictures that it links to.

    Formats for people are imported here: their libraries take 8 MB, which a child process takes along when it ends.
    """
    session = _described(work, redactor, entries)
    if work.ends_at_last:
        session = replace(session, leaf=fields.text(entries[-1].get("id")) if entries else None)
    match work.format:
        case "nova":
            state = redactor.value(work.state, None) if work.redact else work.state
            return to_nova(session, state, losses), {}
        case "markdown":
            from sessiond.export.transcript import Pictures, to_markdown

            pictures = Pictures(None if work.file is None else quote(work.file.pictures_folder.name))
            return to_markdown(session, losses, pictures), pictures.files
        case "html":
            from sessiond.export.html import to_html

            return to_html(session, losses), {}
    return WRITERS[work.format](session, losses), {}


def _text(output: Iterable[bytes]) -> bytes:
    """Return the output as a whole. Raises `TooLarge`."""
    parts: list[bytes] = []
    size = 0
    for part in output:
        size += len(part)
        if size > MAX_INLINE:
            parts.clear()
        else:
            parts.append(part)
    if size > MAX_INLINE:
        raise TooLarge("the exported text (give a path to write it to a file)", size, MAX_INLINE)
    return b"".join(parts)


def _decoded(line: bytes) -> dict[str, Any] | None:
    """Decode an entry and remove its command record, which concerns only this daemon and its client."""
    try:
        entry = lines.loads(line)
    except lines.NotAnEntry:
        return None
    entry.pop(COMMAND_FIELD, None)
    return entry
