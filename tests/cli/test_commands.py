"""Every command against the real daemon, as a user types it."""

import json  # noqa: TID251 - what a reader of --json would use
import os
import signal
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from support.columns import entries_of
from support.commands import Shell
from support.homes import sessiond, wait_until
from support.processes import runs


def told(shell: Shell) -> tuple[str, str, str]:
    """A session with a question and an answer: its id, and theirs."""
    session = shell("new", "--title", "Flaky test", "--tag", "ci").lines[0]
    question = shell("append", session, "--user", "Fix it").lines[0]
    answer = shell("append", session, "--assistant", "A race", "--model", "acme/one").lines[0]
    return session, question, answer


def test_a_session_is_made_filled_listed_and_shown(shell: Shell) -> None:
    session, _, answer = told(shell)
    (line,) = shell("list").lines
    assert line.split("  ")[0] == session[:8]
    assert line.endswith("Flaky test #ci")
    shown = dict(line.split(maxsplit=1) for line in shell("show", session[:8]).lines)
    assert (shown["id"], shown["leaf"], shown["tags"]) == (session, answer, "#ci")


def test_an_empty_list_says_what_to_do_next(fresh: Shell) -> None:
    for words, said in (((), "No sessions in this project."), (("--all",), "There are no sessions yet.")):
        ran = fresh("list", *words)
        assert ran.out == ""
        assert ran.err.startswith(said)
        assert "sessiond agents follow --all" in ran.err
    assert "sessiond agents" not in fresh("list", "--since", "yesterday").err


def test_json_is_what_the_daemon_sent_and_nothing_else(shell: Shell) -> None:
    session, question, answer = told(shell)
    for words, field in [
        (("list",), "sessions"), (("show", session), "session"), (("context", session), "messages"),
        (("status",), "pid"), (("clients",), "clients"), (("new",), "session"), (("continue",), "reason"),
        (("append", session, "--user", "x"), "entries"), (("branch", session, answer), "leafId"),
        (("label", session, question, "here"), "recordId"), (("rename", session, "t"), "session"),
        (("tag", session, "--add", "x"), "session"), (("show", session, "--entry", question), "items"),
    ]:  # fmt: skip
        ran = shell(*words, "--json")
        assert field in ran.json, words
        assert len(ran.lines) == 1, words


def test_the_tree_is_drawn_with_branches_labels_and_the_leaf(shell: Shell) -> None:
    session, question, answer = told(shell)
    first = shell("append", session, "--user", "With a lock").lines[0]
    shell("label", session, first, "first try")
    shell("branch", session, answer)
    second = shell("append", session, "--user", "Without").lines[0]
    assert shell("tree", session).lines == [
        f"{question}  ● user       Fix it",
        f"{answer}  ● assistant  A race",
        f"{first}  └─○ user       [first try] With a lock",
        f"{second}  ◉ user       Without  ◀ leaf",
    ]
    assert shell("tree", session, "--ascii").out.isascii()
    assert shell("tree", session, PYTHONUTF8="0", PYTHONIOENCODING="ascii").out.isascii()


def test_a_path_is_cut_into_a_session_of_its_own(shell: Shell) -> None:
    session, question, _ = told(shell)
    fork = shell("fork", session, "--at", question, "--title", "again").lines[0]
    assert fork != session
    assert [line.split("  ")[-1] for line in shell("tree", fork).lines] == ["◀ leaf"]


def test_each_terminal_goes_on_with_its_own_session_and_is_told_why(shell: Shell) -> None:
    other = replace(shell, terminal="two")
    session, _, _ = told(shell)
    ran = shell("continue")
    assert ran.lines == [session]
    assert ran.err.strip()
    told(other)
    assert other("continue").lines != [session]
    assert shell("continue").lines == [session]


def test_without_an_id_it_is_this_terminals_session_and_that_is_said(shell: Shell) -> None:
    session, _, _ = told(shell)
    ran = shell("show")
    assert session in ran.out
    assert session in ran.err


@pytest.mark.parametrize("words", [("append", "--user", "hi"), ("tree",)])
def test_without_an_id_and_without_a_session_the_command_that_makes_one_is_named(
    shell: Shell, words: tuple[str, ...]
) -> None:
    ran = shell.run(*words)
    assert ran.code == 1
    assert "`sessiond new`" in ran.err
    assert str(shell.folder) in ran.err


