"""Text as HTML: what it means is kept, what it might do is not."""

import re
from html import escape
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

from sessiond.export import markup
from support.pages import HOSTILE

ALLOWED = {
    "p", "br", "a", "b", "i", "em", "strong", "s", "del", "ins", "code", "pre", "span", "h1", "h2", "h3", "h4", "h5",
    "h6", "ul", "ol", "li", "blockquote", "hr", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
MAY_STAND = {"href", "rel", "target", "class", "start", "title"}


class Seen(HTMLParser):
    """The tags and attributes of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def is_harmless(html: str) -> bool:
    seen = Seen(html)
    links = [value or "" for name, value in seen.attributes if name == "href"]
    return (
        seen.tags <= ALLOWED
        and {name for name, _ in seen.attributes} <= MAY_STAND
        and all(re.match(r"(https?://|mailto:)", it, re.IGNORECASE) for it in links)
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markup_becomes_text(text: str) -> None:
    for html in (
        markup.markdown(text),
        markup.plain(text),
        markup.code(text, "html"),
        markup.code(text, text),
    ):
        assert is_harmless(html)
        assert "\x1b" not in html
        assert "\u202e" not in html


@given(st.text(st.sampled_from("<>&\"'[]()!`*_#-|:\n\\ab javscript:http/=")))
def test_no_text_becomes_script(text: str) -> None:
    assert is_harmless(markup.markdown(text))


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zs", "Zl", "Zp"]), min_size=1))
def test_all_words_are_in_the_output(text: str) -> None:
    assert Seen(markup.plain(text)).text == text
    assert Seen(markup.code(text, "python")).text == text


def test_markdown_becomes_html() -> None:
    html = markup.markdown("# A\n\n- **b** `c`\n\n| x |\n|---|\n| ~~1~~ |\n\n<https://example.org>")
    assert {"h1", "li", "strong", "code", "table", "s", "a"} <= Seen(html).tags


def test_line_breaks_are_preserved() -> None:
    assert (
        Seen(markup.markdown("one\ntwo")).tags
        == Seen(markup.markdown("one *1*\ntwo")).tags - {"em"}
        == {"p", "br"}
    )


def test_code_is_highlighted_in_its_language() -> None:
    assert "span" in Seen(markup.code("def f(): pass", "python")).tags
    assert "span" in Seen(markup.code("def f(): pass", file="/a/b.py")).tags
    assert "span" not in Seen(markup.code("def f(): pass", "no-such-language")).tags


def test_a_link_gives_its_target_no_access_to_the_page() -> None:
    attributes = dict(Seen(markup.markdown("[x](https://example.org)")).attributes)
    assert attributes["rel"] == "noopener noreferrer nofollow"


@given(st.text("ab  \n\n\t:-'\"&é.1)#>=|!;,\u00a0]{}$%@/+\v\r"))
def test_plain_paragraphs_are_converted_as_the_parser_converts_them(text: str) -> None:
    text = f"{text}: a"
    assert markup.markdown(text) == markup._parser().render(text)


def test_the_same_code_is_highlighted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    highlighted: list[str] = []

    def highlight(text: str, *_: object) -> str:
        highlighted.append(text)
        return escape(text)

    monkeypatch.setattr(markup, "highlight", highlight)
    short, long = "x = 'seen once'", "y = 'long'\n" * 1_000
    results = {markup.code(text, "python") for text in (short, short, long, long)}
    assert len(results) == 2
    assert highlighted == [short, long, long]
