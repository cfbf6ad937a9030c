"""Error messages of commands: what failed, what to do next, and the exit code."""

from __future__ import annotations

import os
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
    ADDRESS,
    DaemonBusyError,
    DaemonConnectionError,
    DaemonNotRunningError,
    DaemonStartError,
)
from sessiond.client.wire import (
    DaemonUnresponsiveError,
    DisconnectedError,
    InvalidResponseError,
    OtherProtocolError,
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
    if description is None and (wrong := _wrong_result()) is not None:
        description = describe(wrong)
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
            return _refused_by_daemon(error)
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
        case InvalidResponseError() | OtherProtocolError():
            return str(error), _who_listens(), INVALID_RESPONSE
        case DisconnectedError():
            return str(error), "Check sessiond tree before you run the command again.", UNAVAILABLE
        case InvalidConfigError():
            return str(error), "", CONFIG_ERROR
    return _refused_by_system(error)


def _wrong_result() -> InvalidResponseError | None:
    """Return what is wrong with one of the last results or notifications; None if each is of the type of its method.

    Checking every result would take longer than a command may (decision 0031).
    """
    import msgspec

    from sessiond.client.blocking import received
    from sessiond.protocol.methods import METHODS, NOTIFICATIONS

    types = {name: notification.params for name, notification in NOTIFICATIONS.items()} | {
        name: method.result for name, method in METHODS.items()
    }
    for name, value in reversed(received):
        if name not in types:
            continue
        try:
            msgspec.json.decode(msgspec.json.encode(value), type=types[name])
        except msgspec.ValidationError as error:
            return InvalidResponseError(f"what came for {name} is wrong: {error}")
        except (ValueError, OverflowError, RecursionError):  # text or a number that msgspec does not encode
            continue
    return None


def _refused_by_daemon(error: RpcError) -> tuple[str, str, int]:
    if not error.kind:  # each error of a daemon has one
        wrong = InvalidResponseError(f"the error {error.message.rstrip('.')!r:.200} is not of sessiond")
        return str(wrong), _who_listens(), INVALID_RESPONSE
    message = one_line(error.message) or "the daemon returned an error without a message"
    return message, _next_step(error), TEMPORARY_FAILURE if error.kind in _TEMPORARY else FAILURE


def _who_listens() -> str:
    listener = os.environ.get(ADDRESS) or find_locations().socket
    return f"If no daemon listens at {listener}, end the program that does; sessiond doctor may find it."


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