def test_an_entry_is_shown_to_be_read_and_with_json_as_it_is_stored(shell: Shell) -> None:
    session = shell("new").lines[0]
    said = {"role": "user", "content": [{"type": "text", "text": "first\nsecond \x1b[31m"}], "timestamp": 1}
    drafts = [{"type": "message", "message": said}, {"type": "custom", "customType": "x", "data": {"n": 1}}]
    message, custom = shell("append", session, "-", stdin=json.dumps(drafts)).lines
    shown = shell("show", session, "--entry", message).lines
    assert shown[:2] == [f"user  {message}", "  first"]
    assert shown[2].startswith("  second")
    assert "\x1b" not in shown[2]
    assert '"n": 1' in shell("show", session, "--entry", custom).out
    (entry,) = entries_of(shell("show", session, "--entry", message, "--json").json)
    assert entry["message"]["content"] == said["content"]


def test_a_file_can_be_named_instead_of_an_id(shell: Shell) -> None:
    session, question, _ = told(shell)
    path = shell("show", session, "--json").json["session"]["path"]
    assert question in shell("tree", path).out


@pytest.mark.parametrize(
    "stdin",
    [
        '{"type":"custom","customType":"x"}',
        '[{"type":"custom","customType":"x"}]',
        '\n{"type":"custom","customType":"x"}\n\n',
    ],
)
def test_drafts_come_from_standard_input_in_every_form(shell: Shell, stdin: str) -> None:
    session, _, _ = told(shell)
    (entry,) = shell("append", session, "-", stdin=stdin).lines
    assert entries_of(shell("show", session, "--entry", entry, "--json").json)[0]["customType"] == "x"


def test_several_entries_go_in_the_order_of_the_command_line(shell: Shell) -> None:
    session = shell("new").lines[0]
    shell(
        "append",
        session,
        "--user",
        "1",
        "--assistant",
        "2",
        "--json-entry",
        '{"type":"custom","customType":"3"}',
        "--user",
        "4",
    )
    entries = entries_of(shell("rpc", "session/path", json.dumps({"sessionId": session})).json)
    assert [entry.get("customType") or entry["message"]["role"] for entry in entries] == [
        "user",
        "assistant",
        "3",
        "user",
    ]


def test_an_expected_leaf_that_moved_is_refused_or_makes_a_branch(shell: Shell) -> None:
    session, question, _ = told(shell)
    refused = shell.run("append", session, "--user", "late", "--expect", question)
    assert refused.code == 1
    shell("append", session, "--user", "late", "--expect", question, "--or-branch")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "no-such-session"), 1),
        (("tree", "--filter", "nonsense"), 2),
        (("frobnicate",), 2),
        (("append", "--user"), 2),
        (("append", "-"), 2),
        (("rpc", "session/list", "[]"), 2),
        (("rpc", "session/list", "{"), 2),
        (("rpc", "no/such"), 1),
        (("tag",), 2),
    ],
)
def test_refusals_and_mistakes_have_their_exit_codes(shell: Shell, words: tuple[str, ...], code: int) -> None:
    told(shell)
    ran = shell.run(*words)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("sessiond: ") or "sessiond: " in ran.err
    assert "Traceback" not in ran.err


def test_a_whole_fork_has_all_branches(shell: Shell) -> None:
    session, question, _ = told(shell)
    shell("label", session, question, "here")
    shell("branch", session, question)
    shell("append", session, "--user", "another way")
    [forked] = shell("fork", session, "--whole").lines
    source, copy = (shell("tree", name, "--filter", "all", "--json").json for name in (session, forked))
    assert (copy["nodes"], copy["leafId"]) == (source["nodes"], source["leafId"])
    assert shell.run("fork", session, "--whole", "--at", question).code == 2


def test_a_beginning_that_several_ids_have_is_refused_with_them(shell: Shell) -> None:
    for end in ("one", "two"):
        shell("new", "--id", f"twins-{end}")
    for words in (("show", "twins-"), ("delete", "twins-"), ("search", "x", "--session", "twins-")):
        refused = shell.run(*words)
        assert refused.code == 2
        assert "session id 'twins-' is ambiguous: twins-one, twins-two" in refused.err
    assert shell("show", "twins-o", "--json").json["session"]["sessionId"] == "twins-one"
    assert shell("delete", "twins-t").lines == ["twins-two"]
    assert shell.run("rpc", "session/info", json.dumps({"sessionId": "twins-o"})).code == 1


