"""Dispatches requests to handlers: decodes params, starts requests in program order, reports errors.

`Client` encodes the answers. `program_order` decides when a request may start.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET

from sessiond.hub.errors import Draining
from sessiond.protocol import types as t
from sessiond.rpc.message import Head, RequestId
from sessiond.server import errors
from sessiond.server.connection.deferred import DEFERRED, Pending, Unopened
from sessiond.server.connection.program_order import Order
from sessiond.server.connection.read_throttle import ReadThrottle
from sessiond.server.connection.requests import Requests
from sessiond.server.connection.route import RequestGroup, Route
from sessiond.server.connection.services import Services
from sessiond.server.connection.tickets import AnyTicket, Ticket

C = TypeVar("C")


class Dispatcher(Generic[C]):
    """Starts the requests of one client, each once, in program order.

    Args:
        client: The sender of the requests. Handlers are called with it.
        server: Requests are refused while its `ending` is True.
        requests: Answers the requests that cannot be answered at once.
        read_throttle: Counts the requests that wait and the bytes of their bodies.
        answer: Sends a result or an exception.

    """

    def __init__(
        self,
        client: C,
        server: Services[C],
        requests: Requests,
        read_throttle: ReadThrottle,
        answer: Callable[[RequestId, object], None],
    ) -> None:
        self._client = client
        self._server = server
        self._requests = requests
        self._read_throttle = read_throttle
        self._answer = answer
        self.order = Order(server.hub.sessions.session_id_at, server.spawn)
        self._waiting: dict[RequestId, tuple[int, Ticket]] = {}  # with the sizes of their bodies in bytes
        self.has_group = False
        """Whether requests were gathered since the event loop called, and not yet carried out."""
        self._group: RequestGroup
        self._group_route: Route[C]

    def receive(self, route: Route[C], head: Head, size: int) -> None:
        """Start a request when its turn comes, and answer it.

        Args:
            route: The route of its method.
            head: Its envelope.
            size: Bytes of its body.

        """
        request_id: RequestId = head.id  # type: ignore[assignment]
        try:
            if self._server.ending:
                raise Draining
            encoded = b"{}" if head.params is UNSET else head.params
            try:
                params = route.decode(encoded)
            except (msgspec.DecodeError, RecursionError):
                params = route.decode_slowly(encoded)
        except Exception as error:  # noqa: BLE001 - everything becomes an answer
            self._answer(request_id, error)
            return
        if route.group is not None:
            if self.has_group:
                if self._group.add(request_id, size, params):
                    return
                self.start_group()
            self._group = route.group(self._client, params)
            if self._group.add(request_id, size, params):
                self.has_group, self._group_route = True, route
                return
        elif self.has_group:
            self.start_group()
        if route.effect is None or (route.starts_when_idle and not self.order.entered):
            self._call(request_id, size, route, params, None)
        else:
            self._enter(request_id, size, route, params)

    def start_group(self) -> None:
        """Carry out the requests that were gathered. Called before any other request, and when all were received."""
        if not self.has_group:
            return
        group, self.has_group = self._group, False
        ticket = self.order.try_append(group.session_id)
        if ticket is not None:
            try:
                if group.start(ticket):
                    return
            except Exception as error:  # noqa: BLE001 - everything becomes an answer
                for request_id, _, _ in group.requests:
                    self._answer(request_id, error)
                ticket.ended()
                return
            ticket.ended()
        for request_id, size, params in group.requests:
            self._enter(request_id, size, self._group_route, params)

    def _enter(self, request_id: RequestId, size: int, route: Route[C], params: Any) -> None:
        """Start a request that has an effect now or when its turn comes."""
        if route.effect == "append":
            started = self.order.try_append(params.session_id)
            if started is not None:
                self._call(request_id, size, route, params, started)
                return
        ticket = _ticket(route, params, partial(self._start, request_id, size, route, params))
        self.order.enter(ticket)
        if ticket.is_waiting:
            self._waiting[request_id] = size, ticket
            self._read_throttle.began(size)

    def cancel(self, request_id: RequestId) -> bool:
        """Cancel a request, if it can still be canceled. Returns False if no request has this id."""
        waiting = self._waiting.pop(request_id, None)
        if waiting is None:
            return self._requests.cancel(request_id)
        self._drop(*waiting)
        self._answer(request_id, errors.Canceled())
        return True

    def close(self) -> None:
        """Drop the requests that only read, because the client has disconnected. Writes are carried out."""
        self._requests.close()
        for request_id, (size, ticket) in list(self._waiting.items()):
            if not ticket.writes:
                del self._waiting[request_id]
                self._drop(size, ticket)

    async def ask(self, route: Route[C], params: t.Wire) -> Any:
        """Call the handler of a route in program order on behalf of this client, and return its answer."""
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def start(_ticket: Ticket) -> None:
            if not started.done():
                started.set_result(None)

        ticket = _ticket(route, params, start)
        if ticket.effect == "append":
            ticket.effect = (
                "change"  # the handler is called on a later tick than the one that starts the ticket
            )
        try:
            self.order.enter(ticket)
            await started
            answer: Any = route.call(self._client, params)
            if isinstance(answer, Unopened):
                answer = answer.answer(ticket.started)
            else:
                ticket.started()
            if isinstance(answer, Coroutine):
                answer = await answer
            return await _answer_of(answer) if isinstance(answer, Pending) else answer
        finally:
            if not ticket.cancel():
                ticket.ended()

    def _start(
        self, request_id: RequestId, size: int, route: Route[C], params: t.Wire, ticket: Ticket
    ) -> None:
        if self._waiting and self._waiting.pop(request_id, None) is not None:
            self._read_throttle.ended(size)
        self._call(request_id, size, route, params, ticket)

    def _call(
        self, request_id: RequestId, size: int, route: Route[C], params: t.Wire, ticket: AnyTicket | None
    ) -> None:
        """Call the handler of a request whose turn has come, and answer it.

        Args:
            request_id: Its id.
            size: Bytes of its body.
            route: The route of its method.
            params: Its params.
            ticket: Its ticket. None if nothing is in progress that the request would have to wait for.

        """
        try:
            if self._server.ending:
                raise Draining
            answer = route.call(self._client, params)
        except Exception as error:  # noqa: BLE001 - everything becomes an answer
            answer = error
        self.settle(request_id, size, route, params, ticket, answer)

    def settle(
        self,
        request_id: RequestId,
        size: int,
        route: Route[C],
        params: t.Wire,
        ticket: AnyTicket | None,
        answer: Any,
    ) -> None:
        """Answer a request with what its handler returned or raised. For the other arguments see `_call`."""
        if type(answer) not in DEFERRED:
            self._answer(request_id, answer)
            if ticket is not None:
                ticket.ended()
        elif isinstance(answer, Pending):
            if ticket is not None:
                ticket.started()
            self._requests.answer_when_there(request_id, size, answer, ticket)
        else:
            if ticket is None and route.effect is not None:
                ticket = _ticket(route, params, _nothing)
                self.order.join(ticket)
            if isinstance(answer, Unopened):
                answer = answer.answer(_nothing if ticket is None else ticket.started)
            elif ticket is not None:
                ticket.started()
            self._requests.answer_later(request_id, size, answer, route.execution, ticket)

    def _drop(self, size: int, ticket: Ticket) -> None:
        ticket.cancel()
        self._read_throttle.ended(size)


def _ticket(route: Route[C], params: t.Wire, start: Callable[[Ticket], None]) -> Ticket:
    effect = route.effect
    if callable(effect):
        effect = effect(params)
    name, path = route.names(params)
    return Ticket(effect or "read", name, path, start)


def _nothing(*_arguments: object) -> None:
    return


async def _answer_of(pending: Pending) -> Any:
    answered: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    def take(answer: object) -> None:
        if not answered.done():
            answered.set_result(answer)

    pending.then(take)
    answer = await answered
    if isinstance(answer, Exception):
        raise answer
    return answer
