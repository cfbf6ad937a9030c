"""A block of lines in the startup file of a shell, between two marker lines."""

from __future__ import annotations

from typing import Final

from sessiond.error_text import TemplatedError

BEGIN: Final = "# >>> sessiond setup >>>"
END: Final = "# <<< sessiond setup <<<"


class UnfinishedBlockError(TemplatedError):
    """Raised when a startup file has one of the two marker lines of sessiond's block and not the other."""

    sentence = "line {line}: the block of sessiond has no matching marker line"

    def __init__(self, line: int) -> None:
        super().__init__(line=line)


def with_block(text: str, block: str) -> str:
    """Return the file with a block at its end, in place of an existing block.

    Args:
        text: The file.
        block: The lines of the block, with a newline at their end, without the markers.

    Raises:
        UnfinishedBlockError: The file has only one marker line.
    """
    whole = f"{BEGIN}\n{block}{END}\n"
    if (found := _find(text)) is not None:
        return text[: found[0]] + whole + text[found[1] :]
    return text + ("\n" if text and not text.endswith("\n") else "") + whole


def without_block(text: str, original: str) -> str:
    """Return the file without the block.

    Args:
        text: The present file.
        original: The file before the block was added. If it had no newline at its end, and the block is still at the
            end, the newline before the block goes as well.

    Raises:
        UnfinishedBlockError: The file has only one marker line.
    """
    if (found := _find(text)) is None:
        return text
    before, after = text[: found[0]], text[found[1] :]
    if not after and original and not original.endswith("\n"):
        before = before.removesuffix("\n")
    return before + after


def has_block(text: str) -> bool:
    """Return whether the block is in the file, with any content. Raises `UnfinishedBlockError`."""
    return _find(text) is not None


def _find(text: str) -> tuple[int, int] | None:
    """Return where the block begins and ends; None without one."""
    begin = end = None
    at = 0
    for number, line in enumerate(text.split("\n"), 1):
        content = line.rstrip("\r")
        if content == BEGIN:
            if begin is not None:
                raise UnfinishedBlockError(number)
            begin = at
        elif content == END:
            if begin is None:
                raise UnfinishedBlockError(number)
            end = min(at + len(line) + 1, len(text))
            return begin, end
        at += len(line) + 1
    if begin is not None:
        raise UnfinishedBlockError(text.count("\n", 0, begin) + 1)
    return None
