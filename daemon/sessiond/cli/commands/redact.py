"""The command redact: a filter that replaces the secrets in the output of any command, as an export does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from sessiond import human
from sessiond.cli.parse.arguments import UsageError
from sessiond.client.blocking import connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from sessiond.cli.parse.arguments import ParsedArguments

    class _Readable(Protocol):
        def read1(self, size: int, /) -> bytes: ...


_PART = 400_000
"""Bytes of one request. The protocol allows a million characters."""
_BEGIN, _END = b"-----BEGIN ", b"-----END "


def redact(_args: ParsedArguments) -> int:
    """Send standard input to `text/redact` in parts, and print the results."""
    if sys.stdin.isatty():
        raise UsageError(
            "redact reads a text from standard input", "sessiond show ID --entry ENTRY | sessiond redact"
        )
    count, is_incomplete = 0, False
    with connect() as daemon:
        for part in _parts(cast("_Readable", sys.stdin.buffer)):
            result = daemon.call("text/redact", {"texts": [part.decode("utf-8", "replace")]})
            sys.stdout.write(result["texts"][0])
            sys.stdout.flush()
            count += result["redactedCount"]
            is_incomplete = result["redactionIncomplete"]
    if count:
        print(f"redacted: {human.count(count, 'secret')}", file=sys.stderr)
    if is_incomplete:
        print(
            "redaction found only common kinds of keys: install kingfisher-secret-scanner beside sessiond to find more",
            file=sys.stderr,
        )
    return 0


def _parts(stream: _Readable) -> Iterator[bytes]:
    """Yield a text in parts that end with a line, and not within a private key, where that is possible."""
    held = b""
    while data := stream.read1(_PART):  # the bytes that have arrived, because a filter prints immediately
        held += data
        end = held.rfind(b"\n") + 1
        key = held.rfind(_BEGIN, 0, end)
        if key >= 0 and held.find(_END, key, end) < 0 and len(held) < 2 * _PART:
            end = key
        if end == 0 and len(held) >= 2 * _PART:
            end = held.rfind(b" ") + 1 or len(held)
        if end:
            yield held[:end]
            held = held[end:]
    if held:
        yield held
