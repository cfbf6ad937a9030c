"""The choice of sessions that a sync copies, and the direction."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from sessiond.sync.folders import FolderPair

Progress = Callable[[int, int], None]
"""Called with the number of sessions that are done, and of all that differ."""


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """The choice of sessions that a sync copies, and the direction.

    Attributes:
        push: Whether the other side receives what it lacks.
        pull: Whether this side does.
        drafts: Whether draft sessions are copied.
        project: Only sessions of this folder here and the folders below it, or of the same folder there.
        agent: Only sessions that were read from sessions of this agent.
        tags: Only sessions with all of these tags.
        session_ids: Only these sessions; None for all.
        pairs: Folders here, and the same folders there.
        undelete: Whether a session that the target has deleted is copied. Otherwise it is deleted at the source, too.
        is_dry_run: Whether nothing is written.
        name: The name of the other side, for the notes in the trash.
    """

    push: bool = True
    pull: bool = True
    drafts: bool = False
    project: str | None = None
    agent: str | None = None
    tags: Sequence[str] = ()
    session_ids: Collection[str] | None = None
    pairs: Sequence[FolderPair] = field(default_factory=tuple)
    undelete: bool = False
    is_dry_run: bool = False
    name: str = "another machine"

    @property
    def is_everything(self) -> bool:
        """Whether no session is left out by choice."""
        return self.session_ids is None and self.agent is None and self.project is None and not self.tags
