"""The session store of the Claude Agent SDK: transcripts as sessions of this user's daemon.

    from claude_agent_sdk import ClaudeAgentOptions, query
    from sessiond.adapters.claude_agent_sdk import SessiondSessionStore

    options = ClaudeAgentOptions(session_store=SessiondSessionStore(), session_store_flush="eager")

Each transcript, also that of a subagent, is a session whose id is derived from its key. Lines are appended in their
order at the leaf. The text of a line is shown as a message; the line itself is stored beside it and
returned unchanged. A line is stored once, by its `uuid`. Deleted transcripts move to the trash.
"""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

try:
    from claude_agent_sdk import fold_session_summary
except ImportError as error:
    raise ImportError(
        "The Claude Agent SDK is not installed: pip install 'sessiond[claude-agent-sdk]'"
    ) from error

from sessiond.adapters.claude_lines import LineReader
from sessiond.adapters.items import Entry, entries_of, item_of, items_of, new_name
from sessiond.adapters.sdk_sessions import SdkSession, SdkSessions
from sessiond.paths import Locations
from sessiond.protocol import types as t
from sessiond.session.content import fields
from sessiond.unicode import valid_unicode

if TYPE_CHECKING:
    from claude_agent_sdk import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

PROGRAM: Final = "claude-agent-sdk"
LINE_TYPE: Final = f"{PROGRAM}.line"
"""`customType` of an entry with a line that is not shown."""
KEY_TYPE: Final = f"{PROGRAM}.key"
"""`customType` of the first entry of a session: the key of its transcript."""
_MAX_TAG: Final = 100


class SessiondSessionStore:
    """Stores transcripts of the Claude Agent SDK in the daemon of this user, which is started if it does not run.

    It has all methods of the SDK's `SessionStore`. Several programs may use one transcript at the same time.

    Args:
        locations: The folders of the daemon. Default: those of this user.
    """

    def __init__(self, *, locations: Locations | None = None) -> None:
        self._sessions = SdkSessions(PROGRAM, LINE_TYPE, locations)
        self._readers: dict[str, LineReader] = {}
        self._keys: dict[str, dict[str, str]] = {}

    async def append(self, key: "SessionKey", entries: "list[SessionStoreEntry]") -> None:
        """Append lines to a transcript. Returns when they are on the disk.

        Args:
            key: The key of the transcript.
            entries: The lines. A line whose `uuid` is stored already is left out.

        Raises:
            RpcError: The daemon refused the lines, for example because the disk is full.
            DaemonConnectionError: There is no daemon, and it cannot be started.
        """
        if not entries:
            return
        session = _session_of(key, entries)
        reader = self._readers.setdefault(session.id, LineReader())
        items: dict[str, list[Entry]] = {}
        for line in entries:
            name = fields.text(line.get("uuid")) or new_name()
            if name not in items:
                shown = reader.shown(dict(line))
                items[name] = entries_of(dict(line), shown, custom_type=LINE_TYPE, name=name)
        await self._sessions.append(session, list(items.values()))

    async def load(self, key: "SessionKey") -> "list[SessionStoreEntry] | None":
        """Return the lines of a transcript in the order in which they were appended, or None if there are none."""
        stored = [entry async for entry in self._sessions.entries(_id_of(key))]
        found: Any = items_of(stored, custom_type=LINE_TYPE)
        return found or None

    async def list_sessions(self, project_key: str) -> "list[SessionStoreListEntry]":
        """Return the ids of the transcripts of a project, without subagents, and the times of their last change."""
        rows = await self._sessions.listed(_tag_of(project_key))
        return [
            {"session_id": key["session_id"], "mtime": _milliseconds(row)}
            for row, key in await self._with_keys(rows)
            if key["project_key"] == project_key
        ]

    async def list_session_summaries(self, project_key: str) -> "list[SessionSummaryEntry]":
        """Return the SDK's summaries of the transcripts of a project, made from their lines."""
        found: list[SessionSummaryEntry] = []
        for row, key in await self._with_keys(await self._sessions.listed(_tag_of(project_key))):
            if key["project_key"] != project_key:
                continue
            stored = [entry async for entry in self._sessions.entries(row.session_id)]
            lines: Any = items_of(stored, custom_type=LINE_TYPE)
            named: Any = key
            if lines:
                summary = fold_session_summary(None, named, lines)
                found.append({**summary, "mtime": _milliseconds(row)})
        return found

    async def delete(self, key: "SessionKey") -> None:
        """Move a transcript to the trash, and those of its subagents if the key has no `subpath`."""
        session_id = _id_of(key)
        if not key.get("subpath"):
            for row in await self._sessions.listed(_subagent_tag(session_id)):
                await self._forget(row.session_id)
        await self._forget(session_id)

    async def list_subkeys(self, key: "SessionListSubkeysKey") -> list[str]:
        """Return the subpaths of the transcripts of a session's subagents."""
        rows = await self._sessions.listed(_subagent_tag(_id_of(key)))
        return sorted(found["subpath"] for _, found in await self._with_keys(rows) if "subpath" in found)

    async def aclose(self) -> None:
        """End the connection to the daemon."""
        await self._sessions.aclose()

    async def _forget(self, session_id: str) -> None:
        self._readers.pop(session_id, None)
        await self._sessions.delete(session_id)

    async def _with_keys(self, rows: list[t.ListedSession]) -> list[tuple[t.ListedSession, dict[str, str]]]:
        """Return the rows of transcripts that have a line, with their keys."""
        found = []
        for row in rows:
            if row.session_id not in self._keys:
                async for entry in self._sessions.entries(row.session_id):
                    key = item_of(entry, custom_type=KEY_TYPE)
                    if key is not None:
                        self._keys[row.session_id] = key
                        break
            if row.session_id in self._keys:
                found.append((row, self._keys[row.session_id]))
        return found


def _session_of(key: "SessionKey", lines: "list[SessionStoreEntry]") -> SdkSession:
    main_id = _id_of({"project_key": key["project_key"], "session_id": key["session_id"]})
    folder = next((cwd for line in lines if (cwd := fields.text(line.get("cwd")))), None)
    is_folder = folder is not None and os.path.isabs(folder) and "\0" not in folder  # noqa: PTH117
    named: Any = {name: value for name, value in key.items() if value}
    subpath = key.get("subpath")
    tag = _subagent_tag(main_id) if subpath else _tag_of(key["project_key"])
    return SdkSession(
        _id_of(key),
        folder if is_folder and folder is not None else str(Path.cwd()),
        (tag,),
        main_id if subpath else None,
        tuple(entries_of(named, (), custom_type=KEY_TYPE, name="key")),
    )


def _id_of(key: "Mapping[str, Any]") -> str:
    """Return the id of the session for a key. Two projects may use the same `session_id`."""
    names = (PROGRAM, key["project_key"], key["session_id"], key.get("subpath") or "")
    digest = sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def _tag_of(project_key: str) -> str:
    """Return the tag of the main transcripts of a project. The start of a long key is shared by several projects."""
    return f"{PROGRAM}:{valid_unicode(project_key)}"[:_MAX_TAG]


def _subagent_tag(main_id: str) -> str:
    return f"{PROGRAM}-subagent:{main_id}"


def _milliseconds(row: t.ListedSession) -> int:
    return fields.milliseconds(row.updated_at) or 0
