"""The tools that write, with `--allow-write`: labels, tags, forks and notes. No tool deletes anything."""

import hashlib
import time
from typing import TYPE_CHECKING, Any, Final

from sessiond import human
from sessiond.mcp.daemon_access import reported_errors
from sessiond.mcp.errors import ToolError
from sessiond.mcp.quoting import cut, shown_id
from sessiond.mcp.tools import arguments as a
from sessiond.mcp.tools.table import ToolCall

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon

NOTES_TAG: Final = "notes"
_NOTES_TITLE: Final = "Notes of agents"


class NothingToChangeError(ToolError):
    """Raised when neither tags to add nor tags to remove are given."""

    sentence = "tag_session: there is nothing to change."
    advice = "Give tags in add or remove."


async def label(call: ToolCall, args: a.LabelArguments) -> str:
    """Run `label_entry`."""
    daemon = await call.access.daemon()
    with reported_errors():
        session = await call.project.session(daemon, args.session_id, all_projects=args.all_projects)
        await daemon.label(session.session_id, args.entry_id, args.label)
    done = "has the label now" if args.label else "has no label now"
    return f"Entry {shown_id(args.entry_id)} of session {shown_id(session.session_id)} {done}."


async def tag(call: ToolCall, args: a.TagArguments) -> str:
    """Run `tag_session`."""
    if not args.add and not args.remove:
        raise NothingToChangeError
    daemon = await call.access.daemon()
    with reported_errors():
        session = await call.project.session(daemon, args.session_id, all_projects=args.all_projects)
        changed = await daemon.tag(session.session_id, add=args.add or None, remove=args.remove or None)
    return f"Session {shown_id(session.session_id)} has {human.count(len(changed.session.tags), 'tag')} now."


async def fork(call: ToolCall, args: a.ForkArguments) -> str:
    """Run `fork_session`."""
    from msgspec import UNSET

    daemon = await call.access.daemon()
    with reported_errors():
        session = await call.project.session(daemon, args.session_id, all_projects=args.all_projects)
        made = await daemon.fork(
            session.session_id, leaf_id=UNSET if args.entry_id is None else args.entry_id, title=args.title
        )
        if not made.session.is_draft:  # a draft session that no client has open moves to the trash
            await daemon.close(made.session.session_id)
    new = shown_id(made.session.session_id)
    return f"The new session is {new}. The user can continue it with: sessiond resume {new}"


async def save_note(call: ToolCall, args: a.NoteArguments) -> str:
    """Run `save_note`. The notes of a folder are messages in one session of that folder, with the tag `notes`."""
    daemon = await call.access.daemon()
    folder = await call.project.folder()
    text = args.text
    with reported_errors():
        if args.session_id is not None:
            about = await call.project.session(daemon, args.session_id, all_projects=False)
            text += f"\n(about session {about.session_id})"
        notes_id = "notes-" + hashlib.sha256(folder.encode(errors="replace")).hexdigest()[:16]
        is_new = await _make_notes(daemon, notes_id, folder)
        added = await daemon.append(notes_id, [_note(text, call.client)])
        if is_new:  # not before: a draft session that no client has open moves to the trash
            await daemon.close(notes_id)
    return (
        f"Saved as entry {shown_id(added.entries[0].id)} of session {notes_id}."
        " recall and search_sessions find it."
    )


async def _make_notes(daemon: "Daemon", notes_id: str, folder: str) -> bool:
    """Create the session of the notes of a folder and open it, unless there is one. Returns whether it is new."""
    from sessiond.client.wire import RpcError

    try:
        await daemon.create(folder, id=notes_id, title=_NOTES_TITLE, tags=[NOTES_TAG])
    except RpcError as error:
        if error.kind != "alreadyExists":
            raise
        return False
    return True


def _note(text: str, client: str) -> dict[str, Any]:
    """Return a note as the message of a model, since a model wrote it."""
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "api": "mcp",
        "provider": "mcp",
        "model": cut(client, 100),
        "usage": {**nothing, "cost": cost},
        "stopReason": "stop",
        "timestamp": int(time.time() * 1000),
    }
