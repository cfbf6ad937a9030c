"""daemon/CODE_MAP.md names every file that there is, in the words of the file."""

import re
import subprocess
import sys
from pathlib import Path

from sessiond.protocol.methods import METHODS

ROOT = Path(__file__).parent.parent


def test_the_code_map_is_as_the_code_is() -> None:
    command = [sys.executable, str(ROOT / "scripts/gen_code_map.py"), "--check"]

    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)

    assert done.returncode == 0, done.stderr


def test_every_module_that_the_architecture_names_exists() -> None:
    prose = (ROOT / "daemon/ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "daemon/sessiond"
    rooms = "|".join(path.parent.name for path in package.glob("*/__init__.py"))
    named = re.findall(rf"`(?:sessiond/)?((?:{rooms})/[a-z_/0-9]+)[`.]", prose)

    assert len(named) > 40
    methods = set(METHODS)
    missing = [item for item in named if item not in methods and not is_module(package / item)]
    assert missing == []


def is_module(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").exists()
