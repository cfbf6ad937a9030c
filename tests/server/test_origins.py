"""The origin of a change: which client of which daemon caused it, with which program and by which command."""

from support.daemons import Running, assistant, user
from support.shared import started


async def test_a_change_names_the_client_its_program_its_daemon_and_the_command(memory: Running) -> None:
    peer, session_id = await started(memory, "/work")
    other = await memory.attach()
    hello = await other.call(
        "server/hello", clientId="editor-1", clientInfo={"name": "atlas", "version": "1"}
    )
    await other.call("session/open", sessionId=session_id)
    await other.call("session/rename", sessionId=session_id, title="Plans", commandId="press-1")
    await peer.until(lambda client: bool(client.told("session/changed")))
    origin = {
        "kind": "client", "clientId": "editor-1", "serverId": hello["serverId"], "agent": "atlas",
        "commandId": "press-1",
    }  # fmt: skip
    assert [notification["origin"] for notification in peer.told("session/changed")] == [origin]
    assert [notification["origin"] for notification in peer.told("session/appended")] == [origin]


async def test_a_change_without_a_command_names_none(memory: Running) -> None:
    peer, session_id = await started(memory, "/work")
    await peer.append(session_id, user("1"), assistant("2"))
    await peer.until(lambda client: bool(client.told("session/changed")))
    assert {notification["origin"]["commandId"] for notification in peer.told("session/changed")} == {None}
