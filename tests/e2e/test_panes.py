"""Terminals as a person has them: real panes of tmux and windows of screen, with a daemon that comes and goes."""

import json  # noqa: TID251 - what a reader of --json would use
import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.columns import entries_of
from support.commands import Shell, a_shell
from support.homes import sessiond, wait_until
from support.panes import Pane, Panes, in_a_new_terminal, needs, recipe, some_panes

pytestmark = pytest.mark.system


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as made:
        yield made


@pytest.fixture
def panes(shell: Shell) -> Iterator[Panes]:
    with some_panes(shell) as made:
        yield made


def answered(pane: Pane) -> str:
    """A session with an answer that the pane has."""
    session = pane.session
    pane("append", session, "--user", "Why?", "--assistant", "A race.")
    return session


def by_recipe(pane: Pane, before: str = "") -> str:
    ran = pane.run(f"{before} {shlex.join(recipe())}".strip())
    assert ran.code in (0, 1), ran
    return ran.out.strip()


def test_a_pane_has_a_session_in_each_folder(panes: Panes, tmp_path: Path) -> None:
    pane = panes.new()
    here = answered(pane)
    (tmp_path / "elsewhere").mkdir()
    pane.run("cd elsewhere")
    there = answered(pane)
    pane.run("cd ..")
    answered(panes.new())
    assert pane.session == here != there
    pane.run("cd elsewhere")
    assert pane.session == there


@pytest.mark.parametrize("end", ["stop", "kill -9"])
def test_a_pane_keeps_its_session_when_the_daemon_ends(panes: Panes, shell: Shell, end: str) -> None:
    pane = panes.new()
    mine = answered(pane)
    if end == "stop":
        shell("stop")
    else:
        os.kill(shell("status", "--json").json["pid"], signal.SIGKILL)
    other = panes.new()
    assert other.session != mine
    assert (pane.session, "used in this terminal" in pane("continue").err) == (mine, True)


def test_a_pane_that_is_closed_leaves_its_session_to_others(panes: Panes, shell: Shell) -> None:
    other, pane = panes.new(), panes.new()
    left = answered(pane)
    shell("stop")
    pane.close()
    wait_until(lambda: other("continue", "--no-create").out.strip() == left)
    assert other.session == left


@pytest.mark.parametrize("before", ["setsid", "setsid -w", "setsid -w </dev/null", "setsid nohup </dev/null"])
def test_a_hook_in_a_session_of_its_own_does_not_give_the_session_away(panes: Panes, before: str) -> None:
    pane = panes.new()
    command = shlex.join(sessiond("continue", "--json"))
    done = panes.folder / "hook"
    pane.run(f"{before} sh -c {shlex.quote(f'{command} >{done}.part; mv {done}.part {done}')}")
    wait_until(done.exists)
    mine = json.loads(done.read_bytes())["session"]["sessionId"]
    pane("append", mine, "--user", "Why?", "--assistant", "A race.")
    assert panes.new().session != mine
    assert pane.session == mine


@pytest.mark.parametrize(
    "before",
    [
        "",
        "setsid -w",
        "setsid -w </dev/null",
        "env -i",
        "env TERM_PROGRAM=WezTerm",
        "env KITTY_WINDOW_ID=1 KITTY_PID=1",
    ],
)
def test_the_recipe_in_a_pane_gives_the_id_of_the_pane(panes: Panes, before: str) -> None:
    pane = panes.new()
    name = panes.tmux("display", "-p", "-t", pane.target, "#{pane_id}@#{pid}")
    kept = before.replace("env -i", f"env -i SESSIOND_HOME={panes.folder.parent}")
    assert pane("terminal", before=kept).out.strip() == by_recipe(pane, kept) == f"tmux:{name}"
    told = pane("terminal", "--json", before=kept).json
    assert str(told["pid"]) == panes.tmux("display", "-p", "-t", pane.target, "#{pane_pid}")


