"""Splits a byte stream into message bodies and frames them: LSP `Content-Length` frames or JSON lines. Sans I/O.

Bodies are not decoded. After an invalid frame, the framer does not search for the next valid one (decision 0003).
"""

import re
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from sessiond.error_text import TemplatedError

Mode = Literal["contentLength", "jsonLines"]

MAX_FRAME: Final = 64 * 1024 * 1024
"""Default limit of one body, in bytes (decision 0003)."""

MAX_HEADER: Final = 8 * 1024
"""Limit of one header block including its empty line, in bytes (decision 0003)."""

HEAD: Final = 1024
"""Bytes at the start of a body that decide whether it may be skipped."""

Skips: TypeAlias = Callable[[bytes], bool]
"""Returns whether a body that is too large may be skipped, from its first `HEAD` bytes.

True only for messages that have no response.
"""

_MAX_DIGITS: Final = 9
"""Digits of a length that can be within a limit."""
_LONGEST_NUMBER: Final = 18
"""Digits that are parsed of a longer number, so that the reported value fits into 64 bits."""
_match_usual_header = re.compile(rb"Content-Length: ([0-9]{1,9})\r\n\r\n").match
_match_name = re.compile(rb"[a-z0-9-]+").fullmatch


class FramingError(TemplatedError):
    """Base class of the errors in a stream of frames. `detail` is a whole sentence or empty."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail=f" {detail}" if detail else "")
        self.detail = detail
        self.bodies: list[bytes] = []
        """The complete bodies of the same `feed` before the invalid frame."""


class BadHeader(FramingError):
    """Raised when the header of a frame is malformed or has no length."""

    sentence = (
        "A frame must start with header lines `Name: value`, one of them Content-Length, then an empty line."
        "{detail}"
    )


class BadLength(FramingError):
    """Raised when the length of a frame is not a number, or is given twice."""

    sentence = "Content-Length must be given once, as decimal digits.{detail}"


class HeaderTooLarge(FramingError):
    """Raised when a header is larger than the limit."""

    sentence = "The header of a frame is larger than this end accepts.{detail}"


class FrameTooLarge(FramingError):
    """Raised when a body is larger than the limit."""

    sentence = "The body of a frame is larger than this end accepts."
    advice = "Send less in one message.{detail}"

    def __init__(
        self, detail: str = "", *, limit: int = 0, actual: int | None = None, to_come: int = 0
    ) -> None:
        super().__init__(detail)
        self.limit = limit
        self.actual = actual
        """Bytes of the body according to its header. None for a JSON line, whose length is unknown."""
        self.to_come = to_come
        """Bytes of the body that have not arrived. 0 if unknown."""


class CutOff(FramingError):
    """Raised when the stream ends inside a frame."""

    sentence = "The stream ended inside a frame.{detail}"


class Framer:
    """Splits the bytes of one peer into bodies. The first byte selects the framing, unless `mode` is given.

    The work is linear in the number of bytes, however small the pieces are. At most one unfinished frame is in memory.
    A skipped body is not in memory.

    Args:
        max_frame: The limit of one body, in bytes.
        max_header: The limit of one header, in bytes.
        skips: Selects the bodies that may be skipped if they are too large. If None, no body is skipped.
        mode: The framing. If None, the first byte selects it, and `{` selects JSON lines.

    """

    def __init__(
        self,
        max_frame: int = MAX_FRAME,
        max_header: int = MAX_HEADER,
        *,
        skips: Skips | None = None,
        mode: Mode | None = None,
    ) -> None:
        self.mode = mode
        self.max_frame = max_frame
        self._max_header = max_header
        self._held = bytearray()
        """The unfinished header, the received part of a body after its header, or the unfinished line."""
        self._awaited = 0
        """Length of the body whose start is in `_held`. 0 while no header is complete."""
        self.skips = skips
        """Set it as soon as the peer is known to send such bodies.

        Without it, a body that is too large is refused when its header is read. With it, the body is refused or
        skipped when its first `HEAD` bytes have been read.
        """
        self._deciding = False
        """Whether `_held` is the header of a body that is too large and whose first `HEAD` bytes are incomplete."""
        self._skipping = 0
        """Bytes of a skipped body that have not arrived."""
        self._error: FramingError | None = None

    @property
    def unfinished(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._held) or self._awaited > 0 or self._skipping > 0

    @property
    def expects(self) -> int:
        """Bytes of the unfinished frame: the length of its body, or the received bytes of a header or a line."""
        return self._awaited or len(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the bodies that `data` completes, in order.

        Raises:
            FramingError: A frame is invalid. Its `bodies` are those completed before. All later calls raise it again.

        """
        if self._error is not None:
            self._error.bodies = []
            raise self._error
        if self.mode is None and data:
            self.mode = "jsonLines" if data.startswith(b"{") else "contentLength"
        bodies: list[bytes] = []
        try:
            if self.mode == "jsonLines":
                self._cut_lines(data, bodies)
            else:
                self._cut_frames(data, bodies)
        except FramingError as error:
            error.bodies = bodies
            self._error = error
            self._held.clear()
            self._awaited = self._skipping = 0
            raise
        return bodies

    def eof(self) -> list[bytes]:
        """Return the body that the end of the stream completes, if any: a JSON line without a newline.

        Raises:
            CutOff: The stream ends inside a frame.
            FrameTooLarge: The stream ends inside a body that is too large and was not skipped.

        """
        held = bytes(self._held)
        awaited, self._awaited = self._awaited, 0
        self._held.clear()
        if self.mode == "jsonLines":
            bodies: list[bytes] = []
            self._add_line(held, bodies)
            return bodies
        if self._deciding:
            raise FrameTooLarge(f"The limit is {self.max_frame}.", limit=self.max_frame)
        if self._skipping:
            raise CutOff(f"{self._skipping} bytes of a body that is too large did not come.")
        if awaited:
            raise CutOff(f"{len(held)} of {awaited} bytes of the body came.")
        if held:
            raise CutOff("Its header was not complete.")
        return []

    def _cut_frames(self, data: bytes, bodies: list[bytes]) -> None:
        if self._held and not self._awaited:
            self._held += data
            if b"\n" not in data and len(self._held) < self._max_header and not self._deciding:
                return
            data = bytes(self._held)
            self._held.clear()
            at = 0
        else:
            at = self._go_on(data, bodies)
        size, limit = len(data), self.max_frame
        while at < size:
            usual = _match_usual_header(data, at)
            if usual is not None:
                length = int(usual[1])
                start = usual.end()
            else:
                header = self._read_header(data, at)
                if header is None:
                    self._held += data[at:]
                    return
                length, start = header
            if length > limit and not self._may_leave_out(data, start, length):
                self._held += data[at:]
                return
            at = start + length
            if length > limit:
                self._skipping = max(at - size, 0)
            elif at <= size:
                bodies.append(data[start:at])
            else:
                self._awaited = length
                self._held += data[start:]

    def _go_on(self, data: bytes, bodies: list[bytes]) -> int:
        """Consume the rest of the body that has begun, and return where the next frame begins."""
        if self._skipping:
            at = min(self._skipping, len(data))
            self._skipping -= at
            return at
        if not self._awaited:
            return 0
        at = self._awaited - len(self._held)
        self._held += data[:at]
        if len(data) >= at:
            bodies.append(bytes(self._held))
            self._held.clear()
            self._awaited = 0
        return at

    def _may_leave_out(self, data: bytes, start: int, length: int) -> bool:
        """Return whether a body that is too large is skipped. False while its first `HEAD` bytes are incomplete."""
        head = data[start : start + HEAD]
        self._deciding = self.skips is not None and len(head) < min(HEAD, length)
        if self.skips is None or not (self._deciding or self.skips(head)):
            raise _announced_too_large(length, self.max_frame, length - (len(data) - start))
        return not self._deciding

    def _read_header(self, data: bytes, at: int) -> tuple[int, int] | None:
        """Return the length of the body and where it starts, or None while the header is unfinished."""
        limit = at + self._max_header
        length: int | None = None
        while (newline := data.find(b"\n", at, limit)) >= 0:
            line = data[at:newline].removesuffix(b"\r")
            at = newline + 1
            if not line:
                if length is None:
                    raise BadHeader("Content-Length is missing.")
                return length, at
            name, colon, value = line.partition(b":")
            name = name.strip().lower()
            if not colon or _match_name(name) is None:
                raise BadHeader(f"This is none: {line[:60]!r}.")
            if name == b"content-length":
                if length is not None:
                    raise BadLength("It was given twice.")
                length = self._read_length(value.strip())
        if len(data) >= limit:
            raise HeaderTooLarge(f"The limit is {self._max_header} bytes.")
        return None

    def _read_length(self, digits: bytes) -> int:
        if not digits.isdigit():
            raise BadLength(f"It is {digits[:60]!r}.")
        digits = digits.lstrip(b"0") or b"0"
        if len(digits) > _MAX_DIGITS:
            raise _announced_too_large(int(digits[:_LONGEST_NUMBER]), self.max_frame, 0)
        return int(digits)

    def _cut_lines(self, data: bytes, bodies: list[bytes]) -> None:
        *lines, rest = data.split(b"\n")
        if self._held and lines:
            self._held += lines[0]
            lines[0] = bytes(self._held)
            self._held.clear()
        for line in lines:
            self._add_line(line, bodies)
        self._held += rest
        self._check_line(len(self._held))

    def _add_line(self, line: bytes, bodies: list[bytes]) -> None:
        self._check_line(len(line))
        body = line.rstrip(b"\r")
        if body and not body.isspace():
            bodies.append(body)

    def _check_line(self, length: int) -> None:
        if length > self.max_frame:
            raise FrameTooLarge(
                f"The line has {length} bytes or more; the limit is {self.max_frame}.", limit=self.max_frame
            )


def encode_frame(body: bytes, mode: Mode) -> bytes:
    """Return the frame of one body, which must be valid JSON."""
    if mode == "contentLength":
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    # In JSON a newline occurs only between tokens (in a spliced, indented value), so a space is equivalent.
    return body.replace(b"\n", b" ") + b"\n"


def encode_frame_of_parts(parts: list[bytes], mode: Mode) -> list[bytes]:
    """Return the frame of a body that is given in parts, as `encode_frame` does. The parts are not joined."""
    if mode == "contentLength":
        return [b"Content-Length: %d\r\n\r\n" % sum(map(len, parts)), *parts]
    return [*(part.replace(b"\n", b" ") for part in parts), b"\n"]


def _announced_too_large(length: int, limit: int, to_come: int) -> FrameTooLarge:
    return FrameTooLarge(
        f"It announces {length} bytes; the limit is {limit}.",
        limit=limit,
        actual=length,
        to_come=max(to_come, 0),
    )
