"""The words of a person are told apart from what programs put around them, the same for all agents."""

import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sessiond.session.content import row_text, search_text, typed_words
from sessiond.session.listing import info
from support.dialect_files import claude, meta, said
from support.dialects import as_log, entries, imported, jsonl
from support.logs import Loaded, header, log, user

CLEAR = "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"
REVIEW = (
    "<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n"
    "<command-args>the parser</command-args>"
)
AGENTS_MD = "# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nBe kind.\n</INSTRUCTIONS>"
ENVIRONMENT = "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>"
OPENED = "<ide_opened_file>The user opened /x.py in the IDE.</ide_opened_file>"
REMINDER = "<system-reminder>\nThe list of tasks is empty.\n</system-reminder>"
FROM_EDITOR = (
    "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nshorten the page\n"
)

ADDED = [
    CLEAR, AGENTS_MD, ENVIRONMENT, OPENED, REMINDER, f"{AGENTS_MD}\n{ENVIRONMENT}",
    "<local-command-caveat>Caveat: The messages below …</local-command-caveat>",
    "<local-command-stdout>Total cost: $1</local-command-stdout>", "<ide_selection>lines 1 to 2</ide_selection>",
    "<session_context>\nThis is the Gemini CLI.\n</session_context>", "<user_instructions>Be kind.</user_instructions>",
    "<skills_instructions>\n## Skills\n</skills_instructions>", "<turn_aborted>\nIt was aborted.\n</turn_aborted>",
    "<permissions instructions>\nAsk first.\n</permissions instructions>", "[Request interrupted by user for tool use]",
    "<apps_instructions>\n## Apps\n</apps_instructions>", '<skill name="x">Do it.</skill>',
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "<session_context>\nThis is the Gemini CLI.\nWithout its end",
    "# Context from my IDE setup:\n\n## Active file: a.py\n",
]  # fmt: skip


@pytest.mark.parametrize("text", ADDED)
def test_a_program_wrote_all_of_it(text: str) -> None:
    assert typed_words.typed(text) == typed_words.typed(f"\n {text}\n") == ""
    assert typed_words.added_to(text)


@pytest.mark.parametrize("text", [text for text in ADDED if text.endswith((">", "]"))])
def test_the_person_typed_what_is_before_and_after_it(text: str) -> None:
    assert typed_words.typed(f"{text}\nrename the parser") == "rename the parser"
    if text.startswith("<"):
        assert typed_words.typed(f"rename\n\n{text}\n\nthe parser") == "rename\nthe parser"
        assert typed_words.typed(f"rename\n{text}{text}") == "rename"


def test_a_request_from_an_editor_follows_its_heading() -> None:
    assert typed_words.typed(FROM_EDITOR) == "shorten the page"


@pytest.mark.parametrize("text", [
    f"why is {OPENED} in my log?", f"my log says\n{OPENED} and no more", f"```\n{REMINDER}\n```",
    "<system-reminder> is the name of the tag", "</system-reminder>", "<div>one</div>", "a < b",
    "# AGENTS.md instructions are too long", "please write # Context from my IDE setup: into it",
])  # fmt: skip
def test_a_person_who_quotes_such_text_keeps_the_words(text: str) -> None:
    assert typed_words.typed(text) == text
    left_out: Counter[str] = Counter()
    assert typed_words.told(text, left_out) == text
    assert not left_out


def test_elements_nest_and_may_mention_their_own_tag() -> None:
    assert typed_words.typed("<skill>a<skill>b</skill>c</skill>\ngo") == "go"
    assert typed_words.typed("<skill>the tag <skill> begins one</skill>\ngo\n<skill>d</skill>") == "go"


elements = st.lists(st.sampled_from([text for text in ADDED if text.startswith("<") and text.endswith(">")]))


@given(st.text("words of a person.\n", min_size=1), elements, elements)
def test_words_stay_whatever_is_around_them(words: str, before: list[str], after: list[str]) -> None:
    text = "\n".join([*before, words, *after])
    assert typed_words.typed(text).split() == words.split()
    assert len(typed_words.added_to(text)) >= len(before) + len(after)


