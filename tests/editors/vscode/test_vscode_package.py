"""The .vsix contains the files that the extension needs, and no others."""

import re
import zipfile

import msgspec
import pytest

from support.vscode_package import EXTENSION, the_package

pytestmark = [pytest.mark.editors, pytest.mark.slow]

EXPECTED = (
    r"\[Content_Types\]\.xml",
    r"extension\.vsixmanifest",
    r"extension/(changelog|readme)\.md",
    r"extension/LICENSE\.txt",
    r"extension/(icon\.png|package\.json|package\.nls\.json)",
    r"extension/dist/[a-z]+\.js",
    r"extension/media/[a-z-]+\.svg",
    r"extension/media/screenshots/[a-z-]+\.png",
    r"extension/walkthrough/[a-z]+\.(svg|md)",
)


def test_the_package_has_the_needed_files_and_no_others() -> None:
    with zipfile.ZipFile(the_package()) as package:
        names = package.namelist()
    assert [name for name in names if not any(re.fullmatch(text, name) for text in EXPECTED)] == []
    assert [text for text in EXPECTED if not any(re.fullmatch(text, name) for name in names)] == []


def test_the_package_is_small() -> None:
    assert the_package().stat().st_size < 1_000_000


def test_the_package_contains_no_paths_of_the_build_machine() -> None:
    with zipfile.ZipFile(the_package()) as package:
        bundle = package.read("extension/dist/extension.js").decode()
    assert "sourceMappingURL" not in bundle
    assert re.findall(r"/(?:home|root|work)/[a-z]+/", bundle) == []


@pytest.mark.parametrize(
    "origin",
    [
        "git@github.com:example/atlas.git",
        "ssh://git@github.com:22/example/atlas.git",
        "https://ada:secret@github.com/example/atlas/",
    ],
)
def test_the_package_of_a_clone_from_a_forge_names_its_repository_and_shows_its_pictures(origin: str) -> None:
    with zipfile.ZipFile(the_package(origin)) as package:
        manifest = msgspec.json.decode(package.read("extension/package.json"))
        readme = package.read("extension/readme.md").decode()
    assert manifest["repository"] == {
        "type": "git",
        "url": "https://github.com/example/atlas",
        "directory": "editors/vscode",
    }
    pictures = re.findall(r"!\[[^]]*\]\((.*?)\)", readme)
    base = "https://github.com/example/atlas/raw/HEAD/editors/vscode/"
    assert pictures
    assert [picture for picture in pictures if not (EXTENSION / picture.removeprefix(base)).is_file()] == []
    assert [picture for picture in pictures if not picture.startswith(base)] == []


@pytest.mark.parametrize("origin", ["/srv/git/atlas.git", "https://git.example/ada/atlas", "github.com"])
def test_the_package_of_another_clone_names_no_repository(origin: str) -> None:
    with zipfile.ZipFile(the_package(origin)) as package:
        assert "repository" not in msgspec.json.decode(package.read("extension/package.json"))
