"""Settings files of agents in any layout, for property tests of edits."""

import json  # noqa: TID251 - an independent writer
from typing import Any

from hypothesis import strategies as st

EVENTS = ("SessionStart", "Stop")
KEYS = st.sampled_from(["a", "model", "SessionStart", "Stop", "PreToolUse", "ä\u2028", 'q"\\'])
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda strategy: st.lists(strategy, max_size=3) | st.dictionaries(KEYS, strategy, max_size=3),
    max_leaves=6,
)
HANDLERS = st.fixed_dictionaries({"type": st.just("command"), "command": st.sampled_from(["x", "y z"])})
GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(HANDLERS, max_size=2)}, optional={"matcher": st.just("*")}),
    max_size=2,
)
SERVERS = st.dictionaries(
    st.sampled_from(["herons", "z"]), st.fixed_dictionaries({"command": st.just("x")}), max_size=2
)


def _settings(container: str) -> st.SearchStrategy[dict[str, Any]]:
    """Settings with a container that may be missing, empty or full: `hooks`, or a container of servers."""
    content: Any = SERVERS
    if container == "hooks":
        content = st.dictionaries(st.sampled_from([*EVENTS, "Other"]), GROUPS, max_size=3)
    return st.dictionaries(KEYS, VALUES, max_size=3).flatmap(
        lambda rest: st.one_of(st.just(rest), content.map(lambda item: {**rest, container: item, "z": 1}))
    )


@st.composite
def written(draw: st.DrawFn, container: str = "hooks") -> str:
    """A settings file in any layout: indentation, line ends, comments, trailing commas, a byte order mark."""
    text = _laid_out(draw, draw(_settings(container)), draw(st.sampled_from(["", "  ", "    ", "\t"])), "")
    text = (
        draw(st.sampled_from(["", " ", "\n", "// first\n"]))
        + text
        + draw(st.sampled_from(["", "\n", " \n\n"]))
    )
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff"])) + text


def _laid_out(draw: st.DrawFn, value: Any, unit: str, margin: str) -> str:
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    comments = ["", "", "", " /* c */", *([" // d"] if unit else [])]
    end = "\n" + margin + unit if unit else ""
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    text = opening + draw(st.sampled_from(comments))
    items = list(value.items()) if isinstance(value, dict) else [(None, item) for item in value]
    for place, (key, item) in enumerate(items):
        name = "" if key is None else json.dumps(key) + draw(st.sampled_from([":", ": ", " : "]))
        text += end + name + _laid_out(draw, item, unit, margin + unit)
        last = place == len(items) - 1
        text += "," if not last or draw(st.booleans()) else ""
        text += draw(st.sampled_from(comments))
    ends_in_comment = text.rpartition("\n")[2].find("//") >= 0
    return text + ("\n" + margin if unit and (items or ends_in_comment) else "") + closing
