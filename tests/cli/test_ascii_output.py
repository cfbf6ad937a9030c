"""The C locale gets ASCII on terminals, in the pager and in help; UTF-8 locales and files get what was written."""

from collections.abc import Iterator

import pytest

from sessiond.cli.render.ascii_output import is_wanted
from support.commands import Shell, a_shell
from support.terminals import seen

SAID = "Pokémon → “quoted” … 日本 🎈"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A session with characters that ASCII does not have, and with a branch."""
    with a_shell(tmp_path_factory.mktemp("folder")) as found:
        found("new", "--id", "atlas-one", "--title", SAID)
        found("append", "atlas-one", "--user", SAID, "--assistant", "Yes. " * 40)
        found("append", "atlas-one", "--user", "one", "--assistant", "1")
        found("branch", "atlas-one", found("show", "atlas-one", "--json").json["session"]["leafId"])
        yield found


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LC_ALL": "C"}, True),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, True),
        ({"LC_ALL": "", "LC_CTYPE": "C"}, True),
        ({"LC_ALL": "C.UTF-8", "LANG": "C"}, False),
        ({"LANG": "en_US.UTF-8"}, False),
        ({}, False),
    ],
)
def test_the_first_variable_of_the_locale_that_is_set_decides(
    environ: dict[str, str], expected: bool
) -> None:
    assert is_wanted(environ) is expected


COMMANDS = [
    ("tree", "atlas-one"), ("list",), ("show", "atlas-one"), ("context", "atlas-one"), ("stats", "atlas-one"),
    ("context", "atlas-one", "--explain"), ("search", "quoted"), ("tree", "atlas-one", "--json"), ("--help",),
    ("append", "--help"), ("help", "exit-codes"), ("export", "atlas-one"), ("blobs",), ("status",),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("pager", ["cat", "sed 's/^/P:/'"], ids=["terminal", "pager"])
def test_the_c_locale_gets_ascii_on_a_terminal(shell: Shell, pager: str) -> None:
    for words in COMMANDS:
        ran = seen(shell, *words, SESSIOND_PAGER=pager, LC_ALL="C")
        assert ran.code == 0, (words, ran)
        assert ran.out.isascii(), (words, ran.out)


@pytest.mark.slow
def test_characters_with_an_ascii_twin_are_replaced_and_the_rest_is_escaped_as_in_json(shell: Shell) -> None:
    title = seen(shell, "show", "atlas-one", SESSIOND_PAGER="cat", LC_ALL="C").out
    assert 'Pok\\u00e9mon -> "quoted" ... \\u65e5\\u672c \\ud83c\\udf88' in title


def test_a_file_gets_ascii_too(shell: Shell) -> None:
    for words in COMMANDS:
        assert words[0] == "export" or shell(*words, LC_ALL="C").out.isascii(), words


def test_json_has_the_same_characters_as_escapes(shell: Shell) -> None:
    ran = shell("show", "atlas-one", "--json", LC_ALL="C")
    assert ran.out.isascii()
    assert ran.json["session"]["title"] == SAID


def test_an_export_to_a_file_keeps_its_characters(shell: Shell) -> None:
    assert SAID in shell("export", "atlas-one", "--format", "jsonl", LC_ALL="C").out


@pytest.mark.slow
def test_another_locale_gets_all_characters(shell: Shell) -> None:
    assert SAID in seen(shell, "show", "atlas-one", SESSIOND_PAGER="cat", LC_ALL="C.UTF-8").out
