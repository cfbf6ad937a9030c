"""Finds the processes of Claude Code that have a session, by the files that they write on Linux."""

# Without pathlib, which costs milliseconds at the start of a command.
# ruff: noqa: PTH115

import os

from sessiond.agents.session_processes import MAX_BYTES, NamedProcess, names_in, object_in


def processes_of(path: str) -> list[NamedProcess]:
    """Return the processes of Claude Code whose files in `sessions/` name a session, or that of a subagent."""
    above, _, below = path.rpartition("/projects/")
    parts = below.split("/")
    native_id = parts[1].removesuffix(".jsonl") if len(parts) > 1 else ""
    found, domain = [], _domain()
    for name in names_in(f"{above}/sessions") if domain is not None else ():
        written = object_in(f"{above}/sessions/{name}") if name.endswith(".json") else {}
        pid, started = written.get("pid"), str(written.get("procStart", ""))
        if written.get("sessionId") != native_id or written.get("pidDomain") != domain:
            continue
        if isinstance(pid, int) and 0 < pid < 1 << 31 and started.isascii() and started.isdigit():
            found.append(NamedProcess(pid, int(started)))
    return found


def _domain() -> str | None:
    """Return the domain of this process's ids, as Claude Code names it; None if it is not known."""
    try:
        with open("/etc/machine-id", encoding="ascii") as file:
            return f"linux:{file.read(MAX_BYTES).strip()}:{os.readlink('/proc/self/ns/pid')}"
    except (OSError, ValueError):
        return None
