"""Progress of long work, as LSP has it: `$/progress` with the token that the request brought."""

from typing import Literal

from sessiond.protocol.types.shared import ProgressToken, Wire


class Progress(Wire, frozen=True):
    """One step: `begin` once, `report` any number of times, `end` once."""

    kind: Literal["begin", "report", "end"]
    title: str | None = None  # with `begin`
    message: str | None = None
    percentage: int | None = None
    cancellable: bool | None = None


class ProgressNote(Wire, frozen=True):
    """`$/progress`: how far the work is that was asked for with `workDoneToken`."""

    token: ProgressToken
    value: Progress
