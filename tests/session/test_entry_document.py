"""One entry as a document: what it shows, and that nothing in it gets out of its fence."""

import pytest
from hypothesis import given, strategies as st

from sessiond.session.content import markdown
from sessiond.session.content.entry_document import (
    EntrySurroundings,
    entry_document,
    entry_uri,
    parse_entry_uri,
)
from support import logs
from support.logs import loaded

AROUND = EntrySurroundings("A session", "the one", "q1", ("a1", "a2"), on_path=False)

hostile = st.lists(
    st.sampled_from(["```", "~~~", "# h", "<b>", "\n", "\r", "- x", "1. y", "> q", "\u2028", "&", "`", "|", "w"]),
    max_size=12,
).map("".join)  # fmt: skip


def document(*lines: logs.Line, around: EntrySurroundings = AROUND) -> str:
    log = loaded(logs.header(), *lines)
    return entry_document(log.read([len(lines)])[0], around)


def test_a_document_says_all_that_an_entry_says_and_then_where_it_stands() -> None:
    text = document(logs.user("Why?\nSay it.", id="q2", parent=None))
    assert text == (
        "# User\n\n2026-03-01T08:00:01.000Z · label: the one\n\n```text\nWhy?\nSay it.\n```\n\n---\n\n"
        "- Session: A session\n- Entry: q2\n- Parent: q1\n- Children: a1, a2\n"
        "- Place: on another branch than the leaf\n"
    )


def test_a_tool_call_and_its_result_are_told_apart() -> None:
    call = [logs.tool_call("read", {"path": "a.py"})]
    assert 'Call of read:\n\n```json\n{"path":"a.py"}\n```' in document(logs.assistant(call, parent=None))
    assert document(logs.tool_result("text", parent=None)).startswith("# Result of read\n")


@given(said=hostile, label=hostile, title=hostile)
def test_nothing_in_a_document_gets_out_of_its_place(said: str, label: str, title: str) -> None:
    text = document(
        logs.user(said, parent=None), around=EntrySurroundings(title, label, None, (), on_path=True)
    )
    head, _, rest = text.partition("\n\n```")
    fence = "```" + rest[: len(rest) - len(rest.lstrip("`"))]
    body, rule, facts = rest.rpartition(f"\n{fence}\n\n---\n\n")
    assert rule
    assert head.startswith("# User\n\n2026")
    assert len(head.split("\n")) == 3
    assert [line[:1] for line in facts.rstrip("\n").split("\n")] == ["-"] * len(
        facts.rstrip("\n").split("\n")
    )
    assert "<" not in (head + facts).replace("\\<", "")
    assert f"\n{fence}\n" not in body


@pytest.mark.parametrize(
    ("text", "written"),
    [("- a", "\\- a"), ("1. a", "1\\. a"), ("# a", "\\# a"), ("=", "\\="), ("a-b 1.5", "a-b 1.5"), ("", "")],
)
def test_a_line_begins_no_list_and_no_heading(text: str, written: str) -> None:
    assert markdown.inline(text) == written


@given(session_id=st.text(min_size=1, max_size=20), entry_id=st.text(min_size=1, max_size=20))
def test_an_address_leads_back_to_its_entry(session_id: str, entry_id: str) -> None:
    assert parse_entry_uri(entry_uri(session_id, entry_id)) == (session_id, entry_id)


@pytest.mark.parametrize(
    "uri",
    ["", "file:///x.md", "sessiond://session/a/entry/b", "sessiond://session/a/b.md", "sessiond://x/a/entry/b.md",
     "sessiond:session/a/entry/b.md", "sessiond://[/a", "sessiond://session/a/entry/b.md/c"],
)  # fmt: skip
def test_other_addresses_name_no_entry(uri: str) -> None:
    assert parse_entry_uri(uri) is None
