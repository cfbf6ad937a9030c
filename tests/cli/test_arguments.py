"""The command line, sorted into the arguments of a command."""

import shlex
from importlib import import_module

import pytest

from sessiond.cli.help.suggestions import did_you_mean
from sessiond.cli.parse.arguments import Command, HelpRequested, Option, ParsedArguments, UsageError, parse
from sessiond.cli.parse.choices import check
from sessiond.cli.table.index import GROUPS, SIMILAR_COMMANDS, all_commands

DECLARED = all_commands()


COMMAND = Command(
    "Do it",
    "x:y",
    ("[ID]", "ENTRY"),
    (Option("title", "TEXT", ""), Option("all", "", "", short="a"), Option("limit", "N", "", short="n")),
)


def test_options_stand_anywhere_and_take_values_both_ways() -> None:
    args = read("--title=a b", "s1", "-a", "e1", "-n", "5")
    assert (args.value("title"), args.flag("all"), args.number("limit")) == ("a b", True, 5)
    assert (args.value("ID"), args.required("ENTRY")) == ("s1", "e1")


def test_a_place_in_brackets_is_left_out_first() -> None:
    args = read("e1")
    assert (args.value("ID"), args.required("ENTRY")) == (None, "e1")


def test_a_value_may_look_like_an_option_and_two_dashes_end_them() -> None:
    assert read("--title", "--all", "--", "-e").value("title") == "--all"
    assert read("--", "-e").required("ENTRY") == "-e"


def test_the_last_of_several_values_wins_and_all_can_be_had_in_order() -> None:
    args = read("--title", "a", "--title", "b", "-a", "e")
    assert args.value("title") == "b"
    assert args.occurrences("title", "all") == [("title", "a"), ("title", "b"), ("all", "")]


@pytest.mark.parametrize(
    "words",
    [[], ["a", "b", "c"], ["e", "--titel", "x"], ["e", "--title"], ["e", "--all=1"], ["e", "-x"], ["--=x"]],
)
def test_arguments_that_cannot_be_understood_are_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        read(*words)


def test_a_number_is_a_number() -> None:
    with pytest.raises(UsageError):
        read("e", "-n", "five").number("limit")


@pytest.mark.parametrize("words", [["--help"], ["e", "-h"]])
def test_help_is_asked_for_anywhere_but_in_a_value(words: list[str]) -> None:
    with pytest.raises(HelpRequested):
        read(*words)
    assert read("--title", "--help", "e").value("title") == "--help"


def test_every_verb_is_implemented_and_listed_in_the_help() -> None:
    for command in DECLARED.values():
        module, _, function = command.function.partition(":")
        assert callable(getattr(import_module(f"sessiond.cli.commands.{module}"), function))
    assert [name for _, names in GROUPS.values() for name in names] == list(DECLARED)


def test_every_module_declares_the_commands_that_the_index_says_and_no_others() -> None:
    for module, (_, names) in GROUPS.items():
        assert tuple(import_module(f"sessiond.cli.table.{module}").COMMANDS) == names


def test_every_example_in_the_help_can_be_typed() -> None:
    for name, command in DECLARED.items():
        for example in command.examples:
            typed = example.partition(" > ")[0].split(" | ")
            # Another program may be given the command that it starts: claude mcp add sessiond -- sessiond mcp
            commands = [
                part.rpartition(" sessiond -- ")[2].split("sessiond ", 1)[1]
                for part in typed
                if "sessiond " in part
            ]
            for own, *words in map(shlex.split, commands):
                parse(own, DECLARED[own], words)
            assert any(command.split()[0] == name for command in commands), example


def read(*words: str) -> ParsedArguments:
    return parse("command", COMMAND, words)


def test_a_word_that_an_option_does_not_take_is_refused_before_anything_is_sent() -> None:
    for words in (["export", "--format", "pdf"], ["tree", "--filter=tools"], ["list", "--sort", "size"]):
        with pytest.raises(UsageError):
            check(parse(words[0], DECLARED[words[0]], words[1:]))
    check(parse("export", DECLARED["export"], ["--format", "html", "--output", "pdf"]))


def test_the_name_of_a_command_in_other_programs_leads_to_ours() -> None:
    assert did_you_mean("checkout") == "Did you mean sessiond branch?"
    assert did_you_mean("lst") == "Did you mean sessiond list?"
    assert not SIMILAR_COMMANDS.keys() & DECLARED.keys()
    assert set(SIMILAR_COMMANDS.values()) <= {*DECLARED, "--version"}
