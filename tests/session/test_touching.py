"""The files that a branch touched, whichever agent worked on it."""

import json  # noqa: TID251 - messages as agents write them
from typing import Any

import pytest

from sessiond.session.content.agent_message import read_message
from sessiond.session.content.pi_touched_files import TouchedPaths
from sessiond.session.content.touched_files import touched

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-x
+y
*** Move to: src/b.py
*** Add File: c d.py
*** End Patch"""


def of(*calls: tuple[str, dict[str, Any]]) -> TouchedPaths:
    blocks = [
        {"type": "toolCall", "id": "c", "name": name, "arguments": arguments} for name, arguments in calls
    ]
    return touched([read_message(json.dumps({"role": "assistant", "content": blocks}).encode())])


@pytest.mark.parametrize(
    ("name", "arguments", "read", "modified"),
    [
        ("read", {"path": "a"}, ["a"], []),
        ("Read", {"file_path": "a"}, ["a"], []),
        ("edit", {"path": "a"}, [], ["a"]),
        ("MultiEdit", {"file_path": "a", "edits": []}, [], ["a"]),
        ("NotebookEdit", {"notebook_path": "a.ipynb"}, [], ["a.ipynb"]),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a"}, ["a"], []),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "a"}, [], ["a"]),
        ("apply_patch", {"input": PATCH}, [], ["c d.py", "src/a.py", "src/b.py"]),
        ("shell", {"command": ["apply_patch", PATCH]}, [], ["c d.py", "src/a.py", "src/b.py"]),
        ("exec_command", {"cmd": f"apply_patch <<'E'\n{PATCH}\nE"}, [], ["c d.py", "src/a.py", "src/b.py"]),
        ("bash", {"command": "cat a"}, [], []),
        ("read", {"path": 5}, [], []),
        ("unheard-of", {"path": "a"}, [], []),
    ],
)
def test_each_agents_tools_are_known(
    name: str, arguments: dict[str, Any], read: list[str], modified: list[str]
) -> None:
    assert of((name, arguments)) == TouchedPaths(tuple(read), tuple(modified))


def test_a_file_that_was_read_and_changed_was_changed() -> None:
    assert of(("Read", {"file_path": "a"}), ("Write", {"file_path": "a"})) == TouchedPaths((), ("a",))
