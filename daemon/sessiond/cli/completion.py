"""The command completion: scripts for shells, and what the last word of a command line may become.

The scripts know nothing; they ask this command at each press of the key, so they never fall behind. It asks a daemon
that runs, and starts none.
"""

from __future__ import annotations

from sessiond.cli.arguments import Usage
from sessiond.cli.verbs import ALIASES, VERBS
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from sessiond.cli.arguments import Given, Option, Verb

FILES = ":files"
"""In place of a candidate: the shell completes names of files itself."""

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:@+")
_MOST = 200
_ABOUT = 60
_FILE_VALUES = ("FILE", "DIR", "PATH", "FOLDER")

CHOICES: dict[str, tuple[str, ...]] = {
    "tree --filter": ("default", "no-tools", "user-only", "labeled-only", "all"),
    "list --sort": ("updated", "created", "title"),
    "search --role": ("user", "assistant", "toolResult"),
    "export --format": ("markdown", "html", "jsonl", "operator", "go", "nova"),
    "context --format": ("agent", "openai", "anthropic", "google"),
    "append --format": ("openai", "anthropic", "google"),
    "completion SHELL": ("bash", "zsh", "fish"),
}
"""Options and places that take one of a few words."""

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


def completion(given: Given) -> int:
    """Print a script, or what the last word may become: one a line, a tab, what it is."""
    shell = given.needed("SHELL")
    if shell not in _SCRIPTS:
        raise Usage(f"there is no completion for {shell!r}", "bash, zsh and fish are known.")
    if not given.rest:
        print(_SCRIPTS[shell], end="")
        return 0
    for word, about in candidates(given.rest):
        if word == FILES or word.startswith(given.rest[-1]):
            print(f"{word}\t{one_line(about)[:_ABOUT]}" if about else word)
    return 0


def candidates(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What the last of these words may become, with what it is; the first is the program."""
    if len(words) <= 2:
        yield from ((name, verb.about) for name, verb in VERBS.items())
        return
    name, last, before = ALIASES.get(words[1], words[1]), words[-1], words[2:-1]
    verb = VERBS.get(name)
    if verb is None:
        return
    options = {f"--{it.name}": it for it in verb.options} | {
        f"-{it.short}": it for it in verb.options if it.short
    }
    wanted = options.get(before[-1]) if before else None
    if wanted is not None and wanted.value:
        yield from _values(f"{name} --{wanted.name}", wanted.value, _named(before, options))
    elif last.startswith("-"):
        yield from ((f"--{it.name}", it.about) for it in verb.options)
    else:
        yield from _places(name, verb, _named(before, options))


def _named(before: Sequence[str], options: dict[str, Option]) -> list[str]:
    """The words that fill places."""
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


def _places(name: str, verb: Verb, filled: list[str]) -> Iterator[tuple[str, str]]:
    """What may stand in the next place. One in brackets may have been left out, so the place behind it counts, too."""
    for place in verb.places[len(filled) :]:
        yield from _values(f"{name} {place}", place.strip("[]…"), filled)
        if not place.startswith("["):
            return


def _values(what: str, kind: str, filled: list[str]) -> Iterable[tuple[str, str]]:
    if what in CHOICES:
        return [(it, "") for it in CHOICES[what]]
    if kind in _FILE_VALUES:
        return [(FILES, "")]
    if kind == "ID":
        return [*_asked("session/list", {"all": True, "limit": _MOST}, _session), (FILES, "")]
    if kind == "ENTRY":
        return _entries(filled)
    return []


def _entries(filled: list[str]) -> Iterable[tuple[str, str]]:
    session = filled[0] if filled else None
    if session is None:
        return []
    return _asked("session/tree", {"sessionId": session, "filter": "all", "limit": _MOST}, _node)


def _session(found: dict[str, Any]) -> tuple[str, str]:
    return found["sessionId"], found["title"] or found["firstPrompt"] or found["cwd"]


def _node(found: dict[str, Any]) -> tuple[str, str]:
    return found["id"], found["preview"] or found["type"]


def _asked(method: str, params: dict[str, Any], candidate: Any) -> list[tuple[str, str]]:
    """The candidates of an answer; none when there is no daemon, or it does not know the session."""
    from sessiond.client.blocking import connect
    from sessiond.client.dial import CannotConnect
    from sessiond.client.wire import Disconnected, RpcError

    try:
        with connect(autostart=False) as daemon:
            answer = daemon.call(method, params)
    except (CannotConnect, Disconnected, RpcError):
        return []
    found = (candidate(it) for it in answer.get("sessions", answer.get("nodes", [])))
    return [(word, about) for word, about in found if _is_plain(word)]


def _is_plain(word: str) -> bool:
    """Whether a word means nothing to a shell, nor to us as an option: ids of other programs may hold anything."""
    return not word.startswith("-") and _PLAIN.issuperset(word)
