"""The properties of a session that entries set: labels, title, tags, settings, origin, attachments.

The last entry that sets a property wins, except that the first entry that names an origin counts. A later one changes
only the path of the agent's file.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from sessiond.session.tree import entries
from sessiond.session.tree.codes import KIND
from sessiond.session.tree.origin import FileState, LogOrigin, at_path_in, origin_of, taken_over

PROPERTY_KINDS: Final = frozenset(KIND[name] for name in ("label", "session_info", "title_change", "custom"))
"""The kinds of entries that may set a property."""

_CUSTOM_TYPES: Final = frozenset(
    (
        entries.TAGS_TYPE,
        entries.STATE_TYPE,
        entries.SETTINGS_TYPE,
        entries.ORIGIN_TYPE,
        entries.ORIGIN_STATE_TYPE,
        entries.TAKEN_OVER_TYPE,
        entries.ATTACHMENT_TYPE,
    )
)


@dataclass(frozen=True, slots=True)
class Label:
    """The text of a label, and the row of the line that set it."""

    text: str
    row: int


def normalized_tags(words: Iterable[str]) -> list[str]:
    """Return tags in their stored form: without surrounding white space, duplicates and empty tags."""
    return list(dict.fromkeys(word.strip() for word in words if word.strip()))


def sets_no_property(payload: entries.AnyPayload) -> bool:
    """Return whether a payload is of a kind that may set a property, but sets none."""
    return isinstance(payload, entries.CustomEntry) and payload.custom_type not in _CUSTOM_TYPES


@dataclass(slots=True)
class SessionProperties:
    """The current properties of a session.

    Attributes:
        labels: Labels by the id of the labeled entry.
        title: The title, or None.
        tags: The tags.
        auto_compact: The session's own compaction settings, not validated; None for none.
        state_rows: The rows from which the working state is computed.
        origin: The session of an agent from which this one was read; None if it began here.
        origin_state: The state of the file of the origin.
        ended_row: The last row that says that no process of the agent has the session; None if none does.
        attachments: The rows of the attachments of each entry, by its id; those of the session itself by "".

    """

    labels: dict[str, Label] = field(default_factory=dict)
    title: str | None = None
    tags: tuple[str, ...] = ()
    auto_compact: dict[str, Any] | None = None
    state_rows: set[int] = field(default_factory=set)
    origin: LogOrigin | None = None
    origin_state: FileState = "present"
    ended_row: int | None = None
    attachments: dict[str, list[int]] = field(default_factory=dict)

    def apply(self, row: int, line: bytes) -> None:
        """Apply the entry of a row. An entry that cannot be read sets nothing."""
        match entries.payload_of(line):
            case entries.LabelEntry(target_id=target, label=text):
                self._set_label(target, text, row)
            case entries.SessionInfoEntry(name=name) | entries.TitleChangeEntry(title=name):
                self.title = (name or "").strip() or None
            case entries.CustomEntry(custom_type=entries.TAGS_TYPE, data={"tags": list(tags)}):
                self.tags = tuple(tag for tag in tags if isinstance(tag, str))
                self.state_rows.add(row)
            case entries.CustomEntry(custom_type=entries.STATE_TYPE):
                self.state_rows.add(row)
            case entries.CustomEntry(custom_type=entries.SETTINGS_TYPE, data={"autoCompact": chosen}):
                self.auto_compact = chosen if isinstance(chosen, dict) else None
            case entries.CustomEntry(custom_type=entries.ORIGIN_TYPE, data=data):
                self.origin = self.origin or origin_of(data)
            case entries.CustomEntry(
                custom_type=entries.ORIGIN_STATE_TYPE,
                data={"state": "present" | "archived" | "gone" as state} as data,
            ):
                self.origin_state = state
                self.origin = at_path_in(self.origin, data)
                self.ended_row = row if data.get("ended") is True else self.ended_row
            case entries.CustomEntry(
                custom_type=entries.TAKEN_OVER_TYPE, data={"by": "person" | "program" as taker}
            ):
                self.origin = taken_over(self.origin, taker)
            case entries.CustomEntry(custom_type=entries.ATTACHMENT_TYPE, data={"kind": str()} as data):
                self.attachments.setdefault(str(data.get("targetId", "")), []).append(row)

    def _set_label(self, target: str, text: str | None, row: int) -> None:
        if text:
            self.labels[target] = Label(text, row)
        else:
            self.labels.pop(target, None)
