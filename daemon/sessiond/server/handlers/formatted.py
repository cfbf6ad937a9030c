"""Converts an append in a provider's format to the agents' format."""

import msgspec

from sessiond.hub.errors import InvalidEntry
from sessiond.protocol import types as t
from sessiond.session.formats.drafts import drafts
from sessiond.session.formats.made import NotReadable


def in_agents_format(params: t.AppendParams) -> t.AppendParams:
    """Return the append with its items in the agents' format. Raises `InvalidEntry`."""
    if params.format == "agent":
        return params
    entries: list[msgspec.Raw] = []
    for index, item in enumerate(params.entries):
        try:
            entries += map(msgspec.Raw, drafts(params.format, item))
        except RecursionError:
            raise InvalidEntry(index, "it is nested too deeply") from None
        except (NotReadable, msgspec.DecodeError) as error:
            raise InvalidEntry(index, str(error)) from None
    return msgspec.structs.replace(params, entries=entries)
