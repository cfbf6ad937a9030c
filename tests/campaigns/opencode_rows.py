"""Sessions of OpenCode, made at random and damaged: rows of a database, or the files that it had before.

Rows are written in the form of OpenCode 1.18. Nothing of the product's writer is used.
"""

import json  # noqa: TID251  (what is checked here must not be made with the product's own means)
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from campaigns.native_damage import Case, Piece, write_file
from campaigns.native_files import START, Line, NativeFile, Pen
from support.writing_opencode import TABLES

FOLDER = ".local/share/opencode"


@dataclass
class Message(Piece):
    """A message as a row: its data, the data of its parts, and when it was created, in milliseconds.

    `written` is the same time by the clock of the server, which writes all rows.
    """

    info: Line = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    at: int = 0
    written: int = 0
    torn_info: str | None = None

    @property
    def name(self) -> str:
        """The id of the message."""
        return str(self.info["id"])

    def begun(self) -> "Message":
        """Return the message as OpenCode writes it first: without a text and without its end."""
        info = {name: item for name, item in self.info.items() if name != "tokens"}
        parts = [json.dumps({"type": "text", "text": ""})]
        return replace(self, info={**info, "time": {"created": self.at}}, parts=parts)

    def columns(self) -> tuple[str, list[tuple[str, str]]]:
        """Return its data, and the ids and data of its parts."""
        info = {name: item for name, item in self.info.items() if name != "id"}
        data = json.dumps(info) if self.torn_info is None else self.torn_info
        return data, [(f"prt_{number:03}_{self.name}", part) for number, part in enumerate(self.parts)]


@dataclass
class DatabaseCase(Case):
    """A session in a database, or in files, with the rows of another session among its rows.

    Attributes:
        messages: Its messages, in the order in which they are written.
        older: The messages that an older copy of the database has, or that the files of an earlier version have.
        is_older_in_files: Whether these are files.
        is_in_files: Whether the session itself is in files only.
        other: The session with rows in the same database.
    """

    messages: list[Message] = field(default_factory=list)
    older: list[Message] = field(default_factory=list)
    is_older_in_files: bool = False
    is_in_files: bool = False
    other: "DatabaseCase | None" = None

    @property
    def data(self) -> bytes:
        """The rows as they are in the end."""
        return b"".join("".join([message.columns()[0], *message.parts]).encode() for message in self.messages)

    @property
    def all_pieces(self) -> Sequence[Piece]:
        """All messages of the database and of its copy."""
        return [*self.messages, *self.older]

    def write(self, home: Path) -> None:
        """Write the session as it is in the end."""
        for _ in self._steps(home, is_growing=False, dice=random.Random(0)):
            pass

    def steps(self, home: Path, dice: random.Random) -> Iterator[None]:
        """Write the session row by row: an answer without its text first. It happens now, not at the time of others."""
        later = int(time.time() * 1000) - min(message.at for message in self.messages)
        for item in (
            *self.messages,
            *(() if self.other is None else self.other.messages),
        ):  # they have the older ones
            item.at, item.written = item.at + later, item.written + later
            item.info["time"] = {name: at + later for name, at in item.info["time"].items()}
        yield from self._steps(home, is_growing=True, dice=dice)

    def write_copy(self, home: Path) -> None:
        """Write the older copy, if there is one. The session was begun there, so nothing is older than the copy."""

    def _write_older(self, home: Path) -> None:
        if self.older and self.is_older_in_files:
            for message in self.older:
                self._put_files(home, message)
            self._put_session_file(home)
        elif self.older:
            with closing(_opened(home / self.file.copy_path)) as database:
                _begin(database, self.file, self.older[0].written)
                for message in self.older:
                    _put(database, self.file.session_id, message)

    def _steps(self, home: Path, *, is_growing: bool, dice: random.Random) -> Iterator[None]:
        self._write_older(home)
        if self.is_in_files:
            for message in self.messages:
                self._put_files(home, message)
                if is_growing:
                    self._put_session_file(home)
                    yield
            self._put_session_file(home)
            return
        others = [] if self.other is None else [(self.other.file, message) for message in self.other.messages]
        rows = [(self.file, message) for message in self.messages]
        turns = [*[0] * len(rows), *[1] * len(others)]
        dice.shuffle(turns)
        with closing(_opened(home / self.file.path)) as database:
            for file in (self.file, *(() if self.other is None else (self.other.file,))):
                _begin(database, file, self.messages[0].written)
            for turn in turns:
                file, message = (others if turn else rows).pop(0)
                if is_growing and message.info["role"] == "assistant":
                    _put(database, file.session_id, message.begun())
                    yield
                _put(database, file.session_id, message)
                yield

    def _put_files(self, home: Path, message: Message) -> None:
        storage, (data, parts) = home / FOLDER / "storage", message.columns()
        for number, (name, part) in enumerate(parts):
            began = {"time": {"start": message.at + number}}
            timed = json.dumps({**json.loads(part), **began}) if part.endswith("}") else part
            write_file(storage / f"part/{message.name}/{name}.json", timed.encode(), START + 10)
        path = storage / f"message/{self.file.session_id}/{message.name}.json"
        write_file(path, data.encode(), START + 10)
        os.utime(storage / f"part/{message.name}", (START + 10, START + 10))

    def _put_session_file(self, home: Path) -> None:
        about = {"id": self.file.session_id, "directory": self.file.cwd, "title": "Herons", "version": "0.15.8",
            "time": {"created": START * 1000, "updated": START * 1000}}  # fmt: skip
        storage = home / FOLDER / "storage"
        write_file(
            storage / f"session/global/{self.file.session_id}.json", json.dumps(about).encode(), START + 10
        )


