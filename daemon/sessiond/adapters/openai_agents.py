"""The session of the OpenAI Agents SDK: the items of a conversation in a session of this user's daemon.

    from agents import Agent, Runner
    from sessiond.adapters.openai_agents import SessiondSession

    await Runner.run(Agent(name="Heron"), "Where is it?", session=SessiondSession("atlas-heron"))

The text of an item is shown as a message; the item itself is stored beside it and returned
unchanged. Items are those of the path to the leaf: `pop_item` and `clear_session` move the leaf and remove nothing.
Messages of other programs on the path, and a compaction, are items too, so a person can take part from an editor.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, Raw

try:
    from agents.memory import SessionSettings
except ImportError as error:
    raise ImportError(
        "The OpenAI Agents SDK is not installed: pip install 'sessiond[openai-agents]'"
    ) from error

from sessiond.adapters.items import Entry, Item, entries_of, item_of, new_name
from sessiond.adapters.sdk_sessions import SdkSession, SdkSessions
from sessiond.client.wire import RpcError
from sessiond.paths import Locations
from sessiond.session.formats import from_openai_responses
from sessiond.session.formats.build import UnreadableMessage
from sessiond.session.formats.write import RequestData, write
from sessiond.session.tree import steps
from sessiond.session.tree.entries import valid_session_id
from sessiond.unicode import valid_json

if TYPE_CHECKING:
    from agents import TResponseInputItem

PROGRAM: Final = "openai-agents"
ITEM_TYPE: Final = f"{PROGRAM}.item"
"""`customType` of an entry with an item that is not shown."""
_MAX_POP_ATTEMPTS: Final = 20


class SessiondSession:
    """A conversation of the OpenAI Agents SDK in the daemon of this user, which is started if it does not run.

    It implements the SDK's `Session`. Several programs may use one session at the same time.

    Args:
        session_id: The id of the session, which is made with the first item. An id that sessiond does not accept (it
            takes 8 to 128 characters of `A-Za-z0-9_-`) gives a session whose id is derived from it. With the id of a
            session that another program made, the agent continues that session.
        cwd: The folder of the session. Default: the folder of this process.
        session_settings: The SDK's settings: `limit` is how many of the latest items a run gets.
        locations: The folders of the daemon. Default: those of this user.

    Attributes:
        session_id: The id as it was given.
        session_settings: The settings.
    """

    def __init__(
        self,
        session_id: str,
        *,
        cwd: str | Path | None = None,
        session_settings: SessionSettings | None = None,
        locations: Locations | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        folder = str(Path(cwd).resolve() if cwd is not None else Path.cwd())
        self._session = SdkSession(_id_of(session_id), folder, (PROGRAM,))
        self._sessions = SdkSessions(PROGRAM, ITEM_TYPE, locations)

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """Return the items of the conversation, oldest first.

        Args:
            limit: The maximum number of items, the latest ones. Default: the limit of the settings, or all.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        found: list[Any] = _items_of(await self._sessions.path(self._session.id))
        if limit is None or limit < 0:
            return found
        return found[-limit:] if limit else []

    async def add_items(self, items: "list[TResponseInputItem]") -> None:
        """Add items after the latest one. Returns when they are on the disk.

        Raises:
            RpcError: The daemon refused the items, for example because the disk is full.
            DaemonConnectionError: There is no daemon, and it cannot be started.
        """
        made = [
            entries_of(dict(item), _shown(item), custom_type=ITEM_TYPE, name=new_name()) for item in items
        ]
        await self._sessions.append(self._session, made)

    async def pop_item(self) -> "TResponseInputItem | None":
        """Remove the latest item from the conversation and return it; None if there is none.

        The leaf moves to the entry before the item. The item stays in the session, on an abandoned branch.
        """
        for _ in range(_MAX_POP_ATTEMPTS):
            path = await self._sessions.path(self._session.id)
            latest: Any = None
            for entry in reversed(path):
                latest = _latest_item(entry)
                if latest is not None:
                    break
            if latest is None:
                return None
            try:
                await self._move_leaf(entry["parentId"], path[-1]["id"])
            except RpcError as error:
                if error.kind != "leafConflict":  # else another program has moved the leaf before
                    raise
            else:
                popped: TResponseInputItem = latest
                return popped
        raise TimeoutError("Other programs write to the session all the time, so no item can be popped.")

    async def clear_session(self) -> None:
        """Begin the conversation again: the next item is a root. The former items stay on an abandoned branch."""
        if await self._sessions.path(self._session.id):
            await self._move_leaf(None, None)

    async def aclose(self) -> None:
        """End the connection to the daemon."""
        await self._sessions.aclose()

    async def _move_leaf(self, entry_id: str | None, leaf_id: str | None) -> None:
        """Move the leaf to an entry, or before the first one; if `leaf_id` is given, only while that is the leaf."""
        expected = UNSET if leaf_id is None else leaf_id
        command_id = secrets.token_hex(16)
        await self._sessions.request(
            lambda daemon: daemon.branch(
                self._session.id, entry_id, command_id=command_id, expected_leaf_id=expected
            )
        )


