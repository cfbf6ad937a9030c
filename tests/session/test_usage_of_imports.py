"""An answer whose program recorded no usage is stored with one of zeros, which oh-my-pi and pi read without a check."""

import json  # noqa: TID251 - lines are read as other programs read them

import pytest

from sessiond.session.dialects import imported_log
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.to_go import to_go
from support.dialect_files import DATA, OPENCODE
from support.dialects import imported


@pytest.mark.parametrize("name", ["go.jsonl", "operator.jsonl", "operator-program.jsonl", "cursor.jsonl"])
def test_each_stored_answer_has_a_usage(name: str) -> None:
    session = imported((DATA / name).read_bytes())
    log = imported_log.new_log(session, "session-1", "/work").log
    entries = [json.loads(line) for line in log.splitlines()[1:]]
    answers = [entry["message"] for entry in entries if entry.get("message", {}).get("role") == "assistant"]
    assert answers
    assert all(isinstance(answer["usage"]["cost"]["total"], int | float) for answer in answers)
    losses = ConversionLosses()
    to_go(
        ExportedSession("session-1", session.timestamp, "/w", None, (), None, entries, session.leaf), losses
    )
    assert "assistant.usage" not in losses.lost


def test_a_line_of_pi_is_copied_as_it_is() -> None:
    session = imported((DATA / "pi.jsonl").read_bytes())
    assert all(imported_log.with_usage(entry, "pi") == entry.line for entry in session.entries)


def test_a_usage_that_was_recorded_stays() -> None:
    session = imported(json.dumps(OPENCODE).encode())
    answers = [entry for entry in session.entries if entry.role == "assistant" and b'"usage"' in entry.line]
    assert answers
    assert [imported_log.with_usage(answer, "opencode") for answer in answers] == [
        answer.line for answer in answers
    ]
