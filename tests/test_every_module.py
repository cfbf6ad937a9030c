"""Every module can be imported on every Python that the project promises, and none warns of anything."""

import subprocess
import sys

IMPORT_ALL = """
import importlib, pkgutil
import sessiond

for it in pkgutil.walk_packages(sessiond.__path__, "sessiond."):
    if it.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(it.name)
    except ImportError:
        if not it.name.startswith("sessiond.adapters."):  # each needs the package that it adapts
            raise
    print(it.name)
"""


def test_every_module_is_imported_without_a_warning() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_ALL], capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 500
