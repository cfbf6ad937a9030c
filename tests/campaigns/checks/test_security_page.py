"""SECURITY.md names every attack that is tried, and none that is not."""

import re
from pathlib import Path

from campaigns.security import ATTACKS

PAGE = Path(__file__).parents[3] / "SECURITY.md"


def test_the_page_names_the_attacks_that_are_tried() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", row)}
    assert named == {attack.__name__ for attack in ATTACKS}


def test_each_attack_says_what_must_not_come_of_it() -> None:
    assert all(attack.__doc__ for attack in ATTACKS)
