"""The table of error kinds: the type of the details, and reading them."""

from types import NoneType
from typing import Any

import pytest

from sessiond.protocol import types as t
from sessiond.protocol.error_details import LeafConflictDetails
from sessiond.protocol.errors import CURSOR_EXPIRED, ID_REUSED, KINDS, LEAF_CONFLICT, ErrorKind
from sessiond.protocol.schema import schema

DOCUMENT = schema()
DETAILS = LeafConflictDetails(current_leaf_id=None, last_seq=7, log_id="log-1", missing_count=2)
DATA = {
    "kind": "leafConflict", "retryable": False,
    "details": {"currentLeafId": None, "lastSeq": 7, "logId": "log-1", "missingCount": 2},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_the_schema_has_the_type_of_the_details_of_each_kind(kind: ErrorKind[Any]) -> None:
    told = DOCUMENT["errors"][kind.name]["details"]
    if kind.details is NoneType:
        assert told == {"type": "null"}
        return
    assert issubclass(kind.details, t.Wire)
    fields = DOCUMENT["$defs"][told["$ref"].rpartition("/")[2]]["properties"]
    assert all(field.get("description") for field in fields.values())


def test_details_are_sent_with_all_their_fields_and_read_as_their_type() -> None:
    assert LEAF_CONFLICT.data(DETAILS).details == DETAILS
    assert LEAF_CONFLICT.read(DATA) == DETAILS


def test_the_details_of_another_kind_are_none() -> None:
    assert ID_REUSED.read(DATA) is None
    assert CURSOR_EXPIRED.read({"kind": "cursorExpired", "retryable": False, "details": None}) is None


def test_details_that_lack_a_field_are_none() -> None:
    assert LEAF_CONFLICT.read({**DATA, "details": {"lastSeq": 7}}) is None
    assert LEAF_CONFLICT.read({"kind": "leafConflict"}) is None


def test_a_conflict_is_not_retryable_because_the_same_request_fails_again() -> None:
    assert not LEAF_CONFLICT.retryable
