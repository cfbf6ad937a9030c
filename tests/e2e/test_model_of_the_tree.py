"""Several clients do what they like to one session; after each step all of them see the tree that a model has."""

import asyncio
import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from support.columns import entries_of
from support.daemons import Peer, Refused, Running, assistant, running, user

CLIENTS = 3
_sessions = itertools.count(1)
clients = st.integers(0, CLIENTS - 1)
places = st.integers(0, 10_000)


class Clients(RuleBasedStateMachine):
    """The model: every line's id in order, its parent, and the leaf. Seqs are places in the order, the header 0."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.lines: list[str] = ["header"]
        self.parents: dict[str, str | None] = {}
        self.leaf: str | None = None
        self.sent: list[tuple[dict[str, Any], int]] = []
        self.names = itertools.count(1)

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    @initialize()
    def begin(self) -> None:
        self.serving = running(Path(self.folder.name))
        self.daemon: Running = self.run(self.serving.__aenter__())
        self.session_id = f"model-session-{next(_sessions)}"
        self.peers: list[Peer] = [self.run(self.daemon.attach()) for _ in range(CLIENTS)]
        self.notified_seq: list[list[int]] = [[] for _ in range(CLIENTS)]
        made = self.run(self.peers[0].call("session/create", cwd="/work/model", id=self.session_id))
        self.log_id = made["session"]["logId"]
        for peer in self.peers[1:]:
            self.run(peer.call("session/open", sessionId=self.session_id))

    def call(self, number: int, method: str, **params: Any) -> Any:
        return self.run(self.peers[number].call(f"session/{method}", sessionId=self.session_id, **params))

    def add(self, name: str, parent: str | None) -> int:
        """A line of the model; its seq."""
        self.lines.append(name)
        self.parents[name] = parent
        return len(self.lines) - 1

    def some(self, place: int) -> str | None:
        """An entry that there is, or None for the root."""
        names = [None, *self.parents]
        return names[place % len(names)]

    @rule(number=clients, count=st.integers(1, 3), answers=st.booleans())
    def append_at_the_leaf(self, number: int, count: int, answers: bool) -> None:
        names = [f"e{next(self.names)}" for _ in range(count)]
        drafts = [(assistant if answers else user)("x", id=name) for name in names]
        answer = self.call(number, "append", entries=drafts)
        for name, told in zip(names, answer["entries"], strict=True):
            assert told == {"id": name, "seq": self.add(name, self.leaf), "status": "created"}
            self.leaf = name
        self.sent.append((drafts[0], len(self.lines) - count))
        assert answer["leafId"] == self.leaf

    @rule(number=clients, place=places)
    def append_below_any_entry(self, number: int, place: int) -> None:
        parent, name = self.some(place), f"e{next(self.names)}"
        answer = self.call(number, "append", entries=[user("x", id=name)], parentId=parent)
        assert answer["entries"][0]["seq"] == self.add(name, parent)
        self.leaf = name

    @rule(number=clients, place=places, branches=st.booleans())
    def append_expecting_a_leaf(self, number: int, place: int, branches: bool) -> None:
        expected, name = self.some(place), f"e{next(self.names)}"
        on_conflict = "branch" if branches else "reject"
        asked = {"entries": [user("x", id=name)], "expectedLeafId": expected, "onConflict": on_conflict}
        if branches or expected == self.leaf:
            assert self.call(number, "append", **asked)["entries"][0]["seq"] == self.add(name, expected)
            self.leaf = name
            return
        with pytest.raises(Refused) as refused:
            self.call(number, "append", **asked)
        assert (refused.value.kind, refused.value.details["currentLeafId"]) == ("leafConflict", self.leaf)

    @precondition(lambda self: self.sent)
    @rule(number=clients, place=places)
    def retry(self, number: int, place: int) -> None:
        draft, seq = self.sent[place % len(self.sent)]
        answer = self.call(number, "append", entries=[draft])
        assert answer["entries"] == [{"id": draft["id"], "seq": seq, "status": "duplicate"}]

    @precondition(lambda self: self.sent)
    @rule(number=clients, place=places)
    def reuse_an_id(self, number: int, place: int) -> None:
        draft, seq = self.sent[place % len(self.sent)]
        with pytest.raises(Refused) as refused:
            self.call(number, "append", entries=[user("something else", id=draft["id"])])
        assert (refused.value.kind, refused.value.details["seq"]) == ("idReused", seq)

    @rule(number=clients, place=places)
    def branch(self, number: int, place: int) -> None:
        target = self.some(place)
        answer = self.call(number, "branch", entryId=target)
        assert answer["leafId"] == target
        if answer.get("seq", 0) == len(self.lines):  # a move to where the leaf is already adds nothing
            self.lines.append("leaf")
        self.leaf = target

    @rule(number=clients)
    def come_back(self, number: int) -> None:
        """A client loses its connection, and goes on behind the last line that it was told of."""
        self.listen(number)
        self.peers[number].connection.abort()
        self.peers[number] = self.run(self.daemon.attach())
        last = self.notified_seq[number][-1] if self.notified_seq[number] else 0
        self.call(number, "subscribe", after={"logId": self.log_id, "seq": last})

    @invariant()
    def everybody_heard_of_every_line_once_and_in_order(self) -> None:
        for number in range(CLIENTS):
            self.listen(number)
            assert self.notified_seq[number] == list(range(1, len(self.lines)))

    @invariant()
    def everybody_sees_the_path_of_the_model(self) -> None:
        path, name = [], self.leaf
        while name is not None:
            path.append(name)
            name = self.parents[name]
        for number in range(CLIENTS):
            seen = self.call(number, "path")
            assert [entry["id"] for entry in entries_of(seen)] == path[::-1]
            tree = self.call(number, "tree", filter="all")
            assert tree["leafId"] == self.leaf
            assert {row["id"]: row.get("parentId") for row in tree["nodes"]} == self.parents

    def listen(self, number: int) -> None:
        """Take in what a client has been told, once it was told of the last line."""
        peer, last = self.peers[number], len(self.lines) - 1
        if last and (not self.notified_seq[number] or self.notified_seq[number][-1] < last):
            self.run(peer.until(lambda client: last in client.seqs()))
        self.notified_seq[number] += peer.seqs()
        peer.notes.clear()

    def teardown(self) -> None:
        if hasattr(self, "serving"):
            self.run(self.serving.__aexit__(None, None, None))
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()


Clients.TestCase.settings = settings(max_examples=30, stateful_step_count=15)
TestClients = pytest.mark.slow(Clients.TestCase)
