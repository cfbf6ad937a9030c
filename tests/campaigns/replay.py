"""Power cuts by simulation: what a daemon did is recorded, and every disk that a cut might have left is opened."""

import hashlib
import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import random
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaigns.campaign import Broken, Campaign, Figures, Ground, hold
from campaigns.daemons import Home
from campaigns.disk_model import Content, Disk, Names
from campaigns.log_on_disk import without_title
from campaigns.nursery import Nursery, nursery
from campaigns.recording import Event, events_of, record
from campaigns.script import Course, Kept, lay_out, perform, session_of
from campaigns.victims import user
from sessiond.client.blocking import BlockingDaemon
from sessiond.client.wire import RpcError
from support.columns import entries_of, seqs_of

_STEPS = ("truncate", "rename", "link", "unlink")
_BLOB = re.compile(rb"blob:sha256:([0-9a-f]{64})")
_NAMES: Sequence[Names] = ("journalled", "scattered")
_CONTENT: Sequence[Content] = ("synced only", "all", "prefix", "torn", "holes")


def run(ground: Ground) -> Figures:
    with nursery() as nurse:
        return replay(ground, nurse, faults=())


def replay(
    ground: Ground,
    nurse: Nursery,
    faults: Sequence[str],
    *,
    short: int = 150,
    skip: int = 0,
    seconds: float = 25.0,
) -> Figures:
    """Record a daemon, with `faults` in it, and open what cuts may leave with one that has none.

    The first cut comes when the first client has had `skip` answers. `seconds` are what a short run may take.
    """
    film = film_of(ground, nurse, faults)
    checker = Checker(ground.folder / "h", nurse, film)
    seen: set[bytes] = set()
    cuts = tried = 0
    moments = _moments(film, skip, ground.dice)
    for _ in ground.each_round(short=short, long=1_000, seconds=seconds):
        while True:
            cut = next(moments)
            image = cut.image(film)
            digest = _digest(cut, image)
            if digest not in seen:
                break
        seen.add(digest)
        checker.check(cut, image)
        cuts += 1
        tried += sum(len(data) for data in image.values() if data is not None)
    return Figures(
        cuts,
        faults=cuts,
        tried=tried,
        checked=checker.checked,
        more=f"{len(film.events):,} writes, syncs, names and answers recorded",
    )


@dataclass(frozen=True)
class Film:
    """A recording: the disk before, all steps, and the answers."""

    before: Path
    events: list[Event]
    course: Course
    told: "list[Told]"


@dataclass(frozen=True)
class Told:
    """The messages to clients until a tick: answers to the first client, and entries that a client has seen."""

    tick: int
    answers: int
    entries: tuple[tuple[str, int], ...]  # id and seq


def film_of(ground: Ground, nurse: Nursery, faults: Sequence[str]) -> Film:
    home = Home(ground.folder / "h")
    before = ground.folder / "before"
    lay_out(home)
    shutil.copytree(home.folder / "data", before)
    nurse.start(home, (*faults, "record"))
    course = perform(home, ground.chance(0))
    home.kill()
    events = events_of(record(home.folder))
    return Film(before, events, course, list(_told(events)))


def _told(events: list[Event]) -> Iterator[Told]:
    """Read the answers and notifications out of what went over each connection."""
    first = next(event.fd for event in events if event.kind == "sent")
    streams: dict[int, bytes] = {}
    answers = 0
    for event in events:
        if event.kind != "sent":
            continue
        streams[event.fd] = streams.get(event.fd, b"") + event.data
        entries: list[tuple[str, int]] = []
        while b"\r\n\r\n" in streams[event.fd]:
            head, _, rest = streams[event.fd].partition(b"\r\n\r\n")
            length = int(head.partition(b":")[2])
            if len(rest) < length:
                break
            streams[event.fd] = rest[length:]
            message = json.loads(rest[:length])
            answers += event.fd == first and "id" in message and "result" in message
            entries += _entries_in(message)
        yield Told(event.done, answers, tuple(entries))


