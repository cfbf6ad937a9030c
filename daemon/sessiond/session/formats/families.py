"""Whose turns are whose: which formats an assistant's turn was made in, and who takes its thinking back.

A signature is taken back only by who made it. Anthropic's newer models also want everything before it to be what
it was, the system prompt too.
"""

from collections.abc import Callable, Sequence

from sessiond.session.formats.conversation import Turn


def made_in(turn: Turn, format: str) -> bool:
    """Whether a turn of the assistant was made in this format: by its API, as agents call it, or its provider.

    pi and oh-my-pi say `openai-completions`, `anthropic-messages`, `google-generative-ai`, `google-vertex`.
    """
    said = turn.api or turn.provider
    return said is not None and said.startswith(format)


def keeps_thinking(
    format: str, turns: Sequence[Turn], provider: str | None, unchanged_from: int
) -> Callable[[Turn], bool]:
    """Whether thinking of a turn may go back: only to its provider, and to Anthropic from `unchanged_from` on.

    `provider` is that of the model in force. When it made none of the turns of this format, the provider of the
    newest of these counts. `unchanged_from` is the first message before which nothing has changed since.
    """
    if format == "openai":
        return lambda _turn: False
    ours = [turn.provider for turn in turns if turn.role == "assistant" and made_in(turn, format)]
    target = provider if provider in ours else (ours[-1] if ours else None)
    first = unchanged_from if format == "anthropic" else 0
    return lambda turn: made_in(turn, format) and turn.provider == target and turn.source >= first
