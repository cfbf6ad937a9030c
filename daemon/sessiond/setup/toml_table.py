"""One table at the end of a TOML file: `[mcp_servers.sessiond]`. Other lines stay as they are.

Every result is checked with the TOML parser: if anything else than the table has changed, the file is refused.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

import msgspec

from sessiond.setup.server_settings import NAME, OccupiedServerError, is_own
from sessiond.toml_names import UneditableTomlError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def with_table(text: str, container: str, server: dict[str, Any]) -> str:
    """Return the text with the table of the server; the same text if it is there.

    One that an earlier setup added is replaced.

    Raises:
        UneditableTomlError: The text is not TOML, or the table cannot be added to it.
        OccupiedServerError: Another server has the name.
    """
    found = _server(_parsed(text), container)
    if found is not None:
        if {key: found.get(key) for key in server} == server:
            return text
        if not is_own(found):
            raise OccupiedServerError(container)
        text = without_table(text, "", container)
    result = text + _added(text, container, server)
    if not _differ_by_table(text, result, container, server):
        raise UneditableTomlError(f"{container} has a form to which sessiond adds nothing")
    return result


def without_table(text: str, original: str, container: str) -> str:
    """Return the text without the table of the server and the tables below it.

    Args:
        text: The text as it is.
        original: The text before the table was added; "" if there was no file.
        container: The table with the servers.

    Raises:
        UneditableTomlError: The text is not TOML, or the table cannot be removed safely.
    """
    found = _server(_parsed(text), container)
    if found is None or not is_own(found):
        return text
    added = _added(original, container, found)
    if text.startswith(original + added):
        rest = text[len(original) + len(added) :]
        separator = _end(text) if rest and original and not original.endswith("\n") else ""
        if _differ_by_table(original + separator + rest, text, container, found):
            return original + separator + rest
    table = rf"[ \t]*\[[ \t]*{re.escape(container)}[ \t]*\.[ \t]*{NAME}[ \t]*(?:\.[^\]\r\n]*)?\][^\r\n]*"
    # Blank lines and comments behind the last value belong to what follows.
    body = r"(?:(?:[ \t]*(?:#[^\r\n]*)?\r?\n)*[ \t]*[^\s#\[][^\r\n]*(?:\r?\n|\Z))*"
    parts = list(re.finditer(rf"(?:^\r?\n)?^{table}(?:\r?\n|\Z){body}", text, re.MULTILINE))
    # Lines of a text may look like the table. They stand before it, unless the user has moved it.
    for chosen in (parts, *([it] for it in reversed(parts))):
        result = _without(text, chosen)
        if _differ_by_table(result, text, container, found):
            return result
    raise UneditableTomlError(f"{container}.{NAME} has a form that sessiond does not edit")


def _without(text: str, parts: Sequence[re.Match[str]]) -> str:
    for it in reversed(parts):
        text = text[: it.start()] + text[it.end() :]
    return text


def _added(text: str, container: str, server: dict[str, Any]) -> str:
    """Return what is added behind a text: the table, after a blank line if there is any text."""
    end = _end(text)
    separator = "" if not text or text.endswith("\n") else end
    blank = end if text.strip() else ""
    return separator + blank + end.join(_lines(container, server)) + end


def _end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _server(document: dict[str, Any], container: str) -> dict[str, Any] | None:
    servers = document.get(container)
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
            inner = ", ".join(f"{_encoded(name)} = {_encoded(it)}" for name, it in value.items())
            yield f"{key} = {{ {inner} }}"
        else:
            yield f"{key} = {_encoded(value)}"


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode().replace('","', '", "').replace("\x7f", "\\u007f")


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise UneditableTomlError(f"it is not TOML ({error})") from error


def _differ_by_table(without: str, with_it: str, container: str, server: dict[str, Any]) -> bool:
    """Return whether two texts differ by the table only."""
    try:
        expected = _parsed(without)
        servers = expected.setdefault(container, {})
        if NAME in servers:
            return False
        servers[NAME] = server
        return _parsed(with_it) == expected
    except UneditableTomlError:
        return False
