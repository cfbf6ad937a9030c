"""Text that a command reads from standard input where an argument is -."""

from __future__ import annotations

import sys

from sessiond.cli.parse.arguments import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import Given


def whole() -> str:
    """Return all of standard input, which must be UTF-8."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 (byte {error.start})") from error


def text(given: Given, option: str) -> str | None:
    """Return the value of an option, with - replaced by standard input; None when the option was not given."""
    value = given.text(option)
    return None if value is None else meant(value)


def meant(value: str) -> str:
    """Return a value; for -, the stripped text of standard input, which can be read once."""
    if value != "-":
        return value
    said = whole().strip()
    if not said:
        raise UsageError("there is nothing on standard input for the -", "It is read once, for one -.")
    return said


def ids(given: Given) -> list[str]:
    """Return the last words of a command; for a single -, the words of standard input."""
    return whole().split() if given.rest == ["-"] else given.rest