def test_rpc_says_which_parameter_was_meant(shell: Shell) -> None:
    session, question, _ = told(shell)
    entry = {"type": "custom", "customType": "note"}
    params = {"sessionId": session, "entries": [entry], "expectedLeaf": question}
    refused = shell.run("rpc", "session/append", json.dumps(params))
    assert refused.code == 1
    assert "unknown parameter `expectedLeaf`. Did you mean `expectedLeafId`?" in refused.err


def test_asking_for_a_daemon_that_is_not_there_starts_none(fresh: Shell) -> None:
    assert fresh.run("status").code == 69
    assert fresh.run("clients").code == 69
    assert fresh.run("stop").code == 0
    assert not Path(fresh.locations.socket).exists()


def test_stop_returns_when_the_daemon_is_gone(fresh: Shell) -> None:
    pid = _daemon(fresh, start=True)
    fresh("stop")
    wait_until(lambda: not runs(pid), 2)
    assert fresh.run("status").code == 69


def test_a_draft_outlives_the_command_that_made_it(shell: Shell) -> None:
    session = shell("new").lines[0]
    assert shell("list").out == ""
    assert session[:8] in shell("list", "--drafts").out


def test_a_closed_pipe_ends_a_command_quietly(shell: Shell) -> None:
    told(shell)
    with subprocess.Popen(
        sessiond("schema"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=shell.environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_watching_shows_entries_as_they_arrive_over_a_crash_of_the_daemon(fresh: Shell) -> None:
    session, _, answer = told(fresh)
    with fresh.start("watch", session, "--last", "1") as subscriber:
        assert subscriber.stdout is not None
        assert subscriber.stderr is not None
        try:
            assert answer in subscriber.stdout.readline()
            live = fresh("append", session, "--user", "live").lines[0]
            assert live in subscriber.stdout.readline()
            os.kill(_daemon(fresh), signal.SIGKILL)
            assert "Watching" in subscriber.stderr.readline()
            assert subscriber.stderr.readline()
            later = fresh("append", session, "--user", "later").lines[0]
            assert later in subscriber.stdout.readline()
            subscriber.send_signal(signal.SIGINT)
            assert subscriber.wait(60) == 130
            assert (subscriber.stdout.read(), subscriber.stderr.read()) == ("", "")
        finally:
            subscriber.kill()


def test_watching_goes_on_over_a_daemon_that_dies_before_it_answers(fresh: Shell) -> None:
    session, _, _ = told(fresh)
    with fresh.start("watch", session) as subscriber:
        assert subscriber.stdout is not None
        assert subscriber.stderr is not None
        try:
            assert "Watching" in subscriber.stderr.readline()
            os.kill(_daemon(fresh), signal.SIGKILL)
            assert subscriber.stderr.readline()
            _take_a_request_and_die(fresh.locations.socket)
            later = fresh("append", session, "--user", "later").lines[0]
            assert later in subscriber.stdout.readline()
            subscriber.send_signal(signal.SIGINT)
            assert (subscriber.wait(60), subscriber.stderr.read()) == (130, "")
        finally:
            subscriber.kill()


def _take_a_request_and_die(path: str) -> None:
    """Be a daemon that leaves without having read what it was asked, and without a successor."""
    Path(path).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        listening.settimeout(60)
        connection, _ = listening.accept()
        with connection:
            connection.recv(1, socket.MSG_PEEK)
            Path(path).unlink()


def test_help_and_version_need_no_daemon(fresh: Shell) -> None:
    assert "append" in fresh("--help").out
    assert "--json-entry" in fresh("append", "--help").out
    assert fresh("--version").out.startswith("sessiond ")
    assert fresh("schema").json["methods"]
    assert not Path(fresh.locations.socket).exists()


def _daemon(shell: Shell, *, start: bool = False) -> int:
    if start:
        shell("list")
    pid: int = shell("rpc", "server/status").json["pid"]
    return pid
