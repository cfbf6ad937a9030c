"""Sessions whose lines look the same, on the screen to choose one and on the board."""

from typing import Any

import pytest
from textual.app import App, ComposeResult

from sessiond.client.board import BoardRow
from sessiond.tui.board_view import BoardView
from sessiond.tui.chooser import Chooser
from sessiond.tui.picker import Sessions
from sessiond.tui.row_renderer import RowRenderer
from support.waiting import until

LONG = "The parser skips the last line of a file that has no line feed"


def session(session_id: str, title: str, prompt: str = "Hello.", **more: Any) -> dict[str, Any]:
    return {
        "sessionId": session_id, "title": title, "firstPrompt": prompt, "cwd": "/work/atlas",
        "updatedAt": "2026-01-05T10:00:00.000Z", "origin": None, **more,
    }  # fmt: skip


async def lines(sessions: list[dict[str, Any]], columns: int, encoding: str | None = None) -> list[str]:
    chooser = Chooser(lambda _words: sessions, "use", RowRenderer(encoding))
    async with chooser.run_test(size=(columns, 20)) as pilot:
        await until(lambda: isinstance(chooser.screen.query(Sessions).first(), Sessions))
        view = chooser.screen.query_one(Sessions)
        await until(lambda: len(view.sessions) == len(sessions))
        await pilot.pause()
        return [view.render_line(line).text.rstrip() for line in range(len(sessions))]


async def test_sessions_with_the_same_line_are_chosen_by_what_differs() -> None:
    claude = {"agent": "claude-code", "version": None}
    found = await lines(
        [
            session("parser-1", "The parser", origin=claude),
            session("parser-2", "The parser", "Why?"),
            session("parser-3", "The parser", "Why?"),
            session("lexer-12", "The lexer"),
        ],
        100,
    )
    assert [line.partition("2026-01-05  ")[2] for line in found] == [
        "The parser  claude  /work/atlas",
        "The parser  parser-2  /work/atlas",
        "The parser  parser-3  /work/atlas",
        "The lexer  /work/atlas",
    ]


@pytest.mark.parametrize(("encoding", "ellipsis"), [(None, "…"), ("ascii", "...")])
async def test_a_narrow_screen_shows_where_titles_differ(encoding: str | None, ellipsis: str) -> None:
    sessions = [session("parser-1", f"{LONG} in Rust"), session("parser-2", f"{LONG} in Zig")]
    narrow = await lines(sessions, 60, encoding)
    assert f"{ellipsis}  {ellipsis}Rust" in narrow[0]
    assert f"{ellipsis}  {ellipsis}Zig" in narrow[1]
    wide = await lines(sessions, 160, encoding)
    assert wide[0].endswith("in Rust  /work/atlas")


class _Board(App[None]):
    def __init__(self, view: BoardView) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        yield self._view


@pytest.mark.parametrize("columns", [50, 80, 160])
async def test_rows_of_the_board_that_look_the_same_show_what_differs(columns: int) -> None:
    def row(session_id: str, title: str, words: str) -> BoardRow:
        return BoardRow(
            session_id, "waiting", "claude-code", "/work/atlas", title, words, None, 1200, 0.5,
            "2026-01-05T10:00:00.000Z",
        )  # fmt: skip

    rows = [
        row("parser-1", "The parser", "Done."),
        row("parser-2", "The parser", "Done."),
        row("lexer-12", "The lexer", "Done."),
    ]
    view = BoardView(RowRenderer(), lambda: 1_767_700_000.0)
    async with _Board(view).run_test(size=(columns, 10)) as pilot:
        view.show(rows)
        await pilot.pause()
        shown = [view.render_line(line).text for line in range(3)]
        assert "parser-1" in shown[0]
        assert "parser-2" in shown[1]
        assert "lexer-12" not in shown[2]
        assert all("Done." in line for line in shown)
        view.show(rows[1:])
        await pilot.pause()
        assert "parser-2" not in view.render_line(0).text
