"""Options and positional arguments with a fixed set of values, for completion and for early checks."""

from __future__ import annotations

from sessiond.agent_names import READ_FORMATS, RESUMING, WRITTEN_FORMATS
from sessiond.cli.parse.arguments import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import ParsedArguments

# --- Enumerations: written by scripts/gen_protocol.py ---
_FILTERS = ("default", "noTools", "userOnly", "labeledOnly", "all")
_FORMATS = ("agent", "openai", "openai-responses", "anthropic", "google")
_LIST_SORTS = ("updated", "created", "title")
_USAGE_GROUPINGS = ("day", "model", "agent", "project")
# --- End of the enumerations ---

CHOICES: dict[str, tuple[str, ...]] = {
    "tree --filter": _FILTERS,
    "list --sort": _LIST_SORTS,
    "usage --by": _USAGE_GROUPINGS,
    "search --role": ("user", "assistant", "toolResult"),
    "export --format": WRITTEN_FORMATS,
    "resume --in": RESUMING,
    "context --format": _FORMATS,
    "append --format": tuple(name for name in _FORMATS if name != "agent"),
    "import --format": READ_FORMATS,
    "configure --auto-compact": ("on", "off", "default"),
    "blobs [collect]": ("collect",),
    "completion SHELL": ("bash", "zsh", "fish"),
}
"""By command and option or positional argument, in the form that `completion` uses."""


def check(args: ParsedArguments) -> None:
    """Raise `UsageError` for a value of an option that is not one of its choices."""
    for option, value in args.options:
        known = CHOICES.get(f"{args.command} --{option}")
        if known and value not in known:
            raise UsageError(
                f"--{option} does not accept {value!r}",
                f"The values are {', '.join(known[:-1])} and {known[-1]}.",
            )
