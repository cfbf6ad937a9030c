"""The surroundings of a run: the machine, the file system of its files, and how its Python was built."""

import os
import platform
import sys
import sysconfig
from pathlib import Path

import msgspec


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that are necessary to compare a figure with another one."""

    python: str
    """Version and build: an interpreter without profile-guided optimization is about a fifth slower."""
    processor: str
    cores: int
    """The processors that this process may use."""
    kernel: str
    file_system: str
    """The type of the file system that the files of the run are on. It determines the cost of a sync."""
    load: float
    """The load average over a minute when the run began. On a quiet machine it is below 1."""

    def __str__(self) -> str:
        return (
            f"{self.python}; {self.processor}, {self.cores} cores; {self.kernel}; "
            f"files on {self.file_system}; load {self.load:.1f} at the start"
        )


def this_machine(files: Path) -> Machine:
    """Return the facts of this machine; `files` is a folder on the file system of the run."""
    return Machine(
        python=python_build(
            platform.python_implementation(),
            platform.python_version(),
            f"{sysconfig.get_config_var('CONFIG_ARGS') or ''} {sysconfig.get_config_var('PY_CORE_CFLAGS') or ''}",
            gil=getattr(sys, "_is_gil_enabled", lambda: True)(),
        ),
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        kernel=f"{platform.system()} {platform.release()}",
        file_system=file_system(
            files.resolve(), Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
        ),
        load=os.getloadavg()[0],
    )


def python_build(name: str, version: str, flags: str, *, gil: bool) -> str:
    """Return a description of an interpreter from the flags that it was configured and compiled with."""
    profiled = "--enable-optimizations" in flags or "-fprofile-use" in flags
    linked = "--with-lto" in flags or "-flto" in flags
    facts = (
        "PGO" if profiled else "without PGO",
        "LTO" if linked else "without LTO",
        "GIL" if gil else "without GIL",
    )
    return f"{name} {version} ({', '.join(facts)})"


def file_system(folder: Path, mounts: str) -> str:
    """Return the type of the file system that holds `folder`, by the lines of /proc/mounts."""
    best, kind = -1, "unknown"
    for line in mounts.splitlines():
        _, point, type_, *_ = line.split(" ")
        mounted = Path(point.encode().decode("unicode_escape"))  # /proc/mounts writes spaces as \040
        if folder.is_relative_to(mounted) and len(mounted.parts) >= best:
            best, kind = len(mounted.parts), type_
    return kind


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