def _entries_in(message: dict[str, Any]) -> list[tuple[str, int]]:
    if message.get("method") == "session/appended":
        told = message["params"]
        return [(entry["id"], seq) for entry, seq in zip(entries_of(told), seqs_of(told), strict=True)]
    result = message.get("result")
    entries = result.get("entries") if isinstance(result, dict) else None
    return [(entry["id"], entry["seq"]) for entry in entries or () if "status" in entry]


@dataclass(frozen=True)
class Cut:
    """The power goes after `events` events; `names` and `content` say what of the rest the disk kept."""

    events: int
    names: Names
    content: Content
    seed: int

    def image(self, film: Film) -> dict[str, bytes | None]:
        disk = Disk(film.before, film.events[: self.events])
        return disk.image(self.names, self.content, random.Random(self.seed))


def _moments(film: Film, skip: int, chance: random.Random) -> Iterator[Cut]:
    """First the hardest, which needs no luck: after each answer only what must be kept is, and in the middle of
    changes everything. Then chance."""
    begin = next(told.tick for told in film.told if told.answers >= skip)
    for at, event in enumerate(film.events):
        if event.done < begin:
            continue
        if event.kind == "sent":
            yield Cut(at + 1, "least", "synced only", 0)
        elif event.kind in _STEPS:
            yield Cut(at + 1, "all", "all", 0)
    while True:
        yield Cut(
            chance.randrange(1, len(film.events) + 1),
            chance.choice(_NAMES),
            chance.choice(_CONTENT),
            chance.randrange(1 << 30),
        )


def _digest(cut: Cut, image: dict[str, bytes | None]) -> bytes:
    """The same disk after the same answers need not be looked at twice."""
    hashed = hashlib.sha256(str(cut.events).encode())
    for path in sorted(image):
        data = image[path]
        hashed.update(path.encode() + b"\0" + (hashlib.sha256(data).digest() if data is not None else b""))
    return hashed.digest()


