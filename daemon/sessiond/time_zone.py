"""The time zone of this machine, by its name in the IANA database."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LINK = "/etc/localtime"
_DATABASE = "/zoneinfo/"


def local_name(environ: Mapping[str, str], link: str = _LINK) -> str | None:
    """Return the IANA name of the time zone of this process; None if it is not known by a name.

    Args:
        environ: The environment variables. `TZ` goes before the setting of the machine.
        link: The file that the machine's time zone is a link to.
    """
    given = environ.get("TZ", "").removeprefix(":")
    if given:
        return given.rpartition(_DATABASE)[2] if given.startswith("/") else given
    target = os.path.realpath(link)
    return target.rpartition(_DATABASE)[2] if _DATABASE in target else None
