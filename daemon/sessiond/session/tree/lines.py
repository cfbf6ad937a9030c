"""Decodes and encodes single lines: a fast partial decoder, a lenient decoder, and encoders.

No content raises an unexpected error: a line is an entry, or `NotAnEntry` is raised with the reason.
"""

import json  # noqa: TID251 - the second attempt for lines that msgspec rejects (lone surrogates)
import sys
from typing import Any, Final, Literal, TypeAlias

import msgspec

from sessiond.error_text import TemplatedError
from sessiond.unicode import valid_unicode

BOM: Final = b"\xef\xbb\xbf"
_LONG_INTEGER: Final = 4000
"""Digits from which an integer is read as a float; Python refuses to read much longer ones."""


BadLine: TypeAlias = Literal["damagedLine", "nulBytes", "notAnEntry"]
"""The kinds of problem (`problems`) that mean that a line has no entry."""


class MessageSkim(msgspec.Struct, gc=False):
    """The role of a message."""

    role: str | None = None


class Skim(msgspec.Struct, rename="camel", gc=False):
    """The members of a line that the tree needs. Their types are not checked."""

    type: Any = None
    id: Any = None
    parent_id: Any = None
    message: MessageSkim | None = None


_decoder = msgspec.json.Decoder(Skim)
_any_decoder = msgspec.json.Decoder()


class NotAnEntry(TemplatedError):
    """Raised for a line that has no entry; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, kind: BadLine, reason: str) -> None:
        super().__init__(reason=reason)
        self.kind: BadLine = kind
        self.reason = reason


def skim(line: bytes) -> Skim:
    """Return the skim of a line. The lenient decoder is used if msgspec rejects the line.

    Raises:
        NotAnEntry: The line has no entry.

    """
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _skim_of(loads(line))


def loads(line: bytes) -> dict[str, Any]:
    """Decode a line as leniently as the JavaScript peers do.

    Invalid UTF-8 becomes U+FFFD. Lone surrogates are preserved.

    Raises:
        NotAnEntry: The line is empty, is not JSON, is nested too deeply, or is not an object.

    """
    try:
        value = _any_decoder.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        value = _lenient_value(line)
    if not isinstance(value, dict):
        raise NotAnEntry("notAnEntry", "the line is JSON, but not an object")
    return value


def _lenient_value(line: bytes) -> Any:
    """Decode JSON that msgspec rejects. Where msgspec decodes a line, the result is the same."""
    if not line.strip():
        raise NotAnEntry("damagedLine", "the line is empty")
    try:
        # A file with a hole has lines of gigabytes that begin with NUL: they are recognized without decoding.
        if line.startswith(b"\0"):
            raise ValueError
        return _lenient.decode(line.decode("utf-8", "replace"))
    except RecursionError:
        raise NotAnEntry("damagedLine", "the line is nested too deeply") from None
    except ValueError as error:
        if b"\0" in line:
            raise NotAnEntry(
                "nulBytes", "the line contains NUL bytes, probably from a power failure"
            ) from None
        raise NotAnEntry("damagedLine", f"the line is not JSON: {error}") from None


def is_utf8(data: bytes) -> bool:
    """Return whether all bytes are valid UTF-8. msgspec does not check the values that it skips."""
    return not invalid_utf8(data)


def invalid_utf8(data: bytes, offset: int = 0) -> str | None:
    """Return a description of the first invalid UTF-8 bytes, or None.

    Args:
        data: One or more lines.
        offset: Where they begin in the file, in bytes.

    """
    if data.isascii():
        return None
    try:
        data.decode()
    except UnicodeDecodeError as error:
        bad = data[error.start : error.end].hex(" ")
        return f"the bytes {bad} at byte {offset + error.start} of the file are not UTF-8 ({error.reason})"
    return None


def presentable(line: bytes) -> bytes:
    """Return a stored line in the form for clients: without its newline, and as valid UTF-8."""
    line = line.rstrip(b"\r\n")
    if line.isascii():
        return line
    try:
        line.decode()
    except UnicodeDecodeError:
        return line.decode("utf-8", "replace").encode()
    return line


def well_formed(line: bytes) -> bytes:
    """Return the line of an object with U+FFFD in place of lone surrogates, which msgspec rejects.

    Raises:
        NotAnEntry: The line has no entry.

    """
    text: str = valid_text(json.dumps(loads(line), ensure_ascii=False, separators=(",", ":")))
    return text.encode()


def dumps(value: object) -> bytes:
    """Return compact JSON on one line. Lone surrogates are written as escapes, as the peers write them."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def valid_text(value: Any) -> Any:
    """Return text as `valid_unicode` returns it, and any other value unchanged."""
    return valid_unicode(value) if isinstance(value, str) else value


def _skim_of(value: dict[str, Any]) -> Skim:
    message = value.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    if any(valid_text(value.get(name)) != value.get(name) for name in ("id", "parentId")):
        raise NotAnEntry("notAnEntry", "an id contains a lone surrogate, so no client can refer to the entry")
    return Skim(
        valid_text(value.get("type")), value.get("id"), value.get("parentId"),
        MessageSkim(role if isinstance(role, str) else None),
    )  # fmt: skip


def _number(text: str) -> float:
    """Return a float. A number out of range becomes the largest float, because JSON cannot represent infinity."""
    return max(-sys.float_info.max, min(sys.float_info.max, float(text)))


def _integer(text: str) -> int | float:
    return int(text) if len(text) < _LONG_INTEGER else _number(text)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_lenient: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_number, parse_int=_integer)
