"""Prints the files that an agent wrote beside its transcript: their names below a result, or the whole text of one."""

from __future__ import annotations

from sessiond import human
from sessiond.text import lines, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from sessiond.cli.render.style import Style
    from sessiond.client.blocking import BlockingDaemon

_TYPE = "sessiond.attachment"
_LONG_WORD = 1_000_000
"""Characters of a line that is printed in pieces."""


def is_attachment(entry: dict[str, Any]) -> bool:
    """Return whether an entry holds such a file."""
    return entry.get("customType") == _TYPE and isinstance(entry.get("data"), dict)


def print_names(session: str, entries: Sequence[dict[str, Any]], style: Style) -> None:
    """Print the names of the files beside an entry, each with the command that prints it."""
    for entry in filter(is_attachment, entries):
        print(f"  {_named(entry)}")
        print(style(f"    sessiond show {session} --entry {one_line(str(entry.get('id')))}", "dim"))
    print()


def print_attachment(daemon: BlockingDaemon, entry: dict[str, Any], style: Style) -> None:
    """Print a file: all of it if it is a text."""
    print(style(_named(entry), "bold"))
    reference = (entry.get("sessiondBlobs") or {}).get("/data/text", entry["data"].get("blob"))
    if "text" not in entry["data"]:
        print(f"  It is no text. The daemon has it as {one_line(str(reference))}.")
    elif reference is None:
        print(*lines(str(entry["data"]["text"])), sep="\n")
    else:
        print(*_text_of_blob(daemon, str(reference)), sep="\n")


def _named(entry: dict[str, Any]) -> str:
    data = entry["data"]
    what = "whole output" if data.get("kind") == "toolOutput" else "file beside the transcript"
    return f"{what}: {one_line(str(data.get('name')))}, {human.size(int(data.get('sizeBytes') or 0))}"


def _text_of_blob(daemon: BlockingDaemon, reference: str) -> Iterator[str]:
    from base64 import b64decode
    from codecs import getincrementaldecoder

    decoder, rest = getincrementaldecoder("utf-8")("replace"), ""
    offset: int | None = 0
    while offset is not None:
        part = daemon.call("blob/get", {"hash": reference, "offset": offset, "limit": _LONG_WORD})
        offset = part["nextOffset"]
        text = rest + decoder.decode(b64decode(part["data"]), final=offset is None)
        whole, newline, rest = text.rpartition("\n")
        if newline:
            yield from lines(whole)
        elif len(rest) > _LONG_WORD:
            yield from lines(rest)
            rest = ""
    yield from lines(rest) if rest else ()
