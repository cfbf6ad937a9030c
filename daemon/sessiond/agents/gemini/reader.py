"""Reads Gemini CLI: a header, messages that are written again as they grow, and updates (`$set`, `$rewindTo`).

A message that is written again adds only what is new: tool calls, their results, or another text. So entries are only
added while a file grows, and a message is here as soon as its first line is (decision 0040). A rewind leaves a branch
with a label. A replaced history becomes a compaction, unless it continues or repeats the present one.
"""

from typing import Any, Final

from sessiond.agents.formats import Dialect
from sessiond.agents.gemini import messages as gemini_messages
from sessiond.agents.gemini.copies import Copies
from sessiond.agents.gemini.messages import Message, Slot
from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark, documents, google_parts
from sessiond.session.dialects.google_parts import PartCall, PartResult
from sessiond.session.dialects.import_builder import ROLLED_BACK, ImportBuilder, Imported
from sessiond.session.dialects.messages import timed
from sessiond.session.dialects.source import Source, SourceLine

NAME: Final = "gemini"
SUBAGENT: Final = "subagent"
_SPEAKERS: Final = ("user", "gemini")
_HEADER: Final = (
    "sessionId", "projectHash", "startTime", "lastUpdated", "kind", "summary", "messages",
)  # fmt: skip


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of Gemini CLI, or its earlier document, as one line."""
    return bool(first) and _is_header(first[0])


def detect_document(document: dict[str, Any]) -> bool:
    """Return whether a file that is one JSON object is a session of an earlier version of Gemini CLI."""
    return _is_header(document)


def read(source: Source) -> Imported:
    """Read the session in a file of Gemini CLI."""
    return _Reader(source).read()


def _is_header(value: dict[str, Any]) -> bool:
    return (
        fields.text(value.get("sessionId")) is not None
        and "projectHash" in value
        and value.get("type") not in ("session", "title")
    )


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._builder = ImportBuilder(NAME, source)
        self._tip: str | None = None
        self._history: list[Slot] = []
        self._dropped: list[Slot] = []  # messages that an update removed; a later one may restore them
        self._context: Message | None = (
            None  # the program's context, if it was changed since the last message
        )
        self._copies = Copies()
        self._called: dict[str, str] = {}  # call id -> name of the tool
        self._callers: dict[str, Slot] = {}  # call id -> its message
        self._answered: set[str] = set()
        self._title: str | None = None
        self._is_named = False
        self._is_document = False

    def read(self) -> Imported:
        builder, source = self._builder, self._source
        builder.cwd = fields.as_text(source.beside.get("cwd"))
        document = documents.object_in(source, builder)
        self._is_document = document is not None and isinstance(document.value, dict)
        for line in [document] if document is not None else source.lines():
            if line.value is None:
                builder.preserve_unreadable(line)
            else:
                self._take(line, line.value)
        builder.leaf = self._tip
        return builder.finish()

    def _take(self, line: SourceLine, value: dict[str, Any]) -> None:
        builder = self._builder
        if isinstance(value.get("$rewindTo"), str):
            self._rewind(line, value["$rewindTo"])
        elif isinstance(value.get("id"), str):
            message = self._message(line, value, f"line-{line.key}")
            if message is None:
                builder.preserve(
                    line, fields.as_text(value.get("type")) or "message", "it has no counterpart in sessiond"
                )
            else:
                builder.count(message.type if self._add(message) else "repeated")
        elif isinstance(value.get("$set"), dict):
            self._update(line, value["$set"])
        elif _is_header(value) and not self._is_named:
            self._take_header(line, value)
        elif _is_header(value) and value["sessionId"] == builder.source_id and "messages" not in value:
            builder.count("header")  # the session was resumed within the minute that its file is named after
        else:
            builder.preserve(
                line,
                fields.as_text(value.get("type")) or "without a type",
                "it has no counterpart in sessiond",
            )

    def _take_header(self, line: SourceLine, value: dict[str, Any]) -> None:
        builder = self._builder
        self._is_named = True
        builder.source_id = fields.text(value.get("sessionId")) or builder.source_id
        builder.time_of(value.get("startTime"))
        kind, path = fields.text(value.get("kind")), fields.as_text(self._source.beside.get("sourcePath"))
        if kind == SUBAGENT:  # its folder has the name of the session that it serves
            folder = path.split("/")[-2] if path.count("/") else ""
            builder.parent_source = folder if folder not in ("", "chats") else None
            builder.origin["kind"] = kind
        builder.take_mark(value.get(copy_mark.MARK))
        builder.origin["projectHash"] = fields.as_text(value.get("projectHash"))
        if not builder.cwd:
            folders = fields.items(value.get("directories"))
            builder.cwd = next((each for each in folders if isinstance(each, str)), "")
        if isinstance(value.get("messages"), list):
            self._replace(line, value["messages"])
        self._name(line, value.get("summary"))
        builder.count("header")
        if fields.without(value, *_HEADER, "directories", copy_mark.MARK):
            builder.preserve(line, "header", "it has fields that a header does not have")

    def _name(self, line: SourceLine, title: Any) -> None:
        if (name := fields.text(title)) is not None and name != self._title:
            self._title = name
            self._builder.add_beside(
                line, "session_info", {"name": name}, name=f"title-{line.key}-{fields.digest(name)}"
            )

    def _update(self, line: SourceLine, changed: dict[str, Any]) -> None:
        if isinstance(changed.get("messages"), list):
            self._replace(line, changed["messages"])
        self._name(line, changed.get("summary"))
        rest = fields.without(
            changed, "messages", "summary", "lastUpdated", "kind", "projectHash", "startTime"
        )
        if rest.pop("sessionId", self._builder.source_id) != self._builder.source_id or rest:
            self._builder.preserve(line, "update", "it has fields without a counterpart in sessiond")
        else:
            self._builder.count("update")

    # --- messages --------------------------------------------------------------------------------------

    def _message(self, line: SourceLine, value: dict[str, Any], place: str) -> Message | None:
        return gemini_messages.message_of(line, value, place, self._builder.time_of(value.get("timestamp")))

    def _add(self, message: Message) -> bool:
        """Add the new parts of a message. Returns whether there are any."""
        slot = next((slot for slot in reversed(self._history) if slot.id == message.id), None)
        if message.type not in _SPEAKERS:
            return self._add_notice(message)
        if slot is None:
            if self._is_mirror(message):
                if message.content.calls:
                    self._copies.add(message, self._callers[message.content.calls[0].id])
                return False
            if self._copies.take(message, self._history):
                return False
            self._add_context()
            slot = Slot(message.id, message.type, message.content.spoken, self._tip, self._tip)
            slot.is_injected = message.type == "user" and message.content.is_injected
            self._history.append(slot)
            return self._extend(slot, message, message.opening)
        if message.content.spoken and message.content.spoken != slot.spoken:
            return self._add_version(slot, message)
        return self._extend(slot, message, [])

    def _is_mirror(self, message: Message) -> bool:
        """Return whether a message only repeats calls and results that are in entries."""
        return (
            not message.content.spoken
            and bool(message.content.calls or message.results)
            and all(call.id in self._called for call in message.content.calls)
            and all(result.call_id in self._answered for result, _ in message.results)
        )

    def _add_version(self, slot: Slot, message: Message) -> bool:
        """Add a message whose text was changed: beside the former one, and below it if it is the last one."""
        is_last = bool(self._history) and self._history[-1] is slot
        tip, self._tip = self._tip, slot.before
        slot.spoken, slot.end, slot.first, slot.is_counted = message.content.spoken, slot.before, None, False
        self._extend(slot, message, message.opening)
        if not is_last:
            self._tip = tip
        return True

    def _extend(self, slot: Slot, message: Message, blocks: list[dict[str, Any]]) -> bool:
        """Add blocks, new calls and new results below the entries of a slot."""
        follows = self._tip == slot.end
        at, calls = slot.end, [call for call in message.content.calls if call.id not in self._called]
        is_new = bool(blocks or calls)
        # The calls of a line are one message. A document is written again as a whole, so its calls are one each.
        groups = [[call] for call in calls] if self._is_document else [calls] if calls else []
        own = message.id if slot.first is None and not self._is_document else None
        if blocks:
            at = self._speak(slot, message, at, message.id, blocks, groups.pop(0) if groups and own else [])
            own = None
        for group in groups:
            at, own = self._speak(slot, message, at, own, [], group), None
        for result, rest in message.results:
            if result.call_id not in self._answered:
                is_new = True
                self._answered.add(result.call_id)
                at = self._answer(slot, message, at, result, rest)
        if not slot.is_counted and (spent := message.usage) is not None and slot.type == "gemini":
            slot.is_counted = is_new = True
            entry = {
                "purpose": "turn", "provider": google_parts.PROVIDER, "model": message.model, "usage": spent,
            }  # fmt: skip
            at = self._put(slot, message, at, f"{message.id[:50]}-usage", "model_usage", entry)
        slot.end = at
        if follows:
            self._tip = at
        return is_new

    def _speak(
        self, slot: Slot, spoken: Message, at: str | None, name: str | None, blocks: list[dict[str, Any]],
        calls: list[PartCall],
    ) -> str | None:  # fmt: skip
        self._called.update((call.id, call.name) for call in calls)
        self._callers.update((call.id, slot) for call in calls)
        name = name or f"{spoken.id[:40]}-call-{fields.digest(calls[0].id)[:8] if calls else ''}"
        rest = fields.without(spoken.value, *gemini_messages.TAKEN)
        foreign = {"foreign": rest} if rest else {}
        if slot.type == "user" and not calls:
            if slot.is_injected:
                context = {"customType": f"{NAME}.context", "content": blocks, "display": False, **foreign}
                return self._put(slot, spoken, at, name, "custom_message", context)
            said = timed({"role": "user", "content": blocks}, spoken.at)
            return self._put(slot, spoken, at, name, "message", {"message": said, **foreign})
        message: dict[str, Any] = {
            "role": "assistant", "content": [*blocks, *(call.block() for call in calls)], "api": google_parts.API,
            "provider": google_parts.PROVIDER, "model": spoken.model,
        }  # fmt: skip
        spent = None if slot.is_counted else spoken.usage
        if spent is not None:
            slot.is_counted = True
            message["usage"] = spent
        message["stopReason"] = "toolUse" if calls else "stop"
        payload = {"message": timed(message, spoken.at), **foreign}
        return self._put(slot, spoken, at, name, "message", payload)

    def _put(
        self, slot: Slot, message: Message, at: str | None, name: str, type: str, payload: dict[str, Any]
    ) -> str | None:
        made = self._builder.add(message.line, name, at, type, payload, at=message.at)
        if slot.first is None and made != at:
            slot.first = made
        return made

    def _answer(
        self, slot: Slot, message: Message, at: str | None, result: PartResult, rest: dict[str, Any]
    ) -> str | None:
        name = f"{message.id[:40]}-result-{fields.digest(result.call_id)[:8]}"
        if result.name == "unknown":
            result = PartResult(
                result.call_id,
                self._called.get(result.call_id, "unknown"),
                result.content,
                is_error=result.is_error,
            )
        payload = {"message": result.message(message.at), **({"foreign": rest} if rest else {})}
        return self._put(slot, message, at, name, "message", payload)

    def _add_notice(self, message: Message) -> bool:
        """Add a message that the program showed and no model saw."""
        name = fields.entry_id(message.id)
        if self._builder.has(name):
            return False
        data = {
            "content": message.content.blocks,
            **fields.without(message.value, "id", "timestamp", "type", "content"),
        }
        payload = {"customType": f"{NAME}.{message.type or 'notice'}", "data": data}
        self._tip = self._builder.add(message.line, message.id, self._tip, "custom", payload, at=message.at)
        if self._history:
            self._history[-1].end = self._tip  # additions to that message follow the notice
        return True

    # --- changes of the history ------------------------------------------------------------------------

    def _rewind(self, line: SourceLine, name: str) -> None:
        """Continue before a message. If it is not in the history, the history is empty, as in Gemini CLI."""
        place = next((n for n, slot in enumerate(self._history) if slot.id == name), None)
        if place is None:
            self._builder.report.add_problem(line.number, f"it rewinds to an unknown message: {name:.80}")
        self._cut(line, place or 0)
        self._builder.count("rewind")

    def _cut(self, line: SourceLine, place: int) -> None:
        """Continue after the first `place` messages of the history. The rest becomes a branch with a label."""
        dropped, rest = self._tip, self._history[place:]
        self._dropped += rest
        self._tip = rest[0].before if rest else self._tip
        del self._history[place:]
        if dropped is not None and dropped != self._tip:
            self._builder.add_beside(line, "label", {"targetId": dropped, "label": ROLLED_BACK})

    def _replace(self, line: SourceLine, values: list[Any]) -> None:
        """Continue with another history: its new messages follow those that both have."""
        self._copies.next_place = None
        made = [
            self._message(line, fields.mapping(value), f"line-{line.key}-{number}")
            for number, value in enumerate(values, 1)
        ]
        given = [message for message in made if message is not None]
        if len(given) < len(made):
            self._builder.report.add_problem(
                line.number, f"{len(made) - len(given)} messages of a history cannot be read"
            )
            self._builder.preserve(line, "history", "some of its messages cannot be read")
        if self._is_document and self._source.growing and given:
            given.pop()  # its program writes the whole file again, and the last message may grow
            self._builder.report.held_back_count += 1
        if given and self._history and given[0].type == "user" and given[0].content.is_injected:
            self._take_context(given[0])
        shared, rest = self._shared(given)
        if not rest or shared == len(self._history):
            if shared < len(self._history) and given:
                self._cut(line, shared)
        elif not any(slot.is_spoken for slot in self._history[:shared]):
            rest = self._compact(line, shared, rest)
        else:
            self._cut(line, shared)
        for message in rest:
            if not self._restore(message):
                self._add(message)

    def _take_context(self, message: Message) -> None:
        """Take the program's context before a history that has another one, such as that of another day, or none."""
        first = self._history[0]
        if first.is_injected and first.spoken == message.content.spoken:
            return
        if not first.is_injected:
            first = Slot(message.id, message.type, [], None, None, is_injected=True)
            self._history.insert(0, first)
        first.spoken, self._context = message.content.spoken, message

    def _add_context(self) -> None:
        """Add a context that was changed before the first message that follows the change."""
        if (message := self._context) is None:
            return
        self._context = None
        name = f"{message.id[:50]}-{fields.digest(str(message.content.spoken))[:8]}"
        payload = {"customType": f"{NAME}.context", "content": message.content.blocks, "display": False}
        self._tip = self._builder.add(message.line, name, self._tip, "custom_message", payload, at=message.at)
        if self._history:
            self._history[-1].end = self._tip

    def _restore(self, message: Message) -> bool:
        """Continue at a message that an earlier update removed, if this message repeats it in the same place.

        Gemini CLI does so when it resumes a session: it removes the history, and then adds it again.
        """
        found = (
            self._copies.removed(message, self._dropped, self._tip)
            or [
                slot
                for slot in reversed(self._dropped)
                if slot.follows(self._tip) and slot.is_repeated_by(message)
            ][:1]
        )
        if not found or message.type not in _SPEAKERS:
            return False
        for slot in found:
            self._dropped.remove(slot)
            self._history.append(slot)
        if self._tip is None or slot.kept_by != self._tip:
            self._tip = slot.end
        self._extend(slot, message, [])
        if not any(other.before == slot.end for other in self._dropped):
            self._builder.add_beside(message.line, "label", {"targetId": slot.end})
        return True

    def _shared(self, given: list[Message], place: int = 0) -> tuple[int, list[Message]]:
        """Return the end of the messages of the history, from `place` on, that `given` repeats, and its rest."""
        for number, message in enumerate(given):
            if (after := self._copies.place_after(message, self._history, place)) is not None:
                place = after
                continue
            if message.type not in _SPEAKERS or self._is_mirror(message):
                place += place < len(self._history) and self._history[place].id == message.id
                continue
            while (
                place < len(self._history)
                and not self._history[place].spoken
                and self._history[place].id != message.id
            ):
                place += 1  # its calls and results are not among the messages with a text
            if place == len(self._history) or not self._history[place].is_repeated_by(message):
                return place, given[number:]
            self._extend(self._history[place], message, [])
            place += 1
        while place < len(self._history) and not self._history[place].spoken:
            place += 1
        return place, []

    def _compact(self, line: SourceLine, shared: int, rest: list[Message]) -> list[Message]:
        """Add a compaction for a history that starts again. Returns the messages that follow it."""
        tail = next(
            (
                n
                for n, message in enumerate(rest)
                if any(slot.is_repeated_by(message) for slot in self._history[shared:])
            ),
            len(rest),
        )
        first = rest[tail] if tail < len(rest) else None
        keeps = next(
            (n for n, slot in enumerate(self._history) if first is not None and slot.is_repeated_by(first)),
            len(self._history),
        )
        summaries = rest[:tail] if first is not None else rest[:1]
        texts = [
            fields.as_text(block.get("text")) for summary in summaries for block in summary.content.spoken
        ]
        kept = self._history[keeps] if keeps < len(self._history) else None
        payload = {
            "summary": "\n\n".join(filter(None, texts)),
            "firstKeptEntryId": None if kept is None else kept.first, "tokensBefore": 0,
            "details": {"messages": [summary.value for summary in summaries]},
        }  # fmt: skip
        place = summaries[0].id if summaries else f"line-{line.key}"
        self._tip = self._builder.add(
            line, place, self._tip, "compaction", payload, at=summaries[0].at if summaries else None
        )
        self._builder.count("compaction")
        replaced = [
            Slot(summary.id, summary.type, summary.content.spoken, self._tip, self._tip)
            for summary in summaries
        ]
        for slot in replaced:
            slot.first, slot.is_counted = self._tip, True
        tail_slots, below = self._history[keeps:], rest[len(summaries) :]
        for slot in tail_slots:
            slot.kept_by = self._tip
        self._history = [*self._history[:shared], *replaced, *tail_slots]
        if self._history:
            self._history[-1].end = self._tip
        end, below = self._shared(below, shared + len(replaced))
        del self._history[end:]
        return below


DIALECT: Final = Dialect(NAME, "Gemini CLI", detect, read, detect_document)
