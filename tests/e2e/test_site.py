"""The documentation site: built from the documents of the repository, where no link may lead nowhere."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]


def build(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(root / "scripts/build-site"), str(folder)]
    environment = {"SESSIOND_PYTHON": sys.executable, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)


def test_every_document_has_a_page_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "protocol.html", "daemon/GUIDE.html", "daemon/man/sessiond.html"} <= pages
    manual = (tmp_path / "site/daemon/man/sessiond.html").read_text(encoding="utf-8")
    assert "--json" in manual
    assert "sessiond move-store" in manual


def test_a_link_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    for name in tracked("scripts/build-site", "scripts/venv", "scripts/site", "daemon/sessiond/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in tracked("*.md", ":!daemon/decisions/[0-9]*"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# A document\n", encoding="utf-8")
    (tmp_path / "SECURITY.md").write_text(
        "# Security\n\nRead [more](daemon/NOWHERE.md) and [this part](daemon/GUIDE.md#no-such-part).\n",
        encoding="utf-8",
    )
    done = build(tmp_path, tmp_path / ".cache/site")
    assert done.returncode != 0
    first, second = (line for line in done.stderr.splitlines() if "WARNING" in line)
    assert "NOWHERE.md" in first
    assert "no-such-part" in second


def tracked(*patterns: str) -> list[str]:
    """The files of the repository that match one of the patterns."""
    command = ["git", "ls-files", *patterns]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]
