"""The closed list of reasons why an entry is in a context or not, with a sentence for each."""

from typing import Final, Literal, TypeAlias

Fate: TypeAlias = Literal["in", "changed", "out"]

REASONS: Final[dict[str, tuple[Fate, str]]] = {
    "said": ("in", "It is said as it is."),
    "compaction": ("in", "It is the compaction in force: its summary stands for what it compacted away."),
    "keptByCompaction": ("in", "The compaction in force keeps it."),
    "systemPrompt": ("in", "It is part of the system prompt."),
    "edited": ("changed", "A later context edit replaced its words."),
    "asText": ("changed", "It is no message of a provider, so its words are told as the user's."),
    "joined": (
        "changed",
        "It follows a message of the same role, and the provider wants the roles to alternate.",
    ),
    "callClosed": ("changed", "A call has no result; one that says so stands for it."),
    "callLeftOut": ("changed", "A call without a tool's name is left out."),
    "resultMoved": ("changed", "It is moved behind its call, as the provider wants it."),
    "resultWithoutCall": ("changed", "Its call is not in the context, so its words are told as the user's."),
    "thinkingLeftOut": ("changed", "Its thinking is left out: the provider would not take it back."),
    "imageLeftOut": (
        "changed",
        "An image is left out that the provider would not take here; a note says so.",
    ),
    "imageMoved": (
        "changed",
        "Its images stand in a message of the user: the provider takes none in a result.",
    ),
    "nameChanged": (
        "changed",
        "The id of a call, or the name of its tool, was none that the provider takes.",
    ),
    "trimmed": ("changed", "It is the last word, and the provider takes no white space at the end of that."),
    "settings": ("out", "It changes settings, which the context tells beside the messages."),
    "notForModel": ("out", "Entries of its type are not for a model."),
    "compactedAway": ("out", "The compaction in force stands for it."),
    "olderCompaction": ("out", "A later compaction is in force."),
    "reset": ("out", "The context was reset after it."),
    "editedOut": ("out", "A later context edit leaves it out."),
    "systemReplaced": ("out", "The compaction in force brings the system prompt of its time."),
    "emptySummary": ("out", "Its summary is empty."),
    "notAMessage": ("out", "It holds no message that can be read."),
    "unknownRole": ("out", "Its role is none that a provider knows."),
    "excluded": ("out", "Whoever ran the command has excluded it from the context."),
    "empty": ("out", "It says nothing."),
    "abortedTurn": ("out", "The turn was aborted or ended in an error."),
    "resultOfAbortedTurn": ("out", "Its call is in a turn that was aborted or ended in an error."),
    "duplicateResult": ("out", "Its call has a result already."),
}
"""Every reason and its fate. An additional reason is a change of the protocol."""
