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

    sentence = "{what}"

    def __init__(self, what: str, then: str = "") -> None:
        super().__init__(what=what)
        self.what = what
        self.then = then


class HelpAsked(TemplatedError):
    """Raised for `--help`, which makes the rest of the command line irrelevant."""

    sentence = "The command line has --help."


class Option:
    """An option `--name VALUE`, or a flag when it has no `value`. `short` is its one-letter form."""

    __slots__ = ("about", "name", "short", "value")

    def __init__(self, name: str, value: str, about: str, *, short: str = "") -> None:
        self.name = name
        self.value = value
        self.about = about
        self.short = short


COMMAND_ID = Option(
    "command-id", "ID", "an id for this command: running it again with the same id only prints the result"
)
"""Every command that writes accepts it, so that an interrupted script can repeat the command safely."""


class Verb:
    """A command: its function (`module:function` in `sessiond.cli.commands`) and its arguments.

    `places` are positional arguments; `[ID]` in brackets is optional. Optional places are filled from the left
    after every other has its value. `examples` are command lines. If `paged`, the output may be long and goes through
    a pager on a terminal. `writes` are the methods to which --command-id applies.
    """

    __slots__ = ("about", "details", "examples", "options", "paged", "places", "run", "writes")

    def __init__(
        self,
        about: str,
        run: str,
        places: tuple[str, ...] = (),
        options: tuple[Option, ...] = (),
        details: str = "",
        examples: tuple[str, ...] = (),
        *,
        paged: bool = False,
        writes: tuple[str, ...] = (),
    ) -> None:
        self.about = about
        self.run = run
        self.places = places
        self.options = (*options, COMMAND_ID) if writes else options
        self.writes = writes
        self.details = details
        self.examples = examples
        self.paged = paged


NO_PAGER = Option("no-pager", "", "write directly to the terminal, without a pager")
"""Every command accepts it, so that users need not know which commands are paged."""


class Given:
    """The arguments of one command, by name."""

    def __init__(self, verb: str, writes: Sequence[str] = ()) -> None:
        self.verb = verb
        self.writes = writes
        self.options: list[
            tuple[str, str]
        ] = []  # in the order of the command line; a flag has an empty value
        self.places: dict[str, str] = {}
        self.rest: list[str] = []  # the values of a last place that takes several words (`ID…`)

    def text(self, name: str) -> str | None:
        """Return the value of an option (the last one) or of a place; None when it was not given."""
        for option, value in reversed(self.options):
            if option == name:
                return value
        return self.places.get(name)

    def needed(self, name: str) -> str:
        """Return the value of a required place."""
        return self.places[name]

    def flag(self, name: str) -> bool:
        """Return whether a flag was given."""
        return any(option == name for option, _ in self.options)

    def many(self, *names: str) -> list[tuple[str, str]]:
        """Return every use of these options as (name, value), in the order of the command line."""
        return [(option, value) for option, value in self.options if option in names]

    def number(self, name: str, *, at_least: int = 0) -> int | None:
        """Return the value of a numeric option, or None. Raises `UsageError`."""
        value = self.text(name)
        if value is None:
            return None
        if not value.isdecimal():
            raise UsageError(f"--{name} takes a whole number, not {value!r}")
        if int(value) < at_least:
            raise UsageError(f"--{name} must be at least {at_least}, not {value}")
        return int(value)


def parse(name: str, verb: Verb, words: Sequence[str]) -> Given:
    """Sort the words after the command into options and places. Raises `UsageError` and `HelpAsked`."""
    given = Given(name, verb.writes)
    known = {f"--{option.name}": option for option in verb.options}
    known.update({f"-{option.short}": option for option in verb.options if option.short})
    loose: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            loose.extend(rest)
            break
        if word == "-" and "--stdin" in known:
            word = "--stdin"
        if word in known:
            option = known[word]
            value = next(rest, None) if option.value else ""
        elif word in ("-h", "--help"):
            raise HelpAsked
        elif word == "--no-pager":
            option, value = NO_PAGER, ""
        elif word.startswith("--") and (split := word.partition("="))[0] in known and split[1]:
            option, value = known[split[0]], split[2]
            if not option.value:
                raise UsageError(f"{split[0]} takes no value")
        elif word.startswith("-") and word != "-":
            raise UsageError(f"{name} has no option {word}", _did_you_mean(word, known, name))
        else:
            loose.append(word)
            continue
        if value is None:
            raise UsageError(f"{word} requires a value: {word} {option.value}")
        given.options.append((option.name, value))
    _fill(given, verb, loose)
    return given


def _fill(given: Given, verb: Verb, loose: list[str]) -> None:
    needed = sum(not place.startswith("[") for place in verb.places)
    spare = len(loose) - needed
    if spare < 0:
        raise UsageError(f"{given.verb} requires {_listed(verb)}", f"sessiond {given.verb} --help")
    rest = iter(loose)
    for place in verb.places:
        if place.strip("[]").endswith("…"):
            given.rest = list(rest)
        elif not place.startswith("["):
            given.places[place] = next(rest)
        elif spare:
            given.places[place.strip("[]")] = next(rest)
            spare -= 1
    if extra := list(rest):
        raise UsageError(
            f"{given.verb} got an unexpected argument {extra[0]!r}",
            "Quote a text of several words." if verb.places else f"sessiond {given.verb} --help",
        )


def _listed(verb: Verb) -> str:
    return " ".join(place for place in verb.places if not place.startswith("["))


def _did_you_mean(word: str, known: dict[str, Option], verb: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word.partition("=")[0], known, n=1)
    return f"Did you mean {close[0]}?" if close else f"sessiond {verb} --help"
