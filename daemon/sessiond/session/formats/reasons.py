"""The closed list of reasons why an entry is in a context or not, with a sentence for each."""

from typing import Final, Literal, TypeAlias

Fate: TypeAlias = Literal["in", "changed", "out"]

REASONS: Final[dict[str, tuple[Fate, str]]] = {
    "asStored": ("in", "The context has the entry as it is stored."),
    "compaction": ("in", "The entry is the compaction in force. Its summary replaces the compacted entries."),
    "keptByCompaction": ("in", "The compaction in force keeps the entry."),
    "systemPrompt": ("in", "The entry is part of the system prompt."),
    "edited": ("changed", "A later context edit replaced the text of the entry."),
    "asText": ("changed", "Providers have no such message, so the text is in a message of the user."),
    "joined": (
        "changed",
        "The message is joined to the one before it, which has the same role, as the provider requires.",
    ),
    "callClosed": ("changed", "A tool call has no result. A result that says so is added."),
    "callLeftOut": ("changed", "A tool call without the name of a tool is omitted."),
    "resultMoved": ("changed", "The result is moved behind its tool call, where the provider requires it."),
    "resultWithoutCall": (
        "changed",
        "The tool call of the result is not in the context, so the text is in a message of the user.",
    ),
    "thinkingLeftOut": ("changed", "The thinking is omitted, because the provider does not accept it back."),
    "imageLeftOut": (
        "changed",
        "An image is replaced by a note, because the provider does not accept it at this place.",
    ),
    "imageMoved": (
        "changed",
        "The images are in a message of the user, because the provider accepts none in a tool result.",
    ),
    "nameChanged": (
        "changed",
        "The id of a tool call, or the name of its tool, is replaced, because the provider does not accept it.",
    ),
    "trimmed": (
        "changed",
        "White space at the end is removed, because the provider does not accept it at the end of the last message.",
    ),
    "settings": ("out", "The entry changes settings. The context has them beside the messages."),
    "notForModel": ("out", "Entries of this type are not for a model."),
    "compactedAway": ("out", "The summary of the compaction in force replaces the entry."),
    "olderCompaction": ("out", "A later compaction is in force."),
    "reset": ("out", "The context was reset after the entry."),
    "editedOut": ("out", "A later context edit removes the entry from the context."),
    "systemReplaced": ("out", "The compaction in force has a system prompt of its own."),
    "emptySummary": ("out", "The summary of the entry is empty."),
    "notAMessage": ("out", "The entry has no message that can be read."),
    "unknownRole": ("out", "No provider has the role of the message."),
    "excluded": ("out", "The user ran the command with the option that excludes it from the context."),
    "empty": ("out", "The message has no content."),
    "abortedTurn": ("out", "The turn of the message was aborted or ended in an error."),
    "resultOfAbortedTurn": ("out", "The turn of the result's tool call was aborted or ended in an error."),
    "duplicateResult": ("out", "The tool call of the result has another result."),
}
"""Every reason and its fate. An additional reason is a change of the protocol."""
