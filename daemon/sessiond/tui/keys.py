"""The keys of the browser and their actions in one table, used by the browser and its help."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Action:
    """An action and its keys; `name` is a method of `Actions`, `says` is its description in the help."""

    keys: tuple[str, ...]
    name: str
    says: str


GROUPS: Final[tuple[tuple[str, tuple[Action, ...]], ...]] = (
    (
        "Going about",
        (
            Action(("j", "down"), "down", "a line down"),
            Action(("k", "up"), "up", "a line up"),
            Action(("ctrl+d",), "half_down", "half a screen down"),
            Action(("ctrl+u",), "half_up", "half a screen up"),
            Action(("pagedown", "ctrl+f"), "page_down", "a screen down"),
            Action(("pageup", "ctrl+b"), "page_up", "a screen up"),
            Action(("gg", "home"), "first", "to the first row"),
            Action(("G", "end"), "last", "to the last row"),
            Action((".",), "tip", "to the leaf"),
            Action(("P",), "parent", "to the parent"),
            Action((")",), "next_sibling", "to the next branch of the same fork"),
            Action(("(",), "previous_sibling", "to the branch of it before"),
            Action(("}",), "next_branch", "to the next branch"),
            Action(("{",), "previous_branch", "to the branch before"),
            Action(("]]",), "next_user", "to the next message of the user"),
            Action(("[[",), "previous_user", "to the message of the user before"),
            Action((">",), "next_label", "to the next label"),
            Action(("<",), "previous_label", "to the label before"),
        ),
    ),
    (
        "Folding",
        (
            Action(("h", "left"), "fold", "fold the branch, or go up"),
            Action(("l", "right"), "unfold", "open the branch, or go into it"),
            Action(("space",), "toggle", "fold or open what hangs on the row"),
            Action(("-",), "fold_others", "fold every branch but that of the leaf"),
            Action(("+", "="), "open_all", "open everything"),
        ),
    ),
    (
        "Finding",
        (
            Action(("/",), "search", "search as you type; in all that was said"),
            Action(("n",), "next_match", "to the next match"),
            Action(("N",), "previous_match", "to the match before"),
            Action(("s",), "narrow", "show only entries with some words (none: all)"),
            Action(("v",), "next_filter", "next filter"),
            Action(("1",), "filter_1", "filter default"),
            Action(("2",), "filter_2", "filter noTools"),
            Action(("3",), "filter_3", "filter userOnly"),
            Action(("4",), "filter_4", "filter labeledOnly"),
            Action(("5",), "filter_5", "filter all"),
        ),
    ),
    (
        "Reading",
        (
            Action(("p",), "pane", "show or hide the entry beside the tree"),
            Action(("J",), "pane_down", "scroll it down"),
            Action(("K",), "pane_up", "scroll it up"),
            Action(("tab",), "other_side", "go into it, or back"),
            Action(("e",), "edit", "open its text in $EDITOR, else in $PAGER"),
            Action(("y",), "copy_id", "copy the id"),
            Action(("Y",), "copy_text", "copy the text"),
            Action(("T",), "time", "show or hide how long ago entries were"),
        ),
    ),
    (
        "Doing",
        (
            Action(("b", "enter"), "branch", "move the leaf here: what comes next makes a branch"),
            Action(("B",), "branch_summary", "the same, with a summary of what is left behind"),
            Action(("u",), "undo", "take such a move back"),
            Action(("f",), "fork", "cut the path to here into a new session, and open that"),
            Action(("L",), "label", "label the entry, or take its label away"),
            Action(("o",), "open", "open another session"),
            Action(("R",), "refresh", "reload everything; start the daemon if it does not run"),
            Action(("?",), "help", "show this help"),
            Action(("ctrl+z",), "suspend", "back to the shell, until fg"),
            Action(("q", "ctrl+c"), "quit", "leave"),
        ),
    ),
)

_ACTIONS: Final = {key: action.name for _, actions in GROUPS for action in actions for key in action.keys}
_BEGINNINGS: Final = {key[0] for key in _ACTIONS if len(key) == 2}


class Keys:
    """Looks up keys, one at a time. Some actions take two keys."""

    def __init__(self) -> None:
        self._before = ""

    def press(self, key: str) -> str | None:
        """Return the action of this key and the key before it; None when there is none yet."""
        before, self._before = self._before, ""
        if before and (found := _ACTIONS.get(before + key)):
            return found
        if key in _BEGINNINGS and key not in _ACTIONS:
            self._before = key
            return None
        return _ACTIONS.get(key)
