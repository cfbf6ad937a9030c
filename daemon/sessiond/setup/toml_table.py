"""One table at the end of a TOML file: `[mcp_servers.sessiond]`. Other lines are unchanged.

Every result is checked with the TOML parser: if anything else than the table has changed, the file is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from sessiond.setup.server_settings import NAME, OccupiedServerError, is_own
from sessiond.toml_edit import UneditableTomlError, appendix, header, values, without_blank_line

if TYPE_CHECKING:
    from collections.abc import Iterator


def with_table(text: str, container: str, server: dict[str, Any]) -> str:
    """Return the text with the table of the server; the same text if it has the table.

    One that an earlier setup added is replaced.

    Raises:
        UneditableTomlError: The text is not TOML, or the table cannot be added to it.
        OccupiedServerError: Another server has the name.
    """
    found = _server(text, container)
    if found is not None:
        if {key: found.get(key) for key in server} == server:
            return text
        if not is_own(found):
            raise OccupiedServerError(container)
        text = without_table(text, "", container)
    result = text + appendix(text, _lines(container, server))
    if not _differ_by_table(text, result, container, server):
        raise UneditableTomlError(f"{container} has a form to which sessiond adds nothing")
    return result


def without_table(text: str, original: str, container: str) -> str:
    """Return the text without the table of the server and the tables below it.

    Args:
        text: The present text.
        original: The text before the table was added; "" if there was no file.
        container: The table with the servers.

    Raises:
        UneditableTomlError: The text is not TOML, or the table cannot be removed safely.
    """
    found = _server(text, container)
    if found is None or not is_own(found):
        return text
    result = _cut_out(text, container)
    if result.strip() == original.strip():
        return original
    if not _differ_by_table(result, text, container, found):
        raise UneditableTomlError(f"{container}.{NAME} has a form that sessiond does not edit")
    return result


def _cut_out(text: str, container: str) -> str:
    """Return the text without the tables of the server, each with the blank line before it."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    table = rf"{re.escape(container)}[ \t]*\.[ \t]*{NAME}[ \t]*[.\]]"
    while (place := header(text, table)) is not None:
        following = header(text, "", place[1])
        end = _behind_values(text, place[1], len(text) if following is None else following[0])
        text = without_blank_line(text[: place[0]]) + text[end:]
    return mark + text


def _behind_values(text: str, start: int, end: int) -> int:
    """Return the end of the values of a table: blank lines and comments after them belong to the next table."""
    while end > start:
        line = text.rfind("\n", start, end - 1) + 1 or start
        if text[line:end].strip() and text[line:end].lstrip()[0] != "#":
            break
        end = line
    return end


def _server(text: str, container: str) -> dict[str, Any] | None:
    servers = _values(text).get(container)
    if servers is None:
        return None
    if not isinstance(servers, dict):
        raise UneditableTomlError(f"{container} is not a table")
    found = servers.get(NAME)
    if found is not None and not isinstance(found, dict):
        raise UneditableTomlError(f"{container}.{NAME} is not a table")
    return found


def _lines(container: str, server: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the table. A string in JSON is one in TOML as well."""
    yield f"[{container}.{NAME}]"
    for key, value in server.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{_encoded(name)} = {_encoded(setting)}" for name, setting in value.items())
            yield f"{key} = {{ {inner} }}"
        else:
            yield f"{key} = {_encoded(value)}"


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode().replace('","', '", "').replace("\x7f", "\\u007f")


def _values(text: str) -> dict[str, Any]:
    return values(text.removeprefix("\ufeff"))


def _differ_by_table(without: str, with_it: str, container: str, server: dict[str, Any]) -> bool:
    """Return whether two texts differ by the table only."""
    try:
        expected = _values(without)
        servers = expected.setdefault(container, {})
        if NAME in servers:
            return False
        servers[NAME] = server
        return _values(with_it) == expected
    except UneditableTomlError:
        return False
