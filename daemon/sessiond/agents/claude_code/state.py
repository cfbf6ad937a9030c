"""The state of a reader of Claude Code after the lines that it has taken: ids and digests, and no messages.

The state is plain data, so that it can be stored, and another reader can continue with it.
"""

from typing import Any, Literal

import msgspec

from sessiond.agents.claude_code.costs import TokenSums
from sessiond.agents.claude_code.leaf import LeafState
from sessiond.agents.claude_code.queue import PromptQueue
from sessiond.session.dialects.import_builder import BuilderState
from sessiond.session.dialects.source import HeldLine


class ChainLink(msgspec.Struct, array_like=True, gc=False):
    """A line of the chain.

    Attributes:
        entry: The entry that is the parent of its children; None if these are roots.
        parent: The uuid of the line above it.
        digest: The digest of its message, or of the line if it has none. A repetition is recognized by it.
        turn: The index of its assistant message among the turns; -1 if it belongs to none.
        is_result: Whether it has a result of a tool call of that message.
    """

    entry: str | None
    parent: str | None
    digest: str = ""
    turn: int = -1
    is_result: bool = False


class AnswerTurn(msgspec.Struct, array_like=True):
    """An assistant message and the chain of its tool results.

    Attributes:
        entry: The entry of the message.
        message_id: The id of the message.
        tail: The last entry of the chain.
        answered: The ids of the calls that have a result.
    """

    entry: str | None
    message_id: str | None
    tail: str | None
    answered: set[str]


class ClaudeState(msgspec.Struct):
    """The state of the reader.

    Attributes:
        builder: The state of its builder.
        session: The id that the lines name.
        cwd: The first folder that the lines name.
        project: The first one that the name of the project's folder stands for.
        version: The version of the program.
        forked_from: The session that it was forked from.
        line_count: The number of lines.
        links: The lines of the chain, by uuid.
        turns: The assistant messages.
        tools: The names of tools, by the id of the call.
        segments: The messages that each compaction preserves, as uuids.
        preserved: The index of the last segment that has a message, by uuid.
        boundary: The boundary of a compaction whose summary is not there yet.
        last: The last line of each chain, by the id of its subagent; "" is the main chain.
        last_entries: The entries of these lines.
        carried: The fields that every line has, as they were in the last line.
        prompter: "person" or "program": the source of the prompts; None as long as no line states it.
        title: The title.
        title_rank: The rank of the title's source.
        queue: The prompts that wait.
        prompts: The digests of the prompts that were sent.
        leaf: The lines that decide on the leaf.
        is_repeating: Whether the last line of the chain repeats an earlier one. So do the pointers after it.
        is_linked: Whether lines name their parents; None as long as no line shows it.
        has_main: Whether a line belongs to the main conversation.
        missing: The parents, and the leaves of titles, that were not in the file when the line that names them was
            taken.
        sums: The tokens of the requests that are in no message.
        held: The last lines, which wait for later ones.
        is_timed: Whether a line has a time.
        is_marked: Whether the line came that has the mark of a session that was written here.
        has_origin: Whether the entry with the origin of the session was returned.
        first_prompter: The source of the first prompts, as far as it was known when the origin was returned.
        names_requests: Whether the id of a request was made from that of the session.
    """

    builder: BuilderState | None = None
    session: str | None = None
    cwd: str | None = None
    project: str | None = None
    version: str | None = None
    forked_from: str | None = None
    line_count: int = 0
    links: dict[str, ChainLink] = {}
    turns: list[AnswerTurn] = []
    tools: dict[str, str] = {}
    segments: list[tuple[str, ...]] = []
    preserved: dict[str, int] = {}
    boundary: HeldLine | None = None
    last: dict[str, str] = {}
    last_entries: dict[str, str] = {}
    carried: dict[str, Any] = {}
    prompter: Literal["person", "program"] | None = None
    title: str | None = None
    title_rank: int = 0
    queue: PromptQueue = msgspec.field(default_factory=PromptQueue)
    prompts: set[str] = set()
    leaf: LeafState = msgspec.field(default_factory=LeafState)
    is_repeating: bool = False
    is_linked: bool | None = None
    has_main: bool = False
    missing: set[str] = set()
    sums: TokenSums = msgspec.field(default_factory=TokenSums)
    held: list[HeldLine] = []
    is_timed: bool = False
    is_marked: bool = False
    has_origin: bool = False
    first_prompter: Literal["person", "program"] | None = None
    names_requests: bool = False
