"""Many clients in one process: requests are encoded beforehand, and replies are only counted.

So the server is measured, not this process. `Outcome.busy` is the share of the time in which this process computed:
near 1.0, it would be the bottleneck. 64 clients with 32 requests in flight each cost under 1 µs a request,
so a client in C would change nothing.
"""

import select
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import msgspec
from scripts.benchmarks.processes import Process

MARK = b"Content-Length: "
ERROR = b'"error":{'


@dataclass(frozen=True)
class Outcome:
    """The result of a load: requests per second, and seconds of the server's processor time per request.

    `cpu` counts until the last reply, `main_cpu` is the part of it that the server's main thread used. `settled` counts
    until the server has no work left. It is 0 if `settle` is false.
    """

    rate: float
    cpu: float
    main_cpu: float
    busy: float
    settled: float = 0.0


class Requests:
    """Framed requests in sequence, to be sent in slices of any number."""

    def __init__(self, bodies: Sequence[bytes]) -> None:
        frames = [b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies]
        self.bytes = memoryview(b"".join(frames))
        self.starts = [0]
        for frame in frames:
            self.starts.append(self.starts[-1] + len(frame))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def slice(self, first: int, end: int) -> memoryview:
        return self.bytes[self.starts[first] : self.starts[end]]


class Client:
    """One connection that keeps up to `depth` requests unanswered."""

    def __init__(self, path: str, requests: Requests, depth: int) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
        self.requests = requests
        self.depth = depth
        self.answered = 0
        self._sent = 0
        self._tail = b""

    def fill(self) -> None:
        """Send as many requests as may be in flight."""
        end = min(self.answered + self.depth, len(self.requests))
        if end > self._sent:
            # Blocking is correct: at most `depth` requests are in flight, and the server always reads.
            self.sock.sendall(self.requests.slice(self._sent, end))
            self._sent = end

    def take(self) -> None:
        """Count the replies that have come. A mark may be cut in two, so the end is searched again."""
        chunk = self.sock.recv(1 << 18)
        if not chunk:
            raise ConnectionError("the server hung up")
        data = self._tail + chunk
        if ERROR in data:
            raise RuntimeError(f"the server refused: {bytes(data[data.index(ERROR) :][:300])!r}")
        self.answered += data.count(MARK)
        # The rest that is carried over must not hold a mark that was counted.
        cut = data.rfind(MARK)
        keep = max(len(data) - len(MARK) + 1, cut + len(MARK) if cut >= 0 else 0)
        self._tail = data[keep:]

    @property
    def done(self) -> bool:
        return self.answered >= len(self.requests)


def drive(
    server: Process,
    requests: Requests | Sequence[Requests],
    *,
    clients: int,
    depth: int,
    settle: bool = False,
) -> Outcome:
    """Send requests from many clients until each of them has all its replies.

    Args:
        server: The server that the clients connect to.
        requests: The requests of every client, or one list for each client.
        clients: The number of clients.
        depth: The maximum number of requests that a client has in flight.
        settle: Wait afterwards until the server has no work left, and count that work in `Outcome.settled`.

    Returns:
        The rate and costs of one request.
    """
    loads = [requests] * clients if isinstance(requests, Requests) else requests
    with ExitStack() as connections:
        crowd = [Client(server.socket, load, depth) for load in loads]
        for client in crowd:
            connections.enter_context(client.sock)
        own, cpu, main_cpu = time.process_time(), server.cpu(), server.main_thread_cpu()
        start = time.perf_counter()
        _answer_all(crowd)
        seconds = time.perf_counter() - start
        busy, after = (time.process_time() - own) / seconds, server.cpu()
        main_cpu = server.main_thread_cpu() - main_cpu
        count = sum(map(len, loads))
        settled = (server.settled_cpu() - cpu) / count if settle else 0.0
    return Outcome(count / seconds, (after - cpu) / count, main_cpu / count, busy, settled)


def _answer_all(crowd: Sequence[Client]) -> None:
    by_number = {client.sock.fileno(): client for client in crowd}
    waiting = len(crowd)
    with select.epoll() as poll:
        for number in by_number:
            poll.register(number, select.EPOLLIN)
        for client in crowd:
            client.fill()
        while waiting:
            ready = poll.poll(30)
            if not ready:
                raise TimeoutError("the server sent no reply for 30 s")
            for number, _ in ready:
                client = by_number[number]
                client.take()
                if client.done:
                    poll.unregister(number)
                    waiting -= 1
                else:
                    client.fill()


def exchange(server: Process, method: str, params: dict[str, object]) -> tuple[float, bytes]:
    """Seconds from a request to the last byte of its reply, and its body. Nothing is decoded meanwhile."""
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    buffer = bytearray()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(server.socket)
        start = time.perf_counter()
        sock.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        while (head := buffer.find(b"\r\n\r\n")) < 0:
            buffer += sock.recv(1 << 18)
        end = head + 4 + int(buffer[len(MARK) : head])
        while len(buffer) < end:
            buffer += sock.recv(1 << 20)
        took = time.perf_counter() - start
    return took, bytes(buffer[head + 4 : end])


def latencies(server: Process, requests: Requests) -> list[float]:
    """Seconds from request to reply, of one client that waits for each reply."""
    client = Client(server.socket, requests, 1)
    times = []
    while not client.done:
        start = time.perf_counter()
        awaited = client.answered + 1
        client.fill()
        while client.answered < awaited:
            client.take()
        times.append(time.perf_counter() - start)
    client.sock.close()
    return times
