"""The page in the webview of an editor, in a real browser: what it asks of its host, and whom it listens to."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from support.browsers import expect
from support.pages import HOSTILE, Story, call, long_story, sample_story
from support.webviews import Webview, session_and_rows

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(240)]

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def opened(browser: "Browser") -> Iterator[Callable[..., Webview]]:
    """Opens a webview that nothing was sent to yet."""
    all_of_them: list[Webview] = []

    def open_(**how: Any) -> Webview:
        all_of_them.append(Webview(browser, **how))
        all_of_them[-1].said("ready")
        return all_of_them[-1]

    yield open_
    for webview in all_of_them:
        webview.close()


@pytest.fixture
def webview(opened: Callable[..., Webview]) -> Webview:
    """A webview with the rows of a story."""
    found = opened()
    found.receives(sample_story())
    expect(found.shown.locator("#path")).to_contain_text("The second answer.")
    return found


def part(story: Story, start: int, end: int) -> dict[str, Any]:
    """Some rows of a story as one message."""
    session, rows = session_and_rows(story)
    return {
        "kind": "rows", "first": start, "session": session, "rows": rows[start:end], "marks": [], "toSeq": end,
        "lastSeq": len(rows),
    }  # fmt: skip


def on_path(story: Story, count: int, *, around: str | None = None) -> dict[str, Any]:
    """The last rows of a story without branches, or those around an entry."""
    session, rows = session_and_rows(story)
    names = [row["id"] for row in rows]
    first = len(rows) - count if around is None else names.index(around) - count // 2
    return {"kind": "path", "session": session, "rows": rows[first : first + count]}


def test_the_page_shows_the_received_path(webview: Webview) -> None:
    expect(webview.shown.locator("article")).to_have_count(3)
    expect(webview.shown.get_by_role("treeitem")).to_have_count(4)
    expect(webview.shown.locator("#title")).to_have_text("Flaky checkout")


def test_the_session_id_is_stored_at_once(webview: Webview) -> None:
    state = webview.frame.wait_for_function("JSON.parse(sessionStorage.getItem('state'))").json_value()
    assert state == {"sessionId": sample_story().whole().session_id, "leafId": None, "targetId": None}


def test_parts_add_up_to_the_session_and_repeated_rows_are_ignored(opened: Callable[..., Webview]) -> None:
    webview, story = opened(), sample_story()
    for start, end in ((0, 3), (0, 3), (2, 5), (5, 7)):
        webview.hears(**part(story, start, end))
    expect(webview.shown.locator("#path")).to_contain_text("The second answer.")
    webview.shown.get_by_label("What the tree shows").select_option("all")
    expect(webview.shown.get_by_role("treeitem")).to_have_count(4)


def test_the_page_requests_all_rows_again_when_a_part_is_missing(opened: Callable[..., Webview]) -> None:
    webview, story = opened(), sample_story()
    webview.hears(**part(story, 0, 2))
    webview.hears(**part(story, 4, 7))
    webview.said("ready", 2)
    webview.receives(story)
    expect(webview.shown.locator("#path")).to_contain_text("The second answer.")


def test_appended_entries_appear_and_a_label_changes_its_row(webview: Webview) -> None:
    story = sample_story()
    last = story.user("Really?")
    story.assistant("Really.")
    webview.hears(**part(story, 7, 9))
    expect(webview.shown.locator("#path article").last).to_contain_text("Really.")
    session, _ = session_and_rows(story)
    mark = {"id": last, "label": "doubt", "filterMask": 31}
    webview.hears(kind="rows", first=9, session=session, rows=[], marks=[mark], toSeq=10, lastSeq=10)
    expect(webview.shown.get_by_role("treeitem").filter(has_text="doubt")).to_have_count(1)
    expect(webview.shown.locator("#path .label")).to_have_text("doubt")
    mark = {"id": last, "label": None, "filterMask": 23}
    webview.hears(kind="rows", first=9, session=session, rows=[], marks=[mark], toSeq=11, lastSeq=11)
    expect(webview.shown.locator("#path .label")).to_have_count(0)


def test_an_entry_is_shown_when_the_host_asks_for_it(webview: Webview) -> None:
    webview.hears(kind="reveal", entryId="e3")
    expect(webview.shown.locator("article.target")).to_contain_text("Result of bash")


def test_a_requested_entry_is_shown_when_it_arrives(opened: Callable[..., Webview]) -> None:
    webview, story = opened(), sample_story()
    webview.hears(kind="reveal", entryId="e4")
    webview.hears(**part(story, 0, 3))
    webview.hears(**part(story, 3, 7))
    expect(webview.shown.locator("article.target")).to_contain_text("It was a race")


def test_buttons_send_their_action_to_the_host(webview: Webview) -> None:
    article = webview.shown.locator("article").filter(has_text="Are you sure?")
    article.hover()  # the buttons take the place of the facts
    for name in ("Open", "Fork", "Label"):
        article.get_by_role("button", name=name).click()
    said = webview.said("act", 3)
    assert said == [{"kind": "act", "act": name, "entryId": "e6"} for name in ("open", "fork", "label")]


def test_a_reload_restores_the_viewed_leaf_and_entry(opened: Callable[..., Webview]) -> None:
    webview = opened(size=(1200, 1600))  # all of it is in sight, so nothing is scrolled
    webview.receives(sample_story())
    webview.shown.get_by_title("Fold or unfold").click()
    webview.shown.get_by_role("treeitem").filter(has_text="It was a").click()
    expect(webview.shown.locator("article.target")).to_contain_text("It was a race")
    webview.frame.goto("http://editor.test/webview")
    webview.said("ready", 2)
    webview.receives(sample_story())
    expect(webview.shown.locator("article.target")).to_contain_text("It was a race")


def test_a_view_at_the_newest_entry_follows_new_entries(opened: Callable[..., Webview]) -> None:
    webview, story = opened(), long_story(120)
    webview.receives(story)
    expect(webview.shown.locator("#path .stretch > article").last).to_be_in_viewport()
    before = len(story.entries)
    story.user("And now?")
    webview.hears(**part(story, before, before + 1))
    expect(webview.shown.locator("#path article").last).to_contain_text("And now?")
    expect(webview.shown.locator("#path article").last).to_be_in_viewport()


def test_a_long_session_is_drawn_first_at_its_leaf(opened: Callable[..., Webview]) -> None:
    """Parts before the last one draw nothing, so that nothing jumps."""
    webview, story = opened(), long_story(120)
    middle = len(story.entries) // 2
    webview.hears(kind="status", text="live")
    webview.hears(**part(story, 0, middle))
    expect(webview.shown.locator("#live")).to_contain_text("entries read")
    expect(webview.shown.locator("#path article")).to_have_count(0)
    webview.hears(**part(story, middle, len(story.entries)))
    expect(webview.shown.locator("#live")).to_have_text("live")
    expect(webview.shown.locator("#path .stretch > article").last).to_be_in_viewport()


def test_the_leaf_is_seen_before_the_other_rows_are_there(opened: Callable[..., Webview]) -> None:
    webview, story = opened(), long_story(240)
    last = webview.shown.locator("#path .stretch > article").last
    webview.hears(**on_path(story, 30))
    expect(last).to_contain_text("Answer 237.")
    expect(last).to_be_in_viewport()
    webview.hears(**part(story, 0, 120))
    expect(webview.shown.locator("#live")).to_have_text("120 entries read")
    expect(webview.shown.locator("#path .stretch")).to_have_count(1)
    webview.hears(**part(story, 120, 240))
    expect(webview.shown.locator("#path .stretch")).to_have_count(4)
    expect(last).to_contain_text("Answer 237.")
    expect(last).to_be_in_viewport()


def test_the_rows_in_view_stay_when_the_other_rows_arrive(opened: Callable[..., Webview]) -> None:
    webview, story = opened(), long_story(240)
    webview.hears(**on_path(story, 60))
    article = webview.shown.locator("article").filter(has_text="Answer 213.")
    article.locator("details.call > summary").click()
    article.evaluate("it => it.scrollIntoView({block: 'start'})")
    settled = "it => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done("
    top = article.evaluate(settled + "it.getBoundingClientRect().top))))")
    webview.hears(**part(story, 0, 240))
    expect(webview.shown.locator("#path .stretch")).to_have_count(4)
    expect(article).to_have_attribute("data-row", "214")
    expect(article.locator("details.call")).to_have_attribute("open", "")
    webview.frame.wait_for_function(
        "top => Math.abs([...document.querySelectorAll('article')].find(it => it.dataset.row === '214')"
        ".getBoundingClientRect().top - top) < 2", arg=top,
    )  # fmt: skip


def test_an_entry_to_show_is_seen_before_the_other_rows_are_there(opened: Callable[..., Webview]) -> None:
    webview, story = opened(), long_story(240)
    webview.hears(**on_path(story, 30))
    webview.hears(kind="reveal", entryId="e61")
    webview.hears(**on_path(story, 30, around="e61"))
    target = webview.shown.locator("article.target")
    expect(target).to_contain_text("Question 60,")
    expect(target).to_be_in_viewport()
    webview.hears(**part(story, 0, 240))
    expect(webview.shown.locator("#path .stretch")).to_have_count(4)
    expect(target).to_contain_text("Question 60,")
    expect(target).to_be_in_viewport()
    assert webview.page.evaluate("said.filter(it => it.kind === 'at')") == []


def test_a_reloaded_window_at_another_entry_does_not_show_the_leaf_first(
    opened: Callable[..., Webview],
) -> None:
    webview, story = opened(), long_story(240)
    webview.receives(story)
    webview.hears(kind="reveal", entryId="e61")
    expect(webview.shown.locator("article.target")).to_contain_text("Question 60,")
    webview.frame.goto("http://editor.test/webview")
    webview.said("ready", 2)
    webview.hears(**on_path(story, 30))
    webview.hears(**part(story, 0, 120))
    expect(webview.shown.locator("#live")).to_have_text("120 entries read")
    expect(webview.shown.locator("article")).to_have_count(0)
    webview.hears(**part(story, 120, 240))
    expect(webview.shown.locator("article.target")).to_contain_text("Question 60,")


def test_the_words_of_a_card_have_no_background_of_the_editor(opened: Callable[..., Webview]) -> None:
    webview = opened()
    webview.receives(long_story(12))
    expect(webview.shown.locator(".call").first).to_be_attached()
    webview.frame.evaluate("""() => {
        const editor = new CSSStyleSheet();
        editor.replaceSync("code { background-color: rgb(90, 90, 90); padding: 1px 3px }");
        document.adoptedStyleSheets = [editor];
    }""")
    words = webview.shown.locator(".call > summary code").first
    expect(words).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    expect(words).to_have_css("padding", "0px")


def test_an_untitled_session_is_named_by_its_first_prompt_and_not_by_one_of_a_part(
    opened: Callable[..., Webview],
) -> None:
    webview, story = opened(), long_story(30)
    session, rows = session_and_rows(story)
    untitled = {**session, "title": None}
    webview.hears(**{**on_path(story, 9), "session": untitled})
    expect(webview.shown.locator("#title")).to_have_text(f"Session {session['sessionId']}")
    webview.hears(kind="rows", first=0, session=untitled, rows=rows, marks=[], toSeq=30, lastSeq=30)
    expect(webview.shown.locator("#title")).to_contain_text("Question 0, about")


def test_the_bar_has_the_agent_and_the_first_prompt_of_a_session_without_a_title(
    opened: Callable[..., Webview],
) -> None:
    webview = opened()
    message = part(sample_story(), 0, 7)
    origin = {"agent": "<b>big</b>-code", "sessionId": "x", "path": None, "version": "1.2", "gone": False}
    message["session"] = {**message["session"], "title": None, "origin": origin}
    webview.hears(**message)
    expect(webview.shown.locator("#agent")).to_contain_text("<b>big</b>-code")
    expect(webview.shown.locator("#agent .sign")).to_have_text("BB")
    expect(webview.shown.locator("#title")).to_have_text("Why does checkout fail?")


def test_the_tree_stays_closed_beside_that_of_the_host(opened: Callable[..., Webview]) -> None:
    webview = opened()
    webview.hears(kind="tree", visible=True)
    webview.receives(sample_story())
    expect(webview.shown.locator("#path")).to_contain_text("The second answer.")
    expect(webview.shown.locator("#tree")).not_to_be_visible()
    webview.hears(kind="tree", visible=False)
    expect(webview.shown.locator("#tree")).to_be_visible()
    webview.shown.get_by_role("button", name="Tree", exact=True).click()
    webview.shown.get_by_role("button", name="Tree", exact=True).click()
    webview.hears(kind="tree", visible=True)  # the reader has opened it
    webview.hears(kind="status", text="heard")
    expect(webview.shown.locator("#live")).to_have_text("heard")
    expect(webview.shown.locator("#tree")).to_be_visible()


def test_the_host_hears_of_a_clicked_entry_but_not_of_one_that_it_revealed(webview: Webview) -> None:
    webview.hears(kind="reveal", entryId="e4")
    expect(webview.shown.locator("article.target")).to_contain_text("It was a race")
    webview.shown.locator("article").filter(has_text="It was a race").locator("header").first.click()
    webview.shown.locator("article").filter(has_text="Why does checkout").click()
    assert [item["entryId"] for item in webview.said("at")] == ["e1"]


def test_the_host_hears_where_the_reader_scrolled_to(opened: Callable[..., Webview]) -> None:
    webview, story = opened(), long_story(120)
    webview.receives(story)
    last = webview.shown.locator("#path .stretch > article").last
    expect(last).to_be_in_viewport()
    last.hover()
    webview.page.mouse.wheel(0, -4000)
    [first] = webview.said("at")
    assert first["entryId"] != story.entries[-1]["id"]
    webview.shown.locator("#transcript").press("End")
    assert webview.said("at", 2)[1]["entryId"] == story.entries[-1]["id"]


@pytest.mark.parametrize(("theme", "dark"), [
    ("vscode-light", False), ("vscode-dark", True), ("vscode-high-contrast", True),
    ("vscode-high-contrast vscode-high-contrast-light", False),
])  # fmt: skip
def test_the_page_has_the_theme_of_the_editor(opened: Callable[..., Webview], theme: str, dark: bool) -> None:
    webview = opened(theme=theme)
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    assert webview.frame.evaluate(scheme) == ("dark" if dark else "light")
    webview.frame.evaluate(
        "it => { document.body.className = it }", "vscode-light" if dark else "vscode-dark"
    )
    webview.frame.wait_for_function(f"it => {scheme} === it", arg="light" if dark else "dark")


def test_messages_of_other_senders_are_ignored(webview: Webview) -> None:
    """Not what runs in the page itself, nor another frame of the same origin, nor one of another origin."""
    evil = "{kind: 'reveal', entryId: 'e3'}"
    webview.frame.evaluate(f"postMessage({evil}, origin)")
    webview.page.evaluate(
        "() => new Promise(done => { const it = document.createElement('iframe'); it.src = '/other';"
        " it.name = 'other'; it.onload = done; document.body.append(it); })"
    )
    other = webview.page.frame(name="other")
    assert other is not None
    other.evaluate(f"parent.frames.webview.postMessage({evil}, '*')")
    # A later message has arrived, so they have arrived, too.
    webview.hears(kind="status", text="heard")
    expect(webview.shown.locator("#live")).to_have_text("heard")
    expect(webview.shown.locator("article.target")).to_have_count(0)


@pytest.mark.parametrize("message", [
    None, 7, "rows", [], {"kind": "nothing"}, {"kind": "reveal"}, {"kind": "reveal", "entryId": "<script>"},
    {"kind": "status", "text": "<img src=x onerror=alert(1)>"},
])  # fmt: skip
def test_invalid_messages_are_ignored(webview: Webview, message: Any) -> None:
    webview.page.evaluate("it => frames.webview.postMessage(it, origin)", message)
    webview.hears(kind="reveal", entryId="e3")
    expect(webview.shown.locator("article.target")).to_contain_text("Result of bash")
    expect(webview.shown.locator("#bar img")).to_have_count(0)


def test_a_hostile_transcript_runs_no_script(opened: Callable[..., Webview]) -> None:
    webview, story = opened(), Story()
    for text in HOSTILE:
        story.user(text)
        story.assistant(text, call(text, command=text, path=text), {"type": "thinking", "thinking": text})
        story.add("label", targetId=story.leaf, label=text)
        story.add(text, note=text)
    webview.receives(story)
    expect(webview.shown.locator("#path article").last).to_be_visible()
    assert webview.frame.evaluate(
        "[...document.querySelectorAll('*')].every(it => [...it.attributes].every(a => !a.name.startsWith('on')))"
    )
    assert (
        webview.frame.evaluate("document.querySelectorAll('#path :is(script, style, svg, iframe)').length")
        == 0
    )
    expect(webview.shown.locator("#title")).to_have_text("Flaky checkout")


def test_the_policy_stops_injected_scripts(browser: "Browser") -> None:
    webview = Webview(browser)
    webview.said("ready")
    webview.frame.evaluate(
        "const it = document.createElement('script'); it.textContent = 'document.title = 2'; document.body.append(it);"
    )
    assert webview.frame.evaluate("document.title") == "Transcript"
    assert webview.page.evaluate("refused") != []
    webview.watched.context.close()
