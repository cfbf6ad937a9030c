"""The tool `session_overview`: what a session was about, without reading it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sessiond import human
from sessiond.mcp.daemon_access import reported_errors
from sessiond.mcp.entry_text import role_of, text_of_entry
from sessiond.mcp.quoting import CleanText, cut, joined, quoted, quoted_line, shown_id
from sessiond.mcp.tools import arguments as a
from sessiond.mcp.tools.finding import agent_title, when, without_cut_word
from sessiond.mcp.tools.table import ToolCall

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon
    from sessiond.protocol import types as t

_MAX_FILES: Final = 25
_MAX_LABELS: Final = 10
_MAX_BRANCHES: Final = 8
_MAX_ROWS: Final = 5_000
_ROWS: Final = 1_000
_LAST_ENTRIES: Final = 40
_TEXT: Final = 800
_LINE: Final = 160


@dataclass(frozen=True)
class _Branch:
    leaf_id: str
    preview: str
    on_path: bool


@dataclass(frozen=True)
class _Facts:
    """The facts of a session that the daemon returns, before secrets are removed."""

    session: "t.ListedSession"
    stats: "t.StatsResult"
    state: "t.WorkingState"
    sides: "t.CompareResult | None"
    labels: "Sequence[t.LabeledEntry]"
    branches: Sequence[_Branch]
    first: str
    last: str
    summary: str


async def overview(call: ToolCall, args: a.OverviewArguments) -> str:
    """Run `session_overview`."""
    daemon = await call.access.daemon()
    with reported_errors():
        session = await call.project.session(daemon, args.session_id, all_projects=args.all_projects)
        return await described(call, daemon, session)


async def described(call: ToolCall, daemon: "Daemon", session: "t.ListedSession") -> str:
    """Return the overview of a session."""
    facts = await _facts(daemon, session)
    modified = [] if facts.sides is None else facts.sides.right.modified_files[:_MAX_FILES]
    read = [] if facts.sides is None else facts.sides.right.read_files[:_MAX_FILES]
    groups: list[Sequence[str]] = [
        [session.title or "untitled"], [session.cwd], modified, read,
        [f"{decision.decision} (why: {decision.rationale})" if decision.rationale else decision.decision
         for decision in facts.state.key_decisions],
        [facts.state.plan or ""],
        [f"{label.label}: {without_cut_word(label.preview)}" for label in facts.labels],
        [without_cut_word(branch.preview) for branch in facts.branches],
        [facts.first], [facts.last], [facts.summary], session.tags,
    ]  # fmt: skip
    clean = await _cleaned_groups(call, groups)
    return joined(_head(facts), _blocks(facts, clean))


async def _cleaned_groups(call: ToolCall, groups: Sequence[Sequence[str]]) -> list[list[CleanText]]:
    texts = iter(await call.access.cleaned([text for group in groups for text in group]))
    return [[next(texts) for _ in group] for group in groups]


async def _facts(daemon: "Daemon", session: "t.ListedSession") -> _Facts:
    id = session.session_id
    stats = await daemon.stats(id)
    state = (await daemon.state(id)).state
    labels = (await daemon.labels(id, limit=_MAX_LABELS)).items
    root = (await daemon.path(id, limit=1)).entries
    newest = (await daemon.path(id, direction="backward", limit=_LAST_ENTRIES)).entries
    sides = None
    if root and len(newest) > 1:
        sides = await daemon.compare(id, str(root[0].get("id")))
    return _Facts(
        session, stats, state, sides, labels, await _branches(daemon, id), session.first_prompt or "",
        _newest(newest, lambda entry: role_of(entry) == "assistant"),
        _newest(newest, lambda entry: entry.get("type") == "compaction"),
    )  # fmt: skip


def _newest(entries: Sequence[dict[str, Any]], is_wanted: Any) -> str:
    """Return the text of the newest wanted entry that has one; entries are newest first."""
    texts = (text_of_entry(entry) for entry in entries if is_wanted(entry))
    return next((text for text in texts if text.strip()), "")


async def _branches(daemon: "Daemon", session_id: str) -> list[_Branch]:
    """Return the ends of the branches, the one that the session is on first; of a very large session the first ones."""
    ends: list[_Branch] = []
    cursor: str | None = None
    for _ in range(_MAX_ROWS // _ROWS):
        page = await daemon.tree(session_id, cursor=cursor, limit=_ROWS)
        ends += [_Branch(node.id, node.preview, node.on_path) for node in page.nodes if not node.child_count]
        cursor = page.next_cursor
        if cursor is None:
            break
    return sorted(ends, key=lambda end: not end.on_path)


def _head(facts: _Facts) -> list[str]:
    session, stats, now = facts.session, facts.stats, time.time()
    tree = stats.tree_stats
    id = shown_id(session.session_id)
    head = [
        f"Session {id}: {agent_title(session.origin)}, begun {when(session.created_at, now)},"
        f" last used {when(session.updated_at, now)}.",
        f"{human.count(tree.message_count, 'message')}, {human.count(tree.tool_call_count, 'tool call')},"
        f" {human.count(tree.tool_error_count, 'tool error')}, {human.count(tree.compaction_count, 'compaction')}.",
        f"Tokens: {tree.tokens.total:,} in all; cost as recorded: {tree.cost.total:.2f};"
        f" the context now: about {stats.context.tokens:,}.",
        f"read_session with session_id {id} reads it, with newest_first: true from its end.",
    ]
    if session.origin is not None:
        head.append(f"Its id in {agent_title(session.origin)}: {shown_id(session.origin.session_id)}.")
    if len(facts.branches) > 1:
        head.append(f"{len(facts.branches)} branches; compare_branches compares two of them.")
    return head


def _blocks(facts: _Facts, clean: Sequence[Sequence[CleanText]]) -> list[str]:
    [title], [cwd], modified, read, decisions, [plan], labels, previews, [first], [last], [summary], tags = (
        clean
    )
    models = [shown_id(cut(model.model, 60)) for model in facts.stats.tree_stats.models[:5] if model.model]
    sides = facts.sides
    blocks = [
        "Title and folder:\n" + "\n".join(quoted_line(text, _LINE) for text in (title, cwd)),
        _listed("Tags", tags, len(tags)),
        f"Models: {', '.join(models)}" if models else "",
        _text("First prompt", first),
        _text("Last answer", last),
        _text("Summary of what was compacted", summary),
        _text("Plan", plan),
        _listed("Decisions", decisions, len(decisions)),
        _listed("Labels", labels, len(labels)),
    ]
    if sides is not None:
        blocks.append(_listed("Files modified", modified, sides.right.modified_file_count))
        blocks.append(_listed("Files read", read, sides.right.read_file_count))
    if len(facts.branches) > 1:
        shown = list(zip(facts.branches, previews, strict=True))[:_MAX_BRANCHES]
        rows = [
            f"branch {shown_id(branch.leaf_id)}{' (the current one)' if branch.on_path else ''}:\n"
            f"{quoted_line(text, _LINE)}"
            for branch, text in shown
        ]
        blocks.append("\n".join(["Branches, by their last entry:", *rows]))
    return _within(blocks)


def _text(title: str, text: CleanText) -> str:
    return f"{title}:\n{quoted(text, _TEXT)}" if text.strip() else ""


def _listed(title: str, texts: Sequence[CleanText], count: int) -> str:
    if not texts:
        return ""
    shown = [quoted_line(text, _LINE) for text in texts]
    more = f" ({len(texts)} of {count})" if count > len(texts) else ""
    return "\n".join([f"{title}{more}:", *shown])


def _within(blocks: Sequence[str]) -> list[str]:
    """Return the blocks that fit into a result, in their order."""
    kept: list[str] = []
    left = 9_000
    for block in filter(None, blocks):
        if len(block) + 2 <= left:
            kept.append(block)
            left -= len(block) + 2
    return kept
