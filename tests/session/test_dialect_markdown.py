"""A transcript in Markdown: readable, and nothing that was said can leave its fence."""

import re

from hypothesis import given, strategies as st

from sessiond.session.dialects.exported import Losses, Whole
from sessiond.session.dialects.to_markdown import to_markdown
from support.logs import time_of

hostile = st.lists(
    st.sampled_from([
        "```", "````", "~~~", "# h", "<script>", "\n", "\r", "- x", "> q", "\u2028", "</details>", " ", "`",
        "text", "<!--",
    ]),
    max_size=12,
).map("".join)  # fmt: skip


def session(*entries: dict[str, object], **fields: str) -> Whole:
    chain = [
        {"id": f"e{n}", "parentId": f"e{n - 1}" if n else None, "timestamp": time_of(n), **it}
        for n, it in enumerate(entries)
    ]
    return Whole("session-1", time_of(0), "/w", fields.get("title"), (), None, chain, f"e{len(chain) - 1}")


def written(whole: Whole) -> str:
    return to_markdown(whole, Losses()).decode()


def outside_of_fences(text: str) -> list[str]:
    """The lines that are in no fence, as CommonMark has fences."""
    found: list[str] = []
    fence = ""
    for line in re.split(r"\r\n?|\n", text):
        opening = re.match(r" {0,3}(`{3,})[^`]*$|^ {0,3}(~{3,})", line)
        if fence:
            if re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*", line):
                fence = ""
        elif opening:
            fence = opening[1] or opening[2]
        else:
            found.append(line)
    assert not fence, "a fence was left open"
    return found


def test_a_transcript_names_who_said_what_and_what_tools_did() -> None:
    text = written(
        session(
            {"type": "message", "message": {"role": "user", "content": "Fix it"}},
            {
                "type": "message",
                "message": {
                    "role": "assistant", "model": "one",
                    "content": [
                        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Reading"},
                        {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a"}},
                    ],
                },
            },
            {
                "type": "message",
                "message": {"role": "toolResult", "toolName": "read", "isError": True, "content": "gone"},
            },
            {"type": "compaction", "summary": "It was fixed"},
            title="Flaky",
        )
    )  # fmt: skip
    wanted = (
        "# Flaky",
        "## User",
        "```text\nFix it\n```",
        "Call of read",
        '{"path":"a"}',
        "(error\\)",
        "It was fixed",
    )
    for part in wanted:
        assert part in text, part


@given(hostile, hostile)
def test_nothing_that_was_said_gets_out_of_its_fence(said: str, title: str) -> None:
    text = written(
        session(
            {"type": "message", "message": {"role": "user", "content": said}},
            {
                "type": "message",
                "message": {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": said},
                        {"type": "toolCall", "name": said, "arguments": {"a": said}},
                    ],
                },
            },
            {"type": "compaction", "summary": said},
            {"type": said, "value": said},
            title=title or "t",
        )
    )  # fmt: skip
    for line in outside_of_fences(text):
        assert not re.search(r"(?<!\\)[<`]", line), line
        assert not line.startswith(("# h", "- x", "> q"))
    headings = [line for line in outside_of_fences(text) if line.startswith("## ")]
    assert len(headings) == 4


def test_what_is_not_on_the_path_is_counted() -> None:
    losses = Losses()
    whole = session(
        {"type": "message", "message": {"role": "user", "content": "a"}},
        {"type": "label", "targetId": "e0", "label": "x"},
    )
    other = {"type": "message", "id": "off", "parentId": None, "message": {"role": "user", "content": "b"}}
    whole.entries.append(other)
    to_markdown(whole, losses)
    assert losses.lost == {"label entry": 1, "entry off the path": 1}
