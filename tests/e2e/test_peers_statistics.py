"""The real pi and oh-my-pi, as installed, still count as it was recorded. Needs scripts/install-peers."""

import pytest

from support import peer_statistics

pytestmark = pytest.mark.interop


def test_the_peers_count_as_it_was_recorded() -> None:
    assert peer_statistics.record() == peer_statistics.RECORDED.read_text(encoding="utf-8")
