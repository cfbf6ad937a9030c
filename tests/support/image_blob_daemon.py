"""sessiond with images of all sessions as blobs, as they are where pi cannot read a session.

`python image_blob_daemon.py COMMAND…` is such a `sessiond COMMAND…`. Only its own process is changed: the product
has no switch for this.
"""

import sys
from pathlib import Path

from sessiond.hub.session import registry
from sessiond.hub.session.live import LiveSession


def command(*words: str) -> list[str]:
    """The command line of such a sessiond."""
    return [sys.executable, "-P", str(Path(__file__).resolve()), *words]


def takes_images(live: LiveSession) -> bool:
    """Take images out of every session."""
    return bool(live)


def be() -> None:
    """Turn this process into such a sessiond."""
    registry.takes_images = takes_images


if __name__ == "__main__":
    be()
    from sessiond.cli.main import main

    sys.exit(main())
