"""The answers of a program about a session file: one shape for pi, oh-my-pi, recordings of them, and sessiond.

Ids are those of the program. A v1 file has no ids, so programs generate some: compare those by position.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class View:
    """The view from one leaf: the path to it, root first, and the context that a model would receive there."""

    name: str
    """`current` for the leaf at which the program opened the file; else a name or an entry id."""
    leaf_id: str | None
    path: tuple[str, ...] = ()
    messages: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The rest of the context. pi: `thinkingLevel`, `model`. oh-my-pi: `models`, `mode` and more."""
    error: str | None = None
    """The exception of the program instead of an answer; then path, messages and settings are empty."""


@dataclass(frozen=True)
class Answers:
    """The findings of a program in a file, or only `open_error`."""

    open_error: str | None = None
    rewrote_at_open: bool = False
    header: Mapping[str, Any] | None = None
    entry_ids: tuple[str, ...] = ()
    """In file order. A duplicate id appears as often as in the file."""
    views: tuple[View, ...] = ()
    roots: tuple[str, ...] = ()
    parents: Mapping[str, str | None] = field(default_factory=dict)
    """The tree as the program draws it: an orphan or a self-parent is a root, whatever its line says."""
    tree_error: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    session_name: str | None = None

    @property
    def current(self) -> View:
        return self.view("current")

    @property
    def leaf_id(self) -> str | None:
        return self.current.leaf_id

    def view(self, name: str) -> View:
        return next(view for view in self.views if view.name == name)
