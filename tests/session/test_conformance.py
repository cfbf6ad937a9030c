"""For every recorded file, sessiond answers as the peers do, but for differences that a table argues."""

import pytest

from session.conformance import CASES, FOLDER, PEERS, unequal
from session.differences import DIFFERENCES


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("case", CASES)
def test_a_file_is_answered_as_its_peer_does_or_as_the_table_says(case: str, peer: str) -> None:
    listed = {row.field: row.answer for row in DIFFERENCES if row.case == case and peer in row.peers}
    assert dict(unequal(case, peer)) == listed


def test_the_table_names_files_and_peers_that_were_recorded() -> None:
    assert {row.case for row in DIFFERENCES} <= set(CASES)
    for case in CASES:
        for peer in PEERS:
            assert (FOLDER / f"{case}.{peer}.json").exists()