@dataclass
class Checker:
    """Starts a daemon on a disk after a cut, and compares what it shows with what clients had been told."""

    folder: Path
    nurse: Nursery
    film: Film
    checked: int = 0
    _home: Home = field(init=False)

    def __post_init__(self) -> None:
        self._home = Home(self.folder)

    def check(self, cut: Cut, image: dict[str, bytes | None]) -> None:
        self._make(image)
        tick = self.film.events[cut.events - 1].done
        told = [notification for notification in self.film.told if notification.tick <= tick]
        answers = told[-1].answers if told else 0
        entries = dict(pair for notification in told for pair in notification.entries)
        try:
            self.nurse.start(self._home)
            with self._home.connect_blocking(autostart=False) as daemon:
                self._compare(daemon, answers, entries)
        except (Broken, RpcError) as error:
            last = self.film.events[cut.events - 1]
            error.add_note(
                f"after {cut}: {answers} answers to the first client; the last event was {_brief(last)}"
            )
            raise
        finally:
            self._home.kill()

    def _make(self, image: dict[str, bytes | None]) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        data = self.folder / "data"
        data.mkdir(mode=0o700, parents=True)
        for path, content in image.items():
            if content is None:
                (data / path).mkdir(mode=0o700, parents=True, exist_ok=True)
            else:
                (data / path).write_bytes(content)

    def _compare(self, daemon: BlockingDaemon, answers: int, entries: dict[str, int]) -> None:
        steps = self.film.course.steps
        before, after = steps[min(answers, len(steps) - 1)], steps[min(answers + 1, len(steps) - 1)]
        for session_id in sorted(before.keys() | after.keys()):
            found = self._found(session_id)
            hold(len(found) <= 1, f"{session_id} is there {len(found)} times: {found}")
            self._check_session(daemon, session_id, before.get(session_id), after.get(session_id), found)
        for session_id in {session_id for session_id, _ in self.film.course.sent.values()}:
            self._check_entries(daemon, session_id, entries)

    def _found(self, session_id: str) -> list[Path]:
        data = self.folder / "data"
        return [
            path
            for folder in ("drafts", "sessions", "trash")
            for path in data.glob(f"{folder}/**/*_{session_id}.jsonl")
            if not path.name.startswith(".") and session_of(path) == session_id
        ]

    def _check_session(
        self,
        daemon: BlockingDaemon,
        session_id: str,
        before: Kept | None,
        after: Kept | None,
        found: list[Path],
    ) -> None:
        """It stands as it did after the last answer, or as it would have after the next one."""
        if not found:
            hold(before is None or after is None, f"{session_id} is not there any more")
            return
        in_trash = "trash" in found[0].parts
        candidates = [
            kept_state
            for kept_state in (before, after)
            if kept_state is not None and kept_state.in_trash == in_trash
        ]
        hold(candidates, f"{session_id} lies at {found[0]}")
        # A change under way may be a rewrite and then an append, so of what it adds nothing need be there yet.
        least = len((before or candidates[0]).lines)
        raw = found[0].read_bytes().split(b"\n")
        begins = any(
            without_title(candidate.lines[:least]) == without_title(raw[:least]) for candidate in candidates
        )
        hold(
            begins,
            f"{found[0]} has lost or changed lines of {[len(candidate.lines) for candidate in candidates]}",
        )
        for line in raw[:least]:
            for digest in _BLOB.findall(line):
                blob = self.folder / "data" / "blobs" / digest.decode()
                there = blob.exists() and hashlib.sha256(blob.read_bytes()).hexdigest() == digest.decode()
                hold(there, f"{found[0]} names a blob that is not there: {digest.decode()}")
        self.checked += least
        if in_trash:
            listed = {session["sessionId"]: session for session in daemon.call("trash/list")["sessions"]}
            hold(listed.get(session_id, {}).get("path"), f"the trash does not know where {session_id} was")
        else:
            daemon.call("session/open", {"sessionId": session_id})

    def _check_entries(self, daemon: BlockingDaemon, session_id: str, entries: dict[str, int]) -> None:
        """Entries that were reported as synced are there, are shown, and stay when a client goes on."""
        sent = self.film.course.sent
        due = {
            name: seq
            for name, seq in entries.items()
            if sent.get(name) is not None and sent[name] == (session_id, "synced")
        }
        if not due:
            return
        shown = _shown(daemon, session_id)
        lost = {name: seq for name, seq in due.items() if shown.get(name) != seq}
        hold(not lost, f"{session_id}: told of as synced, and not there: {lost}")
        unknown = [name for name in shown if name.startswith("client") and name not in sent]
        hold(not unknown, f"{session_id}: nobody has sent {unknown}")
        daemon.call("session/append", {"sessionId": session_id, "entries": [user("z1")]})
        again = _shown(daemon, session_id)
        hold(again.pop("z1", None) is not None and again == shown, f"{session_id}: going on has changed it")
        self.checked += len(due)


def _shown(daemon: BlockingDaemon, session_id: str) -> dict[str, int]:
    shown: dict[str, int] = {}
    cursor = None
    while True:
        page = daemon.call("session/entries", {"sessionId": session_id, "cursor": cursor, "limit": 10_000})
        for entry, seq in zip(entries_of(page), seqs_of(page), strict=True):
            hold(entry["id"] not in shown, f"{session_id}: {entry['id']} is shown twice")
            shown[entry["id"]] = seq
        cursor = page["nextCursor"]
        if cursor is None:
            return shown


def _brief(event: Event) -> str:
    return f"{event.kind} {event.path or event.fd} {event.other} {len(event.data)} bytes".strip()


CAMPAIGN = Campaign(
    name="replay",
    promise="Entries acknowledged or shown as synced survive a power cut, and so does every finished change.",
    how="writes, syncs, names and answers of a daemon are recorded; from any moment, disks are made as a file system "
    "may have left them: prefixes, torn writes, holes of NULs, names lost or kept in any order; a daemon opens "
    "each and goes on",
    run=run,
)
