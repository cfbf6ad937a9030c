"""Handlers of requests about agents: list, verify, follow, unfollow, forget, wake."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from sessiond import config as configuration
from sessiond.agents.agent import Environ
from sessiond.agents.places import moved_folders
from sessiond.agents.table import AGENTS
from sessiond.hub.errors import HubError, IncompatibleParams, refuse_unless_absolute
from sessiond.protocol import types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.progress import progress, progress_in_percent
from sessiond.session.tree.lines import valid_text
from sessiond.store.errors import LogReplaced, StorageFailed
from sessiond.store.files.syscalls import refusal

_STEP: Final = 0.1  # seconds between two reports of progress
_MAX_FAILED: Final = 20


async def list_(client: Client, _params: t.AgentListParams) -> t.AgentListResult:
    """Describe all agents with `hub.following.describe`."""
    agents = await client.hub.following.describe()
    following = next((task for task in client.server.lasting.failed if task.name == "following"), None)
    if following is not None and not following.is_running:
        agents = [
            msgspec.structs.replace(agent, failure=following.message) if agent.is_followed else agent
            for agent in agents
        ]
    after = client.server.config.listen.idle_exit
    return t.AgentListResult(
        agents=agents, user_home=valid_text(client.hub.following.user_home),
        idle_exit_ms=None if after is None else round(after * 1000),
    )  # fmt: skip


async def verify(client: Client, params: t.AgentVerifyParams) -> t.AgentVerifyResult:
    """Verify that everything is here with `hub.verification`, with progress.

    Raises `IncompatibleParams`, `StorageFailed`.
    """
    with progress_in_percent(client, params.work_done_token, "Verifying") as report:
        return await client.hub.verification.verify(params, report)


async def follow(client: Client, params: t.AgentFollowParams) -> t.AgentFollowResult:
    """Add agents to the configuration and apply it. With a token, wait until their files are read.

    Raises `IncompatibleParams` for an agent that cannot be followed, and `StorageFailed` if the configuration file
    cannot be written.
    """
    names = list(params.agents or ())
    _refuse_unknown(names)
    followable = await client.hub.following.followable(with_files=False)
    for name in names:
        if name not in followable:
            raise IncompatibleParams(
                f"sessions of {AGENTS[name].title} cannot be read, so it cannot be followed"
            )
    if params.all:
        names += await client.hub.following.followable(params.environment, with_files=True)
    if not names and not params.all:
        raise IncompatibleParams("agents or all must name what to follow")
    await _change(client, add=names, environ=params.environment)
    if params.work_done_token is not None:
        await _wait(client, params.work_done_token, names)
    return _followed(client)


async def unfollow(client: Client, params: t.AgentUnfollowParams) -> t.AgentFollowResult:
    """Remove agents from the configuration and apply it. Raises as `follow` does."""
    names = list(AGENTS) if params.all else params.agents or ()
    _refuse_unknown(names)
    if not names:
        raise IncompatibleParams("agents or all must name what to unfollow")
    await _change(client, remove=names)
    return _followed(client)


async def forget(client: Client, params: t.AgentForgetParams) -> t.AgentForgetResult:
    """Unfollow an agent, and move its sessions to the trash. All clients are notified. Raises as `follow` does."""
    _refuse_unknown([params.agent])
    client.hub.sessions.refuse_when_draining()
    await _change(client, remove=[params.agent])
    sessions = await client.hub.following.sessions_of(params.agent)
    note = f"sessions of {AGENTS[params.agent].title} were forgotten"
    failed: list[t.AgentProblem] = []
    deleted = 0
    with progress(client, params.work_done_token, "Moving sessions to the trash") as report:
        for number, (session_id, path) in enumerate(sessions.items()):
            report(t.Progress(kind="report", percentage=100 * number // len(sessions)))
            try:
                live = await client.hub.sessions.session(session_id)
                gone = await client.hub.deletion.delete(live, by_path=False, note=note, by=client.client_id)
            except (HubError, StorageFailed, LogReplaced) as error:
                failed.append(t.AgentProblem(path=path, message=str(error)))
                continue
            client.server.notify_deleted_soon(gone, note, client.origin())
            deleted += 1
    if not failed:
        await client.hub.following.drop_records(params.agent)
    return t.AgentForgetResult(deleted_count=deleted, failed=failed[:_MAX_FAILED], failed_count=len(failed))


async def wake(client: Client, params: t.AgentWakeParams) -> t.AgentWakeResult:
    """Start a check of the files of an agent, and return the note for a session that begins.

    Raises `IncompatibleParams` for an unknown agent, or a folder that is not an absolute path.
    """
    _refuse_unknown([params.agent])
    if params.starting_in is not None:
        refuse_unless_absolute(params.starting_in, "startingIn")
    is_followed = params.agent in client.server.config.agents.follow
    if is_followed:
        is_followed = (await client.hub.following.follower()).wake(params)
    return t.AgentWakeResult(is_followed=is_followed, note=await _note(client, params))


async def _note(client: Client, params: t.AgentWakeParams) -> str | None:
    """Return the note about the last sessions of a project; None if it is not wanted."""
    if params.starting_in is None or not client.server.config.agents.session_start_note:
        return None
    from sessiond.hub.following import start_note  # few users want it

    wanted = t.ListParams(project=params.starting_in, limit=start_note.MAX_SESSIONS + 1)
    page = await client.hub.index.page(wanted)
    # The page holds rows as they are sent.
    sessions = msgspec.json.decode(msgspec.json.encode(page.sessions), type=list[t.ListedSession])
    return start_note.note_about(sessions, params.path)


def _refuse_unknown(names: Sequence[str]) -> None:
    for name in names:
        if name not in AGENTS:
            raise IncompatibleParams(f"there is no agent {name!r:.80}; the agents are {', '.join(AGENTS)}")


def _followed(client: Client) -> t.AgentFollowResult:
    return t.AgentFollowResult(followed=list(client.server.config.agents.follow))


async def _change(
    client: Client, *, add: Sequence[str] = (), remove: Sequence[str] = (), environ: Environ | None = None
) -> None:
    """Change the followed agents in the configuration file, and apply the file.

    Args:
        client: The client.
        add: The names of the agents to follow.
        remove: The names of the agents not to follow any more.
        environ: The environment variables of the client, which may name further folders of the agents to follow.
    """
    # They load tomllib, which is rarely needed.
    from sessiond.hub.following.config_file import write_followed
    from sessiond.toml_edit import UneditableTomlError

    server, path = client.server, client.server.locations.config_file
    async with client.hub.following.changing:
        try:
            now = (await asyncio.to_thread(configuration.read, path)).agents
            names = [
                agent for agent in AGENTS if (agent in now.follow or agent in add) and agent not in remove
            ]
            folders = [
                f"{name}={folder}"
                for name in dict.fromkeys(add)
                for folder in ([] if environ is None else moved_folders(AGENTS[name], environ))
                if folder not in now.folders.get(name, ())
            ]
            if names != list(now.follow) or folders:
                await asyncio.to_thread(write_followed, path, names, folders)
            config = await asyncio.to_thread(configuration.read, path)
        except OSError as error:
            raise refusal(error, Path(path)) from error
        except (ValueError, UneditableTomlError, configuration.InvalidConfigError) as error:
            raise IncompatibleParams(f"the configuration {path} cannot be changed: {error}") from error
        server.configure(config)


async def _wait(client: Client, token: t.ProgressToken, names: Sequence[str]) -> None:
    """Wait until the present files of agents are read, and report progress."""
    follower = await client.hub.following.follower()
    with progress(client, token, "Importing sessions") as report, contextlib.suppress(asyncio.CancelledError):
        while (state := follower.backlog(names)) is not None:
            done, total = state
            message = f"{done:,} of {total:,} files"
            report(t.Progress(kind="report", message=message, percentage=100 * done // max(1, total)))
            await asyncio.sleep(_STEP)
