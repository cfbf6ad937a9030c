"""Entries by the first characters of their ids, by labels, and the leaf by @: in every command that takes one."""

import json  # noqa: TID251 - a file as an agent writes it
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.cli.parse.entry_argument import AmbiguousEntryError, chosen
from support.columns import entries_of, message_ids_of
from support.commands import Shell, a_shell


def row(id: str, label: str | None = None) -> dict[str, object]:
    return {"id": id, "type": "message", "role": "user", "label": label, "preview": f"said in {id}"}


ROWS = [row("abc-1"), row("abc-2", "here"), row("abd-3", "abc"), row("x" * 8, "twice"), row("y" * 8, "twice")]


@pytest.mark.parametrize(
    ("name", "id"),
    [("here", "abc-2"), ("abd", "abd-3"), ("abc", "abd-3"), ("xxx", "x" * 8), ("zzz", None), ("xx", None)],
)
def test_a_label_comes_before_the_beginning_of_an_id(name: str, id: str | None) -> None:
    assert chosen(name, ROWS) == id


@pytest.mark.parametrize(
    ("name", "several"), [("twice", ["xxxxxxxx", "yyyyyyyy"]), ("abc-", ["abc-1", "abc-2"])]
)
def test_a_name_of_several_is_refused_with_what_tells_them_apart(name: str, several: list[str]) -> None:
    with pytest.raises(AmbiguousEntryError) as refused:
        chosen(name, ROWS)
    assert [line.split()[0] for line in refused.value.then.split("\n")] == several
    assert all(f"said in {id}" in refused.value.then for id in several)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A question with two answers; the second is the leaf, the first has a label of two words."""
    with a_shell(tmp_path_factory.mktemp("folder")) as found:
        found("new", "--id", "atlas-one")
        for id, parent, role in (("question", None, "user"), ("one-answer", "question", "assistant"),
                                 ("two-answer", "question", "assistant")):  # fmt: skip
            entry = f'{{"type":"message","id":"{id}","message":{{"role":"{role}","content":"{id}"}}}}'
            where = ("--root",) if parent is None else ("--parent", parent)
            found("append", "atlas-one", *where, "--json-entry", entry)
        found("label", "atlas-one", "one-answer", "first try")
        found("branch", "atlas-one", "two-answer")
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one-answer", "one-a", "first try"])
def test_every_command_takes_every_name(shell: Shell, name: str) -> None:
    said = "one-answer"
    assert entries_of(shell("show", "atlas-one", "--entry", name, "--json").json)[0]["id"] == said
    assert shell("tree", "atlas-one", "--root", name, "--json").json["nodes"][0]["id"] == said
    assert message_ids_of(shell("context", "atlas-one", "--leaf", name, "--json").json)[-1] == said
    assert shell("stats", "atlas-one", "--leaf", name, "--json").json["pathStats"]["entryCount"] == 2
    assert shell("state", "atlas-one", "--leaf", name, "--json").json["state"]
    assert said in shell("export", "atlas-one", "--leaf", name).out
    assert shell("branch", "atlas-one", name, "--dry-run", "--json").json["entryIdsToSummarize"] == [
        "two-answer"
    ]
    assert shell("diff", "atlas-one", name, "@", "--json").json["left"]["leafId"] == said
    assert shell("fork", "atlas-one", "--at", name, "--json").json["session"]["messageCount"] == 2


@pytest.mark.slow
def test_the_leaf_and_beginnings_are_names_too(shell: Shell) -> None:
    found = shell("diff", "atlas-one", "one-answer", "@", "--json").json
    assert (found["ancestorId"], found["right"]["leafId"]) == ("question", "two-answer")
    assert entries_of(shell("show", "atlas-one", "--entry", "que", "--json").json)[0]["id"] == "question"
    shell(
        "append", "atlas-one", "--stay", "--json-entry", '{"type":"custom","customType":"x","id":"one-more"}'
    )
    ran = shell.run("show", "atlas-one", "--entry", "one")
    assert (ran.code, ran.out) == (2, "")
    assert "one-answer" in ran.err
    assert "one-more" in ran.err
    assert shell.run("show", "atlas-one", "--entry", "nothing-like-it").code == 1


@pytest.mark.slow
def test_entries_are_added_below_a_name_and_only_if_the_leaf_is_what_a_name_means(shell: Shell) -> None:
    session = shell("fork", "atlas-one").lines[0]
    below = shell("append", session, "--parent", "que", "--user", "again", "--stay").lines[0]
    entries = entries_of(shell("show", session, "--entry", below, "--json").json)
    assert entries[0]["parentId"] == "question"
    assert shell.run("append", session, "--expect", "que", "--user", "late").code == 1
    assert shell("append", session, "--expect", "@", "--user", "in time").lines


@pytest.mark.slow
def test_a_label_is_put_on_what_a_name_means_and_that_is_said(shell: Shell) -> None:
    assert shell("label", "atlas-one", "que", "the start").out.startswith("question is labeled")


def test_a_session_is_named_by_its_id_in_the_agent_that_wrote_it(shell: Shell, tmp_path: Path) -> None:
    theirs, at = "0197aaaa-2222-7333-8444-555555555555", "2026-01-01T00:00:00.000Z"
    told = {"type": "message", "timestamp": at}
    lines = [
        {"type": "session", "version": 3, "id": theirs, "timestamp": at, "cwd": str(tmp_path)},
        {**told, "id": "q", "parentId": None, "message": {"role": "user", "content": "Where is the heron?"}},
        {**told, "id": "a", "parentId": "q", "message": {"role": "assistant", "content": "There."}},
    ]
    file = tmp_path / f"{theirs}.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    [session] = shell("import", str(file), "--json").json["sessions"]
    assert session["sessionId"] != theirs
    for name in (theirs, theirs[:9], session["sessionId"], session["sessionId"][:9]):
        assert shell("show", name, "--json").json["session"]["sessionId"] == session["sessionId"]
        assert "Where is the heron?" in shell("tree", name).out
    shell("fork", theirs, "--whole")
    assert shell("label", theirs, "q", "start").err == ""
    assert shell("show", theirs[:9], "--json").json["session"]["sessionId"] == session["sessionId"]
