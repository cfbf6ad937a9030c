"""The extension for VS Code as people install it: the .vsix of this checkout, made once however many tests want it."""

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path

from support.installed_editors import PROJECT
from support.installed_workbench import NODE

EXTENSION = PROJECT / "editors/vscode"
MADE = PROJECT / ".cache/vscode-extension"


def the_package() -> Path:
    """The .vsix. Whoever asks first makes it, the others wait; it is made anew when a source has changed."""
    MADE.mkdir(parents=True, exist_ok=True)
    with (MADE / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        package = MADE / f"{_fingerprint()}.vsix"
        if not package.exists():
            _make(package)
        return package


def _fingerprint() -> str:
    seen = hashlib.sha256()
    for path in sorted(_sources()):
        seen.update(os.fsencode(path.relative_to(EXTENSION)) + b"\0" + path.read_bytes() + b"\0")
    return seen.hexdigest()[:16]


def _sources() -> list[Path]:
    left_out = {"node_modules", "dist", "test"}
    return [
        path
        for path in EXTENSION.rglob("*")
        if path.is_file() and path.relative_to(EXTENSION).parts[0] not in left_out
    ]


def _make(package: Path) -> None:
    installed, wanted = EXTENSION / "node_modules/.package-lock.json", EXTENSION / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        _run("npm", "ci", "--no-audit", "--no-fund")
    _run(str(NODE), "node_modules/@vscode/vsce/vsce", "package", "--no-dependencies", "--out", str(package))


def _run(*words: str) -> None:
    done = subprocess.run(
        words, cwd=EXTENSION, capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
