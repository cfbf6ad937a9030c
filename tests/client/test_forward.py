import os
import socket
import threading
from collections.abc import Callable

from hypothesis import given, settings, strategies as st

from sessiond.client.forward import pump

BIG = os.urandom(1 << 20) * 8


class Pumping:
    """A pump between two pipes and a socket, and our ends of the three."""

    def __init__(self) -> None:
        source, self.write_end = os.pipe()
        self.read_end, sink = os.pipe()
        self.daemon, inner = socket.socketpair()
        self.daemon.settimeout(60)
        self.undelivered: int | None = -1
        self._thread = threading.Thread(target=self._pump, args=(source, sink, inner))
        self._thread.start()

    def _pump(self, source: int, sink: int, inner: socket.socket) -> None:
        with inner:
            self.undelivered = pump(source, sink, inner)
        os.close(source)
        os.close(sink)

    def say(self, data: bytes) -> None:
        with open(self.write_end, "wb") as source:
            source.write(data)

    def heard(self) -> bytes:
        with open(self.read_end, "rb") as sink:
            return sink.read()

    def end(self) -> int | None:
        self._thread.join(10)
        assert not self._thread.is_alive()
        self.daemon.close()
        return self.undelivered


def in_the_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def all_of(daemon: socket.socket) -> bytes:
    taken = bytearray()
    while piece := daemon.recv(65_536):
        taken += piece
    return bytes(taken)


def test_the_end_of_input_is_passed_on_and_the_answer_is_waited_for() -> None:
    way = Pumping()
    way.say(b"question")
    assert all_of(way.daemon) == b"question"
    way.daemon.sendall(b"answer")
    way.daemon.close()
    assert way.heard() == b"answer"
    assert way.end() == 0


def test_big_frames_pass_both_ways_at_once() -> None:
    way = Pumping()
    speaking = in_the_background(lambda: way.say(BIG))
    answering = in_the_background(lambda: way.daemon.sendall(BIG))
    heard: list[bytes] = []
    listening = in_the_background(lambda: heard.append(way.heard()))
    assert all_of(way.daemon) == BIG
    for thread in (speaking, answering):
        thread.join()
    way.daemon.shutdown(socket.SHUT_WR)  # a daemon that ends earlier ends both directions
    listening.join()
    assert heard == [BIG]
    assert way.end() == 0


def test_a_slow_reader_holds_up_its_writer_and_not_the_other_direction() -> None:
    way = Pumping()
    way.daemon.setblocking(False)
    held = 0
    try:
        while held < 64 << 20:
            held += way.daemon.send(BIG[: 1 << 16])
            way.daemon.settimeout(0.2)
    except TimeoutError:
        pass
    assert held < 8 << 20  # what the pump and the system hold for a reader that reads nothing
    way.daemon.settimeout(60)
    speaking = in_the_background(lambda: way.say(b"still heard"))
    assert all_of(way.daemon) == b"still heard"
    speaking.join()
    way.daemon.close()
    assert len(way.heard()) == held
    assert way.end() == 0


def test_bytes_that_the_daemon_did_not_take_are_counted() -> None:
    way = Pumping()
    speaking = in_the_background(lambda: os.write(way.write_end, BIG[: 1 << 20]))
    assert way.daemon.recv(1)
    speaking.join()
    way.daemon.close()
    os.close(way.write_end)
    undelivered = way.end()
    assert undelivered
    assert undelivered <= 1 << 20
    os.close(way.read_end)


def test_a_daemon_that_goes_ends_the_pump_though_the_input_stays_open() -> None:
    way = Pumping()
    way.daemon.sendall(b"last words")
    way.daemon.close()
    assert way.heard() == b"last words"
    assert way.end() == 0
    os.close(way.write_end)


def test_a_reader_that_goes_ends_the_pump() -> None:
    way = Pumping()
    os.close(way.read_end)
    assert way.end() is None
    os.close(way.write_end)


@settings(max_examples=25)
@given(st.lists(st.binary(min_size=1, max_size=5000), max_size=8))
def test_bytes_arrive_as_they_were_sent(pieces: list[bytes]) -> None:
    way = Pumping()
    for piece in pieces:
        os.write(way.write_end, piece)
    os.close(way.write_end)
    assert all_of(way.daemon) == b"".join(pieces)
    for piece in pieces:
        way.daemon.sendall(piece)
    way.daemon.close()
    assert way.heard() == b"".join(pieces)
    assert way.end() == 0
