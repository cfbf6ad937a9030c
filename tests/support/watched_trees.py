"""The tree of a session as a watching client keeps it, which applies the daemon's notifications."""

from dataclasses import dataclass, field
from typing import Any

from support.daemons import Peer

Row = dict[str, Any]


@dataclass
class WatchedTree:
    """The rows of one watch of a client."""

    peer: Peer
    params: dict[str, Any]
    watch_id: str = ""
    rows: list[Row] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    sent: int = 0
    """The number of rows that the daemon has sent."""

    async def watch(self) -> None:
        """Begin the watch."""
        self.watch_id = (await self.peer.call("session/watchTree", **self.params))["watchId"]

    def take(self) -> None:
        """Apply the notifications that have come since the last call."""
        notes = [item for item in self.peer.told("session/treeChanged") if item["watchId"] == self.watch_id]
        for note in notes[len(self.notes) :]:
            self.notes.append(note)
            self._apply(note)

    def _apply(self, note: dict[str, Any]) -> None:
        for change in note["changes"]:
            place = change["place"]
            assert place + change["removed"] <= len(self.rows)
            self.rows[place : place + change["removed"]] = change["nodes"]
            self.sent += len(change["nodes"])
        labels = {label["entryId"]: label["label"] for label in note["labels"]}
        end = -1 if note["pathEnd"] is None else note["pathEnd"] - note["precedingCount"]
        self.rows = [
            row
            | {"onPath": row["indent"] == 0 and place <= end, "label": labels.get(row["id"], row["label"])}
            for place, row in enumerate(self.rows)
        ]

    async def until(self, seq: int) -> None:
        """Wait until the rows correspond to the log up to a line."""

        def holds(_peer: Peer) -> bool:
            self.take()
            if not self.notes or self.notes[-1]["seq"] < seq or self.notes[-1]["more"]:
                return False
            return self.params.get("limit") is not None or len(self.rows) == self.notes[-1]["visibleCount"]

        await self.peer.until(holds)

    @property
    def ids(self) -> list[str]:
        """The ids of the rows."""
        return [row["id"] for row in self.rows]


async def watching(peer: Peer, session_id: str, **params: Any) -> WatchedTree:
    """The tree of a session that a client watches."""
    found = WatchedTree(peer, {"sessionId": session_id, "intervalMs": 20} | params)
    await found.watch()
    await found.until(0)
    return found
