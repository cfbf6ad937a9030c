"""The arguments of a command, declared as data, and the parser for them.

argparse is not used: building one parser with four options takes 4 to 9 ms, a third of a command's time (decision
0031). Options may occur anywhere, `--name=value` and `--name value` are equivalent, `--` ends them.
"""

from __future__ import annotations

from sessiond.error_text import TemplatedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class UsageError(TemplatedError):
    """Raised when a command line is not valid; `then` is advice for the user."""

    sentence = "{problem}"

    def __init__(self, problem: str, then: str = "") -> None:
        super().__init__(problem=problem)
        self.problem = problem
        self.then = then


class HelpRequested(TemplatedError):
    """Raised for `--help`, which makes the rest of the command line irrelevant."""

    sentence = "The command line has --help."


class Option:
    """An option `--name VALUE`, or a flag when it has no `value`. `short` is its one-letter form."""

    __slots__ = ("description", "name", "short", "value")

    def __init__(self, name: str, value: str, description: str, *, short: str = "") -> None:
        self.name = name
        self.value = value
        self.description = description
        self.short = short


COMMAND_ID = Option(
    "command-id", "ID", "an id for this command: running it again with the same id only prints the result"
)
"""Every command that writes accepts it, so that an interrupted script can repeat the command safely."""


class Command:
    """The declaration of a command.

    Attributes:
        description: One sentence without its period.
        function: `module:function` in `sessiond.cli.commands`.
        positionals: The positional arguments; `[ID]` in brackets is optional. Optional ones are filled from the left
            after every required one has its value.
        options: The options.
        details: Further sentences for `--help`.
        examples: Command lines.
        paged: Whether the output may be long and goes through a pager on a terminal.
        write_methods: The methods to which `--command-id` applies.
    """

    __slots__ = (
        "description", "details", "examples", "function", "options", "paged", "positionals", "write_methods",
    )  # fmt: skip

    def __init__(
        self,
        description: str,
        function: str,
        positionals: tuple[str, ...] = (),
        options: tuple[Option, ...] = (),
        details: str = "",
        examples: tuple[str, ...] = (),
        *,
        paged: bool = False,
        writes: tuple[str, ...] = (),
    ) -> None:
        self.description = description
        self.function = function
        self.positionals = positionals
        self.options = (*options, COMMAND_ID) if writes else options
        self.write_methods = writes
        self.details = details
        self.examples = examples
        self.paged = paged


NO_PAGER = Option("no-pager", "", "write directly to the terminal, without a pager")
"""Every command accepts it, so that users need not know which commands are paged."""


class ParsedArguments:
    """The arguments of one command, by name."""

    def __init__(self, command: str, write_methods: Sequence[str] = ()) -> None:
        self.command = command
        self.write_methods = write_methods
        self.options: list[tuple[str, str]] = []
        """In the order of the command line. A flag has an empty value."""
        self.positionals: dict[str, str] = {}
        self.trailing: list[str] = []
        """The values of a last positional argument that takes several words (`ID…`)."""

    def value(self, name: str) -> str | None:
        """Return the value of an option (its last one) or of a positional argument; None when it was not given."""
        for option, value in reversed(self.options):
            if option == name:
                return value
        return self.positionals.get(name)

    def required(self, name: str) -> str:
        """Return the value of a required positional argument."""
        return self.positionals[name]

    def flag(self, name: str) -> bool:
        """Return whether a flag was given."""
        return any(option == name for option, _ in self.options)

    def occurrences(self, *names: str) -> list[tuple[str, str]]:
        """Return every use of these options as (name, value), in the order of the command line."""
        return [(option, value) for option, value in self.options if option in names]

    def number(self, name: str, *, at_least: int = 0) -> int | None:
        """Return the value of a numeric option, or None. Raises `UsageError`."""
        value = self.value(name)
        if value is None:
            return None
        if not value.isdecimal():
            raise UsageError(f"--{name} takes a whole number, not {value!r}")
        if int(value) < at_least:
            raise UsageError(f"--{name} must be at least {at_least}, not {value}")
        return int(value)


def parse(name: str, command: Command, words: Sequence[str]) -> ParsedArguments:
    """Parse the words after the command. Raises `UsageError` and `HelpRequested`."""
    args = ParsedArguments(name, command.write_methods)
    known = {f"--{option.name}": option for option in command.options}
    known.update({f"-{option.short}": option for option in command.options if option.short})
    positionals: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            positionals.extend(rest)
            break
        if word == "-" and "--stdin" in known:
            word = "--stdin"
        if word in known:
            option = known[word]
            value = next(rest, None) if option.value else ""
        elif word in ("-h", "--help"):
            raise HelpRequested
        elif word == "--no-pager":
            option, value = NO_PAGER, ""
        elif word.startswith("--") and (split := word.partition("="))[0] in known and split[1]:
            option, value = known[split[0]], split[2]
            if not option.value:
                raise UsageError(f"{split[0]} takes no value")
        elif word.startswith("-") and word != "-":
            raise UsageError(f"{name} has no option {word}", _did_you_mean(word, known, name))
        else:
            positionals.append(word)
            continue
        if value is None:
            raise UsageError(f"{word} requires a value: {word} {option.value}")
        args.options.append((option.name, value))
    _assign(args, command, positionals)
    return args


def _assign(args: ParsedArguments, command: Command, words: list[str]) -> None:
    required = sum(not positional.startswith("[") for positional in command.positionals)
    optional_words = len(words) - required
    if optional_words < 0:
        raise UsageError(f"{args.command} requires {_required(command)}", f"sessiond {args.command} --help")
    rest = iter(words)
    for positional in command.positionals:
        if positional.strip("[]").endswith("…"):
            args.trailing = list(rest)
        elif not positional.startswith("["):
            args.positionals[positional] = next(rest)
        elif optional_words:
            args.positionals[positional.strip("[]")] = next(rest)
            optional_words -= 1
    if extra := list(rest):
        raise UsageError(
            f"{args.command} got an unexpected argument {extra[0]!r}",
            "Quote a text of several words." if command.positionals else f"sessiond {args.command} --help",
        )


def _required(command: Command) -> str:
    return " ".join(positional for positional in command.positionals if not positional.startswith("["))


def _did_you_mean(word: str, known: dict[str, Option], command: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word.partition("=")[0], known, n=1)
    return f"Did you mean {close[0]}?" if close else f"sessiond {command} --help"
