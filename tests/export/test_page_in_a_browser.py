"""The page in a real browser: what a person sees and does there."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from sessiond.export.html import to_html
from sessiond.session.dialects.exported import ConversionLosses
from support.browsers import Watched, expect
from support.pages import HOSTILE, Story, call, long_story, sample_story

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(240)]

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def shown(browser: "Browser", tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    """Opens the page of a story, with an address and with what the browser of its reader is like."""
    opened: list[Watched] = []

    def open_(
        story: Story,
        address: str = "",
        size: tuple[int, int] = (1200, 800),
        scheme: Literal["light", "dark"] = "light",
    ) -> Watched:
        file = tmp_path / "session.html"
        file.write_bytes(to_html(story.whole(), ConversionLosses()))
        watched = Watched(browser, size, scheme)
        opened.append(watched)
        watched.page.goto(f"{file.as_uri()}{address}")
        return watched

    yield open_
    for watched in opened:
        watched.context.close()
        assert watched.errors == []
        assert [text for text in watched.asked if not text.startswith(("file:", "data:"))] == []


def answers(page: "Page") -> str:
    return str(page.locator("#path").inner_text())  # without Playwright its types are anything


def test_the_transcript_is_the_path_to_the_leaf(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    expect(page.locator("#path")).to_contain_text("The second answer.")
    assert "It was a race" not in answers(page)
    expect(page).to_have_title("Flaky checkout")


def test_a_click_in_the_tree_goes_to_another_branch(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    page.get_by_title("Fold or unfold").click()
    page.get_by_role("treeitem").filter(has_text="It was a").click()
    expect(page.locator("#path")).to_contain_text("It was a race")
    expect(page.locator("#path")).not_to_contain_text("The second answer.")
    assert "leafId=" in page.url


def test_a_hidden_message_is_shown_only_with_the_filter_all(
    shown: Callable[..., Watched],
) -> None:
    story = sample_story()
    story.add("custom_message", customType="hint", content="A hint for the model.", display=False)
    story.add("custom_message", customType="hint", content="A hint for people.", display=True)
    story.user("Thank you.")
    page = shown(story).page
    path, choice = page.locator("#path"), page.get_by_label("What the tree shows")
    expect(path).to_contain_text("Thank you.")
    expect(path).to_contain_text("A hint for people.")
    expect(path).not_to_contain_text("A hint for the model.")
    choice.select_option("all")
    expect(path).to_contain_text("A hint for the model.")
    choice.select_option("userOnly")
    expect(path).not_to_contain_text("A hint for the model.")
    expect(path).to_contain_text("A hint for people.")


def test_the_back_button_returns_to_the_previous_entry(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    page.get_by_title("Fold or unfold").click()
    page.get_by_role("treeitem").filter(has_text="It was a").click()
    expect(page.locator("#path")).to_contain_text("It was a race")
    page.go_back()
    expect(page.locator("#path")).to_contain_text("The second answer.")


def test_the_links_at_a_fork_lead_to_its_branches(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    page.get_by_role("button", name="The branch before").click()
    expect(page.locator("#path")).to_contain_text("It was a race")
    page.get_by_role("button", name="The next branch").click()
    expect(page.locator("#path")).to_contain_text("The second answer.")


def test_an_address_names_a_leaf_and_an_entry(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story(), "?leafId=e4&targetId=e3").page
    expect(page.locator("article.target")).to_contain_text("Result of bash")
    expect(page.locator("#path")).to_contain_text("It was a race")


def test_an_address_with_only_an_entry_selects_a_leaf_below_it(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story(), "?targetId=e4").page
    expect(page.locator("article.target")).to_contain_text("It was a race")


def test_an_address_with_unknown_ids_shows_the_session(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story(), "?leafId=nobody&targetId=%3Cscript%3E").page
    expect(page.locator("#path")).to_contain_text("The second answer.")


@pytest.mark.parametrize(("name", "count"), [
    ("default", 4), ("noTools", 4), ("userOnly", 2), ("labeledOnly", 1), ("all", 4),
])  # fmt: skip
def test_a_filter_shows_its_entries(shown: Callable[..., Watched], name: str, count: int) -> None:
    page = shown(sample_story()).page
    page.get_by_label("What the tree shows").select_option(name)
    expect(page.get_by_role("treeitem")).to_have_count(count)


def test_a_search_finds_folded_text_and_enter_shows_it(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    page.keyboard.press("/")
    page.keyboard.type("pytest")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    expect(page.locator("#found")).to_have_text("1 found")
    page.keyboard.press("Enter")
    expect(page.locator("article.target")).to_contain_text("I look.")
    page.get_by_label("Search all entries").press("Escape")
    expect(page.get_by_role("treeitem")).to_have_count(5)  # the path to what was found


def test_enter_after_a_search_goes_to_the_first_hit(shown: Callable[..., Watched]) -> None:
    page = shown(long_story(12)).page
    page.keyboard.press("/")
    page.keyboard.type("question")
    expect(page.locator("#found")).to_have_text("4 found")
    page.keyboard.press("Enter")
    expect(page.get_by_role("treeitem").first).to_have_attribute("aria-selected", "true")
    expect(page.locator("article.target")).to_have_attribute("data-row", "0")


def test_a_search_finds_all_entries_with_every_filter(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    page.get_by_label("What the tree shows").select_option("labeledOnly")
    page.keyboard.press("/")
    page.get_by_label("Search all entries").fill("second")
    expect(page.locator("#found")).to_have_text("1 found")
    page.get_by_label("Search all entries").press("Enter")
    expect(page.locator("#path")).to_contain_text("The second answer.")


def test_search_matches_are_highlighted(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    page.get_by_label("Search all entries").fill("second")
    page.wait_for_function("() => (CSS.highlights.get('hit')?.size ?? 0) > 0")


def test_the_tree_is_used_with_the_keyboard(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    items = page.get_by_role("treeitem")
    page.get_by_role("tree").focus()
    page.keyboard.press("Home")
    expect(items.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    branch = page.locator("[role=treeitem][aria-expanded]")
    expect(branch).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowRight")
    expect(branch).to_have_attribute("aria-expanded", "true")
    expect(items).to_have_count(6)
    page.keyboard.press("ArrowLeft")
    expect(items).to_have_count(4)
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator("article.target")).to_contain_text("The second answer.")


def test_a_row_in_a_language_that_is_written_from_the_right_begins_there(
    shown: Callable[..., Watched],
) -> None:
    story = sample_story()
    story.user("למה הבדיקה נכשלת?")
    page = shown(story).page
    row = page.get_by_role("treeitem").filter(has_text="למה")
    gap = row.evaluate("""row => {
      const range = document.createRange();
      range.selectNodeContents(row.querySelector(".preview"));
      const [text, all] = [range.getBoundingClientRect(), row.getBoundingClientRect()];
      return [text.left - all.left, all.right - text.right];
    }""")
    assert gap[0] > 50
    assert gap[1] < 20


def test_the_path_is_at_the_margin_and_other_branches_are_folded(shown: Callable[..., Watched]) -> None:
    story = sample_story()
    for number in range(40):
        at = story.user(f"Turn {number}.")
        story.assistant(f"Given up {number}.")
        story.assistant(f"Answer {number}.", parentId=at)
    page = shown(story).page
    items = page.get_by_role("treeitem")
    expect(items.filter(has_text="Answer 39.")).to_have_attribute("aria-level", "1")
    expect(items.filter(has_text="Given up 39.")).to_have_attribute("aria-level", "2")
    page.get_by_role("tree").focus()
    page.keyboard.press("Home")
    branch = items.filter(has_text="more")
    expect(branch).to_have_count(1)  # the other branches have one row only
    expect(branch).to_have_attribute("aria-label", re.compile("2 more$"))


def test_the_transcript_is_read_with_the_keyboard(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    page.keyboard.press("j")
    expect(page.locator("article.target")).to_contain_text("Why does checkout fail?")
    page.keyboard.press("j")
    expect(page.locator("article.target")).to_contain_text("Are you sure?")
    page.keyboard.press("k")
    expect(page.locator("article.target")).to_contain_text("Why does checkout fail?")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_calls_and_thinking_unfold_together(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story(), "?leafId=e4").page
    expect(page.locator("details.thinking")).not_to_have_attribute("open", "")
    page.keyboard.press("t")
    expect(page.locator("details.thinking")).to_have_attribute("open", "")
    expect(page.get_by_role("button", name="Thinking")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("o")
    expect(page.locator("details.call")).to_have_attribute("open", "")
    expect(page.locator("details.call")).to_contain_text("1 failed")
    page.keyboard.press("o")
    expect(page.locator("details.call")).not_to_have_attribute("open", "")


def test_the_theme_is_that_of_the_system_and_can_be_changed(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story(), scheme="dark").page
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.keyboard.press("d")
    assert page.evaluate(ground) != dark
    page.keyboard.press("d")
    assert page.evaluate(ground) == dark


def test_a_narrow_window_hides_the_tree_behind_a_button(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story(), size=(390, 700)).page
    expect(page.get_by_role("tree")).to_be_hidden()
    page.get_by_role("button", name="Tree").click()
    page.get_by_title("Fold or unfold").click()
    page.get_by_role("treeitem").filter(has_text="It was a").click()
    expect(page.get_by_role("tree")).to_be_hidden()
    expect(page.locator("#path")).to_contain_text("It was a race")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_hostile_transcript_runs_no_script(shown: Callable[..., Watched]) -> None:
    story = Story()
    for text in HOSTILE:
        story.user(text)
        story.assistant(text, call(text, command=text, path=text), {"type": "thinking", "thinking": text})
        story.result(text)
        story.add("label", targetId=story.leaf, label=text)
        story.add(text, note=text)
    watched = shown(story)
    page = watched.page
    page.keyboard.press("o")
    page.keyboard.press("t")
    page.get_by_label("Search all entries").fill("owned")
    expect(page.locator("#found")).not_to_be_empty()
    for link in page.locator("#path .body a:not(.link)").all():
        assert (link.get_attribute("href") or "").startswith(("http", "mailto:"))
    expect(page).to_have_title("Flaky checkout")
    assert page.locator("#path :is(script, style, svg, iframe, object, form)").count() == 0
    assert page.evaluate(
        "[...document.querySelectorAll('*')].every(it => [...it.attributes].every(a => !a.name.startsWith('on')))"
    )


def test_the_policy_stops_injected_scripts(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">');"
        "const it = document.createElement('script'); it.textContent = 'document.title = 2'; document.body.append(it);"
    )
    expect(page).to_have_title("Flaky checkout")


def test_of_twenty_thousand_entries_only_visible_ones_are_in_the_document(
    shown: Callable[..., Watched],
) -> None:
    page = shown(long_story(20_000)).page
    elements = "document.querySelectorAll('*').length"
    assert page.evaluate(elements) < 8_000
    page.keyboard.press("G")
    expect(page.locator("article.target")).to_be_in_viewport()
    page.get_by_role("tree").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator("article.target")).to_contain_text("Question 0")
    expect(page.locator("article.target")).to_be_in_viewport()
    for part in range(1, 10):
        page.evaluate(
            "part => { const it = document.getElementById('transcript'); it.scrollTop = it.scrollHeight * part / 10; }",
            part,
        )
        page.wait_for_function(
            "() => { const box = document.getElementById('transcript').getBoundingClientRect();"
            " const at = y => document.elementFromPoint(box.left + box.width / 2, box.top + y).closest('article');"
            " return at(box.height / 2) || at(box.height / 2 + 20) }"
        )
        assert page.evaluate(elements) < 12_000


def test_the_printed_page_has_the_whole_path(shown: Callable[..., Watched]) -> None:
    page = shown(long_story(300)).page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown_rows = page.evaluate("document.querySelectorAll('#path article').length")
    assert shown_rows == page.evaluate(
        "JSON.parse(document.getElementById('session').textContent).rows.length"
    )


def test_the_page_has_aria_roles_and_names(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    expect(page.get_by_role("navigation", name="Tree")).to_be_visible()
    expect(page.get_by_role("main", name="Transcript")).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(3)
    current = page.get_by_role("tree").get_attribute("aria-activedescendant")
    assert current is not None
    expect(page.locator(f"#{current}")).to_have_attribute("aria-selected", "true")


def test_a_dark_page_prints_the_whole_path_on_a_light_background(
    shown: Callable[..., Watched],
) -> None:
    page = shown(long_story(300), scheme="dark").page
    page.keyboard.press("d")
    page.keyboard.press("d")
    page.evaluate(
        "addEventListener('afterprint', () => {}); "
        "addEventListener('beforeprint', () => { window.printed = [document.documentElement.dataset.theme,"
        " document.querySelectorAll('#path article').length]; })"
    )
    page.pdf()
    assert page.evaluate("printed") == ["light", 300]
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const parts = color => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map(it => it / 255)
    .map(it => (it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4))
    .reduce((sum, it, at) => sum + it * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = it => {
    for (let at = it; at; at = at.parentElement) {
      const found = parts(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255];
  };
  const weak = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const it = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || it.closest("script, option, [disabled]")) continue;
    if (!it.checkVisibility({visibilityProperty: true})) continue;
    const [a, b] = [light(parts(getComputedStyle(it).color)), light(ground(it))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) weak.push([it.tagName, it.className, walk.currentNode.data.slice(0, 20), ratio]);
  }
  return weak;
}"""
"""Words that do not stand out enough from their ground, as WCAG AA counts it."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_enough_contrast(shown: Callable[..., Watched], scheme: str) -> None:
    page = shown(sample_story(), "?leafId=e5&targetId=e3", scheme=scheme).page
    page.keyboard.press("o")
    page.keyboard.press("t")
    expect(page.locator("article.target")).to_be_visible()
    assert page.evaluate(CONTRAST) == []


def test_a_session_without_entries_shows_a_note(shown: Callable[..., Watched]) -> None:
    expect(shown(Story()).page.locator("#path")).to_have_text("The session has no messages yet.")


def test_buttons_have_names_and_ids_are_unique(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story()).page
    assert (
        page.evaluate(
            "[...document.querySelectorAll('button, input, select, a[href]')]"
            ".filter(it => !(it.getAttribute('aria-label') ?? it.textContent).trim()).length"
        )
        == 0
    )
    assert (
        page.evaluate(
            "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(it => it.id))"
        )
        == 0
    )


def test_a_footnote_number_leads_to_its_note_and_back(shown: Callable[..., Watched]) -> None:
    story = Story()
    for number in (1, 2):
        story.assistant(
            f"Text {number}[^a].\n\n[^a]: Note {number}.", f"More {number}[^b].\n\n[^b]: Other {number}."
        )
    page = shown(story).page
    article = page.locator("article").nth(1)
    focused = "document.activeElement.closest('li, p').textContent"
    for part, note in ((0, "Note 2."), (1, "Other 2.")):
        article.get_by_role("button", name="Footnote 1").nth(part).click()
        assert note in page.evaluate(focused)
        page.keyboard.press("Enter")
        assert page.evaluate(focused).startswith(("Text 2", "More 2")[part])


def test_formulas_and_task_lists_are_drawn(shown: Callable[..., Watched]) -> None:
    story = Story()
    story.assistant("So $\\frac{a}{b}$.\n\n- [x] done\n- [ ] open")
    page = shown(story).page
    fraction = page.locator("math mfrac")
    expect(fraction).to_be_visible()
    assert fraction.bounding_box() is not None
    expect(page.get_by_role("checkbox", name="not done")).not_to_be_checked()
    expect(page.get_by_role("checkbox", name="done", exact=True)).to_be_checked()


def long_output_story() -> Story:
    """Two calls in one message, one of which fails; 2,000 lines of output; a setting and a label."""
    story = Story()
    story.user("Test it.")
    calls = [
        call("bash", command="pytest"),
        call("read", path="/shop/checkout.py"),
        call("bash", command="make"),
    ]
    story.assistant(*[{**item, "id": f"call-{number}"} for number, item in enumerate(calls)])
    story.result("no rule to make target", error=True, call_id="call-2")
    story.result("\n".join(f"line {number}" for number in range(2000)), call_id="call-0")
    story.add("model_change", provider="anthropic", modelId="opus")
    answer = story.assistant("Done.")
    story.add("label", targetId=answer, label="checked")
    return story


def test_a_call_and_its_result_are_one_card(shown: Callable[..., Watched]) -> None:
    page = shown(long_output_story()).page
    cards = page.locator("details.call")
    expect(cards.nth(0).locator("summary")).to_have_text(re.compile(r"✓.*bash.*pytest.*2\.0 s · 2,000 lines"))
    expect(cards.nth(1).locator("summary")).to_have_text(re.compile(r"read.*no result"))
    expect(cards.nth(2).locator("summary")).to_have_text(
        re.compile(r"✗.*make.*1\.0 s · 1 line.*no rule to make target")
    )
    expect(page.locator("#path .stretch > article")).to_have_count(3)
    cards.nth(0).locator("summary").click()
    expect(cards.nth(0).get_by_text("line 26")).to_be_visible()


def test_an_address_of_a_result_opens_its_card(shown: Callable[..., Watched]) -> None:
    page = shown(long_output_story(), "?targetId=e4").page
    expect(page.locator("article.target")).to_contain_text("Result of bash")
    expect(page.locator("article.target pre")).to_be_visible()


def test_long_output_is_folded_and_can_be_unfolded(shown: Callable[..., Watched]) -> None:
    page = shown(long_output_story(), "?targetId=e4").page
    output = page.locator("article.target pre")
    more = page.get_by_role("button", name="27 of 2,000 lines")
    expect(more).to_have_attribute("aria-expanded", "false")
    height = "it => it.getBoundingClientRect().height / parseFloat(getComputedStyle(it).lineHeight)"
    assert 27 <= output.evaluate(height) < 28
    more.click()
    expect(more).to_have_attribute("aria-expanded", "true")
    assert output.evaluate(height) > 2000
    more.click()
    assert output.evaluate(height) < 28


def test_settings_and_labels_are_shown_only_with_the_filter_all(shown: Callable[..., Watched]) -> None:
    page = shown(long_output_story()).page
    expect(page.locator("#path .stretch > article")).to_have_count(3)
    expect(page.locator("#path .label")).to_have_text("checked")
    page.get_by_label("What the tree shows").select_option("all")
    expect(page.locator("#path .stretch > article")).to_have_count(5)


def test_a_hidden_row_leads_to_the_entry_before_it(shown: Callable[..., Watched]) -> None:
    page = shown(long_output_story(), "?targetId=e5").page
    expect(page.locator("article.target")).to_contain_text("Result of bash")


def test_blocks_and_messages_are_copied(shown: Callable[..., Watched]) -> None:
    story = Story()
    story.assistant("Run **this**:\n\n```sh\nmake  all\nmake test\n```")
    watched = shown(story)
    page = watched.page
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    article = page.locator("article")
    article.hover()
    article.locator(".copy").click()
    expect(article.locator(".copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "make  all\nmake test"
    article.get_by_title("Copy the text of this entry").click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()).startsWith('Run this:')")
    assert page.evaluate("navigator.clipboard.readText()").split() == [
        "Run",
        "this:",
        "make",
        "all",
        "make",
        "test",
    ]


def test_a_phone_shows_the_conversation_on_its_first_screen(shown: Callable[..., Watched]) -> None:
    page = shown(sample_story(), size=(390, 844)).page
    top = page.locator("article").first.bounding_box()
    assert top is not None
    assert top["y"] < 844 / 8
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_keys_work_without_a_click(shown: Callable[..., Watched]) -> None:
    page = shown(long_story(300)).page
    at = "document.getElementById('transcript').scrollTop"
    expect(page.locator("#transcript")).to_be_focused()  # with the page, which may come after its load
    page.keyboard.press("PageDown")
    page.wait_for_function(f"() => {at} > 0")
    page.keyboard.press("End")
    expect(page.locator("#path .stretch > article").last).to_be_in_viewport()
    page.keyboard.press("Home")
    expect(page.locator("article.target")).to_contain_text("Question 0")
    page.wait_for_function(f"() => {at} === 0")
    page.keyboard.press("/")
    expect(page.get_by_label("Search all entries")).to_be_focused()
