#!/usr/bin/env python3
"""Write scripts/constraints.txt: the exact versions of all that is installed for sessiond and its extras.

Run it with the Python of `scripts/venv check` with the extras of `scripts/check --all` after the tests have passed.
`SESSIOND_LOCKED=1 scripts/check` installs these versions instead of the newest that pyproject.toml admits.
"""

from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TARGET = Path(__file__).parent / "constraints.txt"
NOT_OURS = {"sessiond", "pip", "setuptools", "wheel"}
HEAD = "# Versions that the tests have passed with. Written by scripts/gen_constraints.py.\n"


def pinned(name: str) -> dict[str, str]:
    """Return the versions of everything that a distribution and its extras require, by canonical name."""
    found: dict[str, str] = {}
    waiting = [Requirement(require) for require in distribution(name).requires or []]
    while waiting:
        requirement = waiting.pop()
        key = canonicalize_name(requirement.name)
        try:
            installed: Distribution = distribution(requirement.name)
        except PackageNotFoundError:
            continue  # for another system, another Python, or an extra that is not installed
        if key not in found:
            found[key] = installed.version
            waiting += [Requirement(require) for require in installed.requires or []]
    return found


def main() -> None:
    """Write the file."""
    lines = [
        f"{name}=={version}\n" for name, version in sorted(pinned("sessiond").items()) if name not in NOT_OURS
    ]
    TARGET.write_text(HEAD + "".join(lines), encoding="utf-8")
    print(f"wrote {len(lines)} versions to {TARGET.name}")


if __name__ == "__main__":
    main()
