"""Determines the format and the provider of an assistant's turn, and the providers that accept its thinking.

Only the provider that made a signature accepts it. Anthropic's newer models also require that everything before it is
unchanged, including the system prompt.
"""

from collections.abc import Callable, Sequence

from sessiond.session.formats.conversation import Turn


def was_made_in(turn: Turn, format: str) -> bool:
    """Return whether an assistant's turn was made in this format, by the API that the agent names, or its provider.

    pi and oh-my-pi name `openai-completions`, `anthropic-messages`, `google-generative-ai`, `google-vertex`.
    """
    api = turn.api or turn.provider
    return api is not None and api.startswith(format)


def keeps_thinking(
    format: str, turns: Sequence[Turn], provider: str | None, unchanged_from: int
) -> Callable[[Turn], bool]:
    """Return a function that returns whether the thinking of a turn may be sent back.

    Thinking is sent only to the provider that made it. For Anthropic the turn must not be before `unchanged_from`.

    Args:
        format: The format of the request.
        turns: All turns.
        provider: The provider of the current model. If it made none of the turns in this format, the provider of the
            newest of these turns is used.
        unchanged_from: The number of the first message before which nothing has been compacted or edited since.
    """
    if format in ("openai", "openai-responses"):
        return lambda _turn: False
    providers = [turn.provider for turn in turns if turn.role == "assistant" and was_made_in(turn, format)]
    target = provider if provider in providers else (providers[-1] if providers else None)
    first = unchanged_from if format == "anthropic" else 0
    return lambda turn: was_made_in(turn, format) and turn.provider == target and turn.source >= first