def _id_of(session_id: str) -> str:
    if valid_session_id(session_id):
        return session_id
    return f"{PROGRAM}-{sha256(session_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _shown(item: "TResponseInputItem") -> list[Entry]:
    """Return the shown parts of an item: messages, calls and results of tools, and reasoning that has a text."""
    try:
        messages = from_openai_responses.read(msgspec.json.encode(valid_json(item)))
    except (UnreadableMessage, msgspec.DecodeError, RecursionError, OverflowError, TypeError, ValueError):
        return []
    entries: list[Entry] = msgspec.json.decode(
        msgspec.json.encode([{"type": "message", "message": message} for message in messages])
    )
    is_blank = all(block.get("thinking") == "" for entry in entries for block in _blocks(entry))
    return [] if is_blank else entries


def _blocks(entry: Entry) -> list[dict[str, Any]]:
    content = entry["message"]["content"]
    return content if isinstance(content, list) and content else [{}]


def _items_of(path: Sequence[Entry]) -> list[Item]:
    """Return the items of a path. Messages that no item was stored with are written as items."""
    items: list[Item] = []
    messages: list[Mapping[str, Any]] = []
    for entry in _in_context(path):
        item = item_of(entry, custom_type=ITEM_TYPE)
        if item is not None:
            items += [*_written(messages), item]
            messages = []
        elif (message := _message_of(entry)) is not None:
            messages.append(message)
    return [*items, *_written(messages)]


def _in_context(path: Sequence[Entry]) -> Iterator[Entry]:
    """Yield the entries of a path that a model receives: after a compaction, its summary and the kept entries."""
    last = max((at for at, entry in enumerate(path) if entry.get("type") == "compaction"), default=None)
    if last is None:
        yield from path
        return
    compaction = path[last]
    yield compaction
    kept_from = compaction.get("firstKeptEntryId")
    first = next((at for at, entry in enumerate(path[:last]) if entry["id"] == kept_from), last)
    yield from (entry for entry in path[first:] if entry.get("type") != "compaction")


def _message_of(entry: Entry) -> Mapping[str, Any] | None:
    if entry.get("type") == "compaction":
        return {"role": "compactionSummary", "summary": entry.get("summary")}
    message = entry.get("message") if entry.get("type") == "message" else None
    return message if isinstance(message, dict) else None


def _written(messages: Sequence[Mapping[str, Any]]) -> list[Item]:
    """Return messages of other programs as items, with each call directly followed by its result."""
    raw = [Raw(msgspec.json.encode(message)) for message in messages]
    written = steps.run(write("openai-responses", raw, RequestData())) if raw else None
    return [] if written is None else [msgspec.json.decode(item) for item in written.messages]


def _latest_item(entry: Entry) -> Item | None:
    item = item_of(entry, custom_type=ITEM_TYPE)
    if item is not None:
        return item
    message = _message_of(entry)
    written = _written([message]) if message is not None else []
    return written[-1] if written else None
