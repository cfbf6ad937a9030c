"""The order of the messages of an OpenCode session: by their times and parents, never by their ids.

Ids of prompts come from the clock of the client, ids of answers from that of the server, and either may be wrong. An
answer names its prompt. So a prompt is directly before the first of its answers, and everything else has the place
of its time. A prompt that nothing answers is where it was written, if the answers are in the order in which they were.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sessiond.session.content import fields


class MessagePlace(NamedTuple):
    """Facts about a message that determine its place.

    Attributes:
        id: Its id; None if it has none.
        parent: The id of the message that it answers; None if it answers none.
        created: When it was created; None if that is not known, and it follows the message before it.
    """

    id: str | None
    parent: str | None
    created: float | None


def in_order(messages: Sequence[MessagePlace]) -> list[int]:
    """Return the indexes of messages in the order of the conversation. Messages of one time keep their order."""
    here: dict[str | None, int] = {}
    times: list[float] = []
    for index, message in enumerate(messages):
        here.setdefault(message.id, index)
        times.append(message.created if message.created is not None else times[-1] if times else 0.0)
    above = [None if message.parent is None else here.get(message.parent) for message in messages]
    answered = set(above)
    answers = [index for index, message in enumerate(messages) if message.parent is not None]
    if [times[answer] for answer in answers] == sorted(times[answer] for answer in answers):
        last: float | None = None
        for index, message in enumerate(messages):
            if message.parent is not None:
                last = times[index]
            elif last is not None and index not in answered:
                times[index] = last
    by_time = sorted(range(len(messages)), key=times.__getitem__)
    ordered: dict[int, None] = {}
    for start in by_time:
        if start in answered:
            continue  # it waits for its first answer
        chain: dict[int, None] = {start: None}
        higher = above[start]
        while higher is not None and higher not in ordered and higher not in chain:
            chain[higher] = None
            higher = above[higher]
        ordered.update(dict.fromkeys(reversed(chain)))
    ordered.update(dict.fromkeys(by_time))  # messages that answer each other
    return list(ordered)


def place_of(info: dict[str, Any]) -> MessagePlace:
    """Return the facts that determine the place of a message, from its `info`."""
    created = fields.mapping(info.get("time")).get("created")
    is_time = isinstance(created, int | float) and not isinstance(created, bool)
    return MessagePlace(
        fields.text(info.get("id")), fields.text(info.get("parentID")), created if is_time else None
    )


def is_complete(info: dict[str, Any]) -> bool:
    """Return whether OpenCode no longer changes an answer."""
    return fields.mapping(info.get("time")).get("completed") is not None or info.get("error") is not None


def settled_count(infos: Sequence[dict[str, Any]]) -> int:
    """Return the number of messages, in their order, without those at the end that may still change.

    These are answers that are not complete, and prompts that wait for an answer.
    """
    answered = {fields.text(info.get("parentID")) for info in infos}
    end, after = len(infos), dict[str, Any]()
    while end:
        last = infos[end - 1]
        if last.get("role") != "user":
            may_change = not is_complete(last)
        else:  # an answer that does not name its prompt follows it
            is_before_answer = after.get("role") == "assistant" and fields.text(after.get("parentID")) is None
            may_change = not is_before_answer and fields.text(last.get("id")) not in answered
        if not may_change:
            break
        end, after = end - 1, last
    return end
