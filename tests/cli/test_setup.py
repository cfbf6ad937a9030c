"""The command setup in a home of its own: what it shows, what it writes, and that undo leaves every byte as it was."""

import json  # noqa: TID251 - what a reader of --json would use
import os
import pty
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

from sessiond.setup import changes, journal
from sessiond.setup.additions import Hooks
from support.commands import Ran
from support.homes import a_home, environment, sessiond
from support.patience import BOUND

CLAUDE = '{\n\t"model": "x", // mine\n\t"z": 1\n}'
GEMINI = '\ufeff{"security": {"auth": 1}}\r\n'
CONFIG = '# mine\n[listen]\nidle_exit = "1h" # long\n'


class Home:
    """A home with three agents that have left sessions, two settings files and a startup file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (
            ".claude/projects/p",
            ".codex/sessions",
            ".gemini/tmp",
            ".local/share/opencode",
            ".config/sessiond",
        ):
            (folder / name).mkdir(parents=True)
        (folder / ".claude/projects/p/1.jsonl").write_text("{}\n", encoding="utf-8")
        self.write(".claude/settings.json", CLAUDE)
        self.write(".gemini/settings.json", GEMINI)
        self.write(".bashrc", "alias ll=ls")
        self.write(".config/sessiond/config.toml", CONFIG)
        for path in (folder / ".config", folder / ".config/sessiond"):
            path.chmod(0o700)

    def environment(self) -> dict[str, str]:
        moved = (
            "SESSIOND_HOME",
            "ZDOTDIR",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "GEMINI_CLI_HOME",
            "QWEN_RUNTIME_DIR",
        )
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in moved and not name.startswith("XDG_")
        }
        return {**inherited, "HOME": str(self.folder), "SHELL": "/bin/bash", "PATH": "/usr/bin:/bin"}

    def run(self, *words: str) -> Ran:
        done = subprocess.run(
            sessiond("setup", *words), capture_output=True, encoding="utf-8", env=self.environment(), timeout=BOUND,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_bytes(text.encode())

    def read(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()

    def snapshot(self) -> dict[str, tuple[int, bytes | str]]:
        """Every file, folder and link with its permissions and content."""
        found: dict[str, tuple[int, bytes | str]] = {}
        for path in sorted(self.folder.rglob("*")):
            content: bytes | str = b""
            if path.is_symlink():
                content = str(path.readlink())
            elif path.is_file():
                content = path.read_bytes()
            found[str(path.relative_to(self.folder))] = (stat.S_IMODE(path.lstat().st_mode), content)
        return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_without_a_terminal_it_only_shows(home: Home) -> None:
    before = home.snapshot()
    shown = home.run()
    assert shown.code == 0
    for piece in ("Claude Code", "1 session", "~/.claude/settings.json", "~/.bashrc", "sessiond setup --yes"):
        assert piece in shown.out
    assert home.snapshot() == before


def test_setup_and_undo_leave_the_home_byte_for_byte_as_before(home: Home) -> None:
    before = home.snapshot()
    assert home.run("--yes").code == 0
    assert "hook claude-code" in home.read(".claude/settings.json")
    assert '"claude-code"' in home.read(".config/sessiond/config.toml")
    assert (home.folder / ".codex/hooks.json").exists()
    assert home.run("--undo").code == 0
    assert home.snapshot() == before
    assert "added nothing" in home.run("--undo").out
    assert home.snapshot() == before


def test_the_mcp_server_is_registered_with_each_agent_as_the_agent_wants_it(home: Home) -> None:
    (home.folder / ".config/Code/User").mkdir(parents=True)
    home.write(".codex/config.toml", 'model = "x" # mine\n')
    home.run("--yes")
    claude = json.loads(home.read(".claude.json"))["mcpServers"]["sessiond"]
    assert (claude["type"], claude["args"][-1]) == ("stdio", "mcp")
    command = [claude["command"], *claude["args"]]
    codex = tomllib.loads(home.read(".codex/config.toml"))
    assert codex["model"] == "x"
    assert codex["mcp_servers"]["sessiond"] == {"command": command[0], "args": command[1:]}
    gemini = json.loads(home.read(".gemini/settings.json").removeprefix("\ufeff"))
    assert gemini["mcpServers"]["sessiond"] == {"command": command[0], "args": command[1:], "trust": True}
    assert gemini["hooks"]
    opencode = json.loads(home.read(".config/opencode/opencode.json"))["mcp"]["sessiond"]
    assert opencode == {"type": "local", "command": command, "enabled": True}
    code = json.loads(home.read(".config/Code/User/mcp.json"))["servers"]["sessiond"]
    assert code == {"type": "stdio", "command": command[0], "args": command[1:]}
    assert "--allow-write" not in command


def test_without_the_mcp_server_no_agent_has_it(home: Home) -> None:
    home.run("--yes", "--no-mcp")
    assert not (home.folder / ".claude.json").exists()
    assert "mcpServers" not in home.read(".gemini/settings.json")


def test_another_server_of_the_same_name_is_left_alone_and_named(home: Home) -> None:
    home.write(".claude.json", '{"mcpServers": {"sessiond": {"command": "herons"}}}')
    before = home.read(".claude.json")
    ran = home.run("--yes", "--no-hooks", "--no-shell")
    assert ran.code == 1
    assert "another server" in ran.err
    assert home.read(".claude.json") == before


def test_a_second_setup_changes_nothing_and_says_so(home: Home) -> None:
    home.run("--yes")
    once = home.snapshot()
    again = home.run("--yes")
    assert "Nothing to do" in again.out
    assert home.snapshot() == once


def test_copies_of_the_files_before_are_kept(home: Home) -> None:
    report = json.loads(home.run("--yes", "--json").out)
    copies = {
        Path(file["path"]).name: Path(file["copy"]).read_bytes() for file in report["files"] if "copy" in file
    }
    assert copies["settings.json"] in (CLAUDE.encode(), GEMINI.encode())
    assert copies[".bashrc"] == b"alias ll=ls"


def test_edits_that_others_made_since_stay(home: Home) -> None:
    home.run("--yes")
    home.write(
        ".claude/settings.json", home.read(".claude/settings.json").replace('"z": 1', '"z": [ 2 ] /* new */')
    )
    home.write(".bashrc", home.read(".bashrc") + "alias la='ls -a'\n")
    home.write(".config/sessiond/config.toml", home.read(".config/sessiond/config.toml") + "\n[history]\n")
    home.write(".codex/hooks.json", json.dumps({**json.loads(home.read(".codex/hooks.json")), "mine": 1}))
    assert home.run("--undo").code == 0
    assert home.read(".claude/settings.json") == CLAUDE.replace('"z": 1', '"z": [ 2 ] /* new */')
    assert home.read(".bashrc") == "alias ll=ls\nalias la='ls -a'\n"
    assert home.read(".config/sessiond/config.toml") == CONFIG + "\n[history]\n"
    assert json.loads(home.read(".codex/hooks.json")) == {"mine": 1}


def test_settings_that_another_program_laid_out_anew_lose_only_the_hooks(home: Home) -> None:
    home.write(".claude/settings.json", '{"model": "x"}')
    home.run("--yes")
    settings = json.loads(home.read(".claude/settings.json"))
    home.write(".claude/settings.json", json.dumps(settings, indent=4, sort_keys=True))
    assert home.run("--undo").code == 0
    assert json.loads(home.read(".claude/settings.json")) == {"model": "x"}


def test_hooks_that_the_user_removed_are_no_error(home: Home) -> None:
    home.run("--yes")
    home.write(".claude/settings.json", '{"model": "y"}\n')
    (home.folder / ".gemini/settings.json").unlink()
    (home.folder / ".codex/hooks.json").unlink()
    assert home.run("--undo").code == 0
    assert home.read(".claude/settings.json") == '{"model": "y"}\n'
    assert not (home.folder / ".gemini/settings.json").exists()
    assert not (home.folder / ".codex/hooks.json").exists()
    assert "added nothing" in home.run("--undo").out


def test_hooks_that_the_user_added_beside_those_of_setup_stay(home: Home) -> None:
    home.write(".claude/settings.json", "{}")
    home.run("--yes")
    settings = json.loads(home.read(".claude/settings.json"))
    mine = {"type": "command", "command": "say done"}
    settings["hooks"]["Stop"][0]["hooks"].insert(0, mine)
    settings["hooks"]["SessionEnd"].append({"hooks": [mine]})
    home.write(".claude/settings.json", json.dumps(settings, indent=2))
    assert home.run("--undo").code == 0
    left = {"hooks": {"Stop": [{"hooks": [mine]}], "SessionEnd": [{"hooks": [mine]}]}}
    assert json.loads(home.read(".claude/settings.json")) == left


def test_agents_that_the_user_followed_since_stay_followed(home: Home) -> None:
    home.run("--yes", "--agent", "codex")
    config = home.read(".config/sessiond/config.toml")
    home.write(".config/sessiond/config.toml", config.replace('"codex"', '"codex", "qwen"'))
    assert home.run("--undo").code == 0
    left = tomllib.loads(home.read(".config/sessiond/config.toml"))
    assert left["agents"] == {"follow": ["qwen"]}
    assert home.read(".config/sessiond/config.toml").startswith(CONFIG)


def test_a_running_daemon_follows_the_agents_after_setup_and_no_longer_after_undo() -> None:
    with a_home() as locations:
        environ = environment(locations, HOME=str(locations.home), SHELL="")

        def run(*words: str) -> str:
            return subprocess.run(
                sessiond(*words),
                env=environ,
                check=True,
                capture_output=True,
                encoding="utf-8",
                timeout=BOUND,
            ).stdout

        def followed() -> list[str]:
            return [
                agent["name"]
                for agent in json.loads(run("agents", "--json"))["agents"]
                if agent["isFollowed"]
            ]

        assert followed() == []  # starts the daemon
        run("setup", "--yes", "--agent", "codex", "--no-hooks")
        assert followed() == ["codex"]
        run("setup", "--undo")
        assert followed() == []
        assert not Path(locations.config_file).exists()


def test_invalid_settings_are_left_alone_and_named_and_the_rest_is_done(home: Home) -> None:
    home.write(".claude/settings.json", '{\n  "a": 1\n  "b": 2\n}\n')
    ran = home.run("--yes")
    assert ran.code == 1
    assert "~/.claude/settings.json was left as it is: line 3, column 3" in ran.err
    assert home.read(".claude/settings.json") == '{\n  "a": 1\n  "b": 2\n}\n'
    assert "hook gemini" in home.read(".gemini/settings.json")


def test_settings_that_became_invalid_are_cleaned_when_they_are_valid_again(home: Home) -> None:
    home.run("--yes")
    valid = home.read(".claude/settings.json")
    home.write(".claude/settings.json", valid + "}")
    assert home.run("--undo").code == 1
    assert home.read(".claude/settings.json") == valid + "}"
    assert home.read(".gemini/settings.json") == GEMINI
    home.write(".claude/settings.json", valid + "\n")
    assert home.run("--undo").code == 0
    assert home.read(".claude/settings.json") == CLAUDE + "\n"


def test_links_and_permissions_stay(home: Home) -> None:
    (home.folder / "dotfiles").mkdir()
    (home.folder / ".claude/settings.json").rename(home.folder / "dotfiles/claude.json")
    (home.folder / ".claude/settings.json").symlink_to("../dotfiles/claude.json")
    (home.folder / "dotfiles/claude.json").chmod(0o640)
    before = home.snapshot()
    home.run("--yes")
    assert (home.folder / ".claude/settings.json").is_symlink()
    assert (home.folder / "dotfiles/claude.json").stat().st_mode & 0o777 == 0o640
    assert "hook claude-code" in home.read("dotfiles/claude.json")
    home.run("--undo")
    assert home.snapshot() == before


def test_a_read_only_file_is_left_alone(home: Home) -> None:
    (home.folder / ".claude/settings.json").chmod(0o444)
    ran = home.run("--yes")
    assert ran.code == 1
    assert "read-only" in ran.err
    assert home.read(".claude/settings.json") == CLAUDE


def test_only_the_named_agent_is_set_up_and_a_second_one_joins_it(home: Home) -> None:
    before = home.snapshot()
    home.run("--yes", "--agent", "codex")
    assert home.read(".bashrc") == "alias ll=ls"
    assert home.read(".claude/settings.json") == CLAUDE
    home.run("--yes", "--agent", "claude-code")
    assert 'follow = ["codex", "claude-code"]' in home.read(".config/sessiond/config.toml")
    home.run("--undo")
    assert home.snapshot() == before
    assert home.run("--agent", "nobody").code == 2


def test_no_hooks_leaves_the_settings_of_agents_alone(home: Home) -> None:
    home.run("--yes", "--no-hooks", "--no-shell")
    assert home.read(".claude/settings.json") == CLAUDE
    assert home.read(".bashrc") == "alias ll=ls"
    assert '"codex"' in home.read(".config/sessiond/config.toml")


def test_a_file_of_the_user_in_the_place_of_the_plugin_is_left_alone(home: Home) -> None:
    plugin = home.folder / ".config/opencode/plugins/sessiond.js"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("export const Mine = 1\n", encoding="utf-8")
    ran = home.run("--yes")
    assert ran.code == 1
    assert plugin.read_text(encoding="utf-8") == "export const Mine = 1\n"


def test_a_hook_that_was_installed_by_another_program_path_is_replaced(home: Home) -> None:
    settings = str(home.folder / ".claude/settings.json")
    with journal.opened(str(home.folder / ".local/state/sessiond")) as opened:
        changes.install(
            opened, changes.FileChange("", settings, Hooks("claude-code", ("Stop",), "/old/sessiond hook x"))
        )
    home.run("--yes")
    assert "/old/sessiond" not in home.read(".claude/settings.json")
    home.run("--undo")
    assert home.read(".claude/settings.json") == CLAUDE


@pytest.mark.parametrize("steps", range(12))
def test_an_interrupted_setup_is_undone(home: Home, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = home.snapshot()
    state = str(home.folder / ".local/state/sessiond")
    left = [steps]
    rename = Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    names = (".claude/settings.json", ".gemini/settings.json", ".new/hooks.json")
    with journal.opened(state) as opened:
        try:
            for name in names:
                changes.install(
                    opened, changes.FileChange("", str(home.folder / name), Hooks("x", ("Stop",), "c"))
                )
        except KeyboardInterrupt:
            pass
    monkeypatch.undo()
    assert home.run("--undo").code == 0
    after = {name: row for name, row in home.snapshot().items() if not name.startswith(".local/state")}
    assert after == {name: row for name, row in before.items() if not name.startswith(".local/state")}


@pytest.mark.parametrize(("answer", "is_done"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_asks(home: Home, answer: str, is_done: bool) -> None:
    above, below = pty.openpty()
    with subprocess.Popen(
        sessiond("setup"), stdin=below, stdout=below, stderr=below, env=home.environment()
    ) as asked:
        os.close(below)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(above, 65_536)
        os.write(above, answer.encode())
        while True:
            try:
                if not os.read(above, 65_536):
                    break
            except OSError:
                break
        assert asked.wait(BOUND) == 0
    os.close(above)
    assert ("hook claude-code" in home.read(".claude/settings.json")) == is_done
