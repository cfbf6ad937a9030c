"""The documentation site: how Sphinx reads the Markdown of this repository. See scripts/build-site."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "daemon"))

from sessiond import __version__  # noqa: E402

project = "sessiond"
project_copyright = author = "the developers of sessiond"
version = release = __version__

extensions = ["myst_parser"]
myst_heading_anchors = 6
suppress_warnings = [
    "misc.highlighting_failure",  # in the exchanges of the protocol, an arrow precedes each message
    "myst.header",  # protocol.md has the shapes of its types two levels below their heading
]
root_doc = "README"
source_suffix = {".md": "markdown"}
include_patterns = [
    "*.md", "daemon/*.md", "daemon/decisions/*.md", "daemon/man/*.md", "editors/*.md", "editors/*/*.md",
]  # fmt: skip
smartquotes = False  # they would replace the two dashes of an option by one
html_theme = "furo"
html_title = "sessiond"
html_copy_source = False

_DECISIONS = "daemon/decisions/README"
_CONTENTS = {
    root_doc: {
        "Use it": ["daemon/GUIDE", "daemon/man/sessiond", "daemon/agents", "editors/README", "editors/vscode/README",
                   "editors/nvim/README", "Changes <CHANGELOG>", "Changes of the extension <editors/vscode/CHANGELOG>"],
        "Build on it": ["protocol", "daemon/protocol-examples", "daemon/client", "daemon/GLOSSARY"],
        "How it works": ["daemon/ARCHITECTURE", "daemon/CODE_MAP", "daemon/SCREENS", "daemon/PERFORMANCE",
                         "daemon/RELIABILITY", _DECISIONS, "SECURITY", "CONTRIBUTING"],
    },
    _DECISIONS: {"": sorted(path.stem for path in (ROOT / "daemon/decisions").glob("[0-9]*.md"))},
}  # fmt: skip
"""The documents below a document, under headings. Sphinx takes them from the text, where a forge would show them."""


def _add_contents(_app: Sphinx, document: str, content: list[str]) -> None:
    for heading, names in _CONTENTS.get(document, {}).items():
        caption = f":caption: {heading}\n" if heading else ""
        content[0] += f"\n```{{toctree}}\n:hidden:\n{caption}\n" + "\n".join(names) + "\n```\n"


def _unlink_folders(app: Sphinx, document: nodes.document) -> None:
    """Replace links to folders of the repository, which the site does not have, by their texts."""
    folder = Path(app.env.doc2path(app.env.docname)).parent
    for link in list(document.findall(pending_xref)):
        if link["reftype"] == "myst" and (folder / link["reftarget"]).is_dir():
            link.replace_self(link.children)


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_contents)
    app.connect("doctree-read", _unlink_folders)
