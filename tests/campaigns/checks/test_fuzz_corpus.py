"""What once broke the reading of bytes, and what fuzzers begin with, breaks it no more."""

import pytest

from campaigns.fuzz_targets import TARGETS, kept, seeds


@pytest.mark.parametrize("target", TARGETS)
def test_what_fuzzers_begin_with_holds(target: str) -> None:
    for data in seeds(target):
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_what_once_was_found_is_kept_and_holds(target: str) -> None:
    assert kept(target)
    for data in kept(target):
        TARGETS[target](data)
