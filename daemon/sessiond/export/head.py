"""What the head of a page says of its session."""

from sessiond.protocol import types as t
from sessiond.session.content import preview
from sessiond.session.state.statistics import Tally
from sessiond.session.tree import entries, lines
from sessiond.session.tree.tree import Tree

_DIGITS = 9  # of a cost: sums of binary fractions have a noise in their last digits that means nothing
_TITLE = 200
_SPEAKERS = ("user", "assistant")  # whose messages lists count, too


def head_of(tree: Tree, tally: Tally) -> t.PageSession:
    """The session of a tree; `tally` counts all of it."""
    header = tree.header or entries.Header(id="", timestamp="")
    return t.PageSession(
        session_id=header.id, title=tree.title and preview.one_line(lines.sound(tree.title), _TITLE),
        cwd=lines.sound(header.cwd), created_at=header.timestamp, tags=list(map(lines.sound, tree.tags)),
        parent_session=lines.sound(header.parent_session), leaf_id=tree.leaf_id,
        figures=t.PageFigures(
            messages=sum(tally.messages.get(role, 0) for role in _SPEAKERS),
            tool_calls=tally.tool_calls, tokens=tally.tokens.total,
            cost=round(tally.cost.total, _DIGITS), models=[name for name in tally.models if name is not None],
        ),
    )  # fmt: skip
