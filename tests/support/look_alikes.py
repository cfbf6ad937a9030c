"""The cases of rows that look the same, which every client is tested with: tests/data/rows."""

import json  # noqa: TID251 - as the tests of the other clients read it
from pathlib import Path
from typing import Any

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).resolve().parents[1] / "data/rows/look_alikes.json").read_text(encoding="utf-8")
)
