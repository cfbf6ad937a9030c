"""Sessions of excluded and of private folders are not read from a followed agent."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.config import InvalidConfigError, read
from sessiond.hub.following.exclusions import PRIVATE
from support import dialect_files
from support.daemons import Peer, configure, running
from support.following import until
from support.writing_agents import WritingClaude

OTHER = "99999999-2222-4333-8444-555555555555"


class ClaudeIn(WritingClaude):
    """Claude Code, which writes one session in a folder."""

    def __init__(self, home: Path, folder: Path, session: str = dialect_files.SESSION) -> None:
        super().__init__(home, session, project=str(folder).replace("/", "-"))
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def talks(self, text: str) -> None:
        self.asks(text, cwd=str(self.folder))
        self.says("All right.", cwd=str(self.folder))


async def titles(peer: Peer) -> set[str]:
    """The first prompts of the listed sessions."""
    return {session["firstPrompt"] for session in (await peer.call("session/list"))["sessions"]}


async def until_read(peer: Peer, prompt: str) -> None:
    async def is_read() -> bool:
        return prompt in await titles(peer)

    await until(is_read)


@contextlib.asynccontextmanager
async def following(home: Path, *exclude: str) -> AsyncIterator[Peer]:
    """A client of a daemon that follows Claude Code and has read all that is there."""
    patterns = ", ".join(f'"{pattern}"' for pattern in exclude)
    configure(home, f'[agents]\nfollow = ["claude-code"]\nexclude = [{patterns}]\n')
    async with running(home, config=read(str(home / "config/config.toml"))) as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        yield peer


@pytest.fixture
def secret(agents_home: Path, tmp_path: Path) -> ClaudeIn:
    claude = ClaudeIn(agents_home, tmp_path / "work/secret/app")
    claude.talks("Where is the heron?")
    return claude


@pytest.fixture
def other(agents_home: Path, tmp_path: Path) -> ClaudeIn:
    claude = ClaudeIn(agents_home, tmp_path / "work/open", OTHER)
    claude.talks("Where is the owl?")
    return claude


@pytest.mark.parametrize(
    "pattern", ["work/secret", "work/*/app", "**/secret/**", "ada/.claude/projects/*secret*"]
)
async def test_sessions_of_an_excluded_folder_are_not_read_and_others_are(
    pattern: str, secret: ClaudeIn, other: ClaudeIn, tmp_path: Path
) -> None:
    async with following(tmp_path / "home", f"{tmp_path}/{pattern}") as peer:
        await until_read(peer, "Where is the owl?")
        assert await titles(peer) == {"Where is the owl?"}
        [agent] = [
            each for each in (await peer.call("agent/list"))["agents"] if each["name"] == "claude-code"
        ]
        assert agent["problems"] == []


async def test_a_folder_with_the_private_mark_is_left_out(
    secret: ClaudeIn, other: ClaudeIn, tmp_path: Path
) -> None:
    (tmp_path / "work/secret" / PRIVATE).touch()
    async with following(tmp_path / "home") as peer:
        await until_read(peer, "Where is the owl?")
        assert await titles(peer) == {"Where is the owl?"}


async def test_a_folder_that_is_reached_by_a_link_is_excluded_by_its_real_path(
    agents_home: Path, other: ClaudeIn, tmp_path: Path
) -> None:
    (tmp_path / "work/secret").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "work/secret")
    ClaudeIn(agents_home, tmp_path / "link").talks("Where is the heron?")
    async with following(tmp_path / "home", f"{tmp_path}/work/secret") as peer:
        await until_read(peer, "Where is the owl?")
        assert await titles(peer) == {"Where is the owl?"}


async def test_a_session_of_a_folder_that_becomes_private_grows_no_more_and_stays(
    secret: ClaudeIn, other: ClaudeIn, tmp_path: Path
) -> None:
    async with following(tmp_path / "home") as peer:
        await until_read(peer, "Where is the heron?")
        (tmp_path / "work/secret" / PRIVATE).touch()
        secret.says("x" * 300_000, cwd=str(secret.folder))
        other.talks("And the lark?")
        await peer.call("agent/wake", agent="claude-code")

        async def is_read() -> bool:
            info = await peer.call("session/info", sessionId=OTHER)
            return bool(info["session"]["messageCount"] == 4)

        await until(is_read)
        info = (await peer.call("session/info", sessionId=secret.session))["session"]
        assert info["messageCount"] == 2


async def test_a_pattern_that_is_taken_away_lets_the_sessions_in_after_a_restart(
    secret: ClaudeIn, other: ClaudeIn, tmp_path: Path
) -> None:
    async with following(tmp_path / "home", f"{tmp_path}/work/secret") as peer:
        await until_read(peer, "Where is the owl?")
    async with following(tmp_path / "home") as peer:
        await until_read(peer, "Where is the heron?")


async def test_an_import_that_names_the_file_reads_it(secret: ClaudeIn, tmp_path: Path) -> None:
    async with following(tmp_path / "home", f"{tmp_path}/work/secret") as peer:
        found: dict[str, Any] = await peer.call("session/import", path=str(secret.path))
        assert len(found["sessions"]) == 1


@pytest.mark.parametrize("pattern", ["secret", "", "/"])
def test_a_pattern_that_is_no_absolute_path_is_an_error(pattern: str, tmp_path: Path) -> None:
    configure(tmp_path, f'[agents]\nexclude = ["{pattern}"]\n')
    with pytest.raises(InvalidConfigError):
        read(str(tmp_path / "config/config.toml"))
