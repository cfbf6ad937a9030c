"""An MCP server in settings files: added and taken away without another character changing."""

import tomllib
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from sessiond.setup.additions import Hooks, RegisteredServer, SettingsParts
from sessiond.setup.hook_settings import UnexpectedSettingsError, plain
from sessiond.setup.json_tree import InvalidJsonError
from sessiond.setup.server_settings import OccupiedServerError, is_own, with_server, without_server
from sessiond.setup.toml_table import with_table, without_table
from sessiond.toml_edit import UneditableTomlError
from support.settings_files import written

SERVER = {"type": "stdio", "command": "/a b/sessiond", "args": ["mcp"], "env": {"SESSIOND_HOME": "/h"}}
OLDER = {"command": "/old/sessiond", "args": ["mcp"]}
OTHERS = {"command": "herons", "args": ["mcp"]}


@given(written("mcpServers"))
def test_a_server_that_is_added_and_removed_leaves_every_byte_as_it_was(text: str) -> None:
    with_it = with_server(text, "mcpServers", SERVER)
    assert with_server(with_it, "mcpServers", SERVER) == with_it
    assert without_server(with_it, text, "mcpServers") == text


@given(written("mcpServers"))
def test_nothing_but_the_server_is_added(text: str) -> None:
    before, after = plain(text), plain(with_server(text, "mcpServers", SERVER))
    assert after["mcpServers"].pop("sessiond") == SERVER
    if "mcpServers" not in before:
        assert after.pop("mcpServers") == {}
    assert after == before


@given(written("hooks"))
def test_hooks_and_a_server_in_one_file_are_taken_away_exactly(text: str) -> None:
    parts = SettingsParts((Hooks("gemini", ("Stop",), "run me"), RegisteredServer("mcpServers", SERVER)))
    assert parts.removed(parts.added(text), text) == text


def test_a_file_that_did_not_exist_is_empty_again() -> None:
    parts = SettingsParts((Hooks("gemini", ("Stop",), "run me"), RegisteredServer("mcpServers", SERVER)))
    made = parts.added("")
    assert plain(made)["mcpServers"]["sessiond"] == SERVER
    assert parts.removed(made, "") == ""


def test_the_server_of_an_earlier_setup_is_replaced_and_that_of_others_is_not() -> None:
    text = '{"mcpServers": {"sessiond": {"command": "/old/sessiond", "args": ["mcp"]}, "z": {}}}'
    assert plain(with_server(text, "mcpServers", SERVER))["mcpServers"] == {"z": {}, "sessiond": SERVER}
    taken = '{"mcpServers": {"sessiond": {"command": "herons", "args": ["mcp"]}}}'
    with pytest.raises(OccupiedServerError):
        with_server(taken, "mcpServers", SERVER)
    assert without_server(taken, "", "mcpServers") == taken


@pytest.mark.parametrize("text", ["[]", '{"mcpServers": []}', '{"mcpServers": 1}'])
def test_settings_of_another_shape_are_refused(text: str) -> None:
    with pytest.raises(UnexpectedSettingsError):
        with_server(text, "mcpServers", SERVER)


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidJsonError):
        with_server('{"mcpServers"', "mcpServers", SERVER)


@pytest.mark.parametrize(
    ("server", "own"),
    [
        (SERVER, True),
        (OLDER, True),
        (OTHERS, False),
        ({"command": ["/x/sessiond", "mcp"]}, True),
        ({"command": "/x/python", "args": ["-m", "sessiond", "mcp"]}, True),
        ({"command": "sessiond"}, False),
        ({"command": 5, "args": {}}, False),
        ("sessiond mcp", False),
        (None, False),
    ],
)
def test_a_server_is_recognized_by_its_command(server: Any, own: bool) -> None:
    assert is_own(server) == own


# TOML

