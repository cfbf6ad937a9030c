"""The laws of the method table: names, documentation, errors."""

import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from sessiond.protocol import types as t
from sessiond.protocol.advice import ADVICE
from sessiond.protocol.comments import field_comments
from sessiond.protocol.errors import CODES, KINDS
from sessiond.protocol.methods import METHODS, NOTIFICATIONS
from sessiond.protocol.schema import Undocumented, definitions, schema

RUNS_AN_AGENT_IN_ACP = {"session/new", "session/load", "session/prompt", "session/update"}


@pytest.mark.parametrize("name", [*METHODS, *NOTIFICATIONS])
def test_a_name_is_a_noun_and_a_verb_in_camel_case(name: str) -> None:
    assert re.fullmatch(r"[a-z]+/[a-z]+([A-Z][a-z]+)*", name)


def test_no_name_is_one_that_runs_an_agent_in_acp() -> None:
    assert not RUNS_AN_AGENT_IN_ACP & {*METHODS, *NOTIFICATIONS}


def test_a_request_and_a_notification_never_share_a_name() -> None:
    assert not METHODS.keys() & NOTIFICATIONS.keys()


@pytest.mark.parametrize("name", METHODS)
def test_params_and_result_are_named_for_what_they_are_and_documented(name: str) -> None:
    method = METHODS[name]
    assert method.params.__name__.endswith("Params")
    assert method.result.__name__.endswith("Result")
    assert method.params.__doc__
    assert method.result.__doc__


@pytest.mark.parametrize("name", NOTIFICATIONS)
def test_a_notification_is_named_for_what_it_is_and_documented(name: str) -> None:
    assert NOTIFICATIONS[name].params.__name__.endswith("Note")
    assert NOTIFICATIONS[name].params.__doc__


OF_MANY_SESSIONS = (t.ListedSession, t.Hit)


@pytest.mark.parametrize("name", [*METHODS, *NOTIFICATIONS])
def test_every_message_with_a_seq_names_its_log(name: str) -> None:
    told = METHODS[name].result if name in METHODS else NOTIFICATIONS[name].params
    assert [item.__name__ for item in without_log(told)] == []


def without_log(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The shapes in a message that tell a seq of one session, with no log beside it or around it."""
    for each in get_args(kind):
        yield from without_log(each)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in OF_MANY_SESSIONS:
        fields = get_type_hints(kind)
        if "log_id" not in fields:
            if fields.keys() & {"seq", "from_seq", "to_seq", "last_seq"}:
                yield kind
            for each in fields.values():
                yield from without_log(each)


@pytest.mark.parametrize("name", METHODS)
def test_an_own_error_has_a_code_and_stands_once(name: str) -> None:
    errors = METHODS[name].errors
    assert set(errors) <= CODES.keys()
    assert len(set(errors)) == len(errors)


def test_every_kind_has_advice_and_belongs_somewhere() -> None:
    assert ADVICE.keys() == CODES.keys()
    own = {kind for method in METHODS.values() for kind in method.errors}
    assert own | {kind.name for kind in KINDS.values() if kind.general} == CODES.keys()


def test_codes_of_ours_lie_outside_the_ranges_that_json_rpc_and_lsp_reserve() -> None:
    assert all(1400 <= code < 1600 or -32899 <= code <= -32000 for code in CODES.values())


def test_params_without_a_docstring_are_refused() -> None:
    class BareParams(t.Wire, frozen=True):
        size: int

    with pytest.raises(Undocumented):
        definitions([BareParams])


def test_every_reference_of_the_schema_is_defined() -> None:
    document = schema()
    named = set(re.findall(r"'#/\$defs/(\w+)'", str(document)))
    assert named <= document["$defs"].keys()


def test_the_comment_behind_a_field_is_its_documentation() -> None:
    source = 'class Info:\n    """What."""\n\n    seq: int  # the header is 0\n    size: int\n'
    assert field_comments(source) == {"Info": {"seq": "the header is 0"}}
    assert schema()["$defs"]["SessionInfo"]["properties"]["lastSeq"]["description"]


def test_the_working_state_the_views_agents_and_syncs_are_experimental_and_all_else_is_stable() -> None:
    experimental = {method.name for method in METHODS.values() if method.stability == "experimental"}
    rooms = ("state/", "view/", "agent/", "sync/", "blob/missing", "forgotten/")
    assert experimental == {name for name in METHODS if name.startswith(rooms)}
    assert {notification.stability for notification in NOTIFICATIONS.values()} == {"stable"}
    document = schema()
    assert {
        name for name, method in document["methods"].items() if method["stability"] == "experimental"
    } == experimental
