"""A compaction is the one that pi would make, but for differences that a table argues."""

import json  # noqa: TID251 - as pi wrote it
from typing import Any

import pytest

from session.compaction_conformance import unequal
from session.differences import DIFFERENCES_IN_COMPACTION
from sessiond.session.compaction import preparation
from sessiond.session.compaction.preparation import CompactionLimits
from sessiond.session.tree import steps
from support import golden, logs
from support.logs import Line, Loaded
from support.peer_compaction import Question, questions, recorded

QUESTIONS = questions()
ANSWERS = recorded()


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_a_session_is_made_shorter_as_pi_does_or_as_the_table_says(question: Question) -> None:
    listed = {row.field: row.answer for row in DIFFERENCES_IN_COMPACTION if row.case == question.case}
    theirs = ANSWERS[question.case]
    assert dict(unequal(question, theirs)) == listed


def test_the_table_names_only_sessions_that_pi_was_asked_about() -> None:
    assert {row.case for row in DIFFERENCES_IN_COMPACTION} <= ANSWERS.keys()
    assert {question.case for question in QUESTIONS} == ANSWERS.keys()


GOLDEN = golden.samples() / "pi-golden" / "pi-1.5.2" / "10-compaction-fns.expected.json"


if GOLDEN.exists():  # a case more where the samples are; what was recorded here is compared everywhere

    def test_the_ladder_of_cuts_that_was_recorded_elsewhere_is_found_here_too() -> None:
        theirs = json.loads(GOLDEN.read_bytes())
        log = _as_described(theirs)
        for keep, cut in theirs["prepareCompaction"].items():
            plan = steps.run(
                preparation.prepare(
                    log.tree, log.tree.leaf, log.read, CompactionLimits(128_000, 16_384, int(keep))
                )
            )
            assert plan.first_kept_entry_id == (cut and cut["firstKeptEntryId"])
            if cut is not None:
                assert len(plan.turn_prefix_ids) == cut["turnPrefixMessages"]
                assert (
                    len(plan.entry_ids_to_summarize) == cut["messagesToSummarize"] + cut["turnPrefixMessages"]
                )
                assert sorted(plan.file_operations.read) == cut["fileOps"]["read"]


def _as_described(theirs: dict[str, Any]) -> Loaded:
    """The session of that recording: only its first turn and the kinds of its entries were written down."""
    question, _, result, answer = (
        part.partition(": ")[2] for part in theirs["serializeConversation"].split("\n\n")
    )
    lines: list[Line | bytes] = [logs.header()]
    turn = -1
    for at, (entry_id, kind, role) in enumerate(theirs["entries"]):
        turn += role == "user"
        before = theirs["entries"][at - 1][2]
        line = logs.entry(kind, thinkingLevel="high")
        if role == "user":
            line = logs.user(question)
        elif role == "toolResult":
            line = logs.tool_result(result, call=f"c{turn}")
        elif role == "assistant" and before == "user":
            line = logs.assistant([logs.tool_call("read", {"path": f"f{turn}.ts"}, call=f"c{turn}")])
        elif role == "assistant":
            line = logs.assistant(answer)
        lines.append({**line, "id": entry_id})
    return Loaded(logs.log(*lines))
