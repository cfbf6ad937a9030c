"""The files that OpenCode writes beside its database: `tool-output/` has outputs that were too long for the model."""

import re
from typing import Final

from sessiond.agents.attachments import AttachmentRules, FilePlace

_OUTPUTS: Final = "tool-output"
_REFERENCE: Final = re.compile(rf"[\\/]{_OUTPUTS}[\\/](tool_[0-9A-Za-z]{{1,64}})(?![\w./])")


def _place(path: str, found: re.Match[str]) -> FilePlace | None:
    database, _, _ = path.partition(".db#")
    return FilePlace(database.rpartition("/")[0], (_OUTPUTS, found[1]))


RULES: Final = AttachmentRules(reference=_REFERENCE, sign=_OUTPUTS.encode(), place=_place)
