"""The option --map: folders here, and the same folders on another machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessiond.cli.parse.arguments import UsageError
from sessiond.sync.folders import FolderPair, InvalidPairError, pair_of

if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import ParsedArguments


def folder_pairs(args: ParsedArguments) -> list[FolderPair]:
    """Return the pairs of all --map. Raises `UsageError`."""
    try:
        return [pair_of(text) for _, text in args.occurrences("map")]
    except InvalidPairError as error:
        raise UsageError(str(error), f"sessiond {args.command} --help") from None