def _opened(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    if is_new:
        database.executescript(TABLES)
    return database


def _begin(database: sqlite3.Connection, file: NativeFile, at: int) -> None:
    values = [file.session_id, None, "x", file.cwd, "Herons", "1.18.33", None, at, at]
    database.execute("INSERT INTO session VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", values)


def _put(database: sqlite3.Connection, session: str, message: Message) -> None:
    """Write a message or change it, as one event."""
    data, parts = message.columns()
    row = [message.name, session, message.at, message.written, data]
    database.execute("BEGIN")
    database.execute(
        "INSERT INTO message VALUES(?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET data = excluded.data", row
    )
    for name, part in parts:
        database.execute(
            "INSERT INTO part VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET data = excluded.data",
            [name, message.name, session, message.written, message.written, part],
        )
    database.execute(
        "INSERT INTO event_sequence VALUES(?, 0) ON CONFLICT(aggregate_id) DO UPDATE SET seq = seq + 1",
        [session],
    )
    database.execute("COMMIT")


# --- a session ------------------------------------------------------------------------------------------------------


def _session(dice: random.Random, cwd: str) -> DatabaseCase:
    pen = Pen(dice, cwd)
    name, messages, asked = f"ses_{pen.session_id[:12]}", list[Message](), ""
    for _ in range(dice.choice((1, 1, 3))):
        for kind, word in pen.turns():
            text = json.dumps({"type": "text", "text": pen.text(word)})
            if kind == "result":  # it is in the message with the call
                state = {
                    "status": "completed",
                    "input": {},
                    "output": pen.text(word),
                    "title": "ls",
                    "metadata": {},
                }
                tool: Line = {"type": "tool", "tool": "bash", "callID": pen.call, "state": state}
                messages[-1].parts.append(json.dumps(tool))
                _says(pen, messages[-1], *messages[-1].records[0].words, word)
                continue
            at = pen.seconds() * 1000
            info: Line = {"id": f"msg_{at}", "role": "user", "time": {"created": at}}
            if kind == "user":
                asked = info["id"]
            else:
                spent = {"input": pen.spend(), "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
                info |= {"role": "assistant", "parentID": asked, "modelID": "m", "providerID": "p", "tokens": spent,
                    "time": {"created": at, "completed": at + 1}}  # fmt: skip
            messages.append(Message(b"", [], info=info, parts=[text], at=at, written=at))
            pen.put({}, word, request="" if kind == "user" else word)
            messages[-1].records = [pen.records[-1]]
    place = f"{FOLDER}/opencode-{pen.session_id[:8]}"
    file = NativeFile("opencode", name, cwd, f"{place}.db", f"{place}-old.db", pen.records, {})
    return DatabaseCase(file, [], messages=messages)


def _says(pen: Pen, message: Message, *words: str) -> None:
    """Give a message other words."""
    [record] = message.records
    pen.records[pen.records.index(record)] = changed = replace(record, words=words)
    message.records = [changed]


# --- damages: each returns whether it could be done -----------------------------------------------------------------


def _mix_ids(case: DatabaseCase, dice: random.Random) -> bool:
    """Let ids sort in another order than times do."""
    names = [message.name for message in case.messages]
    new = dict(zip(names, dice.sample(names, len(names)), strict=True))
    for message in case.messages:
        message.info["id"] = new[message.name]
        if "parentID" in message.info:
            message.info["parentID"] = new[message.info["parentID"]]
    return True


def _let_a_clock_go_back(case: DatabaseCase, dice: random.Random) -> bool:
    """Let the clock of the prompts be wrong; the answers name their prompts."""
    for message in case.messages:
        if message.info["role"] == "user":
            message.at += dice.choice((-86_400_000, -5_000, 60_000, 3_600_000))
            message.info["time"] = {"created": message.at}
    return True


def _add_an_unknown_part(case: DatabaseCase, dice: random.Random) -> bool:
    parts = dice.choice(case.messages).parts
    parts.insert(dice.randrange(len(parts) + 1), json.dumps({"type": "from_the_future", "x": 1}))
    return True


def _add_an_unknown_message(case: DatabaseCase, dice: random.Random) -> bool:
    number = dice.randrange(1, len(case.messages))
    at = case.messages[number - 1].at
    info = {"id": f"msg_unknown{at}", "role": "narrator", "time": {"created": at}}
    case.messages.insert(
        number,
        Message(b"", [], info=info, parts=[json.dumps({"type": "text", "text": "x"})], at=at, written=at),
    )
    return True


def _cut_a_part(case: DatabaseCase, dice: random.Random) -> bool:
    message = dice.choice(case.messages)
    if len(message.records) != 1 or len(message.parts) != len(message.records[0].words):
        return False
    [record], number = message.records, dice.randrange(len(message.parts))
    words = tuple(word for at, word in enumerate(record.words) if at != number)
    message.parts[number] = message.parts[number][:12]
    places = [at for at, item in enumerate(case.file.records) if item is record]
    case.file.records[places[0]] = changed = replace(record, words=words)
    message.records, message.is_cut = [changed], True
    return True


def _cut_a_message(case: DatabaseCase, dice: random.Random) -> bool:
    message = dice.choice(case.messages[:-1])
    if message.info["role"] != "assistant":
        return False
    message.torn_info, message.records, message.is_cut = json.dumps(message.info)[:20], [], True
    return True


def _write_rows_in_another_order(case: DatabaseCase, dice: random.Random) -> bool:
    """Write the rows in any order, as a copy of a database may."""
    if {"a clock that goes back", "a cut message"}.issubset(case.damages):
        return False  # nothing tells the place of a prompt whose answer is cut
    case.can_grow = False
    dice.shuffle(case.messages)
    return True


def _add_another_session(case: DatabaseCase, dice: random.Random) -> bool:
    case.other = _session(dice, f"{case.file.cwd}-other")
    case.other.file = replace(case.other.file, path=case.file.path)
    return True


def _copy_older_rows(case: DatabaseCase, dice: random.Random) -> bool:
    case.older = case.messages[: dice.randrange(1, len(case.messages))]
    return True


def _keep_older_files(case: DatabaseCase, dice: random.Random) -> bool:
    case.is_older_in_files = _copy_older_rows(case, dice)
    return True


def _use_files_only(case: DatabaseCase, _dice: random.Random) -> bool:
    case.is_in_files = case.other is None and not case.older
    # In files, nothing but times tells the order, and a cut message waits for five minutes.
    case.can_grow = not {"a clock that goes back", "a cut message"}.intersection(case.damages)
    return case.is_in_files


DAMAGES: dict[str, Callable[[Any, random.Random], bool]] = {
    "ids that sort otherwise": _mix_ids,
    "a clock that goes back": _let_a_clock_go_back,
    "an unknown part": _add_an_unknown_part,
    "an unknown message": _add_an_unknown_message,
    "a cut part": _cut_a_part,
    "a cut message": _cut_a_message,
    "rows of another session between": _add_another_session,
    "an older copy of the database": _copy_older_rows,
    "older files beside the database": _keep_older_files,
    "files instead of a database": _use_files_only,
    "rows in another order": _write_rows_in_another_order,
}
"""In the order in which they are done."""


def database_case(dice: random.Random, cwd: str) -> DatabaseCase:
    """Make a session of OpenCode with some damages."""
    case = _session(dice, cwd)
    chosen = dice.sample(list(DAMAGES), dice.choice((0, 1, 1, 2, 3)))
    for name, damage in DAMAGES.items():
        if name in chosen and damage(case, dice):
            case.damages.append(name)
    return case
