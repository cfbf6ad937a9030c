"""The page of a session in Chromium: the time until it is drawn, compared with a page that only has its bytes."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from scripts.benchmarks.processes import sessiond
from scripts.benchmarks.report import Row, at_most, middle, milliseconds, sampled
from scripts.benchmarks.session_files import session_name, write_session

ENTRIES, SMOKE_ENTRIES = 20_000, 2_000
ROUNDS = 5
INERT = 2.0
"""The maximum time of the page, as a multiple of the time of a page that only has its bytes."""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_TIMEOUT = 300


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Measure whole processes of a browser that draws a page once, without the time of a process for an empty page."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        return [Row("the page of a session, until it is drawn", "there is no Chromium")]
    entries = SMOKE_ENTRIES if quick else ENTRIES
    page = _exported(folder, entries)
    inert, empty = folder / "inert.html", folder / "empty.html"
    text = page.read_text(encoding="utf-8").replace("<", "\\u003c")
    inert.write_text(
        f'<!doctype html><meta charset=utf-8><script type="application/json">{text}</script>',
        encoding="utf-8",
    )
    empty.write_text("<!doctype html>", encoding="utf-8")
    took: dict[Path, list[float]] = {page: [], inert: [], empty: []}
    for _ in range(1 if quick else ROUNDS):
        for each, times in took.items():
            times.append(_draw(browser, each))
    start = middle(took[empty])
    ours = [value - start for value in took[page]]
    reference = middle(took[inert]) - start
    ratio = middle(ours) / reference
    return [
        sampled(
            f"the page of {entries:,} entries ({page.stat().st_size / 1e6:.0f} MB), until it is drawn", ours, "s",
            ratio=f"{ratio:.2f} x a page that only has its bytes ({milliseconds(reference)})",
            bar="" if quick else f"<= {INERT:.0f} x", verdict="" if quick else at_most(ratio, INERT),
        ),
    ]  # fmt: skip


def _exported(folder: Path, entries: int) -> Path:
    session = "bench-page-opening"
    path, page = folder / session_name(session), folder / "page.html"
    write_session(path, session, entries)
    with sessiond(folder / "home") as daemon, daemon.connect() as client:
        client.call("session/open", {"path": str(path)})
        params = {"sessionId": session, "format": "html", "path": str(page), "redact": False}
        client.call("session/export", params)
    return page


def _draw(browser: str, page: Path) -> float:
    """Return the seconds of a browser that draws a page. Raises `RuntimeError` if there is no picture."""
    with tempfile.TemporaryDirectory() as profile:
        picture = Path(profile, "picture.png")
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
            f"--screenshot={picture}", "--window-size=1200,800", page.as_uri(),
        ]  # fmt: skip
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT)
        took = time.monotonic() - start
        if not picture.exists():
            raise RuntimeError(f"{browser} drew nothing: {done.stderr[-500:]!r}")
    return took
