"""Small trials that need no luck: each passes with a sound daemon, and raises where a promise is broken."""

import asyncio
import contextlib
import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import math
import random
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from campaigns.campaign import Broken, Ground, hold
from campaigns.daemons import Home, kill_the_same, start_time
from campaigns.disk_model import Disk
from campaigns.log_on_disk import log_of, read_log, read_shared_log
from campaigns.nursery import Nursery
from campaigns.recording import events_of, record
from campaigns.repeated_commands import Season
from campaigns.replay import replay
from campaigns.script import ALONE
from campaigns.victims import SESSION, VICTIMS, Stage, user
from sessiond.client.wire import RpcError, frame
from support.columns import entries_of, seqs_of

Trial = Callable[[Ground, Nursery, Sequence[str]], None]


def cuts(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """Power cuts right after each answer, with nothing kept but what was synced, and in the middle of changes."""
    replay(ground, nurse, faults, short=110, seconds=math.inf)


def cuts_after_a_refusal(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """As `cuts`, as far as a disk needs that refuses early."""
    replay(ground, nurse, faults, short=40, seconds=math.inf)


def cuts_among_followers(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """Power cuts while several write and each hears of what the others write."""
    replay(ground, nurse, faults, short=60, skip=ALONE, seconds=math.inf)


def a_victim(name: str) -> Trial:
    """One kind of change, without a death: prepared, done and checked in the same daemon."""
    victim = next(victim for victim in VICTIMS if victim.name == name)

    def trial(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
        home = Home(ground.folder / "h")
        nurse.start(home, faults)
        with home.connect_blocking(autostart=False) as daemon:
            before = Stage(home, daemon)
            victim.prepare(before)
        home.kill()
        nurse.start(home, faults)
        with home.connect_blocking(autostart=False) as daemon:
            stage = Stage(home, daemon, before.before)
            victim.act(stage)
            victim.check(stage, True)
        home.kill()

    return trial


def repeats(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """The same entry twice, another with its id, and an append that expects another leaf."""
    stage = _begin(ground, nurse, faults)
    first = stage.append(user("u1"))
    again = stage.append(user("u1"))
    hold(again["lastSeq"] == first["lastSeq"], "an entry that was sent twice is there twice")
    hold(list(stage.log().seqs) == ["u1"], "an entry that was sent twice is there twice")
    _refused(stage, "idReused", user("u1", "something else"))
    stage.append(user("u2"))
    _refused(stage, "leafConflict", user("u3"), expectedLeafId="u1")
    hold(list(stage.log().seqs) == ["u1", "u2"], "what was refused is there")
    _end(stage)


def repeated_commands(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """Writes of all kinds, all of which another daemon is asked for again."""
    asyncio.run(_repeated_commands(ground, nurse, faults))


async def _repeated_commands(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    season = Season(Home(ground.folder / "h"), nurse, ground.chance(0), 0, faults)
    await season.prepare()
    await season.live_in_peace(batches=12)
    await season.settle()


def a_full_disk(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """Several appends at once share a write that is refused half-way."""
    stage = _begin(ground, nurse, faults)
    stage.append(user("u1"))
    answers = _at_once(stage.home, [user(f"u-full{number}") for number in range(5)])
    for _ in range(5):  # the refusal may reach whoever comes right behind
        with contextlib.suppress(RpcError):
            stage.append(user("u2"))
    there = stage.log().seqs
    for number, answer in answers.items():
        hold(
            "error" in answer or f"u-full{number}" in there,
            f"u-full{number} was acknowledged and is not there",
        )
    shown = entries_of(stage.call("session/entries", sessionId=SESSION))
    hold([entry["id"] for entry in shown] == list(there), "what is shown is not what is there")
    _end(stage)


def a_slow_disk(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """Writes take only a little at a time."""
    stage = _begin(ground, nurse, faults)
    for number in range(5):
        stage.append(user(f"u{number}", "x" * 500))
    hold(len(stage.log().seqs) == 5, "an acknowledged entry is not there")
    _end(stage)


def half_a_line(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """Another program appends half a line in front of several of ours."""
    stage = _begin(ground, nurse, faults)
    done = stage.append(user("u-glued1"), user("u-glued2"))
    there = read_shared_log(log_of(stage.home.folder, SESSION)).seqs
    for entry in done["entries"]:
        hold(there.get(entry["id"]) == entry["seq"], f"{entry} was acknowledged, and the file has {there}")
    stage.daemon.close()
    stage.home.kill()


def followers(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """Somebody follows while somebody else appends."""
    stage = _begin(ground, nurse, faults)
    with stage.home.connect_blocking(autostart=False) as watching:
        watching.call("session/subscribe", {"sessionId": SESSION})
        for number in range(12):
            stage.append(user(f"u{number}"))
        news = watching.notifications()
        for seq in range(1, 13):
            told = next(params for method, params in news if method == "session/appended")
            hold(seqs_of(told) == [seq], f"a follower was told of {seqs_of(told)} where {seq} was due")
    _end(stage)


def two_clients(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """Two ask at the same time; the second reads first, and must see its own answer only."""
    home = Home(ground.folder / "h")
    nurse.start(home, faults)
    with _connected(home) as one, _connected(home) as other:
        _ask(other, 0)
        _message(other)  # whoever came first is attached, too
        _ask(one, 10)
        for number in (20, 21):
            _ask(other, number)
            answered = json.loads(_message(other))["id"]
            hold(answered == number, f"the second client got the answer to request {answered}")
        hold(json.loads(_message(one))["id"] == 10, "the first client got another's answer")
    home.kill()


def a_second_daemon(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """While one daemon runs, another is started for the same folder."""
    home = Home(ground.folder / "h")
    first = nurse.start(home)
    began = start_time(first)
    try:
        nurse.start(home, faults)
    except Broken as error:
        hold(": 75 " in str(error), f"a second daemon was refused for another reason: {error}")
    else:
        raise Broken("two daemons run for one folder")
    finally:
        reached = home.pid() == first and home.answers()
        home.kill()
        kill_the_same(first, began)
    hold(reached, "the first daemon is not to be reached any more")


def an_orderly_end(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> None:
    """A daemon is asked to end, and the power goes as soon as it has."""
    stage = _begin(ground, nurse, (*faults, "record"))
    (ground.folder / "nothing").mkdir()
    stage.append(user("u1"), durability="written")
    path = str(stage.log().path.relative_to(stage.data))
    stage.home.kill(signal.SIGTERM)
    disk = Disk(ground.folder / "nothing", events_of(record(stage.home.folder)))
    kept = disk.image("scattered", "synced only", random.Random(0)).get(path) or b""
    hold(b'"u1"' in kept, "what was written when a daemon was asked to end did not survive a power cut")
    stage.daemon.close()


def _begin(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> Stage:
    home = Home(ground.folder / "h")
    nurse.start(home, faults)
    stage = Stage(home, home.connect_blocking(autostart=False))
    stage.call("session/create", cwd="/work/a", id=SESSION)
    return stage


def _end(stage: Stage) -> None:
    stage.daemon.close()
    stage.home.kill()
    log = read_log(log_of(stage.home.folder, SESSION))
    hold(not log.tail, f"{log.path} ends in half a line")


def _refused(stage: Stage, kind: str, entry: dict[str, Any], **params: Any) -> None:
    try:
        stage.append(entry, **params)
    except RpcError as error:
        hold(error.kind == kind, f"{entry['id']} was refused as {error.kind}, not {kind}")
    else:
        raise Broken(f"{entry['id']} was taken, and should have been refused: {kind}")


def _at_once(home: Home, entries: Sequence[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Append each by itself, all in one piece of the stream; the answers by number."""
    requests = [
        frame(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "session/append",
                "params": {"sessionId": SESSION, "entries": [entry]},
            }
        )
        for number, entry in enumerate(entries)
    ]
    with _connected(home) as client:
        client.sendall(b"".join(requests))
        answers: dict[int, dict[str, Any]] = {}
        while len(answers) < len(requests):
            message = json.loads(_message(client))
            if "id" in message:
                answers[message["id"]] = message
    return answers


def _connected(home: Home) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(home.locations.socket)
    return client


def _ask(client: socket.socket, number: int) -> None:
    client.sendall(frame({"jsonrpc": "2.0", "id": number, "method": "server/status", "params": {}}))


def _message(client: socket.socket) -> bytes:
    """The next message, read byte by byte where its length is not known."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += _exactly(client, 1)
    return _exactly(client, int(head.partition(b":")[2]))


def _exactly(client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        try:
            piece = client.recv(count - len(data))
        except TimeoutError:
            raise Broken("an answer does not come") from None
        if not piece:
            raise Broken("the daemon ended the connection")
        data += piece
    return data


def fresh(ground: Ground, name: str) -> Ground:
    """A ground of its own for a trial, on which it can begin anew."""
    for former in ground.folder.glob("trial*"):
        shutil.rmtree(former, ignore_errors=True)  # a daemon that was killed a moment ago may leave something
    folder = Path(tempfile.mkdtemp(prefix="trial", dir=ground.folder))
    return Ground(f"{ground.name} {name}", ground.seed, "short", folder)
