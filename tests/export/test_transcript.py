"""A transcript in Markdown: it reads as it was said, and nothing that was said leaves its place."""

import base64
import re

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from sessiond.export import prose
from sessiond.export.transcript import Pictures, to_markdown
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from support.logs import time_of

hostile = st.lists(
    st.sampled_from([
        "```", "````", "~~~", "# h", "<script>", "\n", "\r", "- x", "> q", "\u2028", "</details>", " ", "`",
        "text", "<!--", "<details>", "===", "---", "![x](http://a/b.png)", "[x]: http://a",
        "|a|b|\n|-|-|", "1. ", "    ",
        "&lt;b>", "\\", "<a b='`'>", "**", "$$", "</summary>",
    ]),
    max_size=12,
).map("".join)  # fmt: skip


def session(*entries: dict[str, object], **fields: str) -> ExportedSession:
    chain = [
        {"id": f"e{n}", "parentId": f"e{n - 1}" if n else None, "timestamp": time_of(n), **entry}
        for n, entry in enumerate(entries)
    ]
    return ExportedSession(
        "session-1", time_of(0), "/w", fields.get("title"), (), None, chain, f"e{len(chain) - 1}"
    )


def written(whole: ExportedSession) -> str:
    return to_markdown(whole, ConversionLosses()).decode()


