"""The list of followed agents in config.toml, also in files of an odd form."""

import subprocess
import sys
import tomllib

import pytest
from hypothesis import given, strategies as st

from sessiond.toml_edit import UneditableTomlError, names, with_list, with_names, without_names

BEFORE = st.sampled_from(["", "# c\n", '[listen]\nidle_exit = "1h"\n', "[keep]\n\n# c\n[limits] # x\n"])
NAMES = st.lists(st.sampled_from(["codex", "gemini", "pi"]), unique=True, max_size=3)


@st.composite
def configs(draw: st.DrawFn) -> str:
    text = draw(BEFORE)
    if draw(st.booleans()):
        text += "[agents]" + draw(st.sampled_from(["", " # mine"])) + "\n"
        if draw(st.booleans()):
            listed = [f"'{part}'" for part in draw(NAMES)]
            text += draw(
                st.sampled_from(["follow = [{}]\n", "follow=[ {} ] # x\n", "follow = [\n  {} # y\n]\n"])
            ).format(", ".join(listed))
        text += draw(st.sampled_from(["", "\n[history]\n"]))
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(configs(), st.lists(st.sampled_from(["claude-code", "codex", "qwen"]), unique=True))
def test_names_that_are_added_and_removed_leave_the_configuration_as_it_was(
    text: str, wanted: list[str]
) -> None:
    more = [part for part in wanted if part not in names(text, "agents", "follow")]
    after = with_names(text, "agents", "follow", wanted)
    assert set(wanted) <= set(names(after, "agents", "follow"))
    left = without_names(after, text, "agents", "follow", more)
    before = tomllib.loads(text)
    assert tomllib.loads(left) == before
    if "agents" in before:
        assert left.rstrip("\r\n") == text.rstrip("\r\n")


@given(configs())
def test_comments_and_tables_stay(text: str) -> None:
    after = with_names(text, "agents", "follow", ["opencode"])
    for piece in ("# c", "# x", "# mine", "[listen]", "[keep]", "[limits]", "[history]"):
        assert (piece in after) == (piece in text)


@pytest.mark.parametrize(
    "text", ["[agents", "agents = 1\n", "agents = {follow = []}\n", "[agents]\nfollow = [1]\n"]
)
def test_a_form_that_cannot_be_edited_safely_is_refused(text: str) -> None:
    with pytest.raises(UneditableTomlError):
        with_names(text, "agents", "follow", ["codex"])


@given(configs(), NAMES)
def test_a_list_that_is_replaced_has_the_wanted_names_and_nothing_else_changes(
    text: str, wanted: list[str]
) -> None:
    now = names(text, "agents", "follow")
    after = with_list(text, "agents", "follow", wanted)
    assert names(after, "agents", "follow") == [
        *(part for part in now if part in wanted),
        *(part for part in wanted if part not in now),
    ]
    before, found = tomllib.loads(text), tomllib.loads(after)
    before.get("agents", {}).pop("follow", None)
    found.get("agents", {}).pop("follow", None)
    assert {"agents": {}} | found == {"agents": {}} | before
    for piece in ("# c", "# x", "# mine", "# y"):
        assert (piece in after) == (piece in text)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('\n[ agents ]\t# c\n', '\n[ agents ]\t# c\nfollow = ["codex"]\n'),
        ("[agents]", '[agents]\nfollow = ["codex"]\n'),
        ("x = 1\r\n[agents]\r\n# c\r\n", 'x = 1\r\n[agents]\r\nfollow = ["codex"]\r\n# c\r\n'),
        ("[agents]\r\nfollow = [ # c\r\n]\r\n", '[agents]\r\nfollow = [ # c\r\n"codex",\r\n]\r\n'),
        ("[agents]\nfollow = [\n  'a', 'b' # c\n]\n", '[agents]\nfollow = [# c\n  "codex",\n]\n'),
        ("[agents]\nfollow = [\n  'a', # x\n  'b', # y\n]\n", '[agents]\nfollow = [ # x\n # y\n  "codex",\n]\n'),
        ("[agents]\nfollow = [\n  'a'\n  # e\n]\n", '[agents]\nfollow = [\n  # e\n  "codex",\n]\n'),
        (
            "[agents.x]\n[[many]]\n[agents] # c\n[[many]]\n",
            '[agents.x]\n[[many]]\n[agents] # c\nfollow = ["codex"]\n[[many]]\n',
        ),
        ("[[many]]\n[o]\n[[many]]\n", '[[many]]\n[o]\n[[many]]\n\n[agents]\nfollow = ["codex"]\n'),
        ("i = {a = 1, b.c = [\n]}\n", 'i = {a = 1, b.c = [\n]}\n\n[agents]\nfollow = ["codex"]\n'),
        (
            't = """\n[agents]\nfollow = []\n"""\n',
            't = """\n[agents]\nfollow = []\n"""\n\n[agents]\nfollow = ["codex"]\n',
        ),
        ("a = [\n[],\n]\n[agents]\n", 'a = [\n[],\n]\n[agents]\nfollow = ["codex"]\n'),
    ],
)  # fmt: skip
def test_files_of_an_odd_form_are_edited_and_keep_it(text: str, after: str) -> None:
    assert with_list(text, "agents", "follow", ["codex"]) == after


@pytest.mark.parametrize(
    "text",
    [
        "agents.follow = []\n",
        "agents.session_start_note = true\n",
        '["agents"]\nfollow = []\n',
        '[agents]\n"follow" = []\n[agents]\n',
        "[[agents]]\nfollow = []\n",
        "\ufeff[agents]\nfollow = []\n",
        "x = " + "[" * 20_000,
        "[agents]\nfollow = [[]]\n",
    ],
)
def test_another_odd_form_is_refused(text: str) -> None:
    with pytest.raises(UneditableTomlError):
        with_list(text, "agents", "follow", ["codex"])


def test_names_of_any_characters_are_written_and_removed() -> None:
    odd = ["codex=/a b/#c", 'pi="q"\\', "gemini=/\u2028ä\x7f", "'", ""]
    for before in ("", "[agents]\nfolders = [\n  'codex=/x#y', # mine\n]\n"):
        after = with_names(before, "agents", "folders", odd)
        assert names(after, "agents", "folders") == [*names(before, "agents", "folders"), *odd]
        assert without_names(after, before, "agents", "folders", odd) == before


@pytest.mark.parametrize("before", ["", "[agents]\nfolders = []\n", "[agents]\nfolders = [\n  'a',\n]\n"])
def test_a_name_that_is_not_utf_8_is_refused(before: str) -> None:
    with pytest.raises(UneditableTomlError):
        with_names(before, "agents", "folders", ["codex=/\udcff"])


def test_only_an_edit_loads_tomlkit() -> None:
    program = (
        "import sys\n"
        "from sessiond import toml_edit\n"
        "from sessiond.cli.commands import setup\n"
        "toml_edit.with_list('[agents]\\nfollow = []\\n', 'agents', 'follow', [])\n"
        "assert 'tomlkit' not in sys.modules\n"
        "toml_edit.with_list('[agents]\\nfollow = []\\n', 'agents', 'follow', ['pi'])\n"
        "assert 'tomlkit' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
