"""The tools that find: `recall`, `search_sessions` and `list_sessions`."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from sessiond import human
from sessiond.agents import names
from sessiond.mcp.daemon_access import ReportProgress, reported_errors
from sessiond.mcp.entry_text import text_of_entry
from sessiond.mcp.quoting import CleanText, joined, quoted, quoted_line, shown_id
from sessiond.mcp.tools import arguments as a
from sessiond.mcp.tools.table import ToolCall

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon
    from sessiond.protocol import types as t

_MAX_BUDGET: Final = 2_200
"""Tokens of passages with which a result stays below `MAX_CHARACTERS`."""
_MAX_HITS: Final = 20
_MAX_LISTED: Final = 30
_EXCERPT: Final = 300
_LEAD: Final = 80
"""The characters of an excerpt before the first word that matches."""
_MARGIN: Final = 8_000
"""The characters around a match in which secrets are looked for: longer than a private key."""
_TITLE: Final = 120
_WAITS: Final = 10
_WAIT_MS: Final = 1_000
_LIST_WAIT_SECONDS: Final = 0.25
_SO_FAR: Final = "is known so far"
_TYPES: Final = {
    "compaction": "summary of a compaction",
    "branch_summary": "summary of a branch",
    "label": "label",
    "session": "title",
    "session_info": "title",
    "title_change": "title",
}
_MINUTE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_ROLES: Final = frozenset(("user", "assistant", "toolResult", "bashExecution", "fileMention", "custom"))


class _Searched(Protocol):
    @property
    def unsearched(self) -> "t.UnsearchedTexts": ...


Found = TypeVar("Found", bound=_Searched)


async def recall(call: ToolCall, args: a.RecallArguments) -> str:
    """Run `recall`."""
    daemon = await call.access.daemon()
    project = await call.project.searched(all_projects=args.all_projects)
    budget = min(args.budget_tokens, _MAX_BUDGET)
    with reported_errors():
        found = await _waited_for_index(
            lambda wait_ms: daemon.recall(
                args.question, also=args.also, budget_tokens=budget, project=project,
                agent=agent_filter(args.agent), wait_ms=wait_ms,
            ),
            call.report,
        )  # fmt: skip
    texts = await call.access.cleaned(
        [
            text
            for passage in found.passages
            for text in (
                passage.title or without_cut_word(passage.first_prompt),
                passage.cwd,
                passage.text,
                "" if passage.neighbor is None else passage.neighbor.text,
            )
        ]
    )
    head = _head_of_recall(found, args, budget, is_limited=project is not None)
    now = time.time()
    return joined(
        head,
        [
            _passage(number, passage, texts[4 * number : 4 * number + 4], now)
            for number, passage in enumerate(found.passages)
        ],
    )


async def search(call: ToolCall, args: a.SearchArguments) -> str:
    """Run `search_sessions`."""
    daemon = await call.access.daemon()
    project = await call.project.searched(all_projects=args.all_projects)
    limit = min(args.limit, _MAX_HITS)
    with reported_errors():
        session_id = None
        if args.session_id is not None:
            session_id = (
                await call.project.session(daemon, args.session_id, all_projects=args.all_projects)
            ).session_id
        found = await _waited_for_index(
            lambda wait_ms: daemon.search(
                args.query, project=project, session_id=session_id, agent=agent_filter(args.agent),
                roles=[args.role] if args.role else None, since=args.since, cursor=args.cursor, limit=limit,
                wait_ms=wait_ms,
            ),
            call.report,
        )  # fmt: skip
        words = [word.strip('"*').casefold() for word in args.query.split()]
        whole = await _windows(daemon, found.hits, words)
    texts = await call.access.cleaned([text for hit in zip(found.hits, whole, strict=True) for text in
                                       (hit[0].title, hit[0].cwd, hit[1])])  # fmt: skip
    head = [f"{human.count(len(found.hits), 'hit')}, best first."] if found.hits else [_nothing(found)]
    if args.limit > _MAX_HITS:
        head.append(f"A page has at most {_MAX_HITS} hits.")
    if found.next_cursor is not None:
        head.append(f"For more, repeat the call with cursor: {found.next_cursor}")
    if found.hits:
        head.append("read_session with around: ENTRY shows the conversation around a hit.")
    elif project is not None:
        head.append("Fewer words find more; recall takes a question; all_projects: true asks all projects.")
    head += _unsearched(found)
    now = time.time()
    blocks = [
        _hit(number, hit, texts[3 * number : 3 * number + 3], words, now)
        for number, hit in enumerate(found.hits)
    ]
    return joined(head, blocks)


async def list_(call: ToolCall, args: a.ListArguments) -> str:
    """Run `list_sessions`."""
    daemon = await call.access.daemon()
    project = await call.project.searched(all_projects=args.all_projects)
    limit = min(args.limit, _MAX_LISTED)
    with reported_errors():
        found = await _waited_for_agents(
            lambda: daemon.list_sessions(
                project=project, query=args.query, agent=agent_filter(args.agent), tags=args.tags or None,
                cursor=args.cursor, limit=limit, with_total=True,
            ),
            call.report,
        )  # fmt: skip
    texts = await call.access.cleaned(
        [
            text
            for session in found.sessions
            for text in (session.title, without_cut_word(session.first_prompt), session.cwd)
        ]
    )
    head = [f"{human.count(len(found.sessions), 'session')} of {found.total_count}, newest first."]
    if not found.sessions:
        head = ["There is no such session." if not found.unread_count else f"No such session {_SO_FAR}."]
        if project is not None:
            head.append("all_projects: true lists the sessions of all projects.")
    if args.limit > _MAX_LISTED:
        head.append(f"A page has at most {_MAX_LISTED} sessions.")
    if found.next_cursor is not None:
        head.append(f"For more, repeat the call with cursor: {found.next_cursor}")
    if found.unread_count:
        head.append(
            f"Not read yet: {human.count(found.unread_count, 'file')} of agents. Repeat the call later."
        )
    now = time.time()
    blocks = [
        _row(session, texts[3 * place : 3 * place + 3], now) for place, session in enumerate(found.sessions)
    ]
    return joined(head, blocks)


def without_cut_word(text: str | None) -> str:
    """Return the beginning of a text from the daemon, without its last word if that may be cut.

    A part of a secret is not recognized as one.
    """
    if text is None or not text.endswith("…"):
        return text or ""
    beginning, _, _ = text[:-1].rstrip().rpartition(" ")
    return f"{beginning} …"


def agent_title(origin: "t.SessionOrigin | None") -> str:
    """Return the agent of a session for people. The name of an unknown agent is not trusted."""
    if origin is None:
        return "sessiond"
    title = names.title_of(origin.agent)
    return title if title != origin.agent else shown_id(origin.agent)


def role_title(role: str | None, type: str) -> str:
    """Return who said an entry, or its type. Other words than the known ones are not trusted."""
    if role is not None:
        return role if role in _ROLES else "message"
    return _TYPES.get(type, "entry")


def when(timestamp: str | None, now: float) -> str:
    """Return the age and the date of a time."""
    if not timestamp:
        return "at an unknown time"
    ago = human.ago(timestamp, now)
    if _MINUTE.match(timestamp) is None or ago == timestamp[:10]:
        return shown_id(ago)
    return f"{ago} ({timestamp[:16]})"


def agent_filter(name: str | None) -> str | None:
    """Return the name on the wire of an agent; None without one."""
    return None if name is None else names.name_of(name)


async def _waited_for_index(ask: Callable[[int], Awaitable[Found]], report: ReportProgress) -> Found:
    """Ask until the index is complete, for some seconds at most, and report how many sessions are indexed."""
    found = await ask(0)
    total = found.unsearched.session_count
    for _ in range(_WAITS):
        left = found.unsearched.session_count
        if not left:
            break
        total = max(total, left)
        await report(total - left, total, f"{left} sessions are not indexed yet")
        found = await ask(_WAIT_MS)
    return found


async def _waited_for_agents(
    ask: "Callable[[], Awaitable[t.ListResult]]", report: ReportProgress
) -> "t.ListResult":
    """Ask until the files of followed agents are read, for some seconds at most."""
    found = await ask()
    total = found.unread_count or 0
    for _ in range(_WAITS):
        if not (left := found.unread_count or 0):
            break
        total = max(total, left)
        await report(total - left, total, f"{left} files of agents are not read yet")
        await asyncio.sleep(_LIST_WAIT_SECONDS)
        found = await ask()
    return found


def _nothing(found: _Searched) -> str:
    """Return a message that nothing was found, which also says if not everything was read."""
    return f"Nothing {_SO_FAR}." if found.unsearched.session_count else "Nothing was found."


def _unsearched(found: _Searched) -> list[str]:
    count = found.unsearched.session_count
    return (
        [
            f"Not read yet: {human.count(count, 'session or file', 'sessions or files')}. Repeat the call later."
        ]
        if count
        else []
    )


def _head_of_recall(
    found: "t.RecallResult", args: a.RecallArguments, budget: int, *, is_limited: bool
) -> list[str]:
    if not found.passages:
        head = [f"{_nothing(found)} Ask again with other words in also."]
        if is_limited:
            head.append("all_projects: true asks the sessions of all projects.")
        return head + _unsearched(found)
    head = [f"{human.count(len(found.passages), 'passage')}, best first."]
    if found.omitted_count:
        head.append(
            f"{found.omitted_count} more matched well and did not fit."
            + (" A higher budget_tokens returns more." if budget < _MAX_BUDGET else " Ask more precisely.")
        )
    if not args.also:
        head.append("Other wordings in also find more.")
    head.append("read_session with around: ENTRY shows the conversation around a passage.")
    if found.redaction_incomplete:
        head.append("Some kinds of secrets are not recognized on this machine.")
    return head + _unsearched(found)


def _passage(number: int, passage: "t.RecallPassage", texts: Sequence[CleanText], now: float) -> str:
    title, cwd, text, neighbor = texts
    notes = [
        agent_title(passage.origin),
        role_title(passage.role, passage.type),
        when(passage.timestamp, now),
    ]
    if passage.newest:
        notes.append("the newest about this matter")
    if passage.newer_entry_id is not None:
        notes.append(f"OUTDATED by entry {shown_id(passage.newer_entry_id)}")
    if not passage.on_path:
        notes.append("on an abandoned branch")
    place = f"session {shown_id(passage.session_id)}, entry {_shown_entry(passage.entry_id)}"
    lines = [
        f"{number + 1}. {place}: {', '.join(notes)}",
        quoted_line(CleanText(f"{title or 'untitled'} ({cwd})"), 2 * _TITLE),
        quoted(text, 900),
    ]
    if passage.neighbor is not None:
        asked = "The question to it" if passage.neighbor.role == "user" else "The answer to it"
        lines += [f"{asked}, entry {_shown_entry(passage.neighbor.entry_id)}:", quoted(neighbor, 300)]
    return "\n".join(lines)


def _shown_entry(id: str | None) -> str:
    return "(none)" if id is None else shown_id(id)


async def _windows(daemon: "Daemon", hits: "Sequence[t.Hit]", words: Sequence[str]) -> list[str]:
    """Return the text around the match of each hit. It is wide, since a secret is not recognized in a part of it."""
    texts: dict[tuple[str, str], str] = {}
    wanted: dict[str, list[str]] = {}
    for hit in hits:
        if hit.entry_id is not None:
            wanted.setdefault(hit.session_id, []).append(hit.entry_id)
    for session_id, ids in wanted.items():
        found = await daemon.entries(session_id, entry_ids=list(dict.fromkeys(ids)))
        for entry in found.entries:
            text = text_of_entry(entry)
            start = max(0, _first_match(text, words) - _MARGIN)
            texts[session_id, str(entry.get("id"))] = text[start : start + 2 * _MARGIN]
    return [texts.get((hit.session_id, hit.entry_id or ""), "") for hit in hits]


def _first_match(text: str, words: Sequence[str]) -> int:
    folded = text.casefold()
    return min((at for word in words if word and (at := folded.find(word)) >= 0), default=0)


def _hit(number: int, hit: "t.Hit", texts: Sequence[CleanText], words: Sequence[str], now: float) -> str:
    title, cwd, text = texts
    notes = [agent_title(hit.origin), role_title(hit.role, hit.type), when(hit.timestamp, now)]
    if not hit.on_path:
        notes.append("on an abandoned branch")
    lines = [
        f"{number + 1}. session {shown_id(hit.session_id)}, entry {_shown_entry(hit.entry_id)}: {', '.join(notes)}",
        quoted_line(CleanText(f"{title or 'untitled'} ({cwd})"), _TITLE),
    ]
    if text:
        lines.append(quoted(_excerpt(text, words), _EXCERPT))
    return "\n".join(lines)


def _excerpt(text: CleanText, words: Sequence[str]) -> CleanText:
    """Return the part of a text in which the words of a query are, as one line."""
    line = " ".join(text.split())
    start = max(0, _first_match(line, words) - _LEAD)
    if start:
        gap = line.find(" ", start, start + 40)
        start = gap + 1 if gap >= 0 else start
    return CleanText(("… " if start else "") + line[start:])


def _row(session: "t.ListedSession", texts: Sequence[CleanText], now: float) -> str:
    title, prompt, cwd = texts
    count = "" if session.message_count is None else f", {human.count(session.message_count, 'message')}"
    facts = f"{agent_title(session.origin)}, {when(session.updated_at, now)}{count}"
    first = f"session {shown_id(session.session_id)}: {facts}"
    name = title or prompt or "untitled"
    return f"{first}\n{quoted_line(CleanText(f'{name} ({cwd})'), 200)}"
