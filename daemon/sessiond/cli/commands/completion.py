"""The command completion: scripts for shells, and candidates for the last word of a command line.

The scripts run this command at each press of the key, so they are always up to date. It asks a running daemon and
starts none.
"""

from __future__ import annotations

import os

from sessiond.cli.help.manual import COMMON, TOPICS
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.choices import CHOICES
from sessiond.cli.parse.entry_argument import LEAF
from sessiond.cli.table.index import ALIASES, all_commands
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from sessiond.cli.parse.arguments import Command, Option, ParsedArguments

FILES = ":files"
"""Printed instead of a candidate: the shell completes file names."""

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:@+")
_MAX_CANDIDATES = 200
_MAX_DESCRIPTION = 60
_FILE_VALUES = ("FILE", "DIR", "PATH", "FOLDER")

_KINDS = {
    "diff A": "ENTRY", "diff B": "ENTRY",
    "restore [ID…]": "TRASHED", "purge [ID…]": "TRASHED", "search --session": "ID", "new --parent": "ID",
    "history --session": "ID",
    "list --tag": "TAG", "search --tag": "TAG", "cleanup --tag": "TAG", "tag --add": "TAG", "tag --remove": "TAG",
    "new --tag": "TAG", "tag --set": "TAG", "search --label": "LABEL",
}  # fmt: skip
"""Kinds of values of options and positional arguments whose name does not determine the kind."""

_BASH = """\
# sessiond for bash: eval "$(sessiond completion bash)"
_sessiond() {
    local word about
    COMPREPLY=()
    while IFS=$'\\t' read -r word about; do
        if [[ $word == :files ]]; then compopt -o default; else COMPREPLY+=("$word"); fi
    done < <(sessiond completion bash -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
}
complete -F _sessiond sessiond
"""

_ZSH = """\
#compdef sessiond
# sessiond for zsh: eval "$(sessiond completion zsh)" after compinit, or this text as _sessiond in a folder of $fpath
_sessiond() {
    local word about files=
    local -a found
    while IFS=$'\\t' read -r word about; do
        if [[ $word == :files ]]; then files=1; else found+=("${word}:${about}"); fi
    done < <(sessiond completion zsh -- "${(@)words[1,CURRENT]}" 2>/dev/null)
    if (( ${#found} )); then _describe -V 'sessiond' found; fi
    if [[ -n $files ]]; then _files; fi
}
if [[ ${funcstack[1]} == _sessiond ]]; then _sessiond "$@"; else compdef _sessiond sessiond; fi
"""

_FISH = """\
# sessiond for fish: sessiond completion fish > ~/.config/fish/completions/sessiond.fish
function __sessiond_complete
    for line in (sessiond completion fish -- (commandline -opc) (commandline -ct) 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c sessiond -f -a '(__sessiond_complete)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def completion(args: ParsedArguments) -> int:
    """Print a script, or the candidates: on each line the word, a tab and its description."""
    shell = args.required("SHELL")
    if shell not in _SCRIPTS:
        raise UsageError(f"there is no completion for {shell!r}", "The shells are bash, zsh and fish.")
    if not args.trailing:
        print(_SCRIPTS[shell], end="")
        return 0
    for word, about in candidates(args.trailing):
        if word == FILES or word.startswith(args.trailing[-1]):
            print(f"{word}\t{one_line(about)[:_MAX_DESCRIPTION]}" if about else word)
    return 0


def candidates(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield candidates for the last of these words, with descriptions. The first word is the program."""
    if len(words) <= 2:
        yield from ((name, command.description) for name, command in all_commands().items())
        return
    if words[1] == "help":
        yield from ((name, command.description) for name, command in all_commands().items())
        yield from TOPICS.items()
        return
    name, last, before = ALIASES.get(words[1], words[1]), words[-1], words[2:-1]
    command = all_commands().get(name)
    if command is None:
        return
    options = {f"--{declared.name}": declared for declared in command.options} | {
        f"-{declared.short}": declared for declared in command.options if declared.short
    }
    option = options.get(before[-1]) if before else None
    if option is not None and option.value:
        yield from _values(f"{name} --{option.name}", option.value, _positional_words(before, options))
    elif last.startswith("-"):
        yield from ((f"--{offered.name}", offered.description) for offered in (*command.options, *COMMON))
    else:
        yield from _positional_candidates(name, command, _positional_words(before, options))


