"""Text that a command reads from standard input where an argument is -."""

from __future__ import annotations

import sys

from sessiond.cli.parse.arguments import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import ParsedArguments


def whole() -> str:
    """Return all of standard input, which must be UTF-8."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 (byte {error.start})") from error


def text(args: ParsedArguments, option: str) -> str | None:
    """Return the value of an option, with - replaced by standard input; None when the option was not given."""
    value = args.value(option)
    return None if value is None else resolve(value)


def resolve(value: str) -> str:
    """Return a value; for -, the stripped text of standard input, which can be read once."""
    if value != "-":
        return value
    text = whole().strip()
    if not text:
        raise UsageError("standard input is empty", "Standard input can be read only once, for one -.")
    return text


def ids(args: ParsedArguments) -> list[str]:
    """Return the last words of a command; for a single -, the words of standard input."""
    return whole().split() if args.trailing == ["-"] else args.trailing
