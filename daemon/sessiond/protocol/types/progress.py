"""Progress of long requests, as in LSP: `$/progress` with the token of the request."""

from typing import Annotated

from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import ProgressToken, Sent, Wire


class Progress(Sent, frozen=True):
    """One step: `begin` once, `report` any number of times, `end` once."""

    kind: Annotated[str, opened("ProgressKind")]
    title: str | None = None  # with `begin`
    message: str | None = None
    percentage: int | None = None
    cancellable: bool | None = None


class ProgressNote(Wire, frozen=True):
    """`$/progress`: the progress of the request that was sent with this `workDoneToken`."""

    token: ProgressToken
    value: Progress
