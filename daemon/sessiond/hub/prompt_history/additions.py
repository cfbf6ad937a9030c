"""Prompts to add to the history, and the outcome. Without SQLite, so that the daemon starts without it."""

from typing import NamedTuple


class NewPrompt(NamedTuple):
    """A prompt to add: the text, the folder, the time in ISO format, and the session and the entry that it became."""

    prompt: str
    cwd: str | None
    said_at: str
    session_id: str | None = None
    entry_id: str | None = None


class Addition(NamedTuple):
    """The outcome of adding a prompt: whether it was added, and its id."""

    added: bool
    prompt_id: str | None
