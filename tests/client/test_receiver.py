"""A client handles requests and notifications of the daemon, message by message."""

import asyncio

import msgspec
import pytest
from msgspec import Raw

from sessiond.client.receiver import NotificationReceivers, Receiver, RequestHandler
from sessiond.protocol import errors, types as t
from sessiond.rpc.connection import Connection
from sessiond.rpc.errors import RemoteError
from sessiond.rpc.memory import memory_pair
from support.rpc_peers import Recorder, until


def asking(**answers: RequestHandler) -> tuple[Connection, NotificationReceivers]:
    """The daemon's end of a connection to a client that answers so."""
    receivers = NotificationReceivers(answers)
    theirs, _ = memory_pair(Recorder(), Receiver(receivers))
    return theirs, receivers


async def never(params: Raw, connection: Connection) -> object:
    return await asyncio.get_running_loop().create_future()


async def test_an_answer_is_what_the_function_returns_for_the_params() -> None:
    async def double(params: Raw, connection: Connection) -> object:
        return 2 * msgspec.json.decode(params, type=int)

    daemon, _ = asking(double=double)
    assert msgspec.json.decode(await daemon.call("double", 21)) == 42


async def test_an_unknown_request_is_refused() -> None:
    daemon, _ = asking()
    with pytest.raises(RemoteError) as raised:
        await daemon.call("client/dance")
    assert raised.value.code == errors.METHOD_NOT_FOUND.code


async def test_an_exception_of_the_function_is_an_error_and_the_next_request_is_answered() -> None:
    async def fails(params: Raw, connection: Connection) -> object:
        raise LookupError("no model")

    async def works(params: Raw, connection: Connection) -> object:
        return "done"

    daemon, _ = asking(fails=fails, works=works)
    with pytest.raises(RemoteError) as raised:
        await daemon.call("fails")
    assert raised.value.code == errors.INTERNAL.code
    assert msgspec.json.decode(await daemon.call("works")) == "done"


async def test_a_slow_answer_holds_up_no_other() -> None:
    async def quick(params: Raw, connection: Connection) -> object:
        return "quick"

    daemon, receivers = asking(never=never, quick=quick)
    waiting = asyncio.create_task(daemon.call("never"))
    assert msgspec.json.decode(await daemon.call("quick")) == "quick"
    assert len(receivers.tasks) == 1
    waiting.cancel()
    await until(lambda: not receivers.tasks)


async def test_a_request_that_is_canceled_before_it_was_begun_is_answered_all_the_same() -> None:
    daemon, receivers = asking(never=never)
    asked = asyncio.create_task(daemon.call("never"))
    await asyncio.sleep(0)
    daemon.notify("$/cancelRequest", {"id": 1})
    with pytest.raises(RemoteError) as raised:
        await asked
    assert raised.value.code == errors.CANCELED.code
    assert not receivers.tasks


async def test_progress_goes_to_whoever_waits_for_that_token_and_may_raise() -> None:
    daemon, receivers = asking()
    heard: list[str | None] = []
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))

    def hear(step: t.Progress) -> None:
        heard.append(step.message)
        raise ValueError

    receivers.progress["mine"] = hear
    for token in ("other", "mine", "mine"):
        daemon.notify("$/progress", {"token": token, "value": {"kind": "report", "message": token}})
    await until(lambda: len(heard) == 2)
    assert heard == ["mine", "mine"]
    assert len(complaints) == 2


async def test_the_end_of_a_connection_ends_what_is_being_answered() -> None:
    daemon, receivers = asking(never=never)
    asked = asyncio.create_task(daemon.call("never"))
    await until(lambda: receivers.tasks)
    daemon.abort()
    await until(lambda: not receivers.tasks)
    await asyncio.wait([asked])
    assert asked.exception() is not None
