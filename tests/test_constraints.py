"""scripts/constraints.txt pins everything that pyproject.toml names, within what it admits."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


def pins() -> dict[str, str]:
    lines = (ROOT / "scripts/constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    named = [Requirement(item) for some in lists for item in some]
    return [requirement for requirement in named if requirement.name != "sessiond"]


def test_every_dependency_is_pinned_within_its_range() -> None:
    pinned = pins()
    outside = [
        f"{requirement}: {pinned.get(canonicalize_name(requirement.name))}"
        for requirement in requirements()
        if not requirement.specifier.contains(
            pinned.get(canonicalize_name(requirement.name), "none"), prereleases=True
        )
    ]
    assert len(requirements()) > 20
    assert outside == []


def test_versions_are_in_order_and_named_once() -> None:
    names = list(pins())
    lines = (ROOT / "scripts/constraints.txt").read_text(encoding="utf-8").splitlines()
    assert names == sorted(names)
    assert len(lines) == len(names) + 1
