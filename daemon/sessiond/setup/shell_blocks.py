"""The additions of setup for each shell: completion, and the session of the terminal in the prompt."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROMPT_FUNCTION: Final = """\
  __sessiond_prompt() {
    local status_before=$? it
    it=$(sessiond continue --prompt 2>/dev/null)
    [ -z "$it" ] || printf '%s ' "$it"
    return $status_before
  }
"""
_BASH: Final = f"""\
# sessiond setup --undo removes this block.
if [[ $- == *i* ]] && command -v sessiond >/dev/null 2>&1; then
  eval "$(sessiond completion bash)"
{_PROMPT_FUNCTION}\
  [[ $PS1 == *__sessiond_prompt* ]] || PS1='$(__sessiond_prompt)'$PS1
fi
"""
_ZSH: Final = f"""\
# sessiond setup --undo removes this block.
if [[ -o interactive ]] && command -v sessiond >/dev/null 2>&1; then
  (( $+functions[compdef] )) && eval "$(sessiond completion zsh)"
{_PROMPT_FUNCTION}\
  setopt prompt_subst
  [[ $PROMPT == *__sessiond_prompt* ]] || PROMPT='$(__sessiond_prompt)'$PROMPT
fi
"""
_FISH: Final = """\
# sessiond setup --undo removes this block.
if status is-interactive; and command -q sessiond
    sessiond completion fish | source
    function __sessiond_prompt --on-event fish_prompt
        set -l it (sessiond continue --prompt 2>/dev/null)
        test -n "$it"; and printf '%s ' "$it"
    end
end
"""


@dataclass(frozen=True)
class ShellSetup:
    """The addition for one shell.

    Attributes:
        shell: The name of the shell.
        path: Its startup file.
        block: The lines of the block.
    """

    shell: str
    path: str
    block: str


def shell_setup(environ: Mapping[str, str]) -> ShellSetup | None:
    """Return the addition for the user's login shell; None for a shell other than bash, zsh and fish."""
    home = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - a text, as in `paths`
    match os.path.basename(environ.get("SHELL", "")):  # noqa: PTH119
        case "bash":
            return ShellSetup("bash", os.path.join(home, ".bashrc"), _BASH)
        case "zsh":
            return ShellSetup("zsh", os.path.join(environ.get("ZDOTDIR") or home, ".zshrc"), _ZSH)
        case "fish":
            config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
            return ShellSetup("fish", os.path.join(config, "fish", "config.fish"), _FISH)
    return None
