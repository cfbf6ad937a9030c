"""The tool `compare_branches`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from sessiond import human
from sessiond.mcp.daemon_access import reported_errors
from sessiond.mcp.entry_text import role_of, text_of_entry
from sessiond.mcp.quoting import CleanText, joined, quoted, quoted_line, shown_id
from sessiond.mcp.tools import arguments as a
from sessiond.mcp.tools.table import ToolCall

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon
    from sessiond.protocol import types as t

_MAX_READ: Final = 200
_MAX_PROMPTS: Final = 5
_MAX_FILES: Final = 10
_LINE: Final = 160
_ANSWER: Final = 1_000


@dataclass(frozen=True)
class _Side:
    name: str
    compared: "t.ComparedSide"
    prompts: Sequence[str]
    answer: str


async def compare(call: ToolCall, args: a.CompareArguments) -> str:
    """Run `compare_branches`."""
    daemon = await call.access.daemon()
    with reported_errors():
        session = await call.project.session(daemon, args.session_id, all_projects=args.all_projects)
        id = session.session_id
        found = await daemon.compare(id, args.left, UNSET if args.right is None else args.right)
        sides = [await _side(daemon, id, "left", found.left), await _side(daemon, id, "right", found.right)]
    blocks = [await _block(call, side) for side in sides]
    common = (
        "no common entry" if found.ancestor_id is None else f"both follow entry {shown_id(found.ancestor_id)}"
    )
    return joined([f"Two branches of session {shown_id(id)}; {common}."], blocks)


async def _side(daemon: "Daemon", session_id: str, name: str, side: "t.ComparedSide") -> _Side:
    ids = list(dict.fromkeys((*side.entry_ids[: _MAX_READ // 2], *side.entry_ids[-_MAX_READ // 2 :])))
    entries = (await daemon.entries(session_id, entry_ids=ids)).entries if ids else []
    prompts = [text_of_entry(entry) for entry in entries if role_of(entry) == "user"]
    answers = [
        text for entry in entries if role_of(entry) == "assistant" and (text := text_of_entry(entry)).strip()
    ]
    return _Side(name, side, prompts[:_MAX_PROMPTS], answers[-1] if answers else "")


async def _block(call: ToolCall, whole_side: _Side) -> str:
    side = whole_side.compared
    modified, read = side.modified_files[:_MAX_FILES], side.read_files[:_MAX_FILES]
    clean = await call.access.cleaned([*modified, *read, *whole_side.prompts, whole_side.answer])
    texts = iter(clean)
    end = "" if side.leaf_id is None else f" to entry {shown_id(side.leaf_id)}"
    lines = [
        f"The {whole_side.name} branch{end}: {human.count(side.stats.entry_count, 'entry', 'entries')},"
        f" {human.count(side.stats.tool_call_count, 'tool call')}, about {side.tokens:,} tokens of context,"
        f" cost as recorded: {side.stats.cost.total:.2f}."
    ]
    for title, shown, count in (
        ("Files modified", modified, side.modified_file_count),
        ("Files read", read, side.read_file_count),
        ("Prompts", whole_side.prompts, len(whole_side.prompts)),
    ):
        rows = [quoted_line(next(texts), _LINE) for _ in shown]
        if rows:
            lines += [f"{title}{f' ({len(rows)} of {count})' if count > len(rows) else ''}:", *rows]
    answer = CleanText(next(texts))
    if answer:
        lines += ["Last answer:", quoted(answer, _ANSWER)]
    return "\n".join(lines)
