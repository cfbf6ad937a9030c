"""`usage` as a person meets it: aligned columns, a bar a day, what is estimated, and what has no price."""

import json  # noqa: TID251 - entries are written as an agent writes them
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.text import width
from support.commands import Shell, a_shell


def answer(at: str, model: str, cost: float = 0.0, **tokens: int) -> str:
    usage = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, **tokens, "cost": {"total": cost}}
    provider, _, name = model.partition("/")
    message: dict[str, Any] = {
        "role": "assistant", "content": [{"type": "text", "text": "ok"}], "provider": provider, "model": name,
        "stopReason": "stop", "usage": usage,
    }  # fmt: skip
    return json.dumps({"type": "message", "timestamp": at, "message": message})


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with a_shell(tmp_path_factory.mktemp("spending")) as made:
        session = made("new", "--title", "Spending", "--id", "spending-1").lines[0]
        made("append", session, "--user", "Spend.")
        opus = "anthropic/claude-opus-4-5"
        for entry in (
            answer("2026-11-02T10:00:00Z", opus, cost=2.0, input=200_000),
            answer("2026-11-04T10:00:00Z", opus, input=1_000_000, output=2_000, reasoningTokens=500),
            answer("2026-11-04T11:00:00Z", "home/tuned-7b-\x1b[31m", input=70),
        ):
            made("append", session, "--json-entry", entry)
        yield made


def report(shell: Shell, *words: str, columns: int = 100) -> list[str]:
    return shell("usage", *words, COLUMNS=str(columns), TZ="UTC").lines


@pytest.mark.parametrize("columns", [30, 40, 100])
def test_notes_are_wrapped_by_the_columns_of_their_characters(tmp_path: Path, columns: int) -> None:
    names = ["家庭模型七十亿参数的第二个版本-调整过", "模型😀😀😀😀😀😀😀😀", "ばん組のもでる"]
    with a_shell(tmp_path) as shell:
        session = shell("new", "--title", "Spending").lines[0]
        for name in names:
            entry = answer("2026-11-04T11:00:00Z", f"home/{name}", input=70)
            shell("append", session, "--json-entry", entry)
        lines = report(shell, columns=columns)
        notes = lines[next(place for place, line in enumerate(lines) if line.startswith("Not in the cost")) :]
        assert all(width(line) <= columns for line in notes), notes
        shown = "".join("".join(notes).split())
        assert all(name in shown for name in names)


def test_each_day_has_a_bar_and_its_numbers_and_days_between_are_shown(shell: Shell) -> None:
    heading, *lines = report(shell)
    assert heading.split()[:3] == ["day", "cost", "tokens"]
    days = [line.split() for line in lines[:4]]
    assert [(day[0], day[-1]) for day in days] == [
        ("2026-11-02", "1"), ("2026-11-03", "0"), ("2026-11-04", "2"), ("total", "3"),
    ]  # fmt: skip
    assert days[0][2] == "$2.00"
    assert days[2][1] == "█" * 12
    assert days[2][2] == "~$5.05+"
    assert days[3][1] == "~$7.05+"


def test_the_numbers_of_a_column_end_in_one_column(shell: Shell) -> None:
    lines = report(shell)[:5]
    assert len({len(line) for line in lines}) == 1


def test_the_notes_give_the_shares_the_date_of_the_prices_and_models_without_a_price(shell: Shell) -> None:
    notes = " ".join(report(shell)[5:])
    assert "$2.00 (28 %) of the cost" in notes
    assert "$5.05 (72 %) are estimated" in notes
    assert "genai-prices" in notes
    assert "newest change 20" in notes
    assert "home/tuned-7b- (70 tokens)" in notes
    assert "500 are known to be tokens of reasoning" in notes


@pytest.mark.parametrize("by", ["day", "model", "agent", "project"])
@pytest.mark.parametrize("columns", [40, 60, 200])
def test_every_line_fits_and_cost_and_tokens_stay(shell: Shell, by: str, columns: int) -> None:
    lines = report(shell, "--by", by, columns=columns)
    assert [line for line in lines if len(line) > columns] == []
    assert lines[0].split()[:3] == [by, "cost", "tokens"]
    total = next(line for line in lines if line.startswith("total"))
    assert total.split()[1] == "~$7.05+"


def test_a_model_without_a_price_is_not_free(shell: Shell) -> None:
    [line] = [line for line in report(shell, "--by", "model") if line.startswith("home/")]
    assert "?" in line
    assert "$" not in line
    assert "\x1b" not in line


def test_a_period_selects_requests(shell: Shell) -> None:
    assert report(shell, "--until", "2026-11-03")[-1] == "The cost is what the agents recorded."
    assert report(shell, "--since", "2026-11-03")[1].startswith("2026-11-04")
    assert report(shell, "--since", "2026-11", "--until", "2026-11")[1].startswith("2026-11-02")
    assert shell.run("usage", "--since", "soon").code == 2


def test_the_project_of_the_folder_is_counted_unless_all_are(shell: Shell, tmp_path: Path) -> None:
    nothing = shell("usage", "--cwd", str(tmp_path))
    assert nothing.out == ""
    assert "--all" in nothing.err
    assert shell("usage", "--cwd", str(tmp_path), "--all").out
    assert shell("usage", "--cwd", str(tmp_path), "--by", "project").out


def test_json_is_the_result_of_the_daemon_with_the_time_zone_of_the_terminal(shell: Shell) -> None:
    found = shell("usage", "--json", TZ="Asia/Tokyo").json
    assert found["timeZone"] == "Asia/Tokyo"
    assert found["total"]["requestCount"] == 3


def test_ls_is_list(shell: Shell) -> None:
    assert "Spending" in shell("ls").out
    assert shell("ls", "--json").json["sessions"] == shell("list", "--json").json["sessions"]


def test_lists_and_searches_take_the_same_periods(shell: Shell) -> None:
    assert "Spending" in shell("list", "--since", "yesterday").out
    assert shell("list", "--until", "2026-11-03").out == ""
    assert shell("search", "ok", "--since", "2026-11-04", "--json", TZ="UTC").json["hits"][1:] != []
    hits = shell("search", "ok", "--until", "2026-11-02", "--json", TZ="UTC").json["hits"]
    assert [hit["timestamp"] for hit in hits] == ["2026-11-02T10:00:00.000Z"]
    assert shell.run("list", "--since", "soon").code == 2
