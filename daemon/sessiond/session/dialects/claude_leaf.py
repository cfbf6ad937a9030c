"""Finds the leaf of a Claude Code session, by the rule of its SDK and the pointer that later versions write.

Each end of the chain is followed back to the last line with a message. Of these lines, the latest one of the main
conversation is the leaf. `last-prompt` names the leaf until a later message is written. An explicit pointer stays
valid until a message follows below it (decision 0023).
"""

from collections.abc import Iterator
from typing import Any

from sessiond.session.content import fields
from sessiond.session.dialects.claude_lines import ChainLine


def leaf(chain: list[ChainLine], values: list[dict[str, Any]], *, is_subagent: bool) -> str | None:
    """Return the uuid of the leaf.

    Args:
        chain: The chain lines, with the parts of each assistant message merged.
        values: All lines in file order.
        is_subagent: Whether the file is that of a subagent, so lines of a subagent count.
    """
    parents: dict[str, str | None] = {}
    speakers: dict[str, int] = {}
    for place, it in enumerate(chain):
        for part in it.parts or [it]:
            parents[part.uuid] = part.parent
            if it.is_visible and (is_subagent or not it.is_aside):
                speakers[part.uuid] = place
    newest = _newest(parents, speakers)
    pointer, explicit, later = _pointer(values, speakers)
    if pointer is None or pointer not in parents:
        return newest
    if not later:
        return pointer
    if not explicit:
        return newest
    below = _below(parents, pointer)
    return _newest(parents, {uuid: speakers[uuid] for uuid in later if uuid in below}) or pointer


def _newest(parents: dict[str, str | None], speakers: dict[str, int]) -> str | None:
    """Return the latest visible message in the file among those that the ends of the chain lead back to."""
    named = set(parents.values())
    found: str | None = None
    for end in parents:
        if end in named:
            continue
        speaker = next((it for it in _up(parents, end) if it in speakers), None)
        if speaker is not None and (found is None or speakers[speaker] >= speakers[found]):
            found = speaker
    if found is None and speakers:  # a cycle has no end
        found = max(speakers, key=lambda uuid: speakers[uuid])
    return found


def _up(parents: dict[str, str | None], uuid: str) -> Iterator[str]:
    """Yield a uuid and its ancestors."""
    seen: set[str] = set()
    at: str | None = uuid
    while at is not None and at in parents and at not in seen:
        seen.add(at)
        yield at
        at = parents[at]


def _below(parents: dict[str, str | None], top: str) -> set[str]:
    """Return a uuid and its descendants."""
    children: dict[str, list[str]] = {}
    for uuid, parent in parents.items():
        if parent is not None:
            children.setdefault(parent, []).append(uuid)
    found: set[str] = set()
    ready = [top]
    while ready:
        uuid = ready.pop()
        if uuid not in found:
            found.add(uuid)
            ready += children.get(uuid, ())
    return found


def _pointer(values: list[dict[str, Any]], speakers: dict[str, int]) -> tuple[str | None, bool, list[str]]:
    """Return the last pointer, whether it is explicit, and the uuids of the messages after it."""
    pointer: str | None = None
    explicit = False
    later: list[str] = []
    for value in values:
        if value.get("type") == "last-prompt" and "leafUuid" in value:
            named = fields.text(value["leafUuid"])
            if named is not None or value.get("explicit") is True:
                pointer, explicit, later = named, value.get("explicit") is True, []
        elif (uuid := fields.text(value.get("uuid"))) in speakers and uuid is not None:
            later.append(uuid)
    return pointer, explicit, later