@given(
    st.lists(st.sampled_from(["<skill>", "</skill>", "<skill ", REMINDER, "said ", "\n", "```\n", "[", "# "]))
)
def test_any_order_of_tags_is_read_and_nothing_is_said_twice(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert typed_words.typed(text).count("said") <= text.count("said")
    if "</skill>" not in pieces:
        assert typed_words.typed(text).count("said") == text.count("said")


@pytest.mark.parametrize(
    "piece", ["<skill>", "<skill ", "x <skill>a</skill>", "\n<skill>a</skill>", "```\n<skill>", "<a_"]
)
def test_hostile_text_takes_a_time_in_proportion_to_its_length(piece: str) -> None:
    def seconds(count: int) -> float:
        text, before = f"{piece * count}</skill>", time.process_time()
        typed_words.typed(text)
        return time.process_time() - before

    seconds(1_000)
    assert seconds(80_000) < 40 * max(seconds(8_000), 0.03)


def first_prompt(*texts: Any) -> str | None:
    session = Loaded(log(header(), *(user(text) for text in texts)))
    return info.summarize(session.tree, session.read).first_prompt


def test_the_first_prompt_is_the_first_thing_that_the_person_typed() -> None:
    opened = [{"type": "text", "text": OPENED}, {"type": "text", "text": "rename the parser"}]
    assert first_prompt(CLEAR, ENVIRONMENT, opened, "later") == "rename the parser"
    assert first_prompt(AGENTS_MD, FROM_EDITOR) == "shorten the page"
    assert first_prompt(REVIEW, "and the page") == "and the page"


def test_a_command_is_the_first_prompt_only_if_there_is_no_other() -> None:
    assert first_prompt(REVIEW, REMINDER) == "/review the parser"
    assert first_prompt("<bash-input>ls -l</bash-input>", "<bash-stdout>a</bash-stdout>") == "! ls -l"
    assert first_prompt(REMINDER) is None


def test_the_row_of_a_message_shows_the_words_or_names_what_was_added() -> None:
    texts = (f"{OPENED}\n**go** on", REVIEW, f"{REMINDER}{REMINDER}")
    assert [row_text.row_text(user(text), 80) for text in texts] == [
        "go on", "/review the parser", "[system-reminder]",
    ]  # fmt: skip


def test_a_search_finds_the_words_and_not_what_was_added() -> None:
    found = [search_text.text_of(user(text)) for text in (f"{OPENED}\ngo on", REVIEW, REMINDER)]
    assert [text and text.text for text in found] == ["go on", "/review the parser", None]


def test_the_summary_of_another_session_is_no_title_of_claude_code() -> None:
    lines = [claude("user", "u1", None, "translate the menu"), claude("assistant", "a1", "u1", "done")]
    summary = {"type": "summary", "summary": "Bilge pump repair", "leafUuid": "elsewhere"}
    session = imported(jsonl(summary, *lines))
    assert as_log(session).tree.title is None
    assert session.report.preserved["title"] == 1
    assert "Bilge pump repair" in str(entries(session))
    assert as_log(imported(jsonl(summary | {"leafUuid": "a1"}, *lines))).tree.title == "Bilge pump repair"


def test_codex_adds_text_before_the_first_prompt() -> None:
    session = as_log(
        imported(jsonl(meta(), said("user", f"{AGENTS_MD}\n{ENVIRONMENT}"), said("user", FROM_EDITOR)))
    )
    assert info.summarize(session.tree, session.read).first_prompt == "shorten the page"


def test_a_summary_that_was_handed_over_is_no_prompt_and_is_handed_over_again() -> None:
    summaries = [
        f"{typed_words.OF_COMPACTION}\n\n<summary>\nThey met.\n</summary>", typed_words.OPENING,
        "This session is being continued from a previous conversation that ran out of context. They met.",
    ]  # fmt: skip
    for text in summaries:
        assert typed_words.typed(text) == ""
        assert typed_words.told_content(text) == text
        assert first_prompt(text, "go on") == "go on"
        assert row_text.row_text(user(text), 20).startswith(text[:10])
