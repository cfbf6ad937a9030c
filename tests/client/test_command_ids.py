"""Which requests the clients give a `commandId`."""

from sessiond.client import commands
from sessiond.protocol.methods import METHODS


def test_the_methods_that_get_one_are_those_that_take_one() -> None:
    taking = {name for name, method in METHODS.items() if "command_id" in method.params.__struct_fields__}
    assert taking == commands.METHODS


def test_a_request_gets_one_of_its_own_unless_it_has_one() -> None:
    first, second = (commands.repeatable("session/rename", {"title": "T"}) for _ in range(2))
    assert first["commandId"] != second["commandId"]
    assert commands.repeatable("session/rename", {"commandId": "mine"}) == {"commandId": "mine"}


def test_requests_that_read_or_have_an_id_of_their_own_get_none() -> None:
    assert commands.repeatable("session/info", {"sessionId": "s"}) == {"sessionId": "s"}
    assert commands.repeatable("state/beginTask", {"id": "mine"}) == {"id": "mine"}
    assert commands.is_repeatable("state/beginTask", {"id": "mine"})
    assert not commands.is_repeatable("session/rename", {"title": "T"})
