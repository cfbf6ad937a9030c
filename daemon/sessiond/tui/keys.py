"""The keys of the browser and what they do: one table, for what is pressed and for the help."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Deed:
    """Something that can be done, and the keys for it; `name` is a method of `Actions`."""

    keys: tuple[str, ...]
    name: str
    says: str


GROUPS: Final[tuple[tuple[str, tuple[Deed, ...]], ...]] = (
    (
        "Going about",
        (
            Deed(("j", "down"), "down", "a line down"),
            Deed(("k", "up"), "up", "a line up"),
            Deed(("ctrl+d",), "half_down", "half a screen down"),
            Deed(("ctrl+u",), "half_up", "half a screen up"),
            Deed(("pagedown", "ctrl+f"), "page_down", "a screen down"),
            Deed(("pageup", "ctrl+b"), "page_up", "a screen up"),
            Deed(("gg", "home"), "first", "to the first row"),
            Deed(("G", "end"), "last", "to the last row"),
            Deed((".",), "tip", "to the leaf"),
            Deed(("P",), "parent", "to the parent"),
            Deed((")",), "next_sibling", "to the next branch of the same fork"),
            Deed(("(",), "previous_sibling", "to the branch of it before"),
            Deed(("}",), "next_branch", "to the next branch"),
            Deed(("{",), "previous_branch", "to the branch before"),
            Deed(("]]",), "next_user", "to the next message of the user"),
            Deed(("[[",), "previous_user", "to the message of the user before"),
            Deed((">",), "next_label", "to the next label"),
            Deed(("<",), "previous_label", "to the label before"),
        ),
    ),
    (
        "Folding",
        (
            Deed(("h", "left"), "fold", "fold the branch, or go up"),
            Deed(("l", "right"), "unfold", "open the branch, or go into it"),
            Deed(("space",), "toggle", "fold or open what hangs on the row"),
            Deed(("-",), "fold_others", "fold every branch but that of the leaf"),
            Deed(("+", "="), "open_all", "open everything"),
        ),
    ),
    (
        "Finding",
        (
            Deed(("/",), "search", "search as you type; in all that was said"),
            Deed(("n",), "next_match", "to the next match"),
            Deed(("N",), "previous_match", "to the match before"),
            Deed(("s",), "narrow", "show only entries with some words (none: all)"),
            Deed(("v",), "next_filter", "next filter"),
            Deed(("1",), "filter_1", "filter default"),
            Deed(("2",), "filter_2", "filter no-tools"),
            Deed(("3",), "filter_3", "filter user-only"),
            Deed(("4",), "filter_4", "filter labeled-only"),
            Deed(("5",), "filter_5", "filter all"),
        ),
    ),
    (
        "Reading",
        (
            Deed(("p",), "pane", "show or hide the entry beside the tree"),
            Deed(("J",), "pane_down", "scroll it down"),
            Deed(("K",), "pane_up", "scroll it up"),
            Deed(("tab",), "other_side", "go into it, or back"),
            Deed(("e",), "edit", "open its text in $EDITOR, else in $PAGER"),
            Deed(("y",), "copy_id", "copy the id"),
            Deed(("Y",), "copy_text", "copy the text"),
            Deed(("T",), "time", "show or hide how long ago entries were"),
        ),
    ),
    (
        "Doing",
        (
            Deed(("b", "enter"), "branch", "move the leaf here: what comes next makes a branch"),
            Deed(("B",), "branch_summary", "the same, with a summary of what is left behind"),
            Deed(("u",), "undo", "take such a move back"),
            Deed(("f",), "fork", "cut the path to here into a new session, and open that"),
            Deed(("L",), "label", "label the entry, or take its label away"),
            Deed(("o",), "open", "open another session"),
            Deed(("R",), "refresh", "read everything anew; start a daemon that is away"),
            Deed(("?",), "help", "show this help"),
            Deed(("ctrl+z",), "suspend", "back to the shell, until fg"),
            Deed(("q", "ctrl+c"), "quit", "leave"),
        ),
    ),
)

_ACTIONS: Final = {key: action.name for _, actions in GROUPS for action in actions for key in action.keys}
_BEGINNINGS: Final = {key[0] for key in _ACTIONS if len(key) == 2}


class Keys:
    """Looks up keys, one after the other. Some actions take two keys."""

    def __init__(self) -> None:
        self._before = ""

    def press(self, key: str) -> str | None:
        """Return the action of this key, with the key before it; None when there is none yet."""
        before, self._before = self._before, ""
        if before and (found := _ACTIONS.get(before + key)):
            return found
        if key in _BEGINNINGS and key not in _ACTIONS:
            self._before = key
            return None
        return _ACTIONS.get(key)
