"""From the lines of a session to the bytes of an export. Nothing but computing, and long; any process can do it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from sessiond.export.html import to_html
from sessiond.export.transcript import Pictures, to_markdown
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.redactor import Redactor
from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, Whole
from sessiond.session.dialects.to_nova import to_nova
from sessiond.session.dialects.writing import WRITERS
from sessiond.session.tree import lines
from sessiond.session.tree.entries import COMMAND_FIELD

BLOCK_BYTES: Final = 1 << 20
"""Bytes of lines that are handed over in one piece."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """What is to be converted.

    `blocks` are lines joined by newlines; `session` has everything else of the session, without entries. With
    `ends_at_last` the leaf is the last entry. `pictures` is the folder that links to pictures name, if they go out.
    `state` is the working state for NOVA, `keys` are the keys of providers that are taken out.
    """

    session: Whole
    blocks: list[bytes]
    ends_at_last: bool
    format: str
    redact: bool
    pictures: str | None
    state: dict[str, Any]
    keys: ProviderKeys


@dataclass(frozen=True, slots=True)
class Converted:
    """What came out: the bytes, and the account of it."""

    data: bytes
    entries: int
    lost: dict[str, int]
    carried: dict[str, int]
    redacted: dict[tuple[str | None, str], int]
    pictures: dict[str, bytes]
    lacks_keys: bool
    """Whether the rules for keys of providers could not be loaded."""


def blocks_of(found: Iterable[bytes]) -> list[bytes]:
    """Lines, which hold no newline, as blocks."""
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
    """Convert the lines of a session."""
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
    """An entry, without the command that wrote it: that concerns this daemon and its client alone."""
    try:
        entry = lines.loads(line)
    except lines.NotAnEntry:
        return None
    entry.pop(COMMAND_FIELD, None)
    return entry
