"""The output of `--help`, made from the table of commands."""

from __future__ import annotations

import sys

from sessiond.cli.exit_codes import MEANINGS
from sessiond.cli.help import manual
from sessiond.cli.help.suggestions import did_you_mean
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.render.columns import aligned
from sessiond.cli.render.style import style_for
from sessiond.cli.table.index import ALIASES, GROUPS, all_commands
from sessiond.text import pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sessiond.cli.parse.arguments import Command, Option

DESCRIPTION = (
    "sessiond stores the sessions of coding agents, and shares them between editors, terminals and scripts."
)

_USAGE = "usage: sessiond COMMAND [...]        sessiond COMMAND --help describes one"
_DEFAULT_COLUMNS = 80


def overview() -> int:
    """Print the names of all commands, on one screen."""
    style = style_for(sys.stdout)
    print(f"{DESCRIPTION}\n\n{_USAGE}\n")
    longest = max(len(heading) for heading, _ in GROUPS.values())
    columns = (style.columns or _DEFAULT_COLUMNS) - longest - 2
    for heading, names in GROUPS.values():
        first, *more = _wrapped(", ".join(names), columns)
        print(f"{style(pad(heading, longest), 'bold')}  {first}")
        print(*(f"{'':{longest}}  {line}\n" for line in more), sep="", end="")
    print("\nsessiond --help describes each command; man sessiond shows the manual.")
    return 0


def everything(words: Sequence[str]) -> int:
    """Print every command with its description, or explain the named command or topic."""
    if words:
        return topic(words[0]) if words[0] in manual.TOPICS else explain(ALIASES.get(words[0], words[0]))
    style = style_for(sys.stdout)
    print(f"{DESCRIPTION}\n\n{_USAGE}\n")
    commands = all_commands()
    longest = max(map(len, commands))
    for heading, names in GROUPS.values():
        print(style(heading, "bold"))
        print(
            *aligned([(f"  {name:<{longest}}", commands[name].description) for name in names], style),
            sep="\n",
        )
        print()
    print(style("More help", "bold"))
    rows = [(f"  help {name}", about) for name, about in manual.TOPICS.items()]
    print(*aligned(rows, style), sep="\n")
    return 0


def explain(name: str) -> int:
    """Print the description, options and examples of one command."""
    commands = all_commands()
    if name not in commands:
        raise UsageError(f"there is no command {name!r}", did_you_mean(name, manual.TOPICS, "help "))
    command = commands[name]
    style = style_for(sys.stdout)
    print(f"usage: {usage(name, command)}\n\n{command.description}.")
    if command.details:
        print(*_paragraph(command.details, style.columns), sep="\n")
    print(f"\n{style('Options', 'bold')}")
    shown = [*command.options, *manual.COMMON]
    print(*aligned([(f"  {option_words(option)}", option.description) for option in shown], style), sep="\n")
    if command.examples:
        print(f"\n{style('Examples', 'bold')}")
        print(*(f"  {example}" for example in command.examples), sep="\n")
    return 0


def topic(name: str) -> int:
    """Print a help topic."""
    style = style_for(sys.stdout)
    match name:
        case "exit-codes":
            rows = [(str(code).rjust(3), meaning) for code, meaning in MEANINGS.items()]
            print(*aligned(rows, style, ["bold"]), sep="\n")
        case "environment":
            print(*aligned(list(manual.ENVIRONMENT.items()), style, ["bold"]), sep="\n")
        case _:
            texts = [manual.NAMES, manual.STDIN, manual.SCRIPTS]
            print("\n\n".join("\n".join(_paragraph(text, style.columns)) for text in texts))
    return 0


def usage(name: str, command: Command) -> str:
    """Return the usage line of a command."""
    return " ".join(("sessiond", name, *command.positionals, *(["[options]"] if command.options else [])))


def option_words(option: Option) -> str:
    """Return an option as it is typed, with its short form and its value."""
    short = f"-{option.short}, " if option.short else ""
    return f"{short}--{option.name} {option.value}".rstrip()


def _paragraph(text: str, columns: int | None) -> Iterator[str]:
    """Yield the lines of a text, wrapped to the terminal; without a terminal, to 110 columns."""
    for line in text.split("\n"):
        yield from _wrapped(line, columns or 110)


def _wrapped(text: str, columns: int) -> Iterator[str]:
    from textwrap import wrap

    yield from wrap(text, max(columns, 20), break_long_words=False, break_on_hyphens=False)
