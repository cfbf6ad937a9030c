"""Faults that are put into a daemon of the campaigns' own making, by name. The product has no hook for them."""

from collections.abc import Callable

from scripts.campaigns import recording

FAULTS: dict[str, Callable[[], None]] = {"record": recording.put_in}


def put_in(name: str) -> None:
    """Put a fault into the product as it is loaded in this process."""
    FAULTS[name]()
