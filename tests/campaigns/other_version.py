"""sessiond as it will be, or was, in a version that speaks other versions of the protocol.

`python other_version.py OLDEST NEWEST COMMAND…` is `sessiond COMMAND…` of such a version, and so is the daemon that it
starts. Only what its process knows of itself is changed: the product has no switch for this.
"""

import sys
from pathlib import Path

import sessiond
from sessiond.client import start
from sessiond.protocol import versions


def command(oldest: int, newest: int, *words: str) -> list[str]:
    """The command line of the sessiond that speaks these versions."""
    return [sys.executable, "-P", str(Path(__file__).resolve()), str(oldest), str(newest), *words]


def build(newest: int) -> str:
    """The version of that sessiond."""
    return f"{newest}.0.0"


def be(oldest: int, newest: int) -> None:
    """Turn this process into that version."""
    versions.OLDEST, versions.NEWEST = oldest, newest
    sessiond.__version__ = build(newest)
    start.COMMAND = tuple(command(oldest, newest))  # type: ignore[assignment]


if __name__ == "__main__":
    be(int(sys.argv[1]), int(sys.argv[2]))
    del sys.argv[1:3]
    from sessiond.cli.main import main

    sys.exit(main())
