"""The observer interfaces of sessions, which the hub calls when sessions change.

They are generic in the type of the session, so that this module does not depend on it.
"""

from collections.abc import Sequence, Set
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from sessiond.protocol import types as t

Session = TypeVar("Session")
Observed = TypeVar("Observed", contravariant=True)

Aspect: TypeAlias = Literal[
    "isDraft", "title", "tags", "labels", "path", "cwd", "readOnly", "writeBlock", "origin"
]
"""The parts of a session that may change, as `session/changed` names them."""


class SessionObserver(Protocol[Observed]):
    """Observes sessions. The methods are called in log order and must neither block nor raise."""

    def changed(self, live: Observed, aspects: Sequence[Aspect], origin: t.Origin) -> None:
        """Fields that lists show have changed."""


class GrowthObserver(Protocol[Observed]):
    """Observes new rows. It is called for each batch, so it must be cheap."""

    def grew(self, live: Observed, first: int) -> None:
        """The rows from `first` on are committed and announced to subscribers."""


class ListObserver(GrowthObserver[Observed], Protocol[Observed]):
    """Observes all sessions, open or not."""

    def written(self, refs: Set[str]) -> None:
        """Another program wrote, moved or removed these logs, none of which is open here."""


class GrowthObservers(Generic[Session]):
    """Calls several observers one after the other."""

    def __init__(self, first: GrowthObserver[Session]) -> None:
        self._first = first
        self.list_observers: list[ListObserver[Session]] = []

    def grew(self, live: Session, first: int) -> None:
        """Notify all observers of new rows."""
        self._first.grew(live, first)
        for list_observer in self.list_observers:
            list_observer.grew(live, first)

    def written(self, refs: Set[str]) -> None:
        """Notify the list observers of changed logs."""
        for list_observer in self.list_observers:
            list_observer.written(refs)


class _NoObserver:
    """An observer that does nothing."""

    def grew(self, live: object, first: int) -> None:
        """Do nothing."""

    def changed(self, live: object, aspects: Sequence[Aspect], origin: t.Origin) -> None:
        """Do nothing."""


NO_OBSERVER: Final = _NoObserver()