TABLE = {"command": "/a b/sessiond", "args": ["mcp"], "env": {"SESSIOND_HOME": '/h "ä\\'}}
LINES = st.lists(
    st.sampled_from([
        "", "# a comment", "[other]", "[mcp_servers.herons]", 'command = "x"', 'list = [\n  "a", # b\n]',
        '[ "x y" ]', "[[many]]", "[mcp_servers.herons.env]", 'text = """\n[mcp_servers.sessiond]\n"""',
    ]),
    max_size=8,
)  # fmt: skip


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), LINES)
@example([], "\n", True, [])
def test_a_table_that_is_added_and_removed_leaves_every_byte_as_it_was(
    lines: list[str], end: str, ends_in_newline: bool, later: list[str]
) -> None:
    text = end.join(lines).replace("\n", end).replace("\r\r\n", "\r\n") + (
        end if lines and ends_in_newline else ""
    )
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(UneditableTomlError):
            with_table(text, "mcp_servers", TABLE)
        return
    made = with_table(text, "mcp_servers", TABLE)
    assert with_table(made, "mcp_servers", TABLE) == made
    found = tomllib.loads(made)
    assert found["mcp_servers"].pop("sessiond") == TABLE
    assert {**before, "mcp_servers": before.get("mcp_servers", {})} == found
    assert without_table(made, text, "mcp_servers") == text
    if later and later[0].startswith("["):
        grown = made + end.join(later)
        try:
            expected = tomllib.loads(grown)
        except tomllib.TOMLDecodeError:
            return
        expected["mcp_servers"].pop("sessiond")
        left = tomllib.loads(without_table(grown, text, "mcp_servers"))
        assert {**left, "mcp_servers": left.get("mcp_servers", {})} == expected


def test_keys_that_the_agent_added_below_the_table_go_with_it() -> None:
    made = with_table('model = "x"\n', "mcp_servers", TABLE)
    grown = made + '\n[mcp_servers.sessiond.tools.recall]\napproval_mode = "approve"\n\n[other]\nx = 1\n'
    left = without_table(grown, 'model = "x"\n', "mcp_servers")
    assert tomllib.loads(left) == {"model": "x", "other": {"x": 1}}


def test_a_table_of_an_earlier_setup_is_replaced_and_one_of_others_is_not() -> None:
    text = '[mcp_servers.sessiond]\ncommand = "/old/sessiond"\nargs = ["mcp"]\n# mine\n[z]\n'
    made = with_table(text, "mcp_servers", TABLE)
    assert tomllib.loads(made)["mcp_servers"]["sessiond"] == TABLE
    assert "# mine\n[z]\n" in made
    taken = '[mcp_servers.sessiond]\ncommand = "herons"\n'
    with pytest.raises(OccupiedServerError):
        with_table(taken, "mcp_servers", TABLE)
    assert without_table(taken, "", "mcp_servers") == taken


@pytest.mark.parametrize(
    "text",
    ["mcp_servers = 1\n", "mcp_servers = {}\n", "[mcp_servers]\nsessiond = 5\n", "mcp_servers = {a = 1}"],
)
def test_a_form_that_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(UneditableTomlError):
        with_table(text, "mcp_servers", TABLE)


OWN = '[mcp_servers.sessiond]\ncommand = "/old/sessiond"\nargs = [\n"mcp"]\n'


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("", ""),
        ("\ufeff", ""),
        ("\ufeff# c\nx = 1\n", "[z]\n"),
        ("[mcp_servers.a]\nx = 1\n[[skills.config]]\ny = 1\n", "# mine\n\n[mcp_servers.b]\n"),
        ("[mcp_servers]\n[[many]]\n[z]\n[[many]]\n", "[many.below]\n"),
        ("[mcp_servers.a]\nenv.B.c = {d = 1}\n", "[[q]]\n"),
        ('t = """\n[mcp_servers.sessiond]\n"""\n', "t2 = 1\n[y]\nt = '''\n[mcp_servers.sessiond]\n'''\n"),
        ("l = [\n[],\n]\n", "# mine\n"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_table_is_taken_out_of_files_of_an_odd_form(before: str, behind: str, end: str) -> None:
    if behind.startswith("t2"):
        behind = "[x]\n" + behind
    text = (before + OWN + behind).replace("\n", end)
    expected = (before + behind).replace("\n", end)
    assert without_table(text, "", "mcp_servers") == expected
    with_it = with_table(text, "mcp_servers", TABLE)
    assert without_table(with_it, expected, "mcp_servers") == expected


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers.sessiond = {command = "/x/sessiond", args = ["mcp"]}\n',
        'mcp_servers.sessiond.command = "/x/sessiond"\nmcp_servers.sessiond.args = ["mcp"]\n',
        'mcp_servers = {sessiond = {command = "/x/sessiond", args = ["mcp"]}}\n',
        '["mcp_servers".sessiond]\ncommand = "/x/sessiond"\nargs = ["mcp"]\n',
        '[[mcp_servers]]\n[mcp_servers.sessiond]\n',
        '[[mcp_servers.sessiond]]\n',
        '[mcp_servers.sessiond\n',
        "x = " + "[" * 20_000,
    ],
)  # fmt: skip
def test_a_table_of_another_odd_form_is_refused(text: str) -> None:
    with pytest.raises(UneditableTomlError):
        without_table(text, "", "mcp_servers")