def _positional_words(before: Sequence[str], options: dict[str, Option]) -> list[str]:
    """Return the words that are positional arguments."""
    found: list[str] = []
    waiting = False
    for word in before:
        if waiting:
            waiting = False
        elif word in options:
            waiting = bool(options[word].value)
        elif not word.startswith("-"):
            found.append(word)
    return found


def _positional_candidates(name: str, command: Command, filled: list[str]) -> Iterator[tuple[str, str]]:
    """Yield candidates for the next positional argument; if it is optional, also for the one after it."""
    for positional in command.positionals[len(filled) :]:
        yield from _values(f"{name} {positional}", positional.strip("[]…"), filled)
        if not positional.startswith("["):
            return


def _values(placeholder: str, kind: str, filled: list[str]) -> Iterable[tuple[str, str]]:
    if placeholder in CHOICES:
        return [(choice, "") for choice in CHOICES[placeholder]]
    match _KINDS.get(placeholder, kind):
        case "ID":
            return [*_plain(map(_session, _sessions())), (FILES, "")]
        case "TRASHED":
            return _plain(map(_session, _rows("trash/list", {"limit": _MAX_CANDIDATES})))
        case "ENTRY":
            return _entries(filled)
        case "TAG":
            return _plain(
                (word, "") for word in sorted({word for session in _sessions() for word in session["tags"]})
            )
        case "LABEL":
            return _labels(filled)
        case "METHOD":
            return _methods()
        case file if file in _FILE_VALUES:
            return [(FILES, "")]
    return []


def _entries(filled: list[str]) -> Iterable[tuple[str, str]]:
    """Return the entries of the named or this terminal's session: ids, labels and the leaf."""
    rows = _of_session(filled, "session/tree", {"filter": "all"})
    ids = _plain((row["id"], row["preview"] or row["type"]) for row in rows)
    return [*ids, *_labels(filled), (LEAF, "the leaf")] if rows else []


def _labels(filled: list[str]) -> list[tuple[str, str]]:
    found = _of_session(filled, "session/labels", {})
    return _plain((labeled["label"], labeled["preview"] or labeled["type"]) for labeled in found)


def _of_session(filled: list[str], method: str, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rows of the session that the first word names; if there are none, of this terminal's session."""
    from sessiond.cli.commands.shell_prompt import last_here

    here = last_here(os.getcwd())  # noqa: PTH109 - importing pathlib would take 5 ms of each key press
    for session in (*filled[:1], here):
        if session is not None and (
            rows := _rows(method, {"sessionId": session, **params, "limit": _MAX_CANDIDATES})
        ):
            return rows
    return []


def _methods() -> list[tuple[str, str]]:
    from sessiond.protocol.methods import METHODS

    return [(name, "") for name in METHODS]


def _sessions() -> list[dict[str, Any]]:
    return _rows("session/list", {"limit": _MAX_CANDIDATES})


def _session(found: dict[str, Any]) -> tuple[str, str]:
    return found["sessionId"], found["title"] or found.get("firstPrompt") or found["cwd"] or ""


def _rows(method: str, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the sessions, nodes or items of a result; nothing if no daemon runs, or the request fails."""
    from sessiond.client.blocking import connect
    from sessiond.client.daemon_socket import DaemonConnectionError
    from sessiond.client.wire import NO_ANSWER, RpcError

    try:
        with connect(autostart=False) as daemon:
            answer = daemon.call(method, params)
    except (DaemonConnectionError, *NO_ANSWER, RpcError):
        return []
    rows: list[dict[str, Any]] = next(
        (answer[name] for name in ("sessions", "nodes", "items") if name in answer), []
    )
    return rows


def _plain(candidates: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(word, about) for word, about in candidates if _is_plain(word)]


def _is_plain(word: str | None) -> bool:
    """Return whether a word is special neither to a shell nor as an option. Foreign ids may have any characters."""
    return word is not None and word != "" and not word.startswith("-") and _PLAIN.issuperset(word)
