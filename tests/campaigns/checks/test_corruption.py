"""A taste of the campaign `corruption`: a few damages of each kind."""

from pathlib import Path

import pytest

from campaigns import corruption
from campaigns.campaign import Ground

pytestmark = [pytest.mark.slow]


def test_damage_of_each_kind_hides_nothing_and_costs_nothing_else(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    figures = corruption.run(Ground("corruption", 7, "short", Path(tmp_path_factory.mktemp("c")), rounds=40))
    assert figures.rounds == 40
