"""sessiond diff: two branches of a session, as a person sees them."""

from collections.abc import Iterator

import pytest

from support.commands import Shell, a_shell

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A session with a question and two answers, one of 20 entries."""
    with a_shell(tmp_path_factory.mktemp("folder")) as found:
        found("new", "--id", "atlas-one")
        found(
            "append",
            "atlas-one",
            "--json-entry",
            '{"type":"message","id":"q","message":{"role":"user","content":"Why?"}}',
        )
        first = (
            f'{{"type":"message","id":"a{at}","message":{{"role":"user","content":"Step {at}"}}}}'
            for at in range(20)
        )
        found("append", "atlas-one", *(word for entry in first for word in ("--json-entry", entry)))
        content = '[{"type":"text","text":"\\u001b[2JA race."}]'
        second = f'{{"type":"message","id":"b0","message":{{"role":"assistant","content":{content}}}}}'
        found("append", "atlas-one", "--parent", "q", "--json-entry", second)
        yield found


def test_both_branches_are_drawn_from_where_they_part(shell: Shell) -> None:
    text = shell("diff", "atlas-one", "a19", "b0").out
    assert "common ancestor  q  user  Why?" in text
    assert "- a19  20 entries" in text
    assert "8 more entries (--all shows them)" in text
    assert ["-", "a19", "user", "Step", "19"] in [line.split() for line in text.splitlines()]
    assert "+ b0  assistant  A race." in text
    assert "\x1b" not in text


def test_all_shows_every_entry(shell: Shell) -> None:
    words = [line.split() for line in shell("diff", "--all", "atlas-one", "a19", "b0").lines]
    assert ["-", "a15", "user", "Step", "15"] in words


def test_the_response_of_the_daemon_is_there_for_scripts(shell: Shell) -> None:
    found = shell("diff", "atlas-one", "a19", "b0", "--json").json
    assert (found["ancestorId"], len(found["left"]["entryIds"])) == ("q", 20)


def test_an_entry_on_the_way_of_the_other_has_nothing_of_its_own(shell: Shell) -> None:
    assert "- q  no entries" in shell("diff", "atlas-one", "q", "b0").out


def test_the_numbers_and_files_can_be_had_without_the_entries(shell: Shell) -> None:
    call = '[{"type":"toolCall","id":"c","name":"Write","arguments":{"file_path":"src/x.py"}}]'
    entry = f'{{"type":"message","id":"c0","message":{{"role":"assistant","content":{call}}}}}'
    shell("append", "atlas-one", "--parent", "q", "--stay", "--json-entry", entry)
    lines = shell("diff", "--stat", "atlas-one", "a19", "c0").lines
    assert [line.split()[:2] for line in lines if line] == [
        ["common", "ancestor"], ["-", "a19"], ["+", "c0"], ["modified", "src/x.py"],
    ]  # fmt: skip
    assert shell.run("diff", "--stat", "--all", "atlas-one", "a19", "c0").code == 2


def test_the_words_of_a_message_that_is_not_to_be_displayed_are_not_drawn(shell: Shell) -> None:
    hint = '{"type":"custom_message","id":"h0","customType":"hint","content":"a secret hint","display":false}'
    shell("append", "atlas-one", "--parent", "q", "--json-entry", hint)
    text = shell("diff", "atlas-one", "h0", "b0").out
    assert "h0  custom_message  (hidden)" in text
    assert "secret" not in text
    assert "a secret hint" in shell("show", "atlas-one", "--entry", "h0").out


@pytest.mark.parametrize("words", [("atlas-one", "b0"), ("b0", "atlas-o")])
def test_a_session_is_never_taken_for_an_entry(shell: Shell, words: tuple[str, str]) -> None:
    ran = shell.run("diff", *words)
    assert ran.code == 2
    assert "is a session, not an entry" in ran.err
    assert "A B" in ran.err
