"""The reasons why an answer stopped."""

from typing import Final

OF_ANTHROPIC: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "error",
}
"""The reasons of Anthropic's Messages API, and the names here."""
FAILED: Final = ("aborted", "error")
"""The reasons of an answer that is not complete."""
