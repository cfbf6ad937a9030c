"""The findings of setup on a machine, before anything is followed."""

from pathlib import Path

from sessiond.agents.table import AGENTS
from sessiond.hub.following.storage import sources_of
from sessiond.setup.survey import found_agents


def test_setup_counts_the_files_that_following_reads(tmp_path: Path) -> None:
    sessions = tmp_path / ".codex/sessions/2026/02/16"
    sessions.mkdir(parents=True)
    (sessions / "rollout-1.jsonl").write_bytes(b"{}\n")
    (sessions / "rollout-2.jsonl").write_bytes(b"{}\n{}\n")
    (sessions / "notes.txt").write_bytes(b"mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/rollout-3.jsonl").write_bytes(b"{}\n")
    (sessions / "rollout-4.jsonl").symlink_to(tmp_path / "elsewhere/rollout-3.jsonl")
    (sessions / "linked").symlink_to(tmp_path / "elsewhere")
    environ = {"HOME": str(tmp_path), "PATH": ""}
    [found] = found_agents(environ)
    assert (found.agent.name, found.files, found.size) == ("codex", 3, 12)
    counted = sources_of(AGENTS["codex"], environ).census().sources.values()
    assert (found.files, found.size) == (len(counted), sum(status.size for status in counted))
