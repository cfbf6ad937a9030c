"""Failures in words and exit codes."""

import pytest

from sessiond.cli import errors
from sessiond.cli.parse.arguments import UsageError
from sessiond.client import blocking
from sessiond.client.daemon_socket import (
    DaemonBusyError,
    DaemonNotRunningError,
    DaemonStartError,
    SocketRefusedError,
)
from sessiond.client.wire import DisconnectedError, InvalidResponseError, RequestNotReadError, RpcError
from sessiond.paths import UnsafeFolderError
from sessiond.protocol.errors import CODES, KINDS


def refused(kind: str, **details: object) -> RpcError:
    return RpcError(CODES[kind], "No.", {"kind": kind, "retryable": False, "details": details or None})


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (refused("sessionNotFound"), 1),
        (refused("leafConflict"), 1),
        (refused("draining"), 75),
        (RpcError(-32603, "", None), 70),
        (UsageError("no"), 2),
        (DaemonNotRunningError(), 69),
        (DaemonStartError("no", "/log", ["line"]), 69),
        (SocketRefusedError("/s", "no"), 69),
        (UnsafeFolderError("/f", "no", "do"), 69),
        (DisconnectedError(), 69),
        (InvalidResponseError("no"), 70),
        (DaemonBusyError("/s", 15), 75),
        (RequestNotReadError(), 75),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), 2),
    ],
)
def test_each_failure_has_its_words_and_its_code(error: Exception, code: int) -> None:
    told = errors.describe(error)
    assert told is not None
    what, then, found = told
    assert found == code
    assert what
    assert "\n" not in what
    assert "\n" not in then or isinstance(error, DaemonStartError)


def test_a_defect_of_ours_is_not_dressed_up() -> None:
    blocking.received.clear()  # a process has one command; in that of the tests, others spoke to wrong daemons
    with pytest.raises(ZeroDivisionError):
        errors.report(ZeroDivisionError())


def test_similar_ids_are_offered_first() -> None:
    told = errors.describe(refused("sessionNotFound", didYouMean=["a1\x1b[2J", "a2"]))
    assert told is not None
    assert told[1] == "Did you mean a1 or a2?"


def test_a_suggestion_in_the_sentence_of_the_daemon_is_not_repeated() -> None:
    data = {"kind": "sessionNotFound", "details": {"didYouMean": ["a1", "a2"]}}
    told = errors.describe(RpcError(1404, "'a' is the beginning of several ids: a1, a2.", data))
    assert told is not None
    assert told[1] == ""


def test_a_daemons_sentence_that_names_a_command_is_not_repeated() -> None:
    error = RpcError(1404, "There is none. `sessiond list` shows them.", {"kind": "sessionNotFound"})
    told = errors.describe(error)
    assert told is not None
    assert told[1] == ""


def test_every_command_in_a_hint_exists() -> None:
    from sessiond.cli.table.index import all_commands

    declared = all_commands()

    told = [errors.describe(RpcError(1, "refused", {"kind": kind})) for kind in KINDS]
    words = " ".join(row[1] for row in told if row is not None).split()
    assert words.count("sessiond") > 5
    named = [words[at + 1].strip(".,;") for at, word in enumerate(words[:-1]) if word == "sessiond"]
    assert set(named) <= set(declared)
