"""For every recorded file, sessiond answers as the peers do, but for differences that a table argues."""

import pytest

from session.conformance import unequal
from session.differences import DIFFERENCES
from support.golden import GoldenCase, cases

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_file_is_answered_as_its_peer_does_or_as_the_table_says(case: GoldenCase) -> None:
    listed = {
        row.field: row.answer
        for row in DIFFERENCES
        if row.case == f"{case.origin}/{case.name}" and str(case.peer) in row.peers
    }
    assert dict(unequal(case)) == listed


def test_the_table_names_only_files_that_were_recorded() -> None:
    here = {f"{case.origin}/{case.name}" for case in CASES}
    origins = {case.origin for case in CASES}
    assert {row.case for row in DIFFERENCES if row.case.split("/")[0] in origins} <= here
