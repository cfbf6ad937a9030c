"""Reads Claude Code: a chain of lines with `uuid` and `parentUuid`, and other lines about the session.

A compaction becomes a child of the message before it (`logicalParentUuid`), so no entry is orphaned. The messages
after the summary are below the compaction. The results of one message's tool calls form one chain regardless of their
parents, because a model must see all of them. Attachments with a text become entries (decision 0041). Lines without a
counterpart are stored unchanged (decision 0023).
"""

import re
from collections import ChainMap
from collections.abc import Container, Iterable
from typing import Any, Final

import msgspec

from sessiond.agents.claude_code import attachments as claude_attachments, messages as claude_messages
from sessiond.agents.claude_code.lines import (
    ChainLine,
    Preserved,
    chain_line,
    in_order,
    in_place,
    merged,
    preserved,
    prompter,
    tokens_before,
    unfinished,
)
from sessiond.agents.claude_code.queue import WaitingPrompt
from sessiond.agents.claude_code.state import AnswerTurn, ChainLink, ClaudeState
from sessiond.agents.formats import Dialect
from sessiond.agents.qwen import reader as qwen
from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.source import HeldLine, Source, SourceLine
from sessiond.session.state.token_counts import MAX_COST
from sessiond.session.tree import entries

NAME: Final = "claude-code"

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NOT_IN_PROJECT: Final = re.compile(r"[^A-Za-z0-9]")
"""Characters that the name of the folder of a project has dashes for."""
_MAX_PROJECT: Final = 200
"""Characters of that name that come from the path of the project."""
_TYPES: Final = frozenset((
    "user", "assistant", "system", "attachment", "progress", "summary", "custom-title", "ai-title", "tag",
    "last-prompt", "agent-name", "agent-setting", "mode", "permission-mode", "queue-operation",
    "file-history-snapshot", "attribution-snapshot", "content-replacement", "worktree-state", "pr-link",
))  # fmt: skip
_CARRIED: Final = ("cwd", "version", "gitBranch", "userType", "entrypoint", "slug", "sessionId", "agentId")
"""Fields that every line has. An entry has such a field only if its value differs from the previous line."""
_TITLES: Final = (
    ("summary", "summary"), ("ai-title", "aiTitle"), ("agent-name", "agentName"), ("custom-title", "customTitle"),
)  # fmt: skip
"""Types of lines with a title and their fields, the best title last."""
_OTHERS: Final = frozenset((*(title[0] for title in _TITLES), "queue-operation", "tag", "last-prompt"))
"""Types of lines with information beside the conversation, with an id or without."""
_ROOTS: Final = frozenset(("user", "assistant", "system", "attachment", "progress"))
"""Types of lines that begin a conversation if they name no parent."""
_MAIN: Final = ""
_SUBAGENT: Final = "agent-"
"""The beginning of the name of a file of a subagent."""
_PLACED: Final = frozenset(
    ("type", "uuid", "parentUuid", "timestamp", "message", "logicalParentUuid", copy_mark.MARK, *_CARRIED)
)
"""Fields that have a separate place in an entry, or that are carried from line to line."""


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of Claude Code, and not of Qwen Code, whose lines have the same ids."""
    return not qwen.detect(first) and any(
        fields.text(value.get("type")) in _TYPES
        and any(name in value for name in ("sessionId", "uuid", "leafUuid", "messageId"))
        and "payload" not in value
        for value in first
    )


def read(source: Source) -> Imported:
    """Read the session in a file of Claude Code."""
    reader = ClaudeReader(source)
    reader.take(source.lines())
    if not source.growing:
        reader.end()
    return reader.result()


class ClaudeReader:
    """Takes the lines of a file, a part at a time. Lines that are not final yet wait for later ones.

    Args:
        source: The file. Its lines are given to `take`.
        state: The state of a reader that has taken the lines before; None if there are none.
    """

    def __init__(self, source: Source, state: bytes | None = None) -> None:
        self._source = source
        self._builder = ImportBuilder(NAME, source)
        self._state = ClaudeState() if state is None else msgspec.msgpack.decode(state, type=ClaudeState)
        self._held = [line.line for line in self._state.held]
        self._known: Container[str] = ()  # the uuids of all lines
        self._moved: dict[str, Preserved] = {}
        self.is_behind = False
        """Whether a line shows that an earlier one has another place, time or name. Then the file is read whole."""
        if self._state.builder is not None:
            self._builder.restore(self._state.builder)
            self._state.builder = None
            self._identify((), ())
            self.is_behind = False  # the builder had no name before

    @property
    def builder(self) -> ImportBuilder:
        """The builder of its entries."""
        return self._builder

    def state(self) -> bytes:
        """Return the state after the last line, with which another reader can continue."""
        state = self._state
        state.builder = self._builder.state()
        state.held = [HeldLine.of(line) for line in self._held]
        return msgspec.msgpack.encode(state)

    def take(self, lines: Iterable[SourceLine]) -> None:
        """Take the next lines."""
        self._take([*self._held, *lines], is_end=False)

    def end(self) -> None:
        """Take also the lines that wait for later ones, because no later lines follow."""
        self._take(self._held, is_end=True)
        self._flush_boundary()
        at_line = SourceLine(self._state.line_count, b"", None)
        if self._state.line_count:
            self._take_unsent(at_line, self._state.queue.waiting)

    def result(self) -> Imported:
        """Return the session with the entries of the lines that were taken since the last call."""
        state, builder = self._state, self._builder
        state.has_origin = True
        builder.leaf = self._leaf()
        builder.report.held_back_count = len(state.queue.waiting) + sum(
            chain_line(line) is not None for line in self._held
        )
        return builder.finish()

    def _take(self, found: list[SourceLine], *, is_end: bool) -> None:
        state, builder = self._state, self._builder
        chain = [chain_line(line) or line for line in found]
        links = [line for line in chain if isinstance(line, ChainLine)]
        if not is_end:
            self._identify(found, links)
        if not state.is_timed:
            self._begin(found)
        whole = merged(chain)
        self._known = ChainMap[str, Any]({link.uuid: link for link in links}, state.links)
        held_from = None
        if not is_end:
            held_from = len(whole) if builder.timestamp is None else self._held_from(whole)
        self._held = [] if held_from is None else _lines(whole[held_from:])
        whole, self._moved = in_place(whole[:held_from], state.links)
        for step in in_order(whole, state.links, self._moved):
            if isinstance(step, ChainLine):
                self._take_link(step)
            elif step.value is None:
                builder.preserve_unreadable(step)
            else:
                self._take_other(step, step.value)
        state.line_count = max([state.line_count, *(line.number for line in found[-1:])])
        self._known, self._moved = (), {}  # they have all lines of this part

    def _begin(self, found: Iterable[SourceLine]) -> None:
        """Begin with the first time in the lines, which lines before it have, too."""
        times = (line.value.get("timestamp") for line in found if line.value is not None)
        at = next((time for value in times if (time := fields.time(value)) is not None), None)
        if at is not None:
            self.is_behind = self.is_behind or self._state.line_count > 0
            self._state.is_timed = True
            if self._builder.timestamp is None:
                self._builder.begin([at])

    def _held_from(self, whole: list[ChainLine | SourceLine]) -> int | None:
        """Return the index from which lines wait for later ones; None if none does."""
        first = unfinished(whole, self._known)
        if self._state.is_linked is None:
            undecided = self._decide_linked(whole)
            if undecided is not None:
                first = undecided if first is None else min(first, undecided)
        return first

    def _decide_linked(self, whole: list[ChainLine | SourceLine]) -> int | None:
        """Determine whether lines name their parents. Returns the index of the first line for which that is unknown.

        If an answer names no existing parent, the lines do not name their parents.
        """
        seen: set[str] = set(self._state.links)
        second = None
        for place, line in enumerate(whole):
            if not isinstance(line, ChainLine):
                continue
            if line.parent in seen:
                self._state.is_linked = True
                return None
            if seen and line.type == "assistant" and not line.is_aside:
                self._state.is_linked = False
                return None
            if seen and second is None and line.parent is None:
                second = place
            seen.update(part.uuid for part in line.parts or [line])
        return second

    def _identify(self, found: Iterable[SourceLine], links: Iterable[ChainLine]) -> None:
        """Set the source id, the parent, the folder and the origin."""
        builder, state = self._builder, self._state
        values = [line.value for line in found if line.value is not None]
        self._note_facts(values, links)
        self._name_source()
        builder.cwd, builder.source_version = state.project or state.cwd or "", state.version
        builder.origin |= self._source.beside
        if values and not state.is_marked:
            state.is_marked = True
            builder.take_mark(values[0].get(copy_mark.MARK))
        if state.first_prompter is None and not state.has_origin:
            state.first_prompter = next(filter(None, (prompter(link.value) for link in links)), None)
            if state.first_prompter == "program":
                builder.origin["automated"] = True
        for name, value in (("cwd", state.cwd), ("userType", "external"), ("sessionId", state.session)):
            if value is not None:
                state.carried.setdefault(name, value)

    def _note_facts(self, values: list[dict[str, Any]], links: Iterable[ChainLine]) -> None:
        """Record the first value of each fact about the session that lines have."""
        state = self._state
        state.session = state.session or _first_text(values, "sessionId")
        state.cwd = state.cwd or _first_text(values, "cwd")
        state.version = state.version or _first_text(values, "version")
        if not state.has_main and any(not link.is_aside for link in links):
            state.has_main = True  # no line of a subagent can be the leaf then
            self.is_behind = self.is_behind or bool(state.links)
        if state.forked_from is None:
            forks = (fields.mapping(link.value.get("forkedFrom")) for link in links)
            state.forked_from = _first_text(forks, "sessionId")
        state.project = state.project or self._project(values)

    def _name_source(self) -> None:
        """Set the source id and the parent.

        A file is named after its session. Older versions wrote a resumed session into a file of another name.
        """
        builder, state, stem = self._builder, self._state, self._source.name.partition(".")[0]
        former = builder.source_id
        session = state.session or stem
        if self._source.name.startswith(_SUBAGENT):
            builder.source_id, builder.parent_source = f"{session}/{stem}", session
        else:
            builder.source_id = stem if _UUID.fullmatch(stem) else session
        builder.parent_source = state.forked_from or builder.parent_source
        if builder.parent_source is None and session != builder.source_id:
            builder.parent_source = session  # the session that this file continues
        self.is_behind = self.is_behind or (state.names_requests and former != builder.source_id)

    @property
    def _is_subagent(self) -> bool:
        return self._source.name.startswith(_SUBAGENT) or (
            not self._state.has_main and bool(self._state.links or self._known)
        )

    def _project(self, values: Iterable[dict[str, Any]]) -> str | None:
        """Return the first folder in the lines that the name of the project's folder stands for; None if none is.

        The lines of a session may name other folders: the user may change the folder or move the project.
        """
        above = fields.as_text(self._source.beside.get("sourcePath")).split("/")[:-1]
        projects = {name[:_MAX_PROJECT] for name in above}
        named = dict.fromkeys(cwd for value in values if (cwd := fields.text(value.get("cwd"))))
        return next((cwd for cwd in named if _NOT_IN_PROJECT.sub("-", cwd)[:_MAX_PROJECT] in projects), None)

    # --- the chain -------------------------------------------------------------------------------------

    def _take_link(self, line: ChainLine) -> None:
        builder, state = self._builder, self._state
        state.sums.pass_line(line.value)
        self._note_prompter(line)
        at = builder.time_of(line.value.get("timestamp"))
        self.is_behind = self.is_behind or _is_one_of(line, state.missing)
        digest = _digest(line)
        if self._is_repeat(line, digest):
            builder.count("repeated")
            state.is_repeating = line.uuid not in state.preserved
            if not state.is_repeating:  # written again because the conversation continues after it
                state.leaf.take_link(line.uuid, self._parent_of, is_visible=self._can_be_leaf(line))
            return
        state.is_repeating = False
        if line.is_boundary:
            self._flush_boundary()
            state.boundary = HeldLine.of(line.line)
            return
        boundary = self._pending_boundary()
        if boundary is not None and not line.is_summary and line.parent == boundary.uuid:
            self._flush_boundary()
        if line.is_summary and boundary is not None:
            self._take_compaction(line, None, at)
        else:
            above = self._above(line)
            parent = self._on(above, line)
            link = ChainLink(parent, above)
            if line.is_summary:
                self._take_compaction(line, parent, at)
            elif line.type == "assistant" and isinstance(line.message.get("content"), list | str):
                self._take_assistant(line, parent, at, link)
            elif line.type == "user" and isinstance(line.message.get("content"), list | str):
                self._take_user(line, parent, at, link)
            elif not self._take_attachment(line, parent, at, link):
                self._preserve_link(line, link)
        state.links[line.uuid].digest = digest
        for part in line.parts or [line]:
            state.leaf.take_link(part.uuid, self._parent_of, is_visible=self._can_be_leaf(line))

    def _note_prompter(self, line: ChainLine) -> None:
        """Record a change between prompts of a program and prompts of a person, after those that the origin records.

        A session in which a person has typed remains a session of a person.
        """
        now, before = prompter(line.value), self._state.prompter
        if now is None or before in (now, "person"):
            return
        self._state.prompter = now
        if before is not None or (now == "program" and "automated" not in self._builder.origin):
            self._builder.record_takeover(line.line, by=now)

    def _can_be_leaf(self, line: ChainLine) -> bool:
        return line.is_visible and (self._is_subagent or not line.is_aside)

    def _is_repeat(self, line: ChainLine, digest: str) -> bool:
        """Return whether the line repeats an earlier one, also a message that a compaction wrote again."""
        before = self._state.links.get(line.uuid)
        if before is None or before.digest != digest:
            return False
        is_same_place = line.parent == before.parent or line.parent not in self._state.links
        return is_same_place or line.uuid in self._state.preserved

    def _put(self, line: ChainLine, link: ChainLink, made: str | None) -> None:
        """Record the entry that a line became, and mark the line as the last one of its chain."""
        self._state.links[line.uuid] = link
        link.entry = made
        self._note_last(line.chain, line.uuid, made)

    def _note_last(self, chain: str, uuid: str, made: str | None) -> None:
        if made is not None:
            self._state.last[chain], self._state.last_entries[chain] = uuid, made

    def _preserve_link(self, line: ChainLine, link: ChainLink) -> None:
        """Store a link without a counterpart unchanged. Its children get its parent."""
        above = self._state.links.get(link.parent or "")
        if above is not None:
            link.turn, link.is_result = above.turn, above.is_result
        self._put(line, link, link.entry)
        if line.type in _OTHERS:
            self._take_other(line.line, line.value)
            return
        subtype = fields.text(line.value.get("subtype"))
        kind = f"{line.type}.{subtype}" if subtype else line.type
        if line.type in ("user", "assistant"):
            self._builder.report.add_problem(line.line.number, f"a {line.type} line without content")
            kind = f"{line.type} without content"
        self._builder.preserve(line.line, kind or "without a type", "it has no counterpart in sessiond")

    def _parent_of(self, uuid: str) -> str | None:
        link = self._state.links.get(uuid)
        return None if link is None else link.parent

    def _above(self, line: ChainLine) -> str | None:
        """Return the uuid of the line that a line is placed below; None if it begins a conversation.

        A parent that the file does not contain is replaced by the previous line on the same chain.
        """
        state, parent = self._state, line.parent
        before = state.last.get(line.chain)
        if line.uuid in self._moved:  # written only after the summary
            return self._moved[line.uuid].before(line.uuid) or state.last.get(_MAIN)
        if parent is None and line.type not in _ROOTS:
            logical = fields.text(line.value.get("logicalParentUuid"))
            return logical if logical in state.links else before
        if parent is None:
            return None if state.is_linked else before
        if parent in state.links:
            state.is_linked = True
            return parent
        reason = "leads back to itself" if parent in self._known else "is not in the file"
        instead = "it becomes a root" if before is None else "the line before it on its chain takes its place"
        self._builder.report.add_problem(line.line.number, f"its parent {reason}: {parent:.80}; {instead}")
        state.missing.add(parent)
        return before

    def _on(self, uuid: str | None, child: ChainLine) -> str | None:
        """Return the entry for `uuid` as a parent of `child`: the last result of its tool calls, if it has results."""
        link = self._state.links.get(uuid or "")
        if link is None:
            return None
        turn = self._turn_of(link)
        if turn is None:
            return link.entry
        if child.result_ids:
            return turn.tail if turn.answered.isdisjoint(child.result_ids) else link.entry
        return turn.tail if link.is_result or _continues(turn, child) else link.entry

    def _turn_of(self, link: ChainLink | None) -> AnswerTurn | None:
        return None if link is None or link.turn < 0 else self._state.turns[link.turn]

    def _take_assistant(self, line: ChainLine, parent: str | None, at: str, link: ChainLink) -> None:
        builder, state = self._builder, self._state
        parts = [part.message for part in line.parts if isinstance(part.message.get("content"), list | str)]
        failed = line.value.get("isApiErrorMessage") is True
        cost = next((found for part in reversed(line.parts) if (found := _cost(part.value))), 0)
        message = claude_messages.assistant(parts, at=at, cost=cost, synthetic_is_error=failed)
        state.sums.tell(message)
        name = line.parts[-1].uuid
        payload = {"message": message, **self._foreign(line.parts[-1])}
        made = builder.add(line.line, name, parent, "message", payload, at=at)
        for block in message["content"]:
            if block.get("type") == "toolCall":
                state.tools[block["id"]] = block["name"]
        above = state.links.get(link.parent or "")
        turn = self._turn_of(above)
        if above is not None and turn is not None and _continues(turn, line):
            turn.tail, link.turn = made, above.turn
        else:
            link.turn = len(state.turns)
            state.turns.append(AnswerTurn(made, fields.text(line.message.get("id")), made, set()))
        over = link.parent
        for part in line.parts:
            builder.count("assistant")
            self._put(part, ChainLink(made, over, turn=link.turn), made)
            over = part.uuid

    def _take_user(self, line: ChainLine, parent: str | None, at: str, link: ChainLink) -> None:
        builder, content = self._builder, line.message.get("content")
        messages: list[tuple[str, dict[str, Any]]] = []
        spoken: list[Any] = []
        for block in fields.items(content):
            if isinstance(block, dict) and block.get("type") == "tool_result":
                tool = self._state.tools.get(fields.as_text(block.get("tool_use_id")), "unknown")
                messages.append(("message", {"message": claude_messages.tool_result(block, tool, at=at)}))
            else:
                spoken.append(block)
        if isinstance(content, str) or spoken or not messages:
            messages.append(self._user_entry(line, content if isinstance(content, str) else spoken, at))
        foreign, made = self._foreign(line), parent
        for number, (type, payload) in enumerate(messages, 1):
            is_last = number == len(messages)
            name = line.uuid if is_last else f"{line.uuid[:58]}-{number}"
            made = builder.add(
                line.line, name, made, type, {**payload, **(foreign if is_last else {})}, at=at
            )
        results = line.result_ids
        above = self._state.links.get(link.parent or "")
        turn = self._turn_of(above) if results else None
        if above is not None and turn is not None and made is not None:
            turn.tail = made
            turn.answered.update(results)
            link.turn, link.is_result = above.turn, True
        self._put(line, link, made)
        builder.count("tool result" if results else "meta" if line.value.get("isMeta") is True else "user")

    def _take_attachment(self, line: ChainLine, parent: str | None, at: str, link: ChainLink) -> bool:
        """Add an attachment as an entry. Returns False if the attachment has no text."""
        attachment = line.attachment
        made = claude_attachments.entry_of(attachment, custom_type=NAME, at=at) if attachment else None
        source = self._state.links.get(fields.as_text(attachment.get("source_uuid")))
        if made is None or (source is not None and source.digest):
            return False
        type, payload = made
        foreign = self._foreign(line, attachment=claude_attachments.rest_of(attachment))
        added = self._builder.add(line.line, line.uuid, parent, type, {**payload, **foreign}, at=at)
        self._put(line, link, added)
        if claude_attachments.is_prompt(attachment):
            self._note_prompt(attachment.get("prompt"))
        self._builder.count(f"attachment {fields.as_text(attachment.get('type'))}")
        return True

    def _note_prompt(self, content: Any) -> None:
        self._state.prompts.add(fields.digest(claude_messages.plain_text(content).strip()))

    def _take_unsent(self, at_line: SourceLine, prompts: list[WaitingPrompt]) -> None:
        """Add prompts that were typed and that left the queue unsent at a line. They are beside the conversation."""
        for prompt in prompts:
            if fields.digest(prompt.text.strip()) not in self._state.prompts:
                payload = {"customType": f"{NAME}.unsentPrompt", "content": prompt.text, "display": True}
                name = f"line-{prompt.key}"
                self._builder.add_beside(at_line, "custom_message", payload, at=prompt.at, name=name)

    def _user_entry(self, line: ChainLine, content: Any, at: str) -> tuple[str, dict[str, Any]]:
        """Return the entry type and payload of a user line. Text inserted by the program becomes a custom message."""
        message = claude_messages.user(content, at=at)
        if line.value.get("isMeta") is not True and claude_attachments.is_human(line.value.get("origin")):
            self._note_prompt(content)
            return "message", {"message": message}
        return "custom_message", {
            "customType": f"{NAME}.meta", "content": message["content"], "display": False,
        }  # fmt: skip

    # --- compactions -----------------------------------------------------------------------------------

    def _pending_boundary(self) -> ChainLine | None:
        """Return the boundary whose summary is not there yet; None if there is none."""
        held = self._state.boundary
        return None if held is None else chain_line(held.line)

    def _take_compaction(self, line: ChainLine, parent: str | None, at: str) -> None:
        """Add a summary and the boundary before it as one compaction."""
        state, boundary = self._state, self._pending_boundary()
        state.boundary = None
        above = line.parent
        if boundary is not None:
            above, parent = self._logical_parent(boundary)
        elif parent is None:
            above, parent = state.last.get(_MAIN), state.last_entries.get(_MAIN)
        text = claude_messages.plain_text(line.message.get("content"))
        made = self._compact(boundary or line, text, above, parent, boundary, at)
        if boundary is not None:
            state.links[line.uuid] = ChainLink(made, boundary.uuid)
        self._builder.count("compaction summary")

    def _flush_boundary(self) -> None:
        """Add a compaction for a boundary that has no summary."""
        boundary, self._state.boundary = self._pending_boundary(), None
        if boundary is not None:
            at = self._builder.time_of(boundary.value.get("timestamp"))
            text = fields.as_text(boundary.value.get("content"))
            above, parent = self._logical_parent(boundary)
            self._builder.report.add_problem(boundary.line.number, "a compaction without its summary")
            self._compact(boundary, text, above, parent, boundary, at)

    def _compact(
        self,
        line: ChainLine,
        summary: str,
        above: str | None,
        parent: str | None,
        boundary: ChainLine | None,
        at: str,
    ) -> str | None:
        state = self._state
        segment = Preserved() if boundary is None else preserved(boundary)
        head = state.links.get(segment.head or "")
        payload = {
            "summary": summary, "firstKeptEntryId": None if head is None else head.entry,
            "tokensBefore": tokens_before(boundary), **self._foreign(line),
        }  # fmt: skip
        made = self._builder.add(line.line, line.uuid, parent, "compaction", payload, at=at)
        state.links[line.uuid] = ChainLink(made, above)
        if segment.uuids:
            state.preserved.update(dict.fromkeys(segment.uuids, len(state.segments)))
            state.segments.append(segment.uuids)
        if boundary is not None:
            self._builder.count("compaction")
            state.leaf.take_link(line.uuid, self._parent_of, is_visible=False)
        if segment.tail is not None:
            tail = state.links.setdefault(segment.tail, ChainLink(made, line.uuid))
            tail.entry, tail.turn, tail.is_result = made, -1, False
        self._note_last(_MAIN, line.uuid, made)
        return made

    def _logical_parent(self, boundary: ChainLine) -> tuple[str | None, str | None]:
        """Return the uuid and the entry before a boundary: the last ones of the main chain if it names none."""
        state = self._state
        logical = fields.text(boundary.value.get("logicalParentUuid")) or boundary.parent
        link = state.links.get(logical or "")
        if link is not None:
            return logical, link.entry
        return state.last.get(_MAIN), state.last_entries.get(_MAIN)

    # --- lines outside the chain ------------------------------------------------------------------------

    def _take_other(self, line: SourceLine, value: dict[str, Any]) -> None:
        builder, state, type = self._builder, self._state, fields.as_text(value.get("type"))
        builder.time_of(value.get("timestamp"))
        if not state.is_repeating:
            state.leaf.take_pointer(value)
        state.sums.pass_line(value)
        leaf = fields.text(value.get("leafUuid"))
        if type == "summary" and leaf is not None and leaf not in self._known:
            state.missing.add(leaf)
            builder.preserve(line, "title", "it is the title of another session", name=f"line-{line.key}")
            return
        for rank, (kind, name) in enumerate(_TITLES):
            if type == kind and (title := fields.text(value.get(name))) is not None:
                if title == state.title:
                    builder.count("repeated")
                elif rank >= state.title_rank:
                    state.title_rank, state.title = rank, title
                    builder.add_beside(line, "session_info", {"name": title})
                    builder.count("title")
                else:
                    builder.preserve(line, "title", "a better title came before")
                return
        if type == "queue-operation":
            builder.count("queue operation")
            self._take_unsent(line, state.queue.take(line, value))
            return
        if type == "tag" and isinstance(value.get("tag"), str):
            tags = [value["tag"]] if value["tag"] else []
            builder.add_beside(line, "custom", {"customType": entries.TAGS_TYPE, "data": {"tags": tags}})
            builder.count("tag")
        else:
            if type == "cost-state":
                self._take_sums(line, value)
            builder.preserve(line, type or "without a type", "it has no counterpart in sessiond")

    def _take_sums(self, line: SourceLine, value: dict[str, Any]) -> None:
        """Add the usage of requests that are in no message, such as those of compactions."""
        for model, usage in self._state.sums.rest(value):
            self._state.names_requests = True
            sums = fields.digest(fields.dumps(value.get("modelUsage")).decode())
            entry = {
                "purpose": "other", "provider": "anthropic", "model": model, "usage": usage,
                "requestKey": f"{self._builder.source_id}/{model}/{sums}",
            }  # fmt: skip
            self._builder.add_beside(line, "model_usage", entry)

    def _foreign(self, line: ChainLine, **replaced: Any) -> dict[str, Any]:
        """Return the other fields of a line, without fields whose value is unchanged since the line before."""
        values = {**line.value, **replaced} if replaced else line.value
        rest = {
            name: value
            for name, value in values.items()
            if name not in _PLACED and value not in (None, False)
        }
        for name in _CARRIED:
            if name in line.value and line.value[name] != self._state.carried.get(name):
                rest[name] = self._state.carried[name] = line.value[name]
        return {"foreign": rest} if rest else {}

    def _leaf(self) -> str | None:
        state = self._state
        if not state.is_linked:
            main, aside = state.last_entries.get(_MAIN), next(reversed(state.last_entries.values()), None)
            return aside if self._is_subagent or main is None else main
        link = state.links.get(state.leaf.leaf(state.links) or "")
        turn = self._turn_of(link)
        if link is not None and turn is not None and (link.is_result or turn.tail != turn.entry):
            return turn.tail
        return (None if link is None else link.entry) or state.last_entries.get(_MAIN)


def _lines(held: Iterable[ChainLine | SourceLine]) -> list[SourceLine]:
    """Return lines in the order of the file, with the parts of each message apart."""
    parts = (part for line in held for part in (_parts(line) if isinstance(line, ChainLine) else [line]))
    return sorted(parts, key=lambda part: part.place)


def _is_one_of(line: ChainLine, uuids: set[str]) -> bool:
    return bool(uuids) and any(part.uuid in uuids for part in line.parts or [line])


def _parts(line: ChainLine) -> list[SourceLine]:
    return [part.line for part in line.parts or [line]]


def _first_text(values: Iterable[dict[str, Any]], name: str) -> str | None:
    return next((text for value in values if (text := fields.text(value.get(name)))), None)


def _cost(value: dict[str, Any]) -> int | float:
    """Return the cost in US dollars that versions up to 1.0 wrote into each line of an answer, or 0."""
    cost = fields.number(value.get("costUSD"))
    return cost if 0 < cost < MAX_COST else 0


def _continues(turn: AnswerTurn, line: ChainLine) -> bool:
    """Return whether an assistant line belongs to the message of a turn."""
    message = fields.text(line.message.get("id"))
    return line.type == "assistant" and message is not None and message == turn.message_id


def _digest(line: ChainLine) -> str:
    said = fields.dumps(line.message) if line.message else line.line.raw
    return fields.digest(line.type, said.decode("latin-1"))


DIALECT: Final = Dialect(NAME, "Claude Code", detect, read, reader=ClaudeReader)
