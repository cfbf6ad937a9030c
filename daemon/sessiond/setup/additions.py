"""The additions of setup to one file: hooks, an MCP server, names in a list, a block of lines, or the whole file.

Each kind can be added to a text and removed from it; the text may have changed in between. The journal stores them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from sessiond import toml_edit
from sessiond.error_text import TemplatedError
from sessiond.setup import hook_settings, server_settings, startup_file, toml_table

if TYPE_CHECKING:
    from typing import Self


class OccupiedFileError(TemplatedError):
    """Raised when a file that setup would create exists with another content."""

    sentence = "the file exists and is not sessiond's"


class Hooks(msgspec.Struct, frozen=True, tag="hooks"):
    """Hooks that run a command at events, in the settings of an agent."""

    agent: str
    events: tuple[str, ...]
    command: str

    def added(self, text: str) -> str:
        return hook_settings.with_hooks(text, self.events, self.command)

    def removed(self, text: str, original: str) -> str:
        return hook_settings.without_hooks(text, original, self.command)

    def narrowed(self, text: str, _previous: Addition | None, _current: str) -> Self:
        return self


class RegisteredServer(msgspec.Struct, frozen=True, tag="server"):
    """An MCP server in the settings of an agent. `server` describes it in the form of the agent."""

    container: str
    server: dict[str, Any]
    is_toml: bool = False

    def added(self, text: str) -> str:
        if self.is_toml:
            return toml_table.with_table(text, self.container, self.server)
        return server_settings.with_server(text, self.container, self.server)

    def removed(self, text: str, original: str) -> str:
        if self.is_toml:
            return toml_table.without_table(text, original, self.container)
        return server_settings.without_server(text, original, self.container)

    def narrowed(self, text: str, _previous: Addition | None, _current: str) -> Self:
        return self


class SettingsParts(msgspec.Struct, frozen=True, tag="parts"):
    """Several additions to one settings file, in their order."""

    parts: tuple[Hooks | RegisteredServer, ...]

    def added(self, text: str) -> str:
        for part in self.parts:
            text = part.added(text)
        return text

    def removed(self, text: str, original: str) -> str:
        for part in reversed(self.parts):
            text = part.removed(text, original)
        return text

    def narrowed(self, text: str, _previous: Addition | None, _current: str) -> Self:
        return self


_FOLDERS: Final = "folders"


class ListedNames(msgspec.Struct, frozen=True, tag="names"):
    """Names in a list of a TOML file; `folders` are NAME=FOLDER in the list of that name beside it."""

    table: str
    key: str
    names: tuple[str, ...]
    folders: tuple[str, ...] = ()

    def added(self, text: str) -> str:
        text = toml_edit.with_names(text, self.table, self.key, self.names)
        return toml_edit.with_names(text, self.table, _FOLDERS, self.folders) if self.folders else text

    def removed(self, text: str, original: str) -> str:
        if self.folders:
            text = toml_edit.without_names(text, original, self.table, _FOLDERS, self.folders)
        return toml_edit.without_names(text, original, self.table, self.key, self.names)

    def narrowed(self, text: str, previous: Addition | None, current: str) -> ListedNames:
        """Return the names that are not in the text; with those of a previous setup that the text still has."""
        now = toml_edit.names(current, self.table, self.key)
        earlier = (
            [name for name in previous.names if name in now] if isinstance(previous, ListedNames) else []
        )
        there = toml_edit.names(text, self.table, self.key)
        wanted = dict.fromkeys((*earlier, *self.names))
        before = previous.folders if isinstance(previous, ListedNames) else ()
        listed, kept = (toml_edit.names(version, self.table, _FOLDERS) for version in (text, current))
        folders = dict.fromkeys((*(name for name in before if name in kept), *self.folders))
        return msgspec.structs.replace(
            self,
            names=tuple(name for name in wanted if name not in there),
            folders=tuple(folder for folder in folders if folder not in listed),
        )


class StartupBlock(msgspec.Struct, frozen=True, tag="block"):
    """A block of lines at the end of a shell's startup file."""

    shell: str
    lines: str

    def added(self, text: str) -> str:
        return startup_file.with_block(text, self.lines)

    def removed(self, text: str, original: str) -> str:
        return startup_file.without_block(text, original)

    def narrowed(self, text: str, _previous: Addition | None, _current: str) -> Self:
        return self


class WholeFile(msgspec.Struct, frozen=True, tag="file"):
    """A file of its own, such as a plugin."""

    agent: str
    text: str

    def added(self, text: str) -> str:
        """Return the file. Raises `OccupiedFileError` if another file has its name."""
        if text not in ("", self.text):
            raise OccupiedFileError
        return self.text

    def removed(self, _text: str, _original: str) -> str:
        return ""

    def narrowed(self, text: str, _previous: Addition | None, _current: str) -> Self:
        return self


Addition: TypeAlias = Hooks | RegisteredServer | SettingsParts | ListedNames | StartupBlock | WholeFile