def tokens(text: str) -> list[tuple[str, str, int, str]]:
    """The blocks of a document, as a viewer that lets HTML through has them: type, tag, level, content."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return [(token.type, token.tag, token.level, token.content) for token in parser.parse(text)]


def headings(text: str) -> list[str]:
    """The headings of the document itself."""
    found = tokens(text)
    return [
        found[at + 1][3] for at, (kind, tag, level, _) in enumerate(found)
        if kind == "heading_open" and tag in ("h1", "h2") and level == 0
    ]  # fmt: skip


def said(role: str, *content: dict[str, object] | str, **more: object) -> dict[str, object]:
    blocks = [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]
    return {"type": "message", "message": {"role": role, "content": blocks, **more}}


def thought(text: str) -> dict[str, object]:
    return {"type": "thinking", "thinking": text}


def call(name: str, **arguments: str) -> dict[str, object]:
    return {"type": "toolCall", "id": "c", "name": name, "arguments": arguments}


WORK: tuple[dict[str, object], ...] = (
    said("user", "Fix it\nsoon"),
    said("assistant", thought("hm"), "# Plan\n\n- read *a*\n", call("read", path="a.py"), model="one"),
    said("toolResult", "x\ny", toolName="read", isError=True),
    said("assistant", "Done.", call("write", path="a.py", content="print(1)\nprint(2)"), model="one"),
    {"type": "compaction", "summary": "It was **fixed**."},
)  # fmt: skip


def test_a_turn_is_one_section_with_prose_and_folded_tools() -> None:
    text = written(session(*WORK, title="Flaky"))
    assert headings(text) == ["Flaky", "User", "Assistant, one", "Compaction"]
    for part in (
        "Fix it\\\nsoon", "#### Plan\n\n- read *a*", "<summary>Thinking</summary>\n\nhm\n\n</details>",
        "<summary><code>read</code> a.py</summary>", "```json\n{\"path\":\"a.py\"}\n```",
        "<summary>Result of <code>read</code> (error), 2 lines</summary>\n\n```text\nx\ny\n```",
        "content:\n\n```py\nprint(1)\nprint(2)\n```", "It was **fixed**.",
    ):  # fmt: skip
        assert part in text, part


def test_the_same_session_gives_the_same_bytes_and_a_longer_one_appends_to_them() -> None:
    assert written(session(*WORK)) == written(session(*WORK))
    assert written(session(*WORK, said("user", "Next"))).startswith(written(session(*WORK)))


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("Title\n=====\n\ntext", "#### Title\n\n\ntext"),
        ("###### Deep", "###### Deep"),
        ("See <https://a.example/x> and <b>", "See <https://a.example/x> and \\<b>"),
        ("`<b>` and ``a`<b>`` and <b>", "`<b>` and ``a`<b>`` and \\<b>"),
        ("![p](http://a/b.png)", "\\![p](http://a/b.png)"),
        ("```py\nx = '<b>'\n# no heading\n```", "```py\nx = '<b>'\n# no heading\n```"),
        ("```\nnever closed", "```\nnever closed\n```"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("\x1b[31mred\x1b[0m\u202e", "red"),
    ],
)
def test_markdown_of_the_agent_is_preserved(typed: str, shown: str) -> None:
    assert f"\n\n{shown}\n" in written(session(said("assistant", typed)))


def test_line_breaks_of_a_person_are_preserved() -> None:
    text = written(session(said("user", "one\ntwo\n\nthree\n\n```\na\nb\n```")))
    assert "\n\none\\\ntwo\n\nthree\n\n```\na\nb\n```\n" in text


@given(hostile, hostile)
def test_no_content_leaves_its_section(word: str, title: str) -> None:
    text = written(
        session(
            said("user", word),
            said("assistant", thought(word), word, call(word, **{"a": word, word or "b": "c"})),
            said("toolResult", word, toolName=word),
            said("user", "end"),
            {"type": "compaction", "summary": word},
            {"type": "custom_message", "content": word},
            {"type": "message", "message": {"role": "bashExecution", "command": word, "output": word}},
            title=title or "t",
        )
    )  # fmt: skip
    found = tokens(text)
    assert headings(text)[1:] == ["User", "Assistant", "User", "Compaction", "Custom message", "Command"]
    html = [(level, content) for kind, _, level, content in found if kind == "html_block"]
    assert all(level == 0 for level, _ in html)
    opened = 0
    for _, content in html:
        assert re.fullmatch(r"(<details>\n<summary>[^\n]*</summary>|</details>)\n?", content), content
        assert not re.search(r"<(?!/?(details|summary|code)>)", content)
        opened += 1 if content.startswith("<details>") else -1
        assert opened in (0, 1)
    assert opened == 0
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    inside = [child.type for token in parser.parse(text) for child in token.children or ()]
    assert "html_inline" not in inside
    assert "image" not in inside


def test_labels_and_branches_off_the_path_are_mentioned() -> None:
    losses = ConversionLosses()
    whole = session(
        said("user", "a"), said("assistant", "b"), {"type": "label", "targetId": "e0", "label": "x_y"}
    )
    for number, parent in enumerate(("e0", "off-0")):
        other = {
            "type": "message",
            "id": f"off-{number}",
            "parentId": parent,
            "message": {"role": "user", "content": f"try {number}"},
        }
        whole.entries.append(other)
    text = to_markdown(whole, losses).decode()
    assert "**Label:** x\\_y" in text
    assert "*Another branch starts here:* try 0 and 1 more." in text
    assert losses.lost == {"label entry": 1, "entry off the path": 2}


def test_images_are_files_beside_the_transcript_named_by_their_hash() -> None:
    data = base64.b64encode(b"a picture").decode()
    image: dict[str, object] = {"type": "image", "mimeType": "image/png", "data": data}
    entries = (said("user", image), said("toolResult", "seen", image, toolName="look"))
    pictures, losses = Pictures("notes.pictures"), ConversionLosses()
    text = to_markdown(session(*entries), losses, pictures).decode()
    (name,) = pictures.files
    assert text.count(f"![A picture](notes.pictures/{name})") == 2
    assert pictures.files[name] == b"a picture"
    without = to_markdown(session(*entries), losses).decode()
    assert "![" not in without
    assert losses.lost == {"picture": 2}


@pytest.mark.parametrize("data", ["no base64!", "", 5])
def test_an_invalid_image_is_mentioned(data: object) -> None:
    pictures, losses = Pictures("notes.pictures"), ConversionLosses()
    image: dict[str, object] = {
        "type": "image",
        "mimeType": "image/svg+xml" if data == "" else "image/png",
        "data": data,
    }
    assert "which is not included" in to_markdown(session(said("user", image)), losses, pictures).decode()
    assert (pictures.files, losses.lost) == ({}, {"picture": 1})


def test_a_branch_is_described_by_its_displayable_entries() -> None:
    hint = {"type": "custom_message", "customType": "hint", "content": "a secret hint", "display": False}
    whole = session(
        said("user", "hello"), {**hint, "parentId": "e0"}, said("assistant", "hi"), said("user", "on")
    )
    whole.entries[3]["parentId"] = "e0"
    assert "*Another branch starts here:* hi." in written(whole)
    assert "secret" not in written(whole)


@given(st.text("ab  \n\n\t:-'\"&é.1)#>=|!;,\u00a0]{}$%@/+\v\r"))
def test_plain_text_is_written_as_if_it_was_parsed(text: str) -> None:
    written = prose.from_agent(text), prose.from_person(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prose, "is_plain", lambda _text: False)
        assert (prose.from_agent(text), prose.from_person(text)) == written
