"""The mapping of ids to rows is a dictionary, whatever its parts are."""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.session.tree import ids
from sessiond.session.tree.ids import Ids

NAMES = [f"{number:08x}" for number in range(12)]
BATCHES = st.lists(st.lists(st.sampled_from(NAMES), max_size=4), max_size=12)


@pytest.fixture(autouse=True)
def few_in_the_first_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "MAX_FIRST", 3)


def rows_of(found: Ids) -> dict[str, int]:
    return {name: row for name in ("one", *NAMES) if (row := found.get(name)) is not None}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BATCHES, st.sets(st.sampled_from(NAMES)), BATCHES)
def test_blocks_of_new_ids_are_added_as_a_whole_or_not_at_all(
    before: list[list[str]], removed: set[str], after: list[list[str]]
) -> None:
    found, expected, row = Ids(), dict[str, int](), 0
    for batches in (before, after):
        for batch in batches:
            is_new = len(set(batch)) == len(batch) and not expected.keys() & set(batch)
            assert found.add(batch, row) is is_new
            if is_new:
                expected |= {name: row + index for index, name in enumerate(batch)}
            row += len(batch)
            assert rows_of(found) == expected
        for name in removed & expected.keys():
            found.remove(name)
            del expected[name]
        for name in ("one", *removed):
            found.set(name, row)
            expected[name] = row
            row += 1  # a row has one id
        assert rows_of(found) == expected


def test_an_id_that_is_not_there_cannot_be_removed() -> None:
    found = Ids()
    assert found.add(NAMES[:6], 0)
    with pytest.raises(KeyError):
        found.remove("absent")
