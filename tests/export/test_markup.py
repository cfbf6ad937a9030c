"""Text as HTML: what it means is kept, what it might do is not."""

import re
from html import escape
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

from sessiond.export import markup
from sessiond.export.formulas import formula
from support.pages import HOSTILE

ALLOWED = {
    "p", "br", "a", "b", "i", "em", "strong", "s", "del", "ins", "code", "pre", "span", "h1", "h2", "h3", "h4", "h5",
    "h6", "ul", "ol", "li", "blockquote", "hr", "table", "thead", "tbody", "tr", "th", "td", "details", "summary",
    "kbd", "sub", "sup", "mark", "u", "input", "button", "math", "mrow", "mi", "mn", "mo", "mtext", "msup", "msub",
    "msubsup", "mfrac", "mspace",
}  # fmt: skip
MAY_STAND = {
    "href", "rel", "target", "class", "start", "title", "open", "type", "disabled", "checked", "aria-label", "display",
    "data-note", "data-noted", "data-back", "stretchy", "fence", "form", "separator",
}  # fmt: skip


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
        and all(re.match(r"(https?://|mailto:)", link, re.IGNORECASE) for link in links)
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


PIECES = (
    "<details>", "<details open>", "</details>", "<summary>", "</summary>", "<kbd>", "</kbd>", "<SUB>", "</sub>",
    "<br/>", "<details onclick=x>", "\n", "\n\n", "> ", "- ", "    ", "```", "$", "$$", "\\(", "\\)", "\\[", "\\]",
    "[^1]", "[^1]: ", "[ ] ", "- [x] ", "| a |\n|:-:|\n", "a", "<b", "*", "`", "{", "}", "_", "\\text", "\\href{x}{y}",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_all_elements_are_closed_in_order_and_none_of_the_page_is(text: str) -> None:
    html = markup.markdown(text)
    assert is_harmless(html)
    opened: list[str] = []
    for slash, tag in re.findall(r"<(/?)(\w+)", html):
        if slash:
            assert opened.pop() == tag
        elif tag not in ("br", "hr", "input"):
            opened.append(tag)
    assert opened == []


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
    beside = "\n\n*not plain*"  # the parser converts all of it
    assert markup.markdown(text + beside) == markup.markdown(text) + "<p><em>not plain</em></p>\n"


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


def test_table_cells_keep_their_alignment() -> None:
    html = markup.markdown("| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |")
    assert "<th class=left>a" in html
    assert "<td class=center>2" in html
    assert "<td class=right>3" in html


def test_task_lists_have_boxes_with_a_name() -> None:
    html = markup.markdown("- [x] read\n- [ ] write\n- [y] neither")
    boxes = re.findall("<input[^>]*>", html)
    assert ["checked" in box for box in boxes] == [True, False]
    assert ["not done" in box for box in boxes] == [False, True]
    assert "[y] neither" in html


def test_details_fold_markdown_with_a_summary() -> None:
    text = "<details>\n<summary>The **log**</summary>\n\n- a\n\n```\n</details>\n```\n</details>\n\nEnd"
    html = markup.markdown(text)
    section = re.fullmatch(r"<details>\n<summary>(.*)</summary>\n(.*)</details>\n(.*)\n", html, re.DOTALL)
    assert section is not None
    assert section[1] == "The <strong>log</strong>"
    assert {"li", "pre"} <= Seen(section[2]).tags
    assert section[3] == "<p>End</p>"


@pytest.mark.parametrize(
    "text", ["<details>", "<details>\n\ntext", "</details>", "<details class=x>\n</details>"]
)
def test_a_section_without_its_end_or_with_attributes_is_text(text: str) -> None:
    seen = Seen(markup.markdown(text))
    assert "details" not in seen.tags
    assert text.split("\n")[0] in seen.text


def test_sections_nest() -> None:
    text = "> - <details><summary>a</summary>\n>   <details>\n>   b\n>   </details>\n>   </details>"
    assert markup.markdown(text).count("<details>") == 2


def test_inline_tags_need_their_end_tag() -> None:
    assert "<kbd>Ctrl</kbd>" in markup.markdown("Press <kbd>Ctrl</kbd>")
    assert "<sub>2</sub>" in markup.markdown("H<SUB>2</SUB>O")
    assert "&lt;kbd&gt;" in markup.markdown("Press <kbd>Ctrl")


@pytest.mark.parametrize(
    "text", ["so $x^2$ is", r"so \(x^2\) is", "$$\nx^2\n$$", "\\[\nx^2\n\\]", "so $$x^2$$ is"]
)
def test_formulas_become_mathml(text: str) -> None:
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in markup.markdown(text)


@pytest.mark.parametrize("text", [
    "from $5 to $6", "$HOME/$USER", "${A}/${B}", "$A:$B", "a $ b $ c", "`$x$`", r"\$x\$",
])  # fmt: skip
def test_prices_and_variables_are_no_formulas(text: str) -> None:
    assert "math" not in Seen(markup.markdown(text)).tags


@pytest.mark.parametrize("source", [r"\frac{", "x_", "{" * 900, r"\begin{", "x" * 3000])
def test_an_invalid_formula_is_shown_as_its_source(source: str) -> None:
    seen = Seen(formula(source, is_block=False))
    assert seen.tags == {"code"}
    assert seen.text == source


@pytest.mark.parametrize("source", [
    r"\text{<script>alert(1)</script>}", r"\text{&lt;img src=x&gt;}", r"\href{javascript:alert(1)}{x}",
    r"\class{a}{x}", r"\style{position:fixed}{x}", r"\hspace{9999em}x", r"\color{red}x",
])  # fmt: skip
def test_a_hostile_formula_is_inert(source: str) -> None:
    html = formula(source, is_block=True)
    assert "<math" in html
    assert not Seen(html).tags & {"script", "img", "a"}
    assert not {name for name, _ in Seen(html).attributes} & {"href", "class", "style", "width"}


def test_a_footnote_is_at_the_end_of_its_text() -> None:
    html = markup.markdown("One[^a] and again[^a].\n\n[^a]: The **note**.\n\nTwo.")
    assert html.count("data-note=1") == 2
    assert html.index("Two.") < html.index("<ol class=footnotes>") < html.index("<strong>note</strong>")
    assert html.count("data-back=1") == 1
    assert " id=" not in html
