"""A page's document in a webview as VS Code has it: a frame in a window of the same origin, which is the editor's."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from sessiond.export import html
from sessiond.session.dialects.exported import ConversionLosses
from support.browsers import Watched
from support.pages import Story

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, FrameLocator

NONCE = "k3VqW0fXo1pQz8RtYb6mLw"
_AROUND = """<!doctype html><title>Editor</title>
<style>iframe { border: 0; position: fixed; inset: 0; width: 100%; height: 100%; }</style>
<iframe name="webview" src="/webview"></iframe>"""
_EDITOR = """
if (parent === window) {
  window.said = [];
  window.refused = [];
  addEventListener("message", event => said.push(event.data));
} else if (window.name === "webview") {
  const around = parent;
  window.parent = window.top = window;  // as VS Code does
  let asked = false;
  window.acquireVsCodeApi = () => {
    if (asked) throw new Error("it may be asked once");
    asked = true;
    return {
      postMessage: message => around.postMessage(message, origin),
      getState: () => JSON.parse(sessionStorage.getItem("state") ?? "null") ?? undefined,
      setState: state => sessionStorage.setItem("state", JSON.stringify(state)),
    };
  };
  addEventListener("securitypolicyviolation", event => around.refused.push(event.violatedDirective));
}
"""


class Webview:
    """A webview with its editor. `rows` are those of a story; the editor sends what the test says."""

    def __init__(
        self, browser: "Browser", theme: str = "vscode-light", size: tuple[int, int] = (1200, 800)
    ) -> None:
        self.watched = Watched(browser, size)
        self.page = self.watched.page
        document = html.document(NONCE).replace("<body>", f'<body class="{theme}">')
        self.page.add_init_script(_EDITOR)
        bodies = {"/": _AROUND, "/webview": document, "/other": "<!doctype html>"}
        self.page.route(
            "http://editor.test/**",
            lambda route: route.fulfill(
                body=bodies["/" + route.request.url.rpartition("/")[2]], content_type="text/html"
            ),
        )
        self.page.goto("http://editor.test/")

    @property
    def shown(self) -> "FrameLocator":
        return self.page.frame_locator("iframe[name=webview]")

    @property
    def frame(self) -> "Frame":
        found = self.page.frame(name="webview")
        assert found is not None
        return found

    def hears(self, **message: Any) -> None:
        """Send a message of the editor to the document."""
        self.page.evaluate("it => frames.webview.postMessage(it, origin)", message)

    def receives(self, story: Story) -> None:
        """Send a whole session of the editor at once."""
        session, rows = session_and_rows(story)
        self.hears(
            kind="rows", first=0, session=session, rows=rows, marks=[], toSeq=len(rows), lastSeq=len(rows)
        )

    def said(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """Return the messages of a kind from the document, after a number of them have arrived."""
        self.page.wait_for_function(
            "([kind, count]) => said.filter(it => it.kind === kind).length >= count", arg=[kind, count]
        )
        found: list[dict[str, Any]] = self.page.evaluate("kind => said.filter(it => it.kind === kind)", kind)
        return found

    def close(self) -> None:
        """End the webview, and check that no error occurred and that the policy has refused nothing."""
        refused = self.page.evaluate("refused")
        self.watched.context.close()
        assert self.watched.errors == []
        assert refused == []
        assert [
            text for text in self.watched.asked if not text.startswith(("http://editor.test/", "data:"))
        ] == []


def session_and_rows(story: Story) -> tuple[dict[str, Any], Sequence[dict[str, Any]]]:
    """Return the answer of a daemon about a story: the head, and every row."""
    page = html.to_html(story.whole(), ConversionLosses()).decode()
    found = re.search(r'<script type="application/json" id="session">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    said = msgspec.json.decode(found[1], type=dict[str, Any])
    return said["session"], said["rows"]
