"""The option --map: folders here, and the same folders on another machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sessiond.cli.parse.arguments import UsageError
from sessiond.sync.folders import FolderPair, InvalidPairError, pair_of

if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import ParsedArguments


def folder_pairs(args: ParsedArguments) -> list[FolderPair]:
    """Return the pairs of all --map. Raises `UsageError`."""
    try:
        return [pair_of(_absolute(text)) for _, text in args.occurrences("map")]
    except InvalidPairError as error:
        raise UsageError(str(error), f"sessiond {args.command} --help") from None


def _absolute(pair: str) -> str:
    """Return a pair whose first folder may begin with `~`, which a shell does not replace in the middle of a word."""
    here, equals, there = pair.partition("=")
    return f"{Path(here).expanduser()}{equals}{there}" if here else pair
