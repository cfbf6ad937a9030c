"""Progress of long requests, as in LSP: `$/progress` with the token of the request."""

from typing import Annotated

from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import ProgressToken, Sent, Wire


class Progress(Sent, frozen=True):
    """One step: `begin` once, `report` any number of times, `end` once."""

    kind: Annotated[str, opened("ProgressKind")]  # which step it is
    title: str | None = None  # with `begin`: what the request does
    message: str | None = None  # the present step of the work
    percentage: int | None = None  # the share that is done, 0 to 100
    cancellable: bool | None = None  # with `begin`: whether `$/cancelRequest` has an effect


class ProgressNote(Wire, frozen=True):
    """`$/progress`: the progress of the request that was sent with this `workDoneToken`."""

    token: ProgressToken  # the `workDoneToken` of the request
    value: Progress  # the step
