"""Converts the lines of a session to the bytes of an export.

The conversion is pure computation and can take long, so it can run in a child process.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from sessiond.export.html import to_html
from sessiond.export.transcript import Pictures, to_markdown
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.redactor import Redactor
from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.to_nova import to_nova
from sessiond.session.dialects.writing import WRITERS
from sessiond.session.tree import lines
from sessiond.session.tree.entries import COMMAND_FIELD

BLOCK_BYTES: Final = 1 << 20
"""Target size of a block of lines, in bytes."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The input of a conversion.

    Attributes:
        session: The session without its entries.
        blocks: The entries, as lines joined by newlines.
        ends_at_last: Whether the leaf is the last entry; otherwise it is `session.leaf`.
        format: The name of the export format.
        redact: Whether secrets are removed.
        pictures: The folder name for links to exported pictures. None: pictures are not exported.
        state: The working state, for NOVA.
        keys: Finds the keys of providers when `redact` is set.
    """

    session: ExportedSession
    blocks: list[bytes]
    ends_at_last: bool
    format: str
    redact: bool
    pictures: str | None
    state: dict[str, Any]
    keys: ProviderKeys


@dataclass(frozen=True, slots=True)
class Converted:
    """The output of a conversion: the exported bytes, and what was lost or redacted."""

    data: bytes
    entries: int
    lost: dict[str, int]
    carried: dict[str, int]
    redacted: dict[tuple[str | None, str], int]
    pictures: dict[str, bytes]
    lacks_keys: bool
    """Whether secrets were to be removed and the rules for provider keys could not be loaded."""


def blocks_of(found: Iterable[bytes]) -> list[bytes]:
    """Return lines, which contain no newline, as blocks of about `BLOCK_BYTES`."""
    blocks: list[bytes] = []
    block: list[bytes] = []
    size = 0
    for line in found:
        block.append(line)
        size += len(line)
        if size >= BLOCK_BYTES:
            blocks.append(b"\n".join(block))
            block, size = [], 0
    return [*blocks, b"\n".join(block)] if block else blocks


def convert(work: Conversion) -> Converted:
    """Convert a session to the requested format."""
    decoded = (_decoded(line) for block in work.blocks for line in block.split(b"\n"))
    entries = [entry for entry in decoded if entry is not None]
    redactor = Redactor(work.keys)
    session, state = replace(work.session, entries=entries), work.state
    if work.redact:
        entries = [redactor.entry(entry) for entry in entries]
        session = replace(
            session,
            entries=entries,
            title=None if session.title is None else redactor.text(session.title, None),
            tags=redactor.texts(session.tags, None),
            cwd=redactor.text(session.cwd, None),
        )
        state = redactor.value(state, None)
    if work.ends_at_last:
        session = replace(session, leaf=fields.text(entries[-1].get("id")) if entries else None)
    losses, pictures = ConversionLosses(), Pictures(work.pictures)
    match work.format:
        case "nova":
            data = to_nova(session, state, losses)
        case "markdown":
            data = to_markdown(session, losses, pictures)
        case "html":
            data = to_html(session, losses)
        case _:
            data = WRITERS[work.format](session, losses)
    return Converted(
        data=data, entries=len(entries), lost=dict(losses.lost), carried=dict(losses.carried),
        redacted=dict(redactor.found), pictures=pictures.files, lacks_keys=work.redact and not work.keys.load(),
    )  # fmt: skip


def _decoded(line: bytes) -> dict[str, Any] | None:
    """Decode an entry and remove its command record, which concerns only this daemon and its client."""
    try:
        entry = lines.loads(line)
    except lines.NotAnEntry:
        return None
    entry.pop(COMMAND_FIELD, None)
    return entry
