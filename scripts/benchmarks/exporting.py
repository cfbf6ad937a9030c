"""Exports of a session as an HTML page and as Markdown: processor time of the daemon and of its child processes."""

import os
from pathlib import Path

from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.report import Row, duration, middle, sampled
from scripts.benchmarks.session_files import session_name, write_session

ENTRIES, SMOKE_ENTRIES = 20_000, 2_000
HTML = 3.0


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Measure exports to a file, with and without the removal of secrets. The rules for secrets are compiled before."""
    session = "bench-exporting"
    entries = SMOKE_ENTRIES if quick else ENTRIES
    path = folder / session_name(session)
    write_session(path, session, entries)
    took: dict[tuple[str, bool], list[float]] = {
        ("html", True): [],
        ("html", False): [],
        ("markdown", True): [],
        ("jsonl", False): [],
    }
    with sessiond(folder / "home") as daemon, daemon.connect() as client:
        client.call("session/open", {"path": str(path)})
        _export(daemon, session, folder, "markdown", redact=True)
        for _ in range(1 if quick else 5):
            for (format, redact), times in took.items():
                times.append(_export(daemon, session, folder, format, redact=redact))
    redaction = middle(took["html", True]) - middle(took["html", False])
    return [
        sampled(
            f"export {entries:,} entries as HTML, CPU of daemon and child process",
            took["html", True],
            "s",
            limit=None if quick else HTML,
            reason=(
                f"The removal of secrets takes {duration(redaction)} of it: the rules of Kingfisher and ours are "
                "applied to every text. Reading and writing the entries as JSON takes "
                f"{duration(middle(took['jsonl', False]))}. The rest is Markdown and the colors of code, by "
                "markdown-it and Pygments, which are Python."
            ),
        ),
        sampled("  without the removal of secrets", took["html", False], "s"),
        sampled("  as Markdown", took["markdown", True], "s"),
        sampled("  as JSON lines, without the removal of secrets", took["jsonl", False], "s"),
    ]


def _export(daemon: Daemon, session: str, folder: Path, format: str, *, redact: bool) -> float:
    """Export to a file, and return the seconds of processor time."""
    target = folder / f"exported.{format}"
    before = _cpu(daemon)
    daemon.call(
        "session/export", sessionId=session, format=format, path=str(target), redact=redact, overwrite=True
    )
    return _cpu(daemon) - before


def _cpu(daemon: Daemon) -> float:
    """Return the seconds of processor time of the daemon, and of its child processes that have ended."""
    fields = Path(f"/proc/{daemon.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return daemon.cpu() + (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
