"""The head of a page: the session and its figures."""

from sessiond.protocol import types as t
from sessiond.session.content import preview
from sessiond.session.state.statistics import Tally
from sessiond.session.tree import entries, lines
from sessiond.session.tree.parents import parent_of
from sessiond.session.tree.tree import Tree

_COST_DIGITS = 9  # digits of a cost: further digits of a sum of binary fractions are noise
_TITLE_CHARACTERS = 200
_COUNTED_ROLES = ("user", "assistant")  # lists count the messages of the same roles


def head_of(tree: Tree, tally: Tally) -> t.PageSession:
    """Return the session of a tree. `tally` must cover the whole tree."""
    header = tree.header or entries.Header(id="", timestamp="")
    parent = parent_of(lines.valid_text(header.parent_session))
    return t.PageSession(
        session_id=header.id, title=tree.title and preview.one_line(lines.valid_text(tree.title), _TITLE_CHARACTERS),
        cwd=lines.valid_text(header.cwd), created_at=header.timestamp, tags=list(map(lines.valid_text, tree.tags)),
        parent_session_id=parent.session_id, parent_path=parent.path, leaf_id=tree.leaf_id,
        origin=t.SessionOrigin.of(tree.origin, state=tree.origin_state, ended=tree.has_ended),
        figures=t.PageFigures(
            message_count=sum(tally.messages.get(role, 0) for role in _COUNTED_ROLES),
            tool_call_count=tally.tool_calls, tokens=tally.tokens.total,
            cost=round(tally.cost.total, _COST_DIGITS), models=[name for name in tally.models if name is not None],
        ),
    )  # fmt: skip
