"""Inputs that once broke the reading of bytes, and the first inputs of fuzzers, break nothing."""

import pytest

from campaigns.fuzz_targets import TARGETS, kept, seeds


@pytest.mark.parametrize("target", TARGETS)
def test_the_first_inputs_of_fuzzers_hold(target: str) -> None:
    for data in seeds(target):
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_inputs_that_once_failed_are_kept_and_hold(target: str) -> None:
    assert kept(target)
    for data in kept(target):
        TARGETS[target](data)
