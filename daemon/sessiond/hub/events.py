"""What the hub tells beside the lines themselves: which sessions come and change, for whoever lists them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from sessiond.protocol import types as t

if TYPE_CHECKING:
    from sessiond.hub.live import LiveSession

Aspect: TypeAlias = Literal["title", "tags", "labels", "path", "cwd", "readOnly", "refuses"]
"""What of a session may change; the words of `session/changed`."""


class Listener(Protocol):
    """Who is told. The methods are called in the order of the log, and must neither block nor raise."""

    def created(self, live: "LiveSession", origin: t.Origin) -> None:
        """A session was made, or a draft became one."""

    def changed(self, live: "LiveSession", aspects: Sequence[Aspect], origin: t.Origin) -> None:
        """Something that lists show of a session has changed."""


class Follower(Protocol):
    """Who looks at a session when lines have come. Called for each batch, so it must cost next to nothing."""

    def grew(self, live: "LiveSession", first: int) -> None:
        """The rows from `first` on are committed and have been told of."""


class _Nobody:
    """Where no server listens, and nobody follows."""

    def grew(self, live: "LiveSession", first: int) -> None:
        """Nobody looks."""

    def created(self, live: "LiveSession", origin: t.Origin) -> None:
        """Nobody hears it."""

    def changed(self, live: "LiveSession", aspects: Sequence[Aspect], origin: t.Origin) -> None:
        """Nobody hears it."""


NOBODY: Final = _Nobody()
