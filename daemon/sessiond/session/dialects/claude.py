"""Reads Claude Code: a chain of lines with `uuid` and `parentUuid`, and other lines about the session.

A compaction becomes a child of the message before it (`logicalParentUuid`), so no entry is orphaned. The messages
after the summary are below the compaction. The results of one message's tool calls form one chain regardless of their
parents, because a model must see all of them. Attachments with a text become entries (decision 0041). Lines without a
counterpart are stored unchanged (decision 0023).
"""

import re
from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects import claude_attachments, claude_leaf, claude_messages
from sessiond.session.dialects.claude_lines import (
    ChainLine,
    Preserved,
    chain_line,
    in_place,
    merged,
    preserved,
    tokens_before,
    unfinished,
)
from sessiond.session.dialects.claude_queue import PromptQueue
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.source import Source, SourceLine
from sessiond.session.tree import entries

NAME: Final = "claude-code"

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TYPES: Final = frozenset((
    "user", "assistant", "system", "attachment", "progress", "summary", "custom-title", "ai-title", "tag",
    "last-prompt", "agent-name", "agent-setting", "mode", "permission-mode", "queue-operation",
    "file-history-snapshot", "attribution-snapshot", "content-replacement", "worktree-state", "pr-link",
))  # fmt: skip
_CARRIED: Final = ("cwd", "version", "gitBranch", "userType", "entrypoint", "slug", "sessionId", "agentId")
"""Fields that every line has. An entry has such a field only if its value differs from the line before."""
_TITLES: Final = (
    ("summary", "summary"), ("ai-title", "aiTitle"), ("agent-name", "agentName"), ("custom-title", "customTitle"),
)  # fmt: skip
"""Types of lines with a title and their fields, the best title last."""
_PLACED: Final = frozenset(
    ("type", "uuid", "parentUuid", "timestamp", "message", "logicalParentUuid", *_CARRIED)
)
"""Fields that have a place of their own in an entry, or that are carried from line to line."""


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of Claude Code."""
    return any(
        fields.text(value.get("type")) in _TYPES
        and any(name in value for name in ("sessionId", "uuid", "leafUuid", "messageId"))
        and "payload" not in value
        for value in first
    )


def read(source: Source) -> Imported:
    """Read the session in a file of Claude Code."""
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._builder = ImportBuilder(NAME, source)
        self._is_subagent = False
        self._is_linked = False
        self._hangs: dict[str, str | None] = {}  # uuid -> the entry that is the parent of its children
        self._by_uuid: dict[str, ChainLine] = {}
        self._turns: dict[str, _Turn] = {}  # uuid of an assistant line or a tool result -> its turn
        self._tools: dict[str, str] = {}
        self._preserved: dict[str, Preserved] = {}  # uuid of a preserved message -> its compaction's messages
        self._boundary: ChainLine | None = None
        self._last: dict[bool, str | None] = {
            False: None,
            True: None,
        }  # in the order of the file, by is_aside
        self._moved: set[str] = set()
        self._known: set[str] = set()
        self._carried: dict[str, Any] = {}
        self._title_rank = 0
        self._title: str | None = None
        self._queue = PromptQueue()
        self._prompts: set[str] = set()

    def read(self) -> Imported:
        builder, found = self._builder, list(self._source.lines())
        chain = [chain_line(line) or line for line in found]
        links = [it for it in chain if isinstance(it, ChainLine)]
        self._identify(found, links)
        builder.begin(line.value.get("timestamp") for line in found if line.value is not None)
        self._known = {it.uuid for it in links}
        self._is_linked = any(it.parent in self._known for it in links)
        for it in links:
            if it.is_boundary:
                segment = preserved(it)
                self._preserved.update((uuid, segment) for uuid in segment.uuids if uuid in self._known)
        whole, self._moved = in_place(merged(chain))
        held_from = unfinished(whole, self._known) if self._source.growing else None
        if held_from is not None:
            builder.report.held_back_count = sum(isinstance(rest, ChainLine) for rest in whole[held_from:])
            whole = whole[:held_from]
        for step in whole:
            if isinstance(step, ChainLine):
                self._take_link(step)
            elif step.value is None:
                builder.preserve_unreadable(step)
            else:
                self._take_other(step, step.value)
        self._flush_boundary()
        if found and not self._source.growing:
            self._take_unsent(found[-1], self._queue.rest())
        taken = [it for it in whole if isinstance(it, ChainLine)]
        builder.leaf = self._leaf(taken, [it.value for it in found if it.value is not None])
        return builder.finish()

    def _identify(self, found: list[SourceLine], links: list[ChainLine]) -> None:
        """Set the source id, the parent and the folder.

        A file is named after its session. Older versions wrote a resumed session into a file of another name.
        """
        builder, stem = self._builder, self._source.name.partition(".")[0]
        values = [line.value for line in found if line.value is not None]
        session = next((it for value in values if (it := fields.text(value.get("sessionId")))), stem)
        self._is_subagent = stem.startswith("agent-") or (bool(links) and all(it.is_aside for it in links))
        if self._is_subagent:
            builder.source_id, builder.parent_source = f"{session}/{stem}", session
        else:
            builder.source_id = stem if _UUID.fullmatch(stem) else session
        builder.cwd = next((it for value in values if (it := fields.text(value.get("cwd")))), "")
        forked = next(
            (fields.mapping(it.value["forkedFrom"]) for it in links if it.value.get("forkedFrom")), {}
        )
        builder.parent_source = fields.text(forked.get("sessionId")) or builder.parent_source
        builder.source_version = next(
            (it for value in values if (it := fields.text(value.get("version")))), None
        )
        if builder.parent_source is None and session != builder.source_id:
            builder.parent_source = session  # the session that this file continues
        builder.origin |= self._source.beside
        self._carried = {"cwd": builder.cwd, "userType": "external", "sessionId": session}

    # --- the chain -------------------------------------------------------------------------------------

    def _take_link(self, it: ChainLine) -> None:
        builder = self._builder
        at = builder.time_of(it.value.get("timestamp"))
        before = self._by_uuid.get(it.uuid)
        if before is not None and self._is_repeat(before, it):
            builder.count("repeated")
            return
        if it.is_boundary:
            self._flush_boundary()
            self._boundary = it
            return
        if self._boundary is not None and not it.is_summary and it.parent == self._boundary.uuid:
            self._flush_boundary()
        if it.is_summary and self._boundary is not None:
            self._take_compaction(it, None, at)
            self._by_uuid[it.uuid] = it
            return
        parent = self._parent_of(it)
        if it.is_summary:
            self._take_compaction(it, parent, at)
        elif it.type == "assistant" and isinstance(it.message.get("content"), list | str):
            self._take_assistant(it, parent, at)
        elif it.type == "user" and isinstance(it.message.get("content"), list | str):
            self._take_user(it, parent, at)
        elif not self._take_attachment(it, parent, at):
            self._preserve_link(it, parent)
            return
        self._by_uuid[it.uuid] = it

    def _is_repeat(self, before: ChainLine, it: ChainLine) -> bool:
        """Return whether the line repeats `before`, or is a message that a compaction preserved and wrote again."""
        same = before.message == it.message and before.type == it.type
        return same and (it.parent == before.parent or it.uuid in self._preserved)

    def _preserve_link(self, it: ChainLine, parent: str | None) -> None:
        """Store a link without a counterpart unchanged. Its children get its parent."""
        self._hangs[it.uuid] = parent
        subtype = fields.text(it.value.get("subtype"))
        kind = f"{it.type}.{subtype}" if subtype else it.type
        if it.type in ("user", "assistant"):
            self._builder.report.add_problem(it.line.number, f"a {it.type} line without content")
            kind = f"{it.type} without content"
        self._builder.preserve(it.line, kind, "it has no counterpart in sessiond")

    def _parent_of(self, it: ChainLine) -> str | None:
        """Return the entry that becomes the parent of a line."""
        parent = it.parent
        if not self._is_linked:
            if parent is not None:
                self._builder.report.add_problem(
                    it.line.number, f"its parent is not in the file: {parent:.80}"
                )
            return self._last[it.is_aside]
        if it.uuid in self._moved:  # written only after the summary
            first = self._preserved[it.uuid].before(it.uuid)
            return self._last[False] if first is None else self._on(first, it)
        if parent is None:
            return None
        if parent not in self._hangs:
            reason = "comes later" if parent in self._known else "is not here"
            self._builder.report.add_problem(
                it.line.number, f"its parent {reason}: {parent:.80}; it becomes a root"
            )
            return None
        return self._on(parent, it)

    def _on(self, uuid: str | None, child: ChainLine) -> str | None:
        """Return the entry for `uuid` as a parent of `child`: the last result of its tool calls, if it has results."""
        if uuid is None:
            return None
        turn = self._turns.get(uuid)
        if turn is None:
            return self._hangs.get(uuid)
        continues = child.type == "assistant" and child.message.get("id") == turn.message_id
        if child.result_ids:
            return turn.tail if turn.answered.isdisjoint(child.result_ids) else self._hangs.get(uuid)
        return turn.tail if uuid in turn.results or (continues and turn.message_id) else self._hangs.get(uuid)

    def _take_assistant(self, it: ChainLine, parent: str | None, at: str) -> None:
        builder = self._builder
        parts = [part.message for part in it.parts if isinstance(part.message.get("content"), list | str)]
        failed = it.value.get("isApiErrorMessage") is True
        message = claude_messages.assistant(parts, at=at, synthetic_is_error=failed)
        name = it.parts[-1].uuid
        payload = {"message": message, **self._foreign(it.parts[-1])}
        made = builder.add(it.line, name, parent, "message", payload, at=at)
        turn = _Turn(made, fields.text(it.message.get("id")))
        for block in message["content"]:
            if block.get("type") == "toolCall":
                self._tools[block["id"]] = block["name"]
        for part in it.parts:
            builder.count("assistant")
            self._hangs[part.uuid] = made
            self._turns[part.uuid] = turn
        self._last[it.is_aside] = made

    def _take_user(self, it: ChainLine, parent: str | None, at: str) -> None:
        builder, content = self._builder, it.message.get("content")
        messages: list[tuple[str, dict[str, Any]]] = []
        spoken: list[Any] = []
        for block in fields.items(content):
            if isinstance(block, dict) and block.get("type") == "tool_result":
                tool = self._tools.get(fields.as_text(block.get("tool_use_id")), "unknown")
                messages.append(("message", {"message": claude_messages.tool_result(block, tool, at=at)}))
            else:
                spoken.append(block)
        if isinstance(content, str) or spoken or not messages:
            messages.append(self._user_entry(it, content if isinstance(content, str) else spoken, at))
        foreign, made = self._foreign(it), parent
        for number, (type, payload) in enumerate(messages, 1):
            is_last = number == len(messages)
            name = it.uuid if is_last else f"{it.uuid[:58]}-{number}"
            made = builder.add(it.line, name, made, type, {**payload, **(foreign if is_last else {})}, at=at)
        self._hangs[it.uuid] = made
        self._last[it.is_aside] = made
        results = it.result_ids
        turn = self._turns.get(it.parent or "") if results else None
        if turn is not None and made is not None:
            turn.tail = made
            turn.answered.update(results)
            turn.results.add(it.uuid)
            self._turns[it.uuid] = turn
        builder.count("tool result" if results else "meta" if it.value.get("isMeta") is True else "user")

    def _take_attachment(self, it: ChainLine, parent: str | None, at: str) -> bool:
        """Add an attachment as an entry. Returns False if it is none that has a text."""
        attachment = it.attachment
        made = claude_attachments.entry_of(attachment, custom_type=NAME, at=at) if attachment else None
        if made is None or fields.text(attachment.get("source_uuid")) in self._by_uuid:
            return False
        type, payload = made
        foreign = self._foreign(it, attachment=claude_attachments.rest_of(attachment))
        added = self._builder.add(it.line, it.uuid, parent, type, {**payload, **foreign}, at=at)
        self._hangs[it.uuid] = self._last[it.is_aside] = added
        if claude_attachments.is_prompt(attachment):
            self._prompts.add(claude_messages.plain_text(attachment.get("prompt")).strip())
        self._builder.count(f"attachment {fields.as_text(attachment.get('type'))}")
        return True

    def _take_unsent(self, at_line: SourceLine, prompts: list[tuple[SourceLine, str]]) -> None:
        """Add prompts that were typed and that left the queue unsent at a line. They are beside the conversation."""
        for line, text in prompts:
            if text.strip() not in self._prompts:
                payload = {"customType": f"{NAME}.unsentPrompt", "content": text, "display": True}
                at = fields.time((line.value or {}).get("timestamp"))
                name = f"line-{line.number}"
                self._builder.add_beside(at_line, "custom_message", payload, at=at, name=name)

    def _user_entry(self, it: ChainLine, content: Any, at: str) -> tuple[str, dict[str, Any]]:
        """Return the entry type and payload of a user line. Text inserted by the program becomes a custom message."""
        message = claude_messages.user(content, at=at)
        if it.value.get("isMeta") is not True and claude_attachments.is_human(it.value.get("origin")):
            self._prompts.add(claude_messages.plain_text(content).strip())
            return "message", {"message": message}
        return "custom_message", {
            "customType": f"{NAME}.meta", "content": message["content"], "display": False,
        }  # fmt: skip

    # --- compactions -----------------------------------------------------------------------------------

    def _take_compaction(self, it: ChainLine, parent: str | None, at: str) -> None:
        """Add a summary and the boundary before it as one compaction."""
        boundary, self._boundary = self._boundary, None
        preserved_messages = Preserved() if boundary is None else preserved(boundary)
        if boundary is not None:
            parent = self._logical_parent(boundary)
        elif parent is None:
            parent = self._last[False]
        self._compact(
            boundary or it,
            claude_messages.plain_text(it.message.get("content")),
            preserved_messages,
            parent,
            boundary,
            at,
        )
        self._hangs[it.uuid] = self._hangs[(boundary or it).uuid]
        self._builder.count("compaction summary")

    def _flush_boundary(self) -> None:
        """Add a compaction for a boundary that has no summary."""
        boundary, self._boundary = self._boundary, None
        if boundary is not None:
            at = self._builder.time_of(boundary.value.get("timestamp"))
            text = fields.as_text(boundary.value.get("content"))
            parent = self._logical_parent(boundary)
            self._builder.report.add_problem(boundary.line.number, "a compaction without its summary")
            self._compact(boundary, text, preserved(boundary), parent, boundary, at)

    def _compact(
        self,
        it: ChainLine,
        summary: str,
        preserved_messages: Preserved,
        parent: str | None,
        boundary: ChainLine | None,
        at: str,
    ) -> None:
        payload = {
            "summary": summary, "firstKeptEntryId": self._hangs.get(preserved_messages.head or ""),
            "tokensBefore": tokens_before(boundary), **self._foreign(it),
        }  # fmt: skip
        made = self._builder.add(it.line, it.uuid, parent, "compaction", payload, at=at)
        self._hangs[it.uuid] = made
        if boundary is not None:
            self._builder.count("compaction")
        if preserved_messages.tail is not None:
            self._hangs[preserved_messages.tail] = made
            self._turns.pop(preserved_messages.tail, None)
        self._last[False] = made

    def _logical_parent(self, boundary: ChainLine) -> str | None:
        """Return the entry before a boundary; the last entry of the main conversation if the boundary names none."""
        logical = fields.text(boundary.value.get("logicalParentUuid")) or boundary.parent
        return self._hangs[logical] if logical in self._hangs else self._last[False]

    # --- lines outside the chain ------------------------------------------------------------------------

    def _take_other(self, line: SourceLine, value: dict[str, Any]) -> None:
        builder, type = self._builder, fields.as_text(value.get("type"))
        builder.time_of(value.get("timestamp"))
        for rank, (kind, name) in enumerate(_TITLES):
            if type == kind and (title := fields.text(value.get(name))) is not None:
                if title == self._title:
                    builder.count("repeated")
                elif rank >= self._title_rank:
                    self._title_rank, self._title = rank, title
                    builder.add_beside(line, "session_info", {"name": title})
                    builder.count("title")
                else:
                    builder.preserve(line, "title", "a better title came before")
                return
        if type == "queue-operation":
            builder.count("queue operation")
            self._take_unsent(line, self._queue.take(line, value))
            return
        if type == "tag" and isinstance(value.get("tag"), str):
            tags = [value["tag"]] if value["tag"] else []
            builder.add_beside(line, "custom", {"customType": entries.TAGS_TYPE, "data": {"tags": tags}})
            builder.count("tag")
        else:
            builder.preserve(line, type or "without a type", "it has no counterpart in sessiond")

    def _foreign(self, it: ChainLine, **replaced: Any) -> dict[str, Any]:
        """Return the other fields of a line, without fields whose value is unchanged since the line before."""
        values = {**it.value, **replaced} if replaced else it.value
        rest = {
            name: value
            for name, value in values.items()
            if name not in _PLACED and value not in (None, False)
        }
        for name in _CARRIED:
            if name in it.value and it.value[name] != self._carried.get(name):
                rest[name] = self._carried[name] = it.value[name]
        return {"foreign": rest} if rest else {}

    def _leaf(self, chain: list[ChainLine], values: list[dict[str, Any]]) -> str | None:
        if not self._is_linked:
            return self._last[self._is_subagent] or self._last[not self._is_subagent]
        uuid = claude_leaf.leaf(chain, values, is_subagent=self._is_subagent)
        turn = self._turns.get(uuid or "")
        if turn is not None and (uuid in turn.results or turn.tail != turn.entry):
            return turn.tail
        return self._hangs.get(uuid or "") or self._last[False]


class _Turn:
    """An assistant message and the chain of its tool results."""

    def __init__(self, entry: str | None, message_id: str | None) -> None:
        self.entry = entry
        self.message_id = message_id
        self.tail = entry
        self.answered: set[str] = set()
        self.results: set[str] = set()
