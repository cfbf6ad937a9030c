"""The campaigns that there are, in the order in which they are run and listed.

Each is a module of this package, of the same name with `_` for `-`, that has a `CAMPAIGN`.
"""

from importlib import import_module

from campaigns.campaign import Campaign

NAMES = (
    "crash",
    "crash-large",
    "crash-others",
    "repeated-commands",
    "half-lines",
    "syscalls",
    "replay",
    "power",
    "mutants",
    "errno",
    "start",
    "signals",
    "handover",
    "panes",
    "corruption",
    "archive",
    "security",
    "environments",
    "disk",
    "descriptors",
    "load",
    "order",
    "soak",
    "fuzz",
    "names",
    "clock",
    "transcripts",
    "sync",
    "postgres",
)  # fmt: skip
ALONE = frozenset({"load", "soak"})
"""Campaigns that measure how fast or how large a daemon is, so that no other may run at the same time."""


def campaign(name: str) -> Campaign:
    found = import_module(f"campaigns.{name.replace('-', '_')}").CAMPAIGN
    if not isinstance(found, Campaign) or found.name != name:
        raise TypeError(f"CAMPAIGN of {name} is not the campaign {name}")
    return found


def all_campaigns() -> list[Campaign]:
    return [campaign(name) for name in NAMES]
