"""Commands and code actions: branch, fork, label, open, export, for editors that know no methods of ours."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support import logs
from support.daemons import Running
from support.editors import choose, document, edit, editor, execute, said, show

LITERALS = types.TextDocumentClientCapabilities(
    code_action=types.CodeActionClientCapabilities(
        code_action_literal_support=types.ClientCodeActionLiteralOptions(
            code_action_kind=types.ClientCodeActionKindOptions(value_set=[])
        )
    )
)
ACTS = types.ClientCapabilities(text_document=LITERALS)
SHOWS = types.ClientCapabilities(
    text_document=LITERALS,
    window=types.WindowClientCapabilities(show_document=types.ShowDocumentClientCapabilities(support=True)),
)


async def actions(client: Any, path: Path, line: int, **context: Any) -> dict[str, Any]:
    """The actions on a line, by their titles."""
    params = types.CodeActionParams(
        document(path), said(line, 0, 0), types.CodeActionContext(diagnostics=[], **context)
    )
    return {item.title: item for item in await client.text_document_code_action_async(params) or []}


def kind_of(refused: JsonRpcException) -> str:
    data: Any = refused.data
    return str(data["kind"])


class Told:
    """The requests to an editor to show something, and its notifications."""

    def __init__(self, client: Any) -> None:
        self.shown: asyncio.Queue[types.ShowDocumentParams] = asyncio.Queue()
        self.said: asyncio.Queue[str] = asyncio.Queue()

        def show_document(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.shown.put_nowait(params)
            return types.ShowDocumentResult(success=True)

        def show_message(params: types.ShowMessageParams) -> None:
            self.said.put_nowait(params.message)

        client.protocol.fm.features[types.WINDOW_SHOW_DOCUMENT] = show_document
        client.protocol.fm.features[types.WINDOW_SHOW_MESSAGE] = show_message

    async def path(self) -> Path:
        async with asyncio.timeout(45):
            return Path(unquote((await self.shown.get()).uri.removeprefix("file://")))

    async def message(self) -> str:
        async with asyncio.timeout(45):
            return await self.said.get()


async def test_a_line_offers_what_can_be_done_with_its_entry(served: Running, forked: Path) -> None:
    async with editor(served.home, ACTS) as client:
        assert list(await actions(client, forked, 5)) == [
            "Branch here: the next entry attaches to this one", "Fork the path to here into a new session",
            "Remove the label “the other way”", "Export the path to here as Markdown", "Compact the session",
        ]  # fmt: skip
        assert list(await actions(client, forked, 4)) == [
            "Fork the path to here into a new session", "Label this entry “Done.”",
            "Export the path to here as Markdown", "Compact the session",
        ]  # fmt: skip
        assert list(await actions(client, forked, 8)) == ["Compact the session"]
        assert await actions(client, forked, 1, only=[types.CodeActionKind.QuickFix]) == {}
        assert len(await actions(client, forked, 1, only=[types.CodeActionKind.Refactor])) == 5
        assert await actions(client, forked, 900) == {}


async def test_an_editor_without_literals_is_offered_commands(served: Running, forked: Path) -> None:
    async with editor(served.home) as client:
        found = await actions(client, forked, 3)
        assert all(isinstance(item, types.Command) for item in found.values())
        assert (await choose(client, found["Branch here: the next entry attaches to this one"]))[
            "leafId"
        ] == "q2"


async def test_nothing_is_offered_on_a_text_that_differs_from_its_file(served: Running, forked: Path) -> None:
    async with editor(served.home, ACTS) as client:
        show(client, forked)
        assert await actions(client, forked, 3)
        edit(client, forked, "x", said(1, 3, 3))
        assert await actions(client, forked, 3) == {}


async def test_a_branch_moves_the_leaf_for_everybody(served: Running, forked: Path) -> None:
    peer = await served.attach()
    session = (await peer.call("session/open", path=str(forked)))["session"]
    async with editor(served.home, ACTS) as client:
        told = Told(client)
        found = await actions(client, forked, 5)
        answer = await choose(client, found["Branch here: the next entry attaches to this one"])
        assert (answer["leafId"], answer["previousLeafId"]) == ("q3", "a2")
        assert "q3" in await told.message()
        await peer.until(lambda other: bool(other.told("session/leafMoved")))
        assert (await peer.call("session/tree", sessionId=session["sessionId"]))["leafId"] == "q3"


async def test_a_fork_is_shown_or_said_to_be_somewhere(served: Running, forked: Path) -> None:
    before = forked.read_bytes()
    for capabilities in (SHOWS, ACTS):
        async with editor(served.home, capabilities) as client:
            told = Told(client)
            found = await actions(client, forked, 6)
            answer = await choose(client, found["Fork the path to here into a new session"])
            assert (answer["messageCount"], answer["parentPath"]) == (4, str(forked))
            if capabilities is SHOWS:
                path = await told.path()
            else:
                path = Path((await told.message()).removeprefix("The new session is "))
            assert str(path) == answer["path"]
            assert path.is_file()
    assert forked.read_bytes() == before


async def test_an_editor_hears_nothing_of_ours_that_it_did_not_ask_for(served: Running, forked: Path) -> None:
    async with editor(served.home, ACTS) as client:
        answer = await execute(client, "sessiond.fork", path=str(forked))
        peer = await served.attach()
        await peer.append(answer["sessionId"], {"type": "custom", "customType": "x"})
        clients = (await peer.call("server/clients"))["clients"]
        assert all(not other["sessionIds"] and not other["subscribedSessionIds"] for other in clients)


async def test_a_label_is_set_and_removed(served: Running, forked: Path) -> None:
    async with editor(served.home, ACTS) as client:
        await choose(client, (await actions(client, forked, 1))["Label this entry “Why?”"])
        await choose(client, (await actions(client, forked, 1))["Remove the label “Why?”"])
        assert "Label this entry “Why?”" in await actions(client, forked, 1)
        await execute(client, "sessiond.label", path=str(forked), entryId="a1")
        assert "Remove the label “Because 😀.”" in await actions(client, forked, 2)


@pytest.mark.parametrize(("choice", "label"), [("todo", "todo"), (None, None)])
async def test_a_person_is_asked_for_a_label_where_the_editor_can(
    served: Running, forked: Path, choice: str | None, label: str | None
) -> None:
    asks = types.ClientCapabilities(
        window=types.WindowClientCapabilities(show_message=types.ShowMessageRequestClientCapabilities())
    )
    async with editor(served.home, asks) as client:

        @client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)  # type: ignore[untyped-decorator]
        def ask(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            titles = [action.title for action in params.actions or []]
            assert titles == ["Why?", "todo", "done"]
            return None if choice is None else types.MessageActionItem(choice)

        await execute(client, "sessiond.label", path=str(forked), entryId="q1")
    peer = await served.attach()
    session = (await peer.call("session/open", path=str(forked)))["session"]
    nodes = (await peer.call("session/tree", sessionId=session["sessionId"]))["nodes"]
    assert nodes[0]["label"] == label


async def test_a_session_is_opened_at_an_entry(served: Running, forked: Path) -> None:
    async with editor(served.home, SHOWS) as client:
        told = Told(client)
        answer = await execute(client, "sessiond.open", path=str(forked), entryId="a2")
        assert answer["sessionId"] == "forked-1"
        shown = await told.shown.get()
        assert (shown.uri, shown.selection) == (forked.as_uri(), said(4, 0, 0))


async def test_an_export_goes_to_a_folder_of_ours_unless_a_place_is_given(
    served: Running, forked: Path, tmp_path: Path
) -> None:
    async with editor(served.home, SHOWS) as client:
        told = Told(client)
        for _ in range(2):
            answer = await choose(
                client, (await actions(client, forked, 3))["Export the path to here as Markdown"]
            )
            path = await told.path()
            assert str(path) == answer["path"]
            assert path.is_relative_to(served.home)
            text = path.read_text(encoding="utf-8")
            assert "Fix it." in text
            assert "Done." not in text
        output = tmp_path / "mine.jsonl"
        await execute(client, "sessiond.export", path=str(forked), format="jsonl", output=str(output))
        assert output.is_file()
        with pytest.raises(JsonRpcException):
            await execute(client, "sessiond.export", path=str(forked), format="jsonl", output=str(output))


async def test_the_folder_for_exports_may_lie_among_the_data_as_it_does_without_a_home(
    served: Running, forked: Path
) -> None:
    served.inside.home = str(served.home / "data")
    async with editor(served.home, SHOWS) as client:
        answer = await execute(client, "sessiond.export", path=str(forked))
        assert Path(answer["path"]).is_relative_to(served.home / "data/exports")
        with pytest.raises(JsonRpcException):
            await execute(
                client, "sessiond.export", path=str(forked), output=str(served.home / "data/mine.md")
            )


async def test_a_session_is_compacted_when_somebody_can_write_the_summary(
    served: Running, forked: Path
) -> None:
    async with editor(served.home, ACTS) as client:
        with pytest.raises(JsonRpcException) as refused:
            await choose(client, (await actions(client, forked, 3))["Compact the session"])
        assert kind_of(refused.value) in ("nothingToCompact", "noSummarizer")


@pytest.mark.parametrize(
    ("command", "about", "kind"),
    [
        ("sessiond.branch", {}, "invalidParams"),
        ("sessiond.branch", {"path": "relative"}, "invalidParams"),
        ("sessiond.branch", {"path": "/nowhere.jsonl"}, "sessionNotFound"),
        ("sessiond.branch", {"path": "FORKED", "entryId": "nobody"}, "entryNotFound"),
        ("sessiond.branch", {"path": 5}, "invalidParams"),
        ("sessiond.branch", {"made": "up"}, "invalidParams"),
        ("sessiond.label", {"path": "FORKED"}, "invalidParams"),
        ("sessiond.export", {"path": "FORKED", "format": "odd"}, "invalidParams"),
        ("sessiond.madeUp", {}, "invalidParams"),
    ],
)
async def test_a_command_that_cannot_be_done_is_refused_by_kind(
    served: Running, forked: Path, command: str, about: dict[str, Any], kind: str
) -> None:
    about = about | ({"path": str(forked)} if about.get("path") == "FORKED" else {})
    async with editor(served.home) as client:
        with pytest.raises(JsonRpcException) as refused:
            await execute(client, command, **about)
        assert kind_of(refused.value) == kind


async def test_a_damaged_file_is_not_written_to(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "headless.jsonl"
    path.write_bytes(logs.log(logs.user("x", id="h", parent=None), logs.user("y", id="i")))
    before = path.read_bytes()
    async with editor(served.home, ACTS) as client:
        with pytest.raises(JsonRpcException) as refused:
            await execute(client, "sessiond.branch", path=str(path), entryId="h")
        assert kind_of(refused.value) == "readOnly"
    assert path.read_bytes() == before


# --- repeats -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "about"),
    [
        ("sessiond.branch", {"entryId": "q2"}),
        ("sessiond.label", {"entryId": "q2", "label": "later"}),
        ("sessiond.label", {"entryId": "q2"}),
    ],
)
async def test_a_repeated_command_writes_once_and_has_the_first_result(
    command: str, about: dict[str, Any], served: Running, forked: Path
) -> None:
    async with editor(served.home, ACTS) as client:
        first = await execute(client, command, path=str(forked), commandId="press 1", **about)
        once = forked.read_bytes()
        again = await execute(client, command, path=str(forked), commandId="press 1", **about)
        assert again["duplicate"]
        assert (again["recordId"], again["seq"]) == (first["recordId"], first["seq"])
        assert forked.read_bytes() == once
        with pytest.raises(JsonRpcException) as refused:
            await execute(
                client, command, path=str(forked), commandId="press 1", **{**about, "entryId": "q1"}
            )
        assert kind_of(refused.value) == "idReused"
        await execute(client, command, path=str(forked), commandId="press 2", **about)
        assert forked.read_bytes() != once


async def test_a_repeated_fork_is_the_first_session(served: Running, forked: Path) -> None:
    peer = await served.attach()
    await peer.call("session/list")  # from now on it is notified of sessions
    async with editor(served.home, ACTS) as client:
        ids = [
            (await execute(client, "sessiond.fork", path=str(forked), commandId=name))["sessionId"]
            for name in ("press 1", "press 1", "press 2")
        ]
    assert (ids[0] == ids[1], ids[0] == ids[2]) == (True, False)
    await peer.until(lambda other: len(other.told("session/created")) == 2)


async def test_a_repeated_label_does_not_ask_the_user_again(served: Running, forked: Path) -> None:
    asks = types.ClientCapabilities(
        text_document=LITERALS,
        window=types.WindowClientCapabilities(show_message=types.ShowMessageRequestClientCapabilities()),
    )
    async with editor(served.home, asks) as client:
        answers = ["todo", "done"]

        def choice(params: types.ShowMessageRequestParams) -> types.MessageActionItem:
            return types.MessageActionItem(answers.pop(0))

        client.protocol.fm.features[types.WINDOW_SHOW_MESSAGE_REQUEST] = choice
        for _ in range(2):
            await execute(client, "sessiond.label", path=str(forked), entryId="q2", commandId="press 1")
        assert answers == ["done"]
