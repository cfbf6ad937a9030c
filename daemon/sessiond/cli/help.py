"""What `--help` prints, made from the table of verbs."""

from __future__ import annotations

import sys

from sessiond.cli.arguments import Usage
from sessiond.cli.columns import aligned
from sessiond.cli.style import style_for
from sessiond.cli.verbs import VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessiond.cli.arguments import Option, Verb

_INTRODUCTION = """\
sessiond owns the sessions of your coding agents, and shares them between editors, terminals and scripts.

usage: sessiond COMMAND [...]        sessiond COMMAND --help says more
"""

_GROUPS = (
    ("Sessions", ("new", "continue", "list", "search", "history", "show", "fork", "rename", "tag", "move")),
    ("Entries", ("tree", "view", "append", "branch", "diff", "label", "watch")),
    ("What a model sees", ("context", "compact", "configure", "stats", "state")),
    ("The trash", ("delete", "restore", "trash", "cleanup", "purge")),
    ("Other programs", ("import", "export")),
    ("Blobs", ("blobs",)),
    ("The daemon", ("status", "clients", "stop", "restart", "doctor", "serve", "attach")),
    ("Set-up", ("install-service", "uninstall-service", "completion")),
    ("The protocol", ("rpc", "schema")),
)

_END = """\
An ID may be cut to its first characters, or be the path of a session file; left out, it is this terminal's
session. SESSIOND_HOME moves all files. SESSIOND_TERMINAL names the terminal. NO_COLOR is respected.
Exit codes: 0 done, 1 refused by the daemon, 2 wrong usage, 69 no daemon, 70 no sense, 75 try again later."""


def overview(words: Sequence[str]) -> int:
    """Print every command, or explain the one that is named."""
    if words:
        return explain(words[0])
    style = style_for(sys.stdout)
    print(_INTRODUCTION)
    longest = max(map(len, VERBS))
    for heading, names in _GROUPS:
        print(style(heading, "bold"))
        print(*aligned([(f"  {name:<{longest}}", VERBS[name].about) for name in names], style), sep="\n")
        print()
    print(_END)
    return 0


def explain(name: str) -> int:
    """Print what one command does and takes."""
    if name not in VERBS:
        raise Usage(f"there is no command {name!r}", "sessiond --help lists them.")
    verb = VERBS[name]
    style = style_for(sys.stdout)
    print(f"usage: {_usage(name, verb)}\n\n{verb.about}.")
    if verb.details:
        print(verb.details)
    if verb.options:
        print(f"\n{style('Options', 'bold')}")
        print(*aligned([(f"  {_option(option)}", option.about) for option in verb.options], style), sep="\n")
    if verb.examples:
        print(f"\n{style('Examples', 'bold')}")
        print(*(f"  {example}" for example in verb.examples), sep="\n")
    return 0


def _usage(name: str, verb: Verb) -> str:
    return " ".join(("sessiond", name, *verb.places, *(["[options]"] if verb.options else [])))


def _option(option: Option) -> str:
    short = f"-{option.short}, " if option.short else ""
    return f"{short}--{option.name} {option.value}".rstrip()
