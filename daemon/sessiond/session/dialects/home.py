"""Copies files of pi (versions 1 to 3) and oh-my-pi line by line: the home format.

Version 3 lines are copied byte for byte, without the record of a daemon's command. Version 1 lines get ids from their
position. Version 2 roles are renamed (decision 0011). oh-my-pi overwrites its title line in place, so its title is
read and the line is not copied.
"""

from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.linking import Linked, Names, in_order, name_of
from sessiond.session.dialects.source import Source, SourceLine
from sessiond.session.tree import lines, migrate, payloads
from sessiond.session.tree.entries import COMMAND_FIELD

NAME: Final = "pi"


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of pi or oh-my-pi."""
    if first and first[0].get("type") == "title":
        first = first[1:]
    return bool(first) and first[0].get("type") == "session"


def read(source: Source) -> Imported:
    """Read the session in a file of pi or oh-my-pi."""
    builder = ImportBuilder(NAME, source)
    version = header = None
    found: list[tuple[int, SourceLine, dict[str, Any]]] = []
    before = 0
    builder.begin(
        it.value.get("timestamp") for it in source.lines() if it.value and it.value.get("type") == "session"
    )
    for line in source.lines():
        value = line.value
        if value is None:
            builder.preserve_unreadable(line)
        elif header is None and value.get("type") == "title":
            builder.origin["agent"] = "oh-my-pi"  # pi writes no such line
            title = fields.text(value.get("title"))
            if title is not None:  # it may change, so it becomes an entry and not a header field
                builder.add_beside(
                    line, "session_info", {"name": title}, name=f"title-{fields.digest(title)}"
                )
            builder.count("title")
        elif header is None and value.get("type") == "session":
            header, before = value, line.number
            version = _take_header(builder, line, value)
        elif not fields.text(value.get("type")):
            builder.preserve(line, "without a type", "it has no type")
        elif header is not None:
            found.append((line.number - before, line, value))
        else:
            builder.preserve(line, fields.as_text(value["type"]), "it precedes the header")
    _add_entries(builder, found, 1 if version is None else version)
    return builder.finish()


def _take_header(builder: ImportBuilder, line: SourceLine, value: dict[str, Any]) -> int | None:
    builder.source_id = name_of(value, "id") or builder.source_id
    builder.cwd = fields.as_text(value.get("cwd"))
    builder.title = fields.text(value.get("title"))
    builder.parent_source = fields.text(value.get("parentSession"))
    builder.time_of(value.get("timestamp"))
    builder.count("header")
    tags = [tag for tag in fields.items(value.get("tags")) if isinstance(tag, str)]
    builder.tags = tuple(tags)
    rest = fields.without(
        value, "type", "version", "id", "timestamp", "cwd", "title", "parentSession", "tags", COMMAND_FIELD
    )
    if rest:
        builder.preserve(line, "header", "it has fields that a header does not have")
    version = value.get("version")
    if version is None:
        return None
    try:
        return int(version)
    except (TypeError, ValueError, OverflowError):
        builder.report.add_problem(
            line.number, f"a version that is not a number: {version!r:.40}; 3 is assumed"
        )
        return 3


def _add_entries(
    builder: ImportBuilder, found: list[tuple[int, SourceLine, dict[str, Any]]], version: int
) -> None:
    linear: list[str] = []
    linked: list[Linked] = []
    migrated: set[int] = set()
    for row, line, value in found:
        entry = value
        if version < 2:
            place = migrate.derived_id(row), linear[-1] if linear else None
            entry = migrate.to_v2(entry, place, lambda index: _linear(linear, index))
            linear.append(place[0])
        if version < 3:
            entry = migrate.to_v3(entry)
            if entry != value:
                migrated.add(line.number)
        name = name_of(entry, "id")
        if name is None:
            builder.preserve(line, fields.as_text(value.get("type")), "it has no id")
        else:
            linked.append(Linked(line, entry, name, name_of(entry, "parentId")))
    names = Names()
    seen: dict[str, bytes] = {}
    moves: list[tuple[int, object]] = []
    for placed in in_order(linked):
        it = placed.linked
        if seen.get(it.id) == it.line.raw:
            builder.count("repeated")
            names.put(it, names.of(it.id))
            continue
        seen[it.id] = it.line.raw
        for problem in filter(
            None,
            (
                placed.problem,
                f"a second entry has the id {it.id:.80}; both are imported" if builder.has(it.id) else None,
            ),
        ):
            builder.report.add_problem(it.line.number, problem)
        names.put(it, _add(builder, it, names.below(placed.parent), migrated=it.line.number in migrated))
        if it.value.get("type") == "leaf":
            moves.append((it.line.number, it.value.get("targetId")))
    newest = max(linked, key=lambda it: it.line.number, default=None)
    builder.leaf = None if newest is None else names.of(newest.id)
    if newest is not None and newest.value.get("type") == "leaf":
        builder.leaf = names.of(newest.value.get("targetId"))


def _add(builder: ImportBuilder, it: Linked, parent: str | None, *, migrated: bool) -> str | None:
    type = fields.as_text(it.value.get("type"))
    builder.count(type)
    at = builder.time_of(it.value.get("timestamp"))
    stays = (
        not migrated and "parentId" in it.value and not builder.has(it.id) and fields.entry_id(it.id) == it.id
    )
    if stays and isinstance(it.value.get("id"), str) and it.value.get("parentId") == parent:
        try:
            role = fields.mapping(it.value.get("message")).get("role")
            line = payloads.without_field(lines.presentable(it.line.raw), COMMAND_FIELD)
            payloads.with_field(line, "id", it.id)  # raises if msgspec cannot read it
        except (ValueError, RecursionError, lines.NotAnEntry):
            pass
        else:
            builder.add_verbatim(
                it.id, parent, type, line, role if isinstance(role, str) and type == "message" else None
            )
            return it.id
    payload = fields.without(it.value, "type", "id", "parentId", "timestamp", COMMAND_FIELD)
    return builder.add(it.line, it.id, parent, type, payload, at=at)


def _linear(linear: list[str], index: int) -> str | None:
    return linear[index - 1] if 0 < index <= len(linear) else None
