"""Generated files are committed as they would be generated."""

import runpy
from functools import cache
from pathlib import Path

import pytest

from sessiond.client import commands

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = runpy.run_path(str(ROOT / "scripts" / "gen_protocol.py"))
schema = cache(GENERATOR["schema"])
stale = cache(GENERATOR["stale"])


@pytest.mark.parametrize("target", GENERATOR["TARGETS"])
def test_a_generated_file_is_up_to_date(target: str) -> None:
    found = stale()
    assert target not in found, GENERATOR["difference"](target, *found[target])


@pytest.mark.parametrize("target", GENERATOR["TARGETS"])
def test_generating_twice_changes_nothing(target: str) -> None:
    render, document = GENERATOR["TARGETS"][target], schema()
    once = render((ROOT / target).read_text(encoding="utf-8"), document)
    assert render(once, document) == once


def test_the_document_has_every_generated_part_once() -> None:
    text = (ROOT / "protocol.md").read_text(encoding="utf-8")
    parts = GENERATOR["markdown"].parts(schema())
    assert {name: text.count(f"<!-- generated: {name} -->") for name in parts} == dict.fromkeys(parts, 1)


def test_lua_can_say_a_null_that_means_something_and_reads_null_as_absent() -> None:
    wire = schema()["$defs"]
    field = GENERATOR["lua"].field_text
    assert field("entryId", "BranchParams", wire["BranchParams"]).startswith("entryId string|vim.NIL")
    assert field("summary", "BranchParams", wire["BranchParams"]).startswith("summary? string ")
    assert field("leafId", "BranchResult", wire["BranchResult"]).startswith("leafId? string ")


def test_typescript_keeps_null_apart_from_absent() -> None:
    wire = schema()["$defs"]
    text = GENERATOR["typescript"].definition_text("BranchParams", wire["BranchParams"])
    assert "  entryId: string | null;\n" in text
    assert "  expectedLeafId?: string | null;\n" in text
    assert "  details?: unknown;\n" in text


def test_typescript_and_lua_list_the_requests_that_take_a_command_id() -> None:
    document = schema()
    listed = GENERATOR["typescript"].repeatable_text(document), GENERATOR["lua"].repeatable_text(document)
    for text in listed:
        rows = [line for line in text.splitlines() if line.startswith("  ")]
        assert {row.split('"')[1] for row in rows} == commands.METHODS
