"""The observers of sessions: the interfaces that the hub calls when sessions come and change.

They are generic in the type of the session, so that this module does not depend on it.
"""

from collections.abc import Sequence, Set
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from sessiond.protocol import types as t

Session = TypeVar("Session")
Observed = TypeVar("Observed", contravariant=True)

Aspect: TypeAlias = Literal["title", "tags", "labels", "path", "cwd", "readOnly", "writeBlock"]
"""What of a session may change; the words of `session/changed`."""


class SessionObserver(Protocol[Observed]):
    """Who is told. The methods are called in the order of the log, and must neither block nor raise."""

    def created(self, live: Observed, origin: t.Origin) -> None:
        """A session was made, or a draft became one."""

    def changed(self, live: Observed, aspects: Sequence[Aspect], origin: t.Origin) -> None:
        """Something that lists show of a session has changed."""


class GrowthObserver(Protocol[Observed]):
    """Who looks at a session when lines have come. Called for each batch, so it must cost next to nothing."""

    def grew(self, live: Observed, first: int) -> None:
        """The rows from `first` on are committed and have been told of."""


class ListObserver(GrowthObserver[Observed], Protocol[Observed]):
    """Who shows sessions, open or not, and wants to know when others have changed them."""

    def written(self, refs: Set[str]) -> None:
        """Somebody has written to the logs at these places, moved or removed them; nobody has them open."""


class Followers(Generic[Session]):
    """All who look at sessions when lines have come, one after the other."""

    def __init__(self, first: GrowthObserver[Session]) -> None:
        self._first = first
        self.list_observers: list[ListObserver[Session]] = []

    def grew(self, live: Session, first: int) -> None:
        self._first.grew(live, first)
        for list_observer in self.list_observers:
            list_observer.grew(live, first)

    def written(self, refs: Set[str]) -> None:
        for list_observer in self.list_observers:
            list_observer.written(refs)


class _Nobody:
    """Where no server listens, and nobody follows."""

    def grew(self, live: object, first: int) -> None:
        """Nobody looks."""

    def created(self, live: object, origin: t.Origin) -> None:
        """Nobody hears it."""

    def changed(self, live: object, aspects: Sequence[Aspect], origin: t.Origin) -> None:
        """Nobody hears it."""


NOBODY: Final = _Nobody()
