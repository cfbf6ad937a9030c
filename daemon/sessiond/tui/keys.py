"""The keys of the browser and their actions in one table, used by the browser and its help."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Action:
    """An action and its keys; `name` is a method of `Actions`, `description` is its text in the help."""

    keys: tuple[str, ...]
    name: str
    description: str


GROUPS: Final[tuple[tuple[str, tuple[Action, ...]], ...]] = (
    (
        "Navigation",
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
            Action(("(",), "previous_sibling", "to the previous branch of the same fork"),
            Action(("}",), "next_branch", "to the next branch"),
            Action(("{",), "previous_branch", "to the previous branch"),
            Action(("]]",), "next_user", "to the next user message"),
            Action(("[[",), "previous_user", "to the previous user message"),
            Action((">",), "next_label", "to the next label"),
            Action(("<",), "previous_label", "to the previous label"),
        ),
    ),
    (
        "Folding",
        (
            Action(("h", "left"), "fold", "fold the branch, or move up"),
            Action(("l", "right"), "unfold", "open the branch, or move into it"),
            Action(("space",), "toggle", "fold or open the subtree of the row"),
            Action(("-",), "fold_others", "fold every branch but that of the leaf"),
            Action(("+", "="), "open_all", "open everything"),
        ),
    ),
    (
        "Finding",
        (
            Action(("/",), "search", "search as you type, in the whole text of all messages"),
            Action(("n",), "next_match", "to the next match"),
            Action(("N",), "previous_match", "to the previous match"),
            Action(("s",), "narrow", "show only entries that contain some words (empty: all)"),
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
            Action(("p",), "pane", "show or hide the pane with the entry"),
            Action(("J",), "pane_down", "scroll the pane down"),
            Action(("K",), "pane_up", "scroll the pane up"),
            Action(("tab",), "other_side", "move between the pane and the tree"),
            Action(("e",), "edit", "open the text in $EDITOR, else in $PAGER"),
            Action(("y",), "copy_id", "copy the id"),
            Action(("Y",), "copy_text", "copy the text"),
            Action(("T",), "time", "show or hide the age of entries"),
        ),
    ),
    (
        "Doing",
        (
            Action(("b", "enter"), "branch", "move the leaf here: the next entry starts a branch"),
            Action(("B",), "branch_summary", "move the leaf here, with a summary of the abandoned branch"),
            Action(("u",), "undo", "undo the last move of the leaf"),
            Action(("f",), "fork", "copy the path to here into a new session, and open it"),
            Action(("L",), "label", "label the entry, or remove its label"),
            Action(("o",), "open", "open another session"),
            Action(("R",), "refresh", "reload everything; start the daemon if it does not run"),
            Action(("?",), "help", "show this help"),
            Action(("ctrl+z",), "suspend", "suspend to the shell, until fg"),
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
        """Return the action of this key, or of the key before it with this key; None if no action is complete."""
        before, self._before = self._before, ""
        if before and (found := _ACTIONS.get(before + key)):
            return found
        if key in _BEGINNINGS and key not in _ACTIONS:
            self._before = key
            return None
        return _ACTIONS.get(key)
