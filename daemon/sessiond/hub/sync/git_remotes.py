"""Finds the git remotes of folders, by which two machines recognize a project that has another path on each.

The configuration file of a repository is read directly; no git process runs.
"""

import os
import re
from collections.abc import Iterable
from typing import Final

from sessiond.hub.index.git_projects import ProjectFinder
from sessiond.protocol import types as t
from sessiond.unicode import valid_unicode

_MAX_CONFIG_BYTES: Final = 256 * 1024
_SECTION: Final = re.compile(r'\s*\[\s*remote\s+"([^"]*)"\s*\]')
_URL: Final = re.compile(r"\s*url\s*=\s*(.*\S)")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://")
_SCP_LIKE: Final = re.compile(r"(?:[^@/:]+@)?([^/:@]+):(?!//)(.+)")


def folders_with_remotes(folders: Iterable[str]) -> list[t.SyncFolder]:
    """Return those of some folders that are in a repository with a remote."""
    finder, remotes = ProjectFinder(), dict[str, str | None]()
    found = []
    for cwd in sorted(set(folders)):
        root = finder.project_of(cwd).folder
        if root not in remotes:
            remotes[root] = _remote_of(root)
        if (remote := remotes[root]) is not None:
            found.append(t.SyncFolder(cwd=cwd, root=valid_unicode(root), remote=valid_unicode(remote)))
    return found


def _remote_of(root: str) -> str | None:
    for path in (os.path.join(root, ".git", "config"), os.path.join(root, "config")):
        try:
            with open(path, "rb") as config:
                text = os.fsdecode(config.read(_MAX_CONFIG_BYTES))
        except (OSError, ValueError):
            continue
        return _remote_in(text)
    return None


def _remote_in(text: str) -> str | None:
    """Return the remote `origin` of a git configuration, or else its first remote, normalized."""
    remotes: dict[str, str] = {}
    section: str | None = None
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            match = _SECTION.match(line)
            section = None if match is None else match.group(1)
        elif section is not None and (url := _URL.match(line)) is not None:
            remotes.setdefault(section, url.group(1).strip('"'))
    chosen = remotes.get("origin") or next(iter(remotes.values()), None)
    return None if chosen is None else normalized(chosen)


def normalized(url: str) -> str | None:
    """Return `host/path` for the URL of a remote on another machine, None for any other.

    The same repository has the same text whether it was cloned by SSH or HTTPS. A user and a password are left out.
    """
    if scheme := _SCHEME.match(url):
        if scheme.group() == "file://":
            return None
        host, _, path = url[scheme.end() :].rpartition("@")[2].partition("/")
        host = host.partition(":")[0]
    elif match := _SCP_LIKE.fullmatch(url):
        host, path = match.groups()
    else:
        return None
    path = path.strip("/").removesuffix(".git")
    return f"{host.lower()}/{path}" if host and path else None
