"""`view/page`, `view/path` and `view/document`: the rows of a session's page, and the document around them."""

import re
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.session import pages
from support import logs
from support.daemons import Peer, Running, assistant, refusal, user
from support.images import image_block, png
from support.shared import started


async def parts(peer: Peer, session_id: str, after: int = 0, **params: Any) -> list[dict[str, Any]]:
    """All parts behind a line."""
    found: list[dict[str, Any]] = []
    log_id = (await peer.call("session/info", sessionId=session_id))["session"]["logId"]
    while not found or after < found[-1]["lastSeq"]:
        position = {"logId": log_id, "seq": after}
        found.append(await peer.call("view/page", sessionId=session_id, after=position, **params))
        assert found[-1]["logId"] == log_id
        assert found[-1]["toSeq"] > after or found[-1]["lastSeq"] == after
        after = found[-1]["toSeq"]
    return found


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for part in found for row in part["rows"]]


async def test_every_entry_comes_once_in_the_order_of_the_log(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    names = [f"e{number}" for number in range(25)]
    await peer.append(session_id, *(user(name, id=name) for name in names))
    assert ids(await parts(peer, session_id)) == names
    assert ids(await parts(peer, session_id, limit=4)) == names
    assert ids(await parts(peer, session_id, after=20)) == names[20:]


async def test_a_row_says_who_spoke_where_and_what_as_safe_html(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd, title="Checkout")
    await peer.append(session_id, user("Why <b>now</b>?", id="q"), assistant("*A race.*", id="a"))
    [part] = await parts(peer, session_id)
    title, question, answer = part["rows"]
    assert (question["parentId"], question["role"], question["heading"]) == (title["id"], "user", "User")
    assert question["body"].strip() == "<p>Why &lt;b&gt;now&lt;/b&gt;?</p>"
    assert (answer["parentId"], answer["preview"]) == ("q", "A race.")
    assert "<em>A race.</em>" in answer["body"]
    session = part["session"]
    assert (session["title"], session["leafId"], session["figures"]["messageCount"]) == ("Checkout", "a", 2)


async def test_new_entries_come_behind_the_known_ones(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1", id="a"))
    [first] = await parts(peer, session_id)
    position = {"logId": first["logId"], "seq": first["toSeq"]}
    nothing = await peer.call("view/page", sessionId=session_id, after=position)
    assert (nothing["rows"], nothing["toSeq"]) == ([], first["toSeq"])
    await peer.append(session_id, user("2", id="b"))
    assert ids(await parts(peer, session_id, first["toSeq"])) == ["b"]


async def test_a_position_in_another_log_is_refused(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    position = {"logId": "another-log", "seq": 0}
    refused = await refusal(peer.call("view/page", sessionId=session_id, after=position))
    assert refused.kind == "cursorExpired"


async def test_a_label_marks_a_row_that_came_before(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1", id="a"), user("2", id="b"))
    [first] = await parts(peer, session_id)
    await peer.call("session/label", sessionId=session_id, entryId="a", label="here")
    [second] = await parts(peer, session_id, first["toSeq"])
    [mark] = second["marks"]
    assert (mark["id"], mark["label"]) == ("a", "here")
    assert mark["filterMask"] & 0b01000  # labeledOnly
    await peer.call("session/label", sessionId=session_id, entryId="a", label=None)
    [third] = await parts(peer, session_id, second["toSeq"])
    assert [(entry["id"], entry["label"]) for entry in third["marks"]] == [("a", None)]


async def test_a_row_of_the_same_part_bears_its_label_at_once(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1", id="a"))
    await peer.call("session/label", sessionId=session_id, entryId="a", label="<here>")
    [part] = await parts(peer, session_id)
    assert part["marks"] == []
    assert part["rows"][0]["label"] == "<here>"


async def test_a_part_ends_when_it_is_large_and_holds_at_least_one_row(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    large = "word " * (pages.PART_BYTES // 5 * 3 // 4)
    names = ["a", "b", "c"]
    await peer.append(session_id, *(user(large, id=name) for name in names))
    found = await parts(peer, session_id)
    assert [[row["id"] for row in part["rows"]] for part in found] == [["a"], ["b"], ["c"]]


async def test_a_row_that_grows_when_it_is_drawn_ends_a_part_too(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    swelling = "<" * (pages.PART_BYTES // 6)  # four characters each, in HTML
    names = ["a", "b", "c"]
    await peer.append(session_id, *(user(swelling, id=name) for name in names))
    found = await parts(peer, session_id)
    assert len(found) > 1
    assert ids(found) == names


async def test_pictures_and_texts_that_lie_in_blobs_are_shown_whole(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    block = image_block(png(60, 60))
    said = {"type": "message", "id": "p", "message": {"role": "user", "content": [block]}}
    await peer.append(session_id, said, user("x" * 600_000 + " the end", id="long"))
    rows = [row for part in await parts(peer, session_id) for row in part["rows"]]
    assert f'src="data:image/png;base64,{block["data"]}"' in rows[0]["body"]
    assert rows[1]["body"].endswith(" the end</p>")


async def test_lines_that_are_no_entries_are_passed_over(memory: Running, tmp_path: Path) -> None:
    file = tmp_path / "odd.jsonl"
    damaged = [b"{damaged}\n"] * 6_000
    file.write_bytes(logs.log(logs.header(), logs.user("1", id="a"), *damaged, logs.user("2", id="b")))
    peer = await memory.attach()
    session_id = (await peer.call("session/open", path=str(file)))["session"]["sessionId"]
    found = await parts(peer, session_id, limit=1)
    assert ids(found) == ["a", "b"]
    assert found[-1]["toSeq"] == found[-1]["lastSeq"] == 6_002


async def around(peer: Peer, session_id: str, **params: Any) -> list[str]:
    found = await peer.call("view/path", sessionId=session_id, **params)
    return [row["id"] for row in found["rows"]]


async def test_the_path_is_read_from_its_end(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    assert await around(peer, session_id) == []
    names = [f"e{number}" for number in range(25)]
    await peer.append(session_id, *(user(name, id=name) for name in names))
    assert await around(peer, session_id, limit=4) == names[-4:]
    assert await around(peer, session_id) == names
    [page] = await parts(peer, session_id)
    assert (await peer.call("view/path", sessionId=session_id))["rows"] == page["rows"]


async def test_the_path_is_read_around_an_entry(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    names = [f"e{number}" for number in range(25)]
    await peer.append(session_id, *(user(name, id=name) for name in names))
    assert await around(peer, session_id, entryId="e10", limit=5) == names[8:13]
    assert await around(peer, session_id, entryId="e0", limit=5) == names[:5]
    assert await around(peer, session_id, entryId="e23", limit=5) == names[-5:]
    assert await around(peer, session_id, entryId="e10", limit=1) == ["e10"]
    refused = await refusal(around(peer, session_id, entryId="elsewhere"))
    assert refused.kind == "entryNotFound"


async def test_the_path_of_another_branch_ends_at_its_entry(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1", id="a"), user("2", id="b"), user("3", id="c"))
    await peer.call("session/branch", sessionId=session_id, entryId="a")
    await peer.append(session_id, user("4", id="d"))
    assert await around(peer, session_id) == ["a", "d"]
    assert await around(peer, session_id, entryId="a") == ["a", "d"]
    assert await around(peer, session_id, entryId="b") == ["a", "b"]


@pytest.mark.parametrize("text", ["word " * (pages.PART_BYTES // 5 // 3), "<" * (pages.PART_BYTES // 10)])
async def test_large_entries_leave_the_nearest_rows_of_a_path(memory: Running, cwd: str, text: str) -> None:
    """Also those that grow when they are rendered: each `<` is four characters of HTML."""
    peer, session_id = await started(memory, cwd)
    names = [f"e{number}" for number in range(9)]
    await peer.append(session_id, *(user(text, id=name) for name in names))
    ends = await around(peer, session_id)
    assert ends == names[-len(ends) :]
    assert len(ends) < 5
    middle = await around(peer, session_id, entryId="e4")
    assert "e4" in middle
    assert len(middle) < 6
    assert middle == names[names.index(middle[0]) :][: len(middle)]


async def test_a_document_lets_nothing_run_but_what_bears_its_nonce(memory: Running) -> None:
    peer = await memory.attach()
    nonce = "k3VqW0fXo1pQz8RtYb6mLw"
    html = (await peer.call("view/document", nonce=nonce))["html"]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].replace("&#x27;", "'").split("; ") == [
        "default-src 'none'", f"script-src 'nonce-{nonce}'", f"style-src 'nonce-{nonce}'", "img-src data:",
        "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    running = [
        found for found in re.findall(r"<(?:script|style)([^>]*)>", html) if "application/json" not in found
    ]
    assert running == [f' nonce="{nonce}"'] * 2
    assert (await peer.call("view/document", nonce=nonce))["html"] == html


async def test_an_invalid_nonce_gets_no_document(memory: Running) -> None:
    peer = await memory.attach()
    for nonce in ("short", "'; script-src * '", '"><script>alert(1)</script>', "x" * 200, ""):
        assert (await refusal(peer.call("view/document", nonce=nonce))).kind == "invalidParams"


async def test_a_session_whose_header_is_damaged_has_a_page(memory: Running, tmp_path: Path) -> None:
    file = tmp_path / "headless.jsonl"
    file.write_bytes(logs.log(b"{damaged}\n", logs.user("1", id="a")))
    peer = await memory.attach()
    session_id = (await peer.call("session/open", path=str(file)))["session"]["sessionId"]
    [part] = await parts(peer, session_id)
    assert ids([part]) == ["a"]
    assert part["session"]["sessionId"] == session_id