@pytest.mark.parametrize(
    "environ",
    [
        "TERM=xterm-256color",
        "TERM_PROGRAM=WezTerm TERM=xterm-256color",
        "TERM_PROGRAM=vscode TERM=xterm-256color",
        "ALACRITTY_WINDOW_ID=5 TERM=alacritty KITTY_WINDOW_ID=1 KITTY_PID=$PPID",
    ],
)
def test_a_terminal_that_is_started_from_a_pane_is_another_one(panes: Panes, environ: str) -> None:
    pane = panes.new()
    before = f"{environ} {shlex.join(in_a_new_terminal())}"
    first = answered(pane)
    both = f"{shlex.join(sessiond('terminal'))}; {shlex.join(recipe())}"
    by_product, by_the_recipe = pane.run(f"{before} sh -c {shlex.quote(both)}").out.split()
    assert by_product == by_the_recipe
    assert by_product.startswith("tty:pts-")
    assert pane("continue", before=before).out.split()[0] != first
    assert pane.session == first


def test_two_windows_of_screen_in_one_pane_are_two_terminals(panes: Panes) -> None:
    needs("screen")
    pane = panes.new()
    outer = pane.id
    first = answered(pane)
    pane.type("exec screen -c /dev/null -S inner sh")
    wait_until(lambda: "STY" in pane.run("env").out)
    ids, sessions = [], []
    for number in (0, 1):
        if number:
            pane.run("screen -X screen sh")
            wait_until(lambda: "WINDOW=1" in pane.run("env").out.split())
        assert pane.id == by_recipe(pane)
        assert pane.id.startswith(f"screen:{number}@")
        ids.append(pane.id)
        sessions.append(answered(pane))
    assert len({outer, *ids}) == len({first, *sessions}) == 3
    pane.run("screen -X select 0")
    wait_until(lambda: "WINDOW=0" in pane.run("env").out.split())
    assert pane.session == sessions[0]


def test_a_pane_in_a_pane_is_another_terminal(panes: Panes) -> None:
    pane = panes.new()
    outer = pane.id
    pane.type(f"TMUX= exec tmux -S {panes.folder}/nested -f /dev/null new-session sh")
    wait_until(lambda: "nested" in pane.run("echo $TMUX").out)
    try:
        assert pane.id == by_recipe(pane) != outer
        assert pane.id.startswith("tmux:%0@")
    finally:
        pane.type("exit")


def test_a_script_that_uses_rpc_or_attach_in_a_pane_takes_part(panes: Panes, tmp_path: Path) -> None:
    pane = panes.new()
    mine = answered(pane)
    answered(panes.new())
    params = {"cwd": str(tmp_path)}
    assert pane("rpc", "session/continue", json.dumps(params)).json["session"]["sessionId"] == mine
    fork = pane("rpc", "session/fork", json.dumps({"sessionId": mine})).json["session"]["sessionId"]
    assert pane.session == fork
    plain = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/continue", "params": params})
    greetings: tuple[dict[str, object], ...] = (
        {},
        {"capabilities": {}},
        {"capabilities": {}, "initializationOptions": {"sessiond": {}}},
    )
    for greeting in greetings:
        initialize = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting}
        said = tmp_path / "said"
        said.write_text(
            "".join(f"{text}\n" for text in ([json.dumps(initialize)] if greeting else []) + [plain]),
            encoding="utf-8",
        )
        ran = pane.run(f"{shlex.join(sessiond('attach', '--stdio'))} <{said}")
        answer = next(line for line in map(json.loads, ran.out.splitlines()) if line.get("id") == 1)
        assert answer["result"]["session"]["sessionId"] == fork


def test_without_a_terminal_a_job_finds_what_it_has_made(shell: Shell) -> None:
    """As CI, cron and the shell tool of an agent start commands."""

    def job(*words: str) -> str:
        return shell(*words, SESSIOND_TERMINAL="").out.strip()

    told = shell.run("terminal", "--json", SESSIOND_TERMINAL="")
    if told.code == 0:
        pytest.skip("these tests run in a terminal, so their commands have one")
    assert (told.out, told.err) == ("null\n", "")
    drafts = {job("continue") for _ in range(3)}
    assert len(drafts) == 1
    made = job("new")
    assert made not in drafts
    job("append", "--user", "Why?")
    assert [entry["message"]["content"] for entry in _entries(shell, made)] == ["Why?"]
    assert job("continue") == made


def _entries(shell: Shell, session: str) -> list[dict[str, dict[str, str]]]:
    return entries_of(shell("rpc", "session/entries", json.dumps({"sessionId": session})).json)
