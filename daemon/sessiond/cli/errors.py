"""Error messages of commands: what failed, what to do next, and the exit code."""

from __future__ import annotations

import sys

from sessiond.cli.exit_codes import (
    CONFIG_ERROR,
    FAILURE,
    INVALID_RESPONSE,
    SYSTEM_ERROR,
    TEMPORARY_FAILURE,
    UNAVAILABLE,
    USAGE_ERROR,
)
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.render.style import style_for
from sessiond.client.daemon_socket import (
    DaemonBusyError,
    DaemonConnectionError,
    DaemonNotRunningError,
    DaemonStartError,
)
from sessiond.client.wire import (
    DaemonUnresponsiveError,
    DisconnectedError,
    InvalidResponseError,
    RequestNotReadError,
    RpcError,
)
from sessiond.config import InvalidConfigError
from sessiond.human import listed
from sessiond.paths import UnsafeFolderError, find_locations, obstacle
from sessiond.text import lines, one_line

_NEXT_STEPS = {
    "sessionNotFound": "sessiond list --all --drafts shows every session.",
    "sessionTrashed": "sessiond trash lists the deleted sessions.",
    "entryNotFound": "sessiond tree --filter all shows every entry.",
    "leafConflict": "Another client moved the leaf. See sessiond tree, then use the new leaf or add --or-branch.",
    "idReused": "Omit the id, or use another one.",
    "cursorExpired": "Start again with the first page.",
    "invalidEntry": "sessiond schema shows the fields of entries.",
    "wouldBreakTree": "Choose another entry; sessiond tree --filter all shows them.",
    "readOnly": "sessiond fork makes a copy that can be written.",
    "sessionDamaged": "sessiond doctor FILE lists the problems of each line, and how to fix them.",
    "methodNotFound": "sessiond schema lists every method.",
    "invalidParams": "sessiond schema shows the params of each method.",
    "draining": "The daemon is stopping. Try again in a moment.",
    "unsupportedVersion": "sessiond restart replaces an older daemon; a newer one needs a newer sessiond.",
    "nothingToCompact": "sessiond compact --dry-run shows the reason.",
    "noSummarizer": "Or use any model: --dry-run --json prints the prompt, and --summary - reads the summary.",
    "summarizerFailed": "Run the command again, or provide the summary: --summary TEXT.",
    "storageFull": "Free some space, then run the command again.",
}


_TEMPORARY = ("draining",)
"""Error kinds after which the same command may succeed in a moment. Others are retryable after the user has acted."""


def report(error: Exception) -> int:
    """Print an error on standard error and return the exit code. An unexpected exception is raised again."""
    description = describe(error)
    if description is None:
        raise error
    problem, then, code = description
    problem, then = one_line(problem), "\n".join(lines(then))
    style = style_for(sys.stderr)
    print(f"{style('sessiond:', 'red', 'bold')} {problem}", file=sys.stderr)
    if then:
        print(*(f"  {line}" for line in then.split("\n")), sep="\n", file=sys.stderr)
    return code


def describe(error: Exception) -> tuple[str, str, int] | None:
    """Return what failed, what to do next (may be empty) and the exit code; None for an unexpected exception."""
    match error:
        case UsageError():
            return error.problem, error.then, USAGE_ERROR
        case RpcError():
            return (
                one_line(error.message) or "the daemon returned an error without a message",
                _next_step(error),
                TEMPORARY_FAILURE if error.kind in _TEMPORARY else FAILURE,
            )
        case DaemonNotRunningError():
            return "the daemon is not running", _how_to_start(), UNAVAILABLE
        case DaemonBusyError() | RequestNotReadError():
            return str(error), "", TEMPORARY_FAILURE
        case DaemonUnresponsiveError():
            return str(error), "Try again. If the error persists, run sessiond doctor.", TEMPORARY_FAILURE
        case DaemonStartError():
            first, _, log = str(error).partition("\n")
            return first, log.strip(), UNAVAILABLE
        case DaemonConnectionError() | UnsafeFolderError():
            return str(error), "", UNAVAILABLE
        case DisconnectedError():
            return str(error), "Check sessiond tree before you run the command again.", UNAVAILABLE
        case InvalidConfigError():
            return str(error), "", CONFIG_ERROR
        case InvalidResponseError():
            return str(error), "Check sessiond status.", INVALID_RESPONSE
    return _refused_by_system(error)


def _how_to_start() -> str:
    state = find_locations().state
    if (reason := obstacle(state)) is not None:
        return f"It also cannot be started: {reason}. Set SESSIOND_HOME to a folder that you own and can write to."
    return "Start it with sessiond serve --detach, or run any other command."


def _refused_by_system(error: Exception) -> tuple[str, str, int] | None:
    if isinstance(error, UnicodeEncodeError):
        return "an argument is not valid UTF-8", "", USAGE_ERROR
    if isinstance(error, OSError):
        where = f"{error.filename!s:.300}: " if error.filename else ""
        return f"{where}{error.strerror or error}", "sessiond doctor may find the cause.", SYSTEM_ERROR
    return None


def _next_step(error: RpcError) -> str:
    close = error.details.get("didYouMean")
    if isinstance(close, list) and close and not all(str(name) in error.message for name in close):
        return f"Did you mean {listed([one_line(str(name)) for name in close])}?"
    # The daemon's message often contains the similar names or the command already.
    return "" if close or "`sessiond " in error.message else _NEXT_STEPS.get(error.kind, "")
