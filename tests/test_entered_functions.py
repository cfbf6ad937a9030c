"""scripts/ways: the functions of the daemon that a request enters."""

import pytest
from scripts.entered_functions import count_definitions, measure

pytestmark = pytest.mark.slow


def test_the_way_of_each_request_is_recorded() -> None:
    found = measure()
    assert list(found) == [
        "append",
        "conditional append",
        "info",
        "entries",
        "list",
        "context",
        "followed line",
    ]
    assert "hub.session.description:info_of" in found["info"]
    assert len(found["info"]) < len(found["append"]) < len(found["followed line"])
    assert not any("<" in name.replace("<locals>", "") for entered in found.values() for name in entered)


def test_definitions_are_counted() -> None:
    counts = count_definitions()
    assert counts["functions"] > counts["modules"] > counts["Protocols"] > 0
