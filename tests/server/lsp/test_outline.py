"""Outlines of sessions that are larger, deeper or other than an outline can show."""

from pathlib import Path
from typing import Any

from lsprotocol import types

from support import logs
from support.daemons import Running
from support.editors import edit, editor, said, show, symbols


def depth(outline: list[types.DocumentSymbol]) -> int:
    return 1 + max(depth(list(symbol.children or [])) for symbol in outline) if outline else 0


def flattened(outline: list[types.DocumentSymbol]) -> list[str]:
    return [name for symbol in outline for name in (symbol.name, *flattened(list(symbol.children or [])))]


def a_log(path: Path, *lines: Any) -> Path:
    path.write_bytes(logs.log(logs.header(), *lines))
    return path


async def test_a_long_session_is_shown_without_results_then_by_what_the_user_said(
    served: Running, tmp_path: Path
) -> None:
    turn = [logs.user("q"), logs.assistant("a"), logs.tool_result("r"), logs.tool_result("s")]
    some = a_log(tmp_path / "some.jsonl", logs.user("q", parent=None), *turn * 1_500)
    more = a_log(tmp_path / "more.jsonl", logs.user("q", parent=None), *turn * 3_000)
    many = a_log(tmp_path / "many.jsonl", logs.user("q", parent=None), *[logs.user("q")] * 6_000)
    async with editor(served.home) as client:
        assert len(flattened(await symbols(client, some))) == 1 + 2 * 1_500
        assert set(flattened(await symbols(client, more))) == {"q"}
        names = flattened(await symbols(client, many))
        assert (len(names), names[-1]) == (5_001, "… more entries than the outline shows")


async def test_forks_below_forks_do_not_nest_for_ever(served: Running, tmp_path: Path) -> None:
    lines = [logs.user("0", id="n0", parent=None)]
    for number in range(1, 200):
        above = f"n{number - 1}"
        lines += [logs.user(str(number), id=f"n{number}", parent=above), logs.user("x", parent=above)]
    path = a_log(tmp_path / "deep.jsonl", *lines)
    async with editor(served.home) as client:
        outline = await symbols(client, path)
    assert depth(outline) == 51
    assert sorted(flattened(outline)) == sorted(["x"] * 199 + [str(number) for number in range(200)])


async def test_an_outline_ends_where_the_text_of_the_editor_ends(served: Running, forked: Path) -> None:
    lines = forked.read_text(encoding="utf-8").splitlines(keepends=True)
    async with editor(served.home) as client:
        show(client, forked, "".join(lines[:3]))
        assert flattened(await symbols(client, forked)) == ["Why?", "Because 😀."]
        edit(client, forked, "".join(lines[:6]))
        assert len(flattened(await symbols(client, forked))) == 5


async def test_an_outline_follows_what_is_typed_and_what_is_appended(served: Running, forked: Path) -> None:
    peer = await served.attach()
    session_id = (await peer.call("session/open", path=str(forked)))["session"]["sessionId"]
    async with editor(served.home) as client:
        assert len(flattened(await symbols(client, forked))) == 6
        await peer.append(session_id, {"type": "message", "message": {"role": "user", "content": "new"}})
        assert "new" in flattened(await symbols(client, forked))
        show(client, forked)
        assert "new" in flattened(await symbols(client, forked))
        edit(client, forked, "", types.Range(types.Position(9, 0), types.Position(10, 0)))
        assert "new" not in flattened(await symbols(client, forked))
        edit(client, forked, "Who", said(1, place_of(forked), place_of(forked) + 3))
        assert "Who?" in flattened(await symbols(client, forked))


def place_of(path: Path) -> int:
    return path.read_text(encoding="utf-8").split("\n")[1].index("Why")
